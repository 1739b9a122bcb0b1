//! The loop on one machine: asks the machine, performs effects on the seams, records facts.
//!
//! Three parts: `builder` puts a run together, `effects` performs one effect and answers with one fact
//! (`folders` has those that need one, `gates` and `queue` those around them), `host` drives.
//! What is decided is decided in [`machine`](crate::machine).

mod artifacts;
mod backoff;
mod bounds;
mod builder;
mod effects;
mod folders;
mod gates;
mod host;
mod later_tree;
mod queue;
mod review;
mod setup;

pub use artifacts::Artifacts;
pub use backoff::Backoff;
pub use builder::{Ralph, Switches};
pub use effects::Fault;
pub use host::{Outcome, RunError};
