//! The vocabulary, seams, machine and engine of Ralph: an unattended, verified loop for coding agents.
//!
//! ```text
//!            people                            embedders
//!    plan, PRDs   ralph run · btw · approve        │
//!            │     │                     builder · events
//!   ┌────────▼─────▼──────── control plane ────────▼──┐
//!   │ PlanSource   Journal   DecisionSink   Observer  │
//!   │        ▲        ▲           ▲            ▲      │
//!   │        └────────┴── engine ─┴────────────┘      │   engine: step → one effect → one fact
//!   │                      │ │                        │   machine: pure; apply(fact), step()
//!   └──────────────────────┼─┼────────────────────────┘
//!                          │ │
//!   ┌───────────── data plane (untrusted) ────────────┐
//!   │  Vcs: workspace, candidate, clean checkout      │
//!   │  AgentBackend: one session in the workspace     │
//!   │  Verifier: verdict here, then on the candidate  │
//!   │  Gate: open · closed · ask                      │
//!   └─────────────────────────────────────────────────┘
//! ```
//!
//! [`Ralph`] walks a plan: it takes one item, gives it to a fresh session of an [`AgentBackend`] in a workspace of the
//! [`Vcs`], lets a [`Verifier`] judge what is there and once more on a clean checkout of the commit, and only then moves
//! the branch. What the agent says is a [`Signal`] and never a verdict. Between the two verdicts stand [`Gate`]s, which may
//! ask a person whether the work goes on, and between a phase's last item and its end those that the plan names
//! ([`gates`]). A question goes to the [`DecisionSink`] and the run goes on with the rest; the [`Answer`] is taken in at the
//! next look.
//!
//! ```
//! # #[cfg(feature = "testing")]
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use ralph_core::{MemoryPlan, Ralph, StopReason, agent_fn, testing::MemoryVcs, verifier};
//!
//! let plan = MemoryPlan::of(["write a greeting"]);
//! let agent = agent_fn("greeter", |brief| {
//!     std::fs::write(brief.workspace.join("greeting"), "hello\n")?;
//!     Ok("done, and all tests pass!".to_owned())
//! });
//! let check = verifier("there is a greeting", |folder| Ok(folder.join("greeting").exists()));
//!
//! let outcome = Ralph::builder(plan, agent, check, MemoryVcs::new()).run().await.unwrap();
//! assert_eq!(outcome.stop.reason, StopReason::Success);
//! # });
//! ```
//!
//! # Where things are
//!
//! - The seams, each with its contract and the shortest implementation: [`AgentBackend`], [`Verifier`], [`Vcs`],
//!   [`Gate`], [`DecisionSink`], [`PlanSource`], [`Journal`], [`Observer`], [`Clock`]; and two that may be missing:
//!   [`Rebase`], which carries approved work over to a branch that moved, and [`Publish`], which makes it known elsewhere.
//! - Gates judge a [`Boundary`] and give a [`Ruling`]; [`gates`] has those that plans name. [`Question::reply`] understands
//!   what people say, and a [`PlanChange`] is what that means for the plan.
//! - [`combine`] makes verifiers of verifiers, most of them by methods of [`VerifierExt`].
//! - In memory, for embedders without files: [`MemoryPlan`], [`MemoryDecisions`], [`MemoryJournal`].
//! - [`machine`] decides, [`engine`] does; embedders may drive the machine themselves.
//! - [`ledger`]: Markdown PRDs, Master Plans and their approvals, the journal in a file, the logs and the queue of a control
//!   folder, the projects of a user.
//! - `testing` (feature): scripted agents, in-memory doubles, a simulator that crashes, and the conformance suites.
//!
//! # Features
//!
//! | feature | what | default |
//! | --- | --- | --- |
//! | `engine` | the loop on this machine; needs a tokio runtime with time | yes |
//! | `ledger` | the control folder's files | yes |
//! | `testing` | doubles, simulator, conformance suites; outside semver | no |
//!
//! Without features the crate is the vocabulary, the seams and the machine, and needs no runtime.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod adapters;
mod agent;
mod answer;
mod budget;
mod clock;
pub mod combine;
mod cx;
mod decision;
#[cfg(feature = "engine")]
pub mod engine;
mod error;
mod event;
mod evergreen;
mod forward;
mod gate;
pub mod gates;
mod id;
mod journal;
#[cfg(feature = "ledger")]
pub mod ledger;
pub mod machine;
mod memory;
mod opinion;
mod plan;
mod plan_change;
mod prompt;
mod review;
mod signal;
mod stop;
#[cfg(feature = "testing")]
pub mod testing;
mod text;
mod tier;
mod vcs;
mod verify;

pub use async_trait::async_trait;

pub use crate::{
    adapters::{agent_fn, verifier},
    agent::{AgentBackend, AgentError, Brief, Capabilities, Resume, SessionEnd, SessionReport, Trouble},
    answer::{Answer, BadReply, Reply},
    budget::{Budget, Cost, Spent, Tokens, Usage, Usd},
    clock::{Clock, Sleep, from_millis, millis},
    combine::VerifierExt,
    cx::{Cancel, Cx},
    decision::{Decision, DecisionError, DecisionKind, DecisionSink, Question},
    error::{BoxError, Retry, chain},
    event::{Event, Observer},
    evergreen::Evergreen,
    gate::{Boundary, Gate, GateError, ItemBoundary, PhaseBoundary, Ruling},
    id::{AttemptId, DecisionId, Digest, ItemId, ItemRef, PhaseId, Revision, RunId},
    journal::{Journal, JournalError, JournalWriter, Opened, Record},
    memory::{MemoryDecisions, MemoryJournal, MemoryPlan},
    opinion::{Opinion, Remark},
    plan::{Item, ItemStatus, Marked, Phase, Plan, PlanError, PlanSource, Proposal},
    plan_change::PlanChange,
    prompt::{Prompt, PromptInput},
    review::{Candidate, Review, Reviewer},
    signal::{Signal, SignalStatus},
    stop::{Stop, StopReason},
    text::printable,
    tier::{Tier, TierRule, Tiering},
    vcs::{
        Accepted, Caches, Change, DiffStat, EntryKind, Finding, FindingKind, KeepKind, Placed, Publish, Rebase,
        Rebased, Seal, Site, Snapshot, Tip, Tree, Vcs, VcsError,
    },
    verify::{Evidence, Part, Stage, Target, Verdict, Verifier, VerifyError},
};
#[cfg(feature = "engine")]
pub use crate::{
    clock::SystemClock,
    engine::{Outcome, Ralph, RunError},
};
