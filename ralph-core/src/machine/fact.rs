//! What happened: the only thing that a machine is made of.

use serde::{Deserialize, Serialize};

use crate::{
    agent::Trouble,
    answer::Answer,
    budget::{Budget, Spent, Usage, Usd},
    gate::Ruling,
    id::{AttemptId, DecisionId, Digest, ItemRef, PhaseId, Revision},
    plan::ItemStatus,
    signal::Signal,
    stop::Stop,
    vcs::{DiffStat, Finding, KeepKind, Tip},
    verify::{Part, Stage},
};

/// Something that happened, in the past tense. Small: outputs are in files.
///
/// There are three kinds: *inputs* from outside, right at any time; the machine's own *decisions*, recorded so that
/// newer code cannot decide an old journal otherwise; and *replies* to the one step that was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fact {
    // Inputs.
    /// An invocation begins: the first of the run, or one that takes it up again.
    Opened {
        /// The rules of this invocation.
        rules: Rules,
        /// What earlier runs of the plan came to; counts where the run begins.
        #[serde(default, skip_serializing_if = "Carried::is_empty")]
        carried: Carried,
    },
    /// Somebody asked for the end.
    CancelAsked,

    // Decisions.
    /// An attempt begins; its reservation holds from here on.
    Began {
        /// The attempt.
        attempt: Attempt,
    },
    /// A phase is done: its items, and its gates.
    PhaseDone {
        /// Which.
        phase: PhaseId,
        /// Where the branch is.
        revision: Revision,
    },
    /// The run ended (until it is opened again).
    Stopped {
        /// How.
        stop: Stop,
    },

    // Replies.
    /// The branch, the plan and the queue were looked at.
    Looked {
        /// Where the branch is.
        tip: Tip,
        /// What is to be done.
        pick: Pick,
        /// How the items stand.
        counts: Counts,
        /// What people answered meanwhile.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        answers: Vec<Answer>,
        /// Items that a person took out of the queue by changing their marks.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        moot: Vec<ItemRef>,
    },
    /// What an answer means for the plan was written there.
    TookIn {
        /// The answer.
        answer: Answer,
        /// Set where the plan said something else and was left alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
    },
    /// Questions that no longer stand were taken back.
    Withdrawn {
        /// Which.
        ids: Vec<DecisionId>,
    },
    /// Work was carried over to the present tip, or could not be.
    Rebased {
        /// What stands there now; `None`: nothing does.
        onto: Option<CarriedOver>,
        /// The paths that contradict what came meanwhile.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        conflicts: Vec<String>,
    },
    /// The workspace was made ready, or not.
    Prepared {
        /// How it went.
        readiness: Readiness,
        /// How long it took.
        took_ms: u64,
    },
    /// A session ended.
    Ended {
        /// How.
        end: End,
        /// What it used.
        usage: Usage,
        /// What the agent signalled, if anything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<Signal>,
        /// The agent's own id of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
        /// How often it compacted its context.
        #[serde(default)]
        compactions: u32,
        /// How long it took.
        took_ms: u64,
    },
    /// What the session left was made a revision.
    Captured {
        /// The revision; `None` where the content equals the base's.
        revision: Option<Revision>,
        /// The fingerprint of the content.
        tree: Digest,
        /// How much it changes.
        stat: DiffStat,
        /// What could not be taken in.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<Finding>,
        /// How long it took.
        took_ms: u64,
    },
    /// A verifier judged.
    Verified {
        /// Where.
        stage: Stage,
        /// The revision that was judged.
        revision: Option<Revision>,
        /// The judgement.
        outcome: VerifyOutcome,
        /// One line of evidence.
        summary: String,
        /// Each verifier's share.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<Part>,
        /// The end of the output after a failure, bounded; for the next session.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tail: String,
        /// How long it took.
        took_ms: u64,
    },
    /// The gates ruled: on the work under way, or on a phase.
    Judged {
        /// The phase at its end; `None`: the work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<PhaseId>,
        /// The ruling.
        ruling: Ruling,
        /// The gates whose ruling it is, where it is not open.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        by: Vec<String>,
        /// The gates that were not asked, because a person opened them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        opened: Vec<String>,
        /// How long it took.
        #[serde(default)]
        took_ms: u64,
    },
    /// A phase's gates could not be judged, which is nobody's fault who works on it.
    NotJudged {
        /// The phase.
        phase: PhaseId,
        /// `VERIFIER_BROKEN` or `ENVIRONMENT`, with the particulars.
        stop: Stop,
    },
    /// The branch moved to the candidate.
    Accepted {
        /// The candidate.
        revision: Revision,
    },
    /// The branch did not move.
    NotAccepted {
        /// Why.
        why: Refusal,
    },
    /// Work was given a name under which a person finds it.
    Kept {
        /// Why it is kept.
        kind: KeepKind,
        /// The name.
        name: String,
    },
    /// A decision was put into the queue.
    Asked {
        /// Its id.
        id: DecisionId,
        /// The item that it concerns; `None` where it is a phase's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<ItemRef>,
    },
    /// An item's mark was written, and its iteration is over.
    Marked {
        /// What the iteration came to.
        iteration: Iteration,
        /// Set where the plan said something else and was left alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
    },
    /// The branch was made known elsewhere, or not.
    Published {
        /// Where it is.
        revision: Revision,
        /// Why not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A wait for the agent is over.
    Waited {
        /// How long it took.
        took_ms: u64,
    },
}

