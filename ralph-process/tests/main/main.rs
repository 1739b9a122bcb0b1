//! Real processes, run, killed and looked for.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod ancestry;
mod captured;
mod errors;
mod input;
mod limits;
mod output;
mod support;
mod swept;
mod talk;
mod tree;
