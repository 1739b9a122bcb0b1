//! Where a run can stand: each state asks for exactly one thing.

use serde::{Deserialize, Serialize};

use super::{
    state::{About, Failure, Held},
    terms::{Attempt, Iteration, Objection, PhaseSpec, Spec},
};
use crate::{
    answer::Answer,
    decision::Question,
    id::{DecisionId, Digest, ItemRef, PhaseId, Revision},
    plan::ItemStatus,
    signal::Signal,
    stop::Stop,
    vcs::DiffStat,
    verify::Stage,
};

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
    #[serde(default)]
    pub(super) cleaning: Cleaning,
    /// How many tests passed when it passed for the second time, where it is said.
    #[serde(default)]
    pub(super) tests: Option<u64>,
}

impl Work {
    /// What it is compared with. A clean-up must not take back of the work what the base knows nothing of, such as its
    /// new tests.
    pub(super) fn bases(&self) -> Vec<Revision> {
        let untidied = match &self.cleaning {
            Cleaning::Done(before) => before.revision.clone(),
            Cleaning::Not | Cleaning::Dropped => None,
        };
        std::iter::once(self.attempt.base.clone()).chain(untidied).collect()
    }

    /// Whether a clean-up took tests away.
    pub(super) fn lost_tests(&self) -> bool {
        match &self.cleaning {
            Cleaning::Done(before) => before.tests.is_some() && self.tests.is_some() && self.tests < before.tests,
            Cleaning::Not | Cleaning::Dropped => false,
        }
    }
}

/// Whether a session tidied the work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Cleaning {
    /// Not yet, or it is not wanted.
    #[default]
    Not,
    /// What it made was dropped.
    Dropped,
    /// It did. Holds the work as it was: proven, and what counts if anything speaks against this.
    Done(Box<Work>),
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
    Parked(Box<Matter>),
    /// Not the item's doing.
    Interrupted(Next),
}

/// What a person is asked about an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Matter {
    pub(super) question: Question,
    pub(super) sense: Sense,
    /// The gates that ask.
    pub(super) gates: Vec<Objection>,
}

/// What an answer about an item decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Sense {
    /// How the next session goes on.
    Words,
    /// Whether the work is accepted.
    Work,
    /// Whether the item is done on the branch.
    AlreadyDone,
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
    /// See the item's own verifier fail before there is any work.
    Untried(Spec),
    /// Look at the budget, then begin.
    Chosen(Spec),
    /// Carry kept work over to the tip.
    Moving(Attempt, Held),
    /// Verify the branch, which a person says has the item already.
    Confirming(Attempt),
    /// Make the workspace.
    Begun(Attempt),
    /// Run the session. Holds the fingerprint of what it starts from.
    Ready(Attempt, Digest),
    /// Wait for an agent that is not available, and go on with `then`.
    Resting { wait_ms: u64, until: u64, then: Box<Lane> },
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
    /// Twice passed: let a session tidy it.
    Tidying(Work, Revision),
    /// Twice passed: let the reviewer judge. Holds how many reviews came to no opinion.
    Reviewing { work: Work, revision: Revision, unclear: u32 },
    /// Nothing speaks against it: accept.
    Proven(Work, Revision),
    /// Keep the work aside.
    Parting(Work, Revision, Fate),
    /// Ask a person.
    Asking(Work, Box<Matter>),
    /// Write into the plan what these answers mean, one after the other.
    Taking(Vec<Answer>),
    /// Take questions back that no longer stand, and go on with `then`.
    Withdrawing { ids: Vec<DecisionId>, why: String, then: Box<Lane> },
    /// Let the phase's gates judge.
    AtGates(PhaseSpec),
    /// Record that the phase is done.
    Finishing(PhaseSpec),
    /// Ask a person about a phase.
    Querying(Box<Query>),
    /// Make the branch known elsewhere, and go on with `then`.
    Publishing { then: Box<Lane> },
    /// Write the item's mark.
    Marking { iteration: Iteration, from: ItemStatus },
    /// Look whether it is enough, and say when the next round begins.
    Rounding { phase: PhaseId, wait_ms: u64 },
    /// Nothing had to be done: verify the tip all the same.
    Closing,
    /// Record the end, and be `then` when the run is opened again.
    Halt { stop: Stop, then: Box<Lane> },
}

/// A question about a phase, and what its answer means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Query {
    pub(super) phase: PhaseId,
    pub(super) question: Question,
    pub(super) about: About,
    /// The end of a verifier's output.
    pub(super) output: String,
    /// The item whose session proposes it, or that it is about.
    pub(super) item: Option<ItemRef>,
    /// The item's mark, to be written once it is asked.
    #[serde(default)]
    pub(super) mark: Option<Box<Iteration>>,
}
