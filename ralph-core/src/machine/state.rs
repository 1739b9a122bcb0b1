//! Where a run stands.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    lane::{Lane, Work},
    progress::Progress,
    terms::{Carried, Objection, Rules},
    verdicts::Said,
};
use crate::{
    agent::Resume,
    budget::{Cost, Spent},
    decision::Question,
    id::{DecisionId, Digest, ItemRef, PhaseId, Revision},
    plan::Proposal,
    stop::Stop,
    vcs::DiffStat,
};

/// The state of a run: a fold over its facts, and nothing else.
///
/// The host asks [`Machine::step`] what is to be done, does it, makes the fact durable and hands it to
/// [`Machine::apply`]. After a crash it folds the facts again and asks the same question: recovery is no code path of
/// its own.
///
/// ```
/// use ralph_core::machine::{Carried, Effect, Fact, Machine, Rules, Step};
/// let mut machine = Machine::new();
/// machine.apply(&Fact::Opened { rules: Rules::default(), carried: Carried::default() }).unwrap();
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
    /// The questions in the queue.
    pub(super) pending: BTreeMap<DecisionId, Pending>,
    /// Those of them that are about an item, by item.
    pub(super) parked: BTreeMap<ItemRef, DecisionId>,
    /// How many questions about no attempt were asked; makes their keys distinct.
    pub(super) questions: u32,
    /// Items that come back with an answer, or with work that the branch overtook.
    pub(super) comebacks: BTreeMap<ItemRef, Comeback>,
    /// What was asked about the items, for the sessions that are told the answers.
    pub(super) asked: BTreeMap<ItemRef, Vec<Asked>>,
    pub(super) phases: Phases,
    /// Whether the branch holds what was not made known elsewhere.
    pub(super) unpublished: bool,
    pub(super) accepted: BTreeMap<ItemRef, Revision>,
    pub(super) rejected: BTreeSet<Digest>,
    /// The last commit that a reviewer approved, or a person in its place, for which row.
    pub(super) approved: Option<(Revision, Digest)>,
    /// What reviewers vetoed, by its content: for which row, and why.
    pub(super) vetoed: BTreeMap<Digest, (Digest, String)>,
    /// The rows whose own verifier was seen to fail in the iteration under way.
    pub(super) red: BTreeMap<ItemRef, Digest>,
    /// What verifiers said of which content.
    pub(super) verdicts: BTreeSet<Said>,
    /// Verifiers that gave one content two verdicts.
    pub(super) flaky: BTreeSet<String>,
    pub(super) tainted: Tainted,
    pub(super) progress: Progress,
    /// The session that the next one may go on with.
    pub(super) thread: Option<Resume>,
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
    /// The limits on them that the plan names.
    pub(super) max_blockers: BTreeMap<PhaseId, u32>,
    /// Whether the last try to make the branch known was made at the end.
    pub(super) published_last: bool,
    /// Whether questions that got lost were forgotten.
    pub(super) forgot: bool,
}

/// A question in the queue, and what its answer means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) phase: PhaseId,
    pub(super) question: Question,
    pub(super) about: About,
    /// The end of a verifier's output.
    pub(super) output: String,
}

/// What a question is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum About {
    /// An item is stuck: the next session is told the answer, and starts from this work.
    Words { item: ItemRef, work: Option<Held> },
    /// Whether this work may be accepted, and whether gates ask so.
    Work { item: ItemRef, work: Held, by_gates: bool },
    /// Whether the item is done on the branch already.
    AlreadyDone { item: ItemRef, row: Digest },
    /// Whether these gates of the phase open; asked of this.
    Gates { gates: Vec<Objection>, at: Standpoint },
    /// What to do about the phase's closed gate.
    AutoGate,
    /// Whether to go on.
    Checkpoint,
    /// Whether these items are added.
    Scope { items: Vec<Proposal> },
}

impl About {
    pub(super) fn item(&self) -> Option<&ItemRef> {
        match self {
            Self::Words { item, .. } | Self::Work { item, .. } | Self::AlreadyDone { item, .. } => Some(item),
            Self::Gates { .. } | Self::AutoGate | Self::Checkpoint | Self::Scope { .. } => None,
        }
    }