/// The rules of an invocation: what the machine decides by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Rules {
    /// The limits.
    pub budget: Budget,
    /// Sessions that an item gets before it is blocked.
    pub attempts: u32,
    /// Whether a second attempt starts from the first one's work, or clean.
    pub retry_from: RetryFrom,
    /// Whether an attempt without a `done` signal has failed.
    pub require_signal: bool,
    /// Whether there are gates at the item boundary.
    pub gates: bool,
    /// Whether the verifiers run once on the base before any money is spent.
    pub baseline: bool,
    /// Whether work can be carried over to a branch that moved.
    pub rebase: bool,
    /// Whether the branch is made known elsewhere after each accepted item.
    pub publish: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            attempts: 2,
            retry_from: RetryFrom::Kept,
            require_signal: false,
            gates: false,
            baseline: true,
            rebase: false,
            publish: false,
        }
    }
}

/// What earlier runs of a plan came to, for a run that begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Carried {
    /// The phases that are done.
    pub finished: Vec<PhaseId>,
    /// How many phases were finished since the last checkpoint.
    pub since_checkpoint: u32,
    /// The items whose own verifiers no longer count at their phase's gate.
    pub retired: Vec<ItemRef>,
}

impl Carried {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Where a second attempt starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryFrom {
    /// From what the first one left.
    #[default]
    Kept,
    /// From the branch.
    Base,
}

/// What the plan says is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// This item is next.
    Item(Spec),
    /// This item waits for a person, and no decision is in the queue for it.
    Undecided(Spec),
    /// Every item of this phase is done, and the phase is not.
    Gates(PhaseSpec),
    /// No item of the phase at hand is open, and not all are done. Holds how they stand.
    Waiting(Counts),
    /// Every phase is done.
    Nothing,
    /// The plan can no longer be read. Holds why.
    Invalid(String),
    /// The plan carries no valid approval. Holds why.
    NotApproved(String),
}

/// A phase whose items are done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSpec {
    /// The phase.
    pub phase: PhaseId,
    /// Whether it has gates.
    pub gated: bool,
    /// Whether it is the last one of the plan.
    pub last: bool,
}

/// An item as it was picked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The item.
    pub item: ItemRef,
    /// Its title.
    pub title: String,
    /// The fingerprint of its row.
    pub digest: Digest,
    /// Whether it is the last open item of its phase.
    #[serde(default)]
    pub last: bool,
    /// How many blocked items of its phase end the run, where the plan says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_blockers: Option<u32>,
}

