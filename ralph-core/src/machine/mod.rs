//! The machine: what is decided, and nothing else. No clock, no I/O, no async.
//!
//! [`Machine::step`] says what is to be done next, [`Machine::apply`] takes in what happened. Both are pure, so that a
//! journal of facts replays to the very state, on any host. One file for each part: what can happen (`fact`), where a
//! run can stand (`state`), what follows from that (`step`), and how a fact changes it (`apply`, and `attempt` for all
//! that happens to an attempt).

mod apply;
mod attempt;
mod fact;
mod progress;
mod state;
mod step;

pub use apply::OutOfOrder;
pub use fact::{
    Attempt, Counts, End, Fact, Iteration, Pick, Readiness, Refusal, RetryFrom, Rules, Spec, VerifyOutcome,
};
pub use state::{Failure, Machine};
pub use step::{Effect, Step};
