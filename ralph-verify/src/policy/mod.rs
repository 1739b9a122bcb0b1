//! The change policies: gates that raise decisions by themselves, whatever the agent says.
//!
//! Each is a [`Gate`](ralph_core::Gate) that looks at what an item's work changes, once its first verdict passed:
//!
//! - [`Dependencies`]: a dependency that no manifest of the base has;
//! - [`Paths`]: paths that somebody named as security, database schema or public API;
//! - [`Protected`]: CI, settings of agents and hooks, and the scripts that the plan's own commands run.
//!
//! A policy that is not wanted is not added. All of them read the two trees and the list of changes and nothing else, and
//! what they cannot read they ask about.
//!
//! An embedder adds a policy by implementing `Gate`:
//! ```
//! use ralph_core::{
//!     Boundary, Cx, DecisionKind, Gate, GateError, MemoryDecisions, MemoryPlan, Question, Ralph, Ruling, StopReason,
//!     agent_fn, async_trait, testing::MemoryVcs, verifier,
//! };
//! use ralph_verify::policy::{Dependencies, Protected};
//!
//! /// Files of more than 1 MB are for people to decide.
//! #[derive(Debug)]
//! struct Large;
//!
//! #[async_trait]
//! impl Gate for Large {
//!     fn name(&self) -> &str {
//!         "large"
//!     }
//!     async fn judge(&self, boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
//!         let Boundary::Item(item) = boundary else {
//!             return Ok(Ruling::Ask(Question::new(DecisionKind::Choice, "Go on?")));
//!         };
//!         for change in item.changes.iter() {
//!             let content = item.tree.read(&change.path, 1_000_001).await.map_err(GateError::other)?;
//!             if content.is_some_and(|bytes| bytes.len() > 1_000_000) {
//!                 return Ok(Ruling::Ask(Question::new(DecisionKind::Choice, "A file of more than 1 MB. Accept it?")));
//!             }
//!         }
//!         Ok(Ruling::Open)
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let agent = agent_fn("eager", |brief| {
//!     std::fs::write(brief.workspace.join("package.json"), r#"{"dependencies": {"left-pad": "1"}}"#)?;
//!     Ok("done".to_owned())
//! });
//! let queue = MemoryDecisions::new();
//! let outcome = Ralph::builder(MemoryPlan::of(["pad it"]), agent, verifier("fine", |_| Ok(true)), MemoryVcs::new())
//!     .decisions(queue.clone())
//!     .gate(Dependencies::new())
//!     .gate(Protected::new(["default"]).unwrap())
//!     .gate(Large)
//!     .run()
//!     .await
//!     .unwrap();
//! assert_eq!(outcome.stop.reason, StopReason::AwaitingDecisions);
//! assert_eq!(
//!     queue.asked()[0].question.text,
//!     "`left-pad` is a new dependency in package.json. Accept it?",
//! );
//! # });
//! ```

mod commands;
mod defaults;
mod dependencies;
pub(crate) mod globs;
mod links;
mod manifests;
pub(crate) mod names;
mod paths;
mod protected;
mod report;
mod watch;

use ralph_core::{Change, EntryKind};

pub use self::{
    defaults::DEFAULT_PROTECTED,
    dependencies::Dependencies,
    paths::{DEFAULT_DATABASE, DEFAULT_SECURITY, Paths},
    protected::Protected,
};
pub(crate) use self::{
    names::{show, show_text},
    report::item_of,
};

/// What a policy does where it finds something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Action {
    /// A person decides; the work waits.
    #[default]
    Ask,
    /// The attempt failed, and the next one is told why.
    Refuse,
}

/// Why a policy could not be made.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A glob does not parse.
    #[error("policy `{policy}`: `{glob}` is not a glob: {why}")]
    Glob {
        /// Whose glob it is.
        policy: &'static str,
        /// The glob.
        glob: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Whether a path is of the ledger's copy, of which a candidate has its base's. Only exactly so: another spelling of the
/// name is another file, which some file systems would put in its place.
pub(crate) fn is_ledger(path: &[u8]) -> bool {
    path.starts_with(b"ralph-loop/")
}

/// What would happen to the path of `change`, for people.
fn verb(change: &Change) -> &'static str {
    use EntryKind::{Executable, File, Link, Submodule};
    match (change.before, change.after) {
        (_, None) => "deleted",
        (None, Some(File | Executable)) => "added",
        (None, Some(Link)) => "added as a symbolic link",
        (None, Some(Submodule)) => "added as a submodule",
        (Some(Link), Some(Link)) => "pointed elsewhere",
        (Some(Submodule), Some(Submodule)) => "moved to another commit",
        (Some(_), Some(Link)) => "replaced by a symbolic link",
        (Some(_), Some(Submodule)) => "replaced by a submodule",
        (Some(File), Some(Executable)) => "changed and made executable",
        (Some(Executable), Some(File)) => "changed and made not executable",
        (Some(Link | Submodule), Some(File | Executable)) => "replaced by a file",
        (Some(File), Some(File)) | (Some(Executable), Some(Executable)) => "changed",
    }
}
