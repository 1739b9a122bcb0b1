//! Version control for Ralph: git, worked from outside the agent's reach.
