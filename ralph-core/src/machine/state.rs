//! Where a run stands.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    fact::{Attempt, Iteration, Rules, Spec},
    progress::Progress,
};
use crate::{
    budget::{Spent, Usd},
    decision::Question,
    id::{DecisionId, Digest, ItemRef, PhaseId, Revision},
    plan::ItemStatus,
    signal::Signal,
    stop::Stop,
    vcs::DiffStat,
    verify::Stage,
};

/// The state of a run: a fold over its facts, and nothing else.
///
/// The host asks [`Machine::step`] what is to be done, does it, makes the fact durable and hands it to
/// [`Machine::apply`]. After a crash it folds the facts again and asks the same question: recovery is no code path of
/// its own.
///
/// ```
/// use ralph_core::machine::{Effect, Fact, Machine, Rules, Step};
/// let mut machine = Machine::new();
/// machine.apply(&Fact::Opened { rules: Rules::default() }).unwrap();
/// let Step::Do { effect, .. } = machine.step() else { panic!() };
/// assert!(matches!(*effect, Effect::Look { .. }));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub(super) lane: Lane,
    pub(super) stopped: Option<Stop>,
    pub(super) cancel: bool,
    /// Whether the step that is asked next may have been started by an earlier invocation.
    pub(super) redelivered: bool,
    pub(super) rules: Rules,
    /// How many facts were applied; makes the keys of repeatable steps distinct.
    pub(super) facts: u64,
    pub(super) tip: Option<Revision>,
    /// What the verifiers said of the tip; `None` where this invocation has not asked yet.
    pub(super) base_green: Option<bool>,
    pub(super) sitting: Sitting,
    pub(super) spent: Spent,
    pub(super) reserved: Spent,
    /// The dearest session so far: what is set aside for the next one.
    pub(super) dearest: Spent,
    pub(super) iterations: u32,
    pub(super) numbers: BTreeMap<ItemRef, u32>,
    pub(super) current: Option<Current>,
    pub(super) parked: BTreeMap<ItemRef, DecisionId>,
    pub(super) accepted: BTreeMap<ItemRef, Revision>,
    pub(super) rejected: BTreeSet<Digest>,
    pub(super) tainted: Tainted,
    pub(super) progress: Progress,
}

/// What counts per invocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sitting {
    pub(super) iterations: u32,
    pub(super) sessions: u32,
    pub(super) took_ms: u64,
    /// Iterations in a row without progress.
    pub(super) idle: u32,
    /// Sessions in a row lost to the agent's own trouble.
    pub(super) outages: u32,
    /// How long was waited for it.
    pub(super) waited_ms: u64,
    pub(super) blocked: BTreeMap<PhaseId, u32>,
}

/// Sites whose build caches are not to be trusted, after a verdict against what was built there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tainted {
    pub(super) work: bool,
    pub(super) clean: bool,
}

/// The iteration under way: all attempts at one item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Current {
    pub(super) item: ItemRef,
    pub(super) number: u32,
    /// Whether this invocation has counted it against its budget.
    pub(super) counted: bool,
    /// Attempts that failed.
    pub(super) failed: u32,
    pub(super) sessions: u32,
    /// What its sessions cost; `None` once one of them did not say.
    pub(super) cost: Option<Usd>,
    /// Interrupted sessions in a row.
    pub(super) interrupted: u32,
    /// Whether nothing in it was progress so far.
    pub(super) stale: bool,
    /// Why the last attempt failed; the next session is told.
    pub(super) failure: Option<Failure>,
    /// Work that the next attempt starts from, and the base that it stands on.
    pub(super) start: Option<(Revision, Revision)>,
    /// The name under which the last work was kept.
    pub(super) kept: Option<String>,
}

/// Why an attempt failed, for the next session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Which attempt.
    pub attempt: u32,
    /// One line or a few.
    pub why: String,
    /// The end of the output, bounded.
    pub tail: String,
}

