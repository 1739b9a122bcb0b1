//! The machine: what is decided, and nothing else. No clock, no I/O, no async.

mod fact;

pub use fact::{
    Attempt, Counts, End, Fact, Iteration, Pick, Readiness, Refusal, RetryFrom, Rules, Spec,
    VerifyOutcome,
};
