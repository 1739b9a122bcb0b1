//! The vocabulary, seams, machine and engine of Ralph: an unattended, verified loop for coding agents.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod adapters;
mod agent;
mod budget;
mod clock;
mod cx;
mod decision;
#[cfg(feature = "engine")]
pub mod engine;
mod error;
mod event;
mod gate;
mod id;
mod journal;
#[cfg(feature = "ledger")]
pub mod ledger;
pub mod machine;
mod memory;
mod plan;
mod prompt;
mod signal;
mod stop;
#[cfg(feature = "testing")]
pub mod testing;
mod text;
mod vcs;
mod verify;

pub use async_trait::async_trait;

pub use crate::{
    adapters::{agent_fn, verifier},
    agent::{AgentBackend, AgentError, Brief, Capabilities, SessionEnd, SessionReport, Trouble},
    budget::{Budget, Spent, Tokens, Usage, Usd},
    clock::{Clock, Sleep, from_millis, millis},
    cx::{Cancel, Cx},
    decision::{Decision, DecisionError, DecisionKind, DecisionSink, Question},
    error::{BoxError, Retry, chain},
    event::{Event, Observer},
    gate::{Boundary, Gate, GateError, ItemBoundary, Ruling},
    id::{AttemptId, DecisionId, Digest, ItemId, ItemRef, PhaseId, Revision, RunId},
    journal::{Journal, JournalError, JournalWriter, Opened, Record},
    memory::{MemoryDecisions, MemoryJournal, MemoryPlan},
    plan::{Item, ItemStatus, Marked, Phase, Plan, PlanError, PlanSource},
    prompt::{Prompt, PromptInput},
    signal::{Signal, SignalStatus},
    stop::{Stop, StopReason},
    text::printable,
    vcs::{
        Accepted, Caches, DiffStat, Finding, FindingKind, KeepKind, Placed, Seal, Site, Snapshot, Tip, Tree, Vcs,
        VcsError,
    },
    verify::{Evidence, Part, Stage, Target, Verdict, Verifier, VerifyError},
};
#[cfg(feature = "engine")]
pub use crate::{
    clock::SystemClock,
    engine::{Outcome, Ralph, RunError},
};