/// How many items stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// `[ ]`
    pub open: u64,
    /// `[x]`
    pub done: u64,
    /// `[?]`
    pub decision: u64,
    /// `[!]`
    pub blocked: u64,
    /// Marks that Ralph does not know.
    pub unknown: u64,
}

impl Counts {
    /// Counts one item.
    pub fn add(&mut self, status: ItemStatus) {
        match status {
            ItemStatus::Open => self.open += 1,
            ItemStatus::Done => self.done += 1,
            ItemStatus::Decision => self.decision += 1,
            ItemStatus::Blocked => self.blocked += 1,
            ItemStatus::Unknown => self.unknown += 1,
        }
    }
}

/// An attempt, with everything that its steps need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its id.
    pub id: AttemptId,
    /// The item as it was picked.
    pub spec: Spec,
    /// The iteration that it belongs to, counted from 1 in the run.
    pub iteration: u32,
    /// Where its work comes from.
    #[serde(default)]
    pub origin: Origin,
    /// The how-manieth charged attempt of the iteration it is, from 1.
    pub charged: u32,
    /// What its workspace starts from: the base, or kept work on top of it.
    pub start: Revision,
    /// The tip of the branch, on which its candidate will stand.
    pub base: Revision,
    /// What is set aside for it until its session has said what it used.
    pub reserve: Spent,
    /// What its session may cost at most, where there is a cost budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_limit: Option<Usd>,
}

/// Where the work of an attempt comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// From a session.
    #[default]
    Session,
    /// It is there: a person approved it, or the branch moved on before it was accepted. It costs no session.
    Kept,
    /// From the branch: a person says that the item is done there.
    Branch,
}

/// Work that was carried over to another tip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedOver {
    /// The new commit.
    pub revision: Revision,
    /// The fingerprint of its content.
    pub tree: Digest,
    /// How much it changes.
    pub stat: DiffStat,
}

/// Whether a workspace is fit for a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// It is; holds the fingerprint of its content.
    Ready(Digest),
    /// `Setup:` failed on the base, or `Env-Check:` said no. Holds what.
    Environment(String),
    /// The kept work cannot be stood in the workspace or set up there. Holds why.
    StartUnusable(String),
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// By itself.
    Finished,
    /// The agent gave up or crashed.
    Failed(String),
    /// At a limit of ours.
    Limit(String),
    /// Somebody cancelled the run.
    Cancelled,
    /// Ralph died in the middle of it; nothing is known of what it used.
    Interrupted,
    /// Trouble that is not the item's fault.
    Unavailable {
        /// Which.
        trouble: Trouble,
        /// The agent's own words.
        detail: String,
        /// How long to wait, decided when the fact was made.
        wait_ms: u64,
        /// The wall time at which the wait is over, in milliseconds since the epoch.
        until: u64,
    },
    /// The agent can no longer be used, and repeating will not help. Holds why and what to do.
    Unusable(String),
    /// No session took place, and none will. Holds why and what to do.
    NoAgent(String),
}

/// A judgement, or that there was none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyOutcome {
    /// Pass.
    Pass,
    /// Fail.
    Fail,
    /// The verifier could not judge.
    Broken,
    /// `Setup:` failed, so that there was nothing to judge.
    Unready,
}

/// Why the branch did not move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The item's row was edited meanwhile, is gone, or is no longer open.
    ItemChanged,
    /// Somebody committed on top meanwhile.
    Overtaken(Revision),
    /// The branch is gone or rewritten.
    Lost(String),
    /// The branch is where it was and cannot be moved now: somebody has checked it out. Holds why.
    Barred(String),
}

/// What an iteration came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iteration {
    /// Which, counted from 1 in the run.
    pub number: u32,
    /// The item.
    pub item: ItemRef,
    /// Its title.
    pub title: String,
    /// Its status now.
    pub to: ItemStatus,
    /// How many sessions it took, interrupted ones included.
    pub sessions: u32,
    /// What they cost; `None` where one of them did not say.
    pub cost: Option<Usd>,
    /// The accepted commit, or the work that was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// The name under which kept work is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// The decision, where a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionId>,
    /// Why it is blocked or parked; empty where it is done.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}