/// What a session left, on its way through the verdicts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Work {
    pub(super) attempt: Attempt,
    /// The candidate; `None` where the content equals the base's.
    pub(super) revision: Option<Revision>,
    pub(super) tree: Digest,
    /// Whether the session changed anything.
    pub(super) changed: bool,
    pub(super) stat: DiffStat,
    pub(super) signal: Option<Signal>,
}

/// What is to become of what a session left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ending {
    /// It is judged.
    Judge(Option<Signal>),
    /// It is kept, and then this.
    Keep(Next),
}

/// What follows once interrupted work is in safety.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Next {
    /// The same item again.
    Again,
    /// The same item again after a wait.
    Rest { wait_ms: u64, until: u64 },
    /// The run ends.
    Halt(Stop),
}

/// Which of the two verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Round {
    /// Where the agent worked.
    Workspace,
    /// On a clean checkout of the candidate.
    Candidate,
}

impl Round {
    pub(super) fn stage(self) -> Stage {
        match self {
            Self::Workspace => Stage::Workspace,
            Self::Candidate => Stage::Candidate,
        }
    }
}

/// Why work does not go to the branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Fate {
    /// The attempt failed: once more, or blocked.
    Failed(Failure),
    /// Blocked at once.
    Rejected(String),
    /// A person is asked.
    Parked(Question),
    /// Not the item's doing.
    Interrupted(Next),
}

/// Where the lane is. Each state asks for exactly one thing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Lane {
    /// Look at the branch and the plan.
    #[default]
    Idle,
    /// Judge the base: before any money is spent on `spec`, or because somebody committed on top.
    Baseline { spec: Option<Spec>, moved_to: Option<Revision> },
    /// An item is marked as waiting for a person, and no decision is in the queue.
    Undecided(Spec),
    /// Look at the budget, then begin.
    Chosen(Spec),
    /// Make the workspace.
    Begun(Attempt),
    /// Run the session. Holds the fingerprint of what it starts from.
    Ready(Attempt, Digest),
    /// Wait for an agent that is not available.
    Resting { wait_ms: u64, until: u64 },
    /// Capture what the session left.
    Left(Attempt, Digest, Ending),
    /// Verify: in the workspace, then on a clean checkout.
    Trial(Work, Round),
    /// The verifier broke, or could not be reached for a failed set-up: ask it about the base.
    Blame { work: Work, round: Round, unready: bool },
    /// The two verdicts disagree: the second verifier once more, to name the cause.
    Doubt(Work),
    /// The gates judge the work.
    Gated(Work, Revision),
    /// Twice passed: accept.
    Proven(Work, Revision),
    /// Keep the work aside.
    Parting(Work, Revision, Fate),
    /// Ask a person.
    Asking(Work, Question),
    /// Write the item's mark.
    Marking { iteration: Iteration, from: ItemStatus },
    /// Nothing had to be done: verify the tip all the same.
    Closing,
    /// Record the end, and be `then` when the run is opened again.
    Halt { stop: Stop, then: Box<Lane> },
}

impl Machine {
    /// A run of which nothing is recorded yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// How the run ended, if it has.
    pub fn stopped(&self) -> Option<&Stop> {
        self.stopped.as_ref()
    }

    /// The tip of the branch as the run knows it.
    pub fn tip(&self) -> Option<&Revision> {
        self.tip.as_ref()
    }

    /// What was spent in the run so far.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// The items that this run brought to the branch, with the commits.
    pub fn accepted(&self) -> &BTreeMap<ItemRef, Revision> {
        &self.accepted
    }

    /// Whether somebody asked for the end of this invocation.
    pub fn cancelled(&self) -> bool {
        self.cancel
    }

    /// The items that wait for a person, with their decisions.
    pub fn parked(&self) -> &BTreeMap<ItemRef, DecisionId> {
        &self.parked
    }

    /// How many iterations the run has begun.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }
}
