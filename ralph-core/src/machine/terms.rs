//! What facts and effects speak of.

use serde::{Deserialize, Serialize};

use crate::{
    agent::Trouble,
    budget::{Budget, Cost, Spent, Usd},
    id::{AttemptId, DecisionId, Digest, ItemRef, PhaseId, Revision},
    plan::ItemStatus,
    vcs::DiffStat,
};

/// The rules of an invocation: what the machine decides by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Rules {
    /// What is made of the plan.
    #[serde(skip_serializing_if = "Mode::is_items")]
    pub mode: Mode,
    /// Whether a session goes on with the one before it instead of beginning afresh.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub continue_session: bool,
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
    /// Whether a session tidies what passed twice.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cleanup: bool,
    /// Whether a reviewer may veto what passed twice.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            mode: Mode::Items,
            continue_session: false,
            budget: Budget::default(),
            attempts: 2,
            retry_from: RetryFrom::Kept,
            require_signal: false,
            gates: false,
            baseline: true,
            rebase: false,
            publish: false,
            cleanup: false,
            review: false,
        }
    }
}

/// What is made of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Its items are walked; an iteration is all attempts at one of them.
    #[default]
    Items,
    /// Its item is tried until its verifier passes; an iteration is one session.
    Goal,
    /// A session at an interval, each of them an iteration; the item stays open.
    Every(Every),
}

impl Mode {
    fn is_items(&self) -> bool {
        *self == Self::Items
    }
}

/// When sessions take place. All in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Every {
    /// Between a session's end and the next one's beginning, where the agent does not say.
    pub usual_ms: u64,
    /// At least, where the agent says.
    pub min_ms: u64,
    /// At most, where the agent says.
    pub max_ms: u64,
    /// Whether what sessions leave is verified, and accepted where it passes. Else nothing of it is kept.
    pub verified: bool,
}

impl Every {
    /// How long to wait, where the agent would like to be called again after `asked` milliseconds.
    pub fn wait_ms(&self, asked: Option<u64>) -> u64 {
        asked.map_or(self.usual_ms, |asked| asked.min(self.max_ms).max(self.min_ms))
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
    /// Whether the branch holds what was not made known elsewhere.
    pub unpublished: bool,
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
    /// The fingerprint of what the plan says about its gates.
    pub gates: Digest,
}

/// A gate that does not open, and what it says. Whoever approves has read these words, and opens no others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Objection {
    /// The gate's name.
    pub gate: String,
    /// The fingerprint of its question, or of why it is closed.
    pub words: Digest,
}

impl Objection {
    /// The objection of `gate`, in these words.
    pub fn new(gate: impl Into<String>, words: &str) -> Self {
        Self { gate: gate.into(), words: Digest::of(words.as_bytes()) }
    }
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
    /// How many decisions the row holds, which are no part of the fingerprint.
    #[serde(default)]
    pub decisions: usize,
    /// Whether it is the last open item of its phase.
    #[serde(default)]
    pub last: bool,
    /// How many blocked items of its phase end the run, where the plan says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_blockers: Option<u32>,
    /// Whether its own verifier must fail before its first session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_red: bool,
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
    /// What they cost.
    pub cost: Cost,
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
