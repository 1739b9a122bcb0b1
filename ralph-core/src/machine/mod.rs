//! The machine: what is decided, and nothing else. No clock, no I/O, no async.
//!
//! [`Machine::step`] says what is to be done next, [`Machine::apply`] takes in what happened. Both are pure, so that a
//! journal of facts replays to the very state, on any host. One file for each part: what can happen (`fact`), where a
//! run can stand (`state`), what follows from that (`step`), and how a fact changes it (`apply`, with `attempt` for all
//! that happens to an attempt, `answers` for what people say, `phase` for the way of a phase through its gates).

mod answers;
mod apply;
mod attempt;
mod budget;
mod fact;
mod phase;
mod progress;
mod state;
mod step;

pub use apply::OutOfOrder;
pub use fact::{
    Attempt, Carried, CarriedOver, Counts, End, Fact, Iteration, Origin, PhaseSpec, Pick, Readiness, Refusal,
    RetryFrom, Rules, Spec, VerifyOutcome,
};
pub use state::{Failure, Machine};
pub use step::{Effect, PlanChange, Request, Step};
