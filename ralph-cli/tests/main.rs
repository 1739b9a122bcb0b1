//! The real program, on real repositories, with agents that are shell scripts.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod commands;
mod e2e;
mod real;
