//! The files of the control folder: what people write, and what is rendered for them.
//!
//! - [`Ledger`] knows where everything is, [`LedgerLock`] who is at work.
//! - [`MarkdownPrd`] reads and marks a PRD, [`MarkdownPlan`] a Master Plan with its PRDs; [`ApprovedPlan`] only while
//!   its approval holds ([`Approvals`]).
//! - [`Recorder`] writes the logs that people read.
//!   [`Summary`] is what a run came to.
//! - [`FileDecisions`] is the queue of what only a person can decide.
//! - [`Registry`] knows the user's projects, so that all their queues can be answered from one place.
//! - [`Criteria`] is what a session that a person started must bring about before it may end.
//! - [`JsonlJournal`] is the record of a run: the truth that everything else is rendered from.

mod append;
mod approval;
mod baseline;
mod criteria;
mod decisions;
mod decisions_page;
mod decisions_store;
mod jsonl_journal;
mod layout;
mod learnings;
mod lock;
mod logs;
mod master_plan;
mod phases_page;
mod plain;
mod prd_markdown;
mod quote;
mod registry;
mod replace;
mod summary;
mod time;

pub use self::{
    approval::{Approval, ApprovalRecord, Approvals, ApprovedPlan, Coverage, CoverageChange, Origin},
    baseline::{Baseline, Baselines},
    criteria::{Criteria, CriteriaError},
    decisions::{AnswerError, Answered, FileDecisions, Queued, Resolved, Withdrawn},
    jsonl_journal::JsonlJournal,
    layout::Ledger,
    learnings::learnings,
    lock::{Holder, LedgerLock, LockError, holder},
    logs::Recorder,
    master_plan::{ApprovedBy, MarkdownPlan, MasterPlan, PlannedPhase, ReadPlan, Signature},
    phases_page::PhasesPage,
    prd_markdown::{MarkdownPrd, Note, NoteKind, Prd},
    registry::{Known, Presence, Registry},
    replace::set_aside,
    summary::{Summary, accepted},
};
