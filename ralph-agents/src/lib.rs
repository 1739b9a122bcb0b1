//! Agent backends for Ralph: Claude Code, any command, a scripted one.
