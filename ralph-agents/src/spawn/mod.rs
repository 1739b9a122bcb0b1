//! How many agents a session may start, over all levels below it.
//!
//! A total that is *inherited*, and not reset at each level: a root with 12 may have 12 agents started in all, whoever of
//! them starts the next one. How many each may start, and how deep, binds too where it is set ([`Limits`]).
//!
//! One budget is one session's tree ([`SpawnBudgeted`]). What is spent stands in a small file outside of every workspace,
//! with an append-only file of grants beside it ([`SpawnBudget`]). Whoever is about to start an agent asks first:
//! `ralph hook pre-tool-use` does so inside Claude Code, and a program that starts agents by itself can ask by
//! [`inherited()`].
//!
//! # The environment of a session
//! | variable | what |
//! | --- | --- |
//! | `RALPH_SPAWN_STATE` | the budget's state file |
//! | `RALPH_SPAWN_ID` | who this agent is: `root`, or the id of the grant by which it was started |
//! | `RALPH_SPAWN_DEPTH` | how many levels below the root it is; for people, since what binds is in the state |
//!
//! They only say where the budget is; no number in them is believed. Who leaves them out or changes them is found by the
//! processes above it, and counts as an unknown child of the root. The total binds whoever asks.
//!
//! # What can go wrong with the files
//! A state that is missing, damaged or older than the grants is rebuilt from the grants, or from a number that the caller
//! knows; where there is neither, nothing is left to spawn. Both are written into `<state>.log`. A session runs as its
//! operator: one that rewrites *both* files by hand in a way that fits together is not seen. Keeping it from that is a
//! sandbox's part.

mod backend;
mod budget;
mod caller;
mod claude;
mod files;
mod tally;

pub use self::{
    backend::{SpawnBudgeted, left_behind},
    budget::{Granted, Refused, Spawn, SpawnBudget, Standing},
    caller::{Caller, DEPTH, ID, Inherited, STATE, inherited},
    claude::claude_settings,
    tally::Limits,
};
