//! The machine: what is decided, and nothing else. No clock, no I/O, no async.
//!
//! [`Machine::step`] says what is to be done next, [`Machine::apply`] takes in what happened. Both are pure, so that a
//! journal of facts replays to the very state, on any host. One file for each part: what can happen (`fact`, `terms`),
//! what can be asked (`effect`), where a run can stand (`state`, `lane`), what follows from that (`step`, with `budget`),
//! and how a fact changes it (`apply`, with `look` for what is to be done, `session` for the end of a session, `attempt` for all that happens to its work, `questions` for what is asked about it,
//! `red` for verifiers that must fail first, `verdicts` for those that contradict each other, `review` for the clean-up and
//! the reviewer, `returns` for work that comes back without a session, `answers` for what people say, `phase` for the
//! gates, `round` for loops in which each session is an iteration).

mod answers;
mod apply;
mod attempt;
mod budget;
mod effect;
mod fact;
mod lane;
mod look;
mod phase;
mod progress;
mod questions;
mod red;
mod returns;
mod review;
mod round;
mod session;
mod state;
mod step;
mod terms;
mod verdicts;

pub use apply::OutOfOrder;
pub use effect::{Effect, Request, Step};
pub use fact::Fact;
pub use state::{Asked, Failure, Machine};
pub use terms::{
    Attempt, Carried, CarriedOver, Counts, End, Every, Iteration, Mode, Objection, Origin, PhaseSpec, Pick, Readiness,
    Refusal, RetryFrom, Rules, Spec, VerifyOutcome,
};
