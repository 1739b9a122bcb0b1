//! What the benches share: a repository to work on, the floor of an iteration, the engine as `ralph run` puts it
//! together, and the lines that are printed.
//!
//! Each program in `benches/` says what it measures and how it is run. `docs/numbers.md` has what came of it.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up has nothing to say")]

pub mod engine;
pub mod floor;
pub mod report;
pub mod shell;
pub mod stage;
