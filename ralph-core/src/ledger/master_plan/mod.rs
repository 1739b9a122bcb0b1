//! Master Plans: an approval and an ordered list of phases, each with its PRD and its gates.
//!
//! The reader is lenient where people differ (headings, bullets, bold, dashes) and refuses what it would have to guess:
//! a gate must never be dropped in silence.
//!
//! - `key` and `heading` read the lines that mean something; `approved_by` reads the signature.
//! - `read` walks the file with the Markdown scan of the PRD reader; `check` says what is wrong with a phase.
//! - `sign` writes the signature into the file.
//! - `source` is a plan and its PRDs as one [`PlanSource`](crate::PlanSource).

mod approved_by;
mod check;
mod heading;
mod key;
mod read;
mod sign;
mod source;

pub(super) use self::{approved_by::check_who, sign::sign};
pub use self::{
    approved_by::{ApprovedBy, Signature},
    read::MasterPlan,
    source::{MarkdownPlan, ReadPlan},
};
use super::prd_markdown::notes;
use crate::id::PhaseId;

/// A phase as a Master Plan names it, before its PRD is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedPhase {
    /// Its id.
    pub id: PhaseId,
    /// Its title; the id where there is none.
    pub title: String,
    /// The path of its PRD as written, without link or backticks. It counts from the root of the repository.
    pub prd: String,
    /// The line of `PRD:`.
    pub prd_line: usize,
    /// `Auto-Gate:`
    pub auto_gate: Option<String>,
    /// `Manual-Gate:`
    pub manual_gate: Option<String>,
    /// `Verify:`, which counts where the PRD has none.
    pub verify: Option<String>,
    /// `Setup:`, which counts where the PRD has none.
    pub setup: Option<String>,
    /// `Env-Check:`, which counts where the PRD has none.
    pub env_check: Option<String>,
    /// `Max-Blockers:`
    pub max_blockers: Option<u32>,
    /// `Items:`: how many there should be, with its line.
    pub items: Option<(usize, usize)>,
    /// Where it begins, counted from 1.
    pub line: usize,
}

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
