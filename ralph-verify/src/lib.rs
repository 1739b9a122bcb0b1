//! Verifiers for Ralph: the command verifier.