    /// The items that a yes adds.
    pub(super) fn proposed(&self) -> &[Proposal] {
        match self {
            Self::Scope { items } => items,
            Self::Words { .. }
            | Self::Work { .. }
            | Self::AlreadyDone { .. }
            | Self::Gates { .. }
            | Self::AutoGate
            | Self::Checkpoint => &[],
        }
    }
}

/// What a phase's gates were asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Standpoint {
    pub(super) tip: Revision,
    /// What the plan said about the gates.
    pub(super) gates: Digest,
}

/// Work that is kept while a person is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) revision: Revision,
    pub(super) tree: Digest,
    pub(super) stat: DiffStat,
    /// The tip that it stands on.
    pub(super) base: Revision,
    /// The fingerprint of the row that it was made for.
    pub(super) row: Digest,
    /// What is approved of it once it is approved.
    pub(super) gates: Vec<Objection>,
    /// The attempt that made it.
    pub(super) attempt: u32,
}

impl Held {
    pub(super) fn of(work: &Work, revision: &Revision, gates: Vec<Objection>) -> Self {
        Self {
            revision: revision.clone(),
            tree: work.tree.clone(),
            stat: work.stat,
            base: work.attempt.base.clone(),
            row: work.attempt.spec.digest.clone(),
            gates,
            attempt: work.attempt.id.number,
        }
    }
}

/// How the next attempt at an item begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Comeback {
    /// This work is verified and accepted, without a session.
    pub(super) work: Option<Held>,
    /// The branch itself is verified, without a session: a person took this row for done.
    pub(super) on_branch: Option<Digest>,
    /// What the next session is told.
    pub(super) failure: Option<Failure>,
    /// What the next session starts from, and the tip that this stands on.
    pub(super) start: Option<(Revision, Revision)>,
}

/// A question that was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Its id, with which the answer's line in the plan begins.
    pub id: DecisionId,
    /// What was asked; may be an agent's own words.
    pub question: String,
    /// The end of a verifier's output, where that is what it was about.
    pub output: String,
}

/// How far the phases are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Phases {
    pub(super) finished: BTreeSet<PhaseId>,
    pub(super) since_checkpoint: u32,
    /// What a person approved.
    pub(super) opened: BTreeMap<PhaseId, BTreeSet<Objection>>,
    /// The phases whose gates a person kept closed, of what and why.
    pub(super) refused: BTreeMap<PhaseId, (Standpoint, String)>,
    /// The items whose own verifiers no longer count.
    pub(super) retired: BTreeSet<ItemRef>,
    /// Whether the branch passed a phase's gates in this run.
    pub(super) passed: bool,
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
    /// What its sessions cost.
    pub(super) cost: Cost,
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
    /// Items that its sessions would add.
    pub(super) proposed: Vec<Proposal>,
    /// When its agent would like to be called again, in milliseconds from now.
    pub(super) next_ms: Option<u64>,
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

    /// The phases that are done, gates included.
    pub fn finished(&self) -> &BTreeSet<PhaseId> {
        &self.phases.finished
    }

    /// How many phases were finished since the last checkpoint.
    pub fn since_checkpoint(&self) -> u32 {
        self.phases.since_checkpoint
    }

    /// What a later run of the plan begins with.
    pub fn carried(&self) -> Carried {
        Carried {
            finished: self.phases.finished.iter().cloned().collect(),
            since_checkpoint: self.phases.since_checkpoint,
            retired: self.phases.retired.iter().cloned().collect(),
            unpublished: self.unpublished,
        }
    }

    /// The questions that wait for a person.
    pub fn pending(&self) -> impl Iterator<Item = &DecisionId> {
        self.pending.keys()
    }

    /// Whether the branch holds what was not made known elsewhere.
    pub fn unpublished(&self) -> bool {
        self.unpublished
    }

    /// How many iterations the run has begun.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }
}
