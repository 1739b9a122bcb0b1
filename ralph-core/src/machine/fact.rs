//! What happened: the only thing that a machine is made of.

use serde::{Deserialize, Serialize};

use super::terms::{
    Attempt, Carried, CarriedOver, Counts, End, Iteration, Objection, Pick, Readiness, Refusal, Rules, VerifyOutcome,
};
use crate::{
    answer::Answer,
    budget::{Spent, Usage},
    gate::Ruling,
    id::{DecisionId, Digest, ItemRef, PhaseId, Revision},
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
        /// Questions that are no longer in the queue, and that nobody answered.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lost: Vec<DecisionId>,
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
        /// Which backend it was, where one of several was chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// Whether it went on with the session before it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resumed: bool,
        /// How often it compacted its context.
        #[serde(default)]
        compactions: u32,
        /// How many tool calls it was not permitted.
        #[serde(default, skip_serializing_if = "is_zero")]
        denied: u32,
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
        /// The item, where its own verifier alone was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own: Option<ItemRef>,
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
    /// A session tidied what passed twice, or did not.
    Tidied {
        /// How the session ended.
        end: End,
        /// What stands there now, to be judged from the beginning; `None`: the work is as it was.
        work: Option<CarriedOver>,
        /// Why nothing came of it, where nothing did.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
        /// Which agent it was.
        agent: String,
        /// What it used.
        usage: Usage,
        /// What it is charged where it does not say what it used.
        #[serde(default)]
        reserve: Spent,
        /// How long it took.
        took_ms: u64,
    },
    /// A reviewer judged what passed twice, or came to no judgement.
    Reviewed {
        /// The commit.
        revision: Revision,
        /// The fingerprint of the row that it was judged against.
        row: Digest,
        /// Who judged.
        by: String,
        /// How its session ended.
        end: End,
        /// Fail: a veto. Broken: no opinion, or not a whole one.
        outcome: VerifyOutcome,
        /// One line.
        summary: String,
        /// What speaks against the work, bounded; for the next session.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tail: String,
        /// What it used.
        usage: Usage,
        /// What it is charged where it does not say what it used.
        #[serde(default)]
        reserve: Spent,
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
        by: Vec<Objection>,
        /// What a person had approved before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        opened: Vec<Objection>,
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
    /// A round is over, and it was looked whether it is enough.
    Rounded {
        /// What was found; `None` where nothing says when it is enough.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        enough: Option<VerifyOutcome>,
        /// One line of evidence.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        summary: String,
        /// The wall time at which the next round begins, in milliseconds since the epoch.
        until: u64,
        /// How long it took.
        took_ms: u64,
    },
    /// A wait is over.
    Waited {
        /// How long it took.
        took_ms: u64,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
