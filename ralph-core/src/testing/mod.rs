//! Doubles, a simulator and conformance suites. Feature `testing`; outside semver.
//!
//! - [`ScriptedAgent`] plays [`turn`]s in real folders, [`MemoryVcs`] is version control stricter than git,
//!   [`StillClock`] is time that passes only when somebody waits.
//! - [`FaultPlan`] and [`Faulty`] fail, or die, at the n-th operation of any seam.
//! - [`adversary`] has the engine run among verifiers, sessions and people that do their worst.
//! - [`laws`] says whether a record of facts keeps the laws; [`simulator`] runs the real engine on doubles, crashes it
//!   at every durable operation in turn, and looks at the laws.
//! - [`suites`] are the conformance tests of the seams.

pub mod adversary;
mod clock;
mod fault;
pub mod laws;
mod memory_vcs;
mod saboteurs;
mod scripted_agent;
pub mod simulator;
pub mod suites;

pub use clock::StillClock;
pub use fault::{FaultPlan, Faulty};
pub use memory_vcs::{Files, MemoryVcs};
pub use scripted_agent::{ScriptedAgent, Turn, turn};
