//! What can be asked of the world.

use super::{
    fact::Fact,
    state::{Asked, Failure},
    terms::{Attempt, Iteration, Objection},
};
use crate::{
    agent::Resume,
    answer::Answer,
    budget::{Spent, Usd},
    decision::Question,
    id::{DecisionId, ItemRef, PhaseId, Revision},
    plan::{ItemStatus, Proposal},
    plan_change::PlanChange,
    stop::Stop,
    vcs::{Caches, DiffStat, KeepKind},
    verify::Stage,
};

/// What the host is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Perform an effect, record the fact that it leads to, and apply it.
    Do {
        /// The same on every replay, retry and host: what the effect is idempotent under.
        key: String,
        /// Whether an earlier invocation may have begun it.
        redelivered: bool,
        /// The effect.
        effect: Box<Effect>,
    },
    /// Record this fact and apply it.
    Record(Box<Fact>),
    /// The run has ended.
    End(Stop),
}

/// What can be asked of the world.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// Look at the branch and the plan. Answer: [`Fact::Looked`].
    Look {
        /// Where the branch was left; `None` at the beginning.
        expect: Option<Revision>,
        /// The items for which a decision is in the queue.
        parked: Vec<ItemRef>,
        /// The decisions that wait for an answer.
        pending: Vec<DecisionId>,
        /// The phases that are done.
        finished: Vec<PhaseId>,
    },
    /// Write into the plan what an answer means. Answer: [`Fact::TookIn`].
    TakeIn {
        /// The answer.
        answer: Answer,
        /// What it changes.
        change: PlanChange,
    },
    /// Take questions back. Answer: [`Fact::Withdrawn`].
    Withdraw {
        /// Which.
        ids: Vec<DecisionId>,
        /// Why.
        why: String,
    },
    /// Carry work over to the tip. Answer: [`Fact::Rebased`].
    Rebase {
        /// The attempt; its base is the tip.
        attempt: Attempt,
        /// The work.
        revision: Revision,
    },
    /// Stand the attempt's start in the workspace, and set it up. Answer: [`Fact::Prepared`].
    Prepare {
        /// The attempt.
        attempt: Attempt,
        /// What becomes of build caches.
        caches: Caches,
    },
    /// Run a session. Answer: [`Fact::Ended`]; where the step is redelivered, with
    /// [`End::Interrupted`](super::End::Interrupted) and without a session.
    Session {
        /// The attempt.
        attempt: Attempt,
        /// Why the attempt before failed.
        failure: Option<Failure>,
        /// The questions about the item that were answered.
        asked: Vec<Asked>,
        /// How many sessions in a row were lost to the agent's own trouble; sets the length of the next wait.
        outages: u32,
        /// The session to go on with.
        resume: Option<Resume>,
    },
    /// Make a revision of what is in the workspace. Answer: [`Fact::Captured`].
    Capture {
        /// The attempt.
        attempt: Attempt,
    },
    /// Let the verifiers judge. Answer: [`Fact::Verified`].
    Verify {
        /// Where.
        stage: Stage,
        /// The attempt that is judged; `None` for the base or the end of a plan.
        attempt: Option<Attempt>,
        /// The phase; `None`: the first.
        phase: Option<PhaseId>,
        /// What is judged; `None`: what is in the workspace.
        revision: Option<Revision>,
        /// What becomes of build caches, where something is placed.
        caches: Caches,
    },
    /// Let an item's own verifier judge the branch before there is any work. Answer: [`Fact::Verified`].
    VerifyOwn {
        /// The item.
        item: ItemRef,
        /// The tip.
        revision: Revision,
        /// What becomes of build caches.
        caches: Caches,
    },
    /// Let a session tidy what passed twice. Answer: [`Fact::Tidied`]; where the step is redelivered, with
    /// [`End::Interrupted`](super::End::Interrupted) and without a session.
    Tidy {
        /// The attempt.
        attempt: Attempt,
        /// Its candidate.
        revision: Revision,
        /// What is set aside for the session.
        reserve: Spent,
        /// What it may cost at most, where there is a cost budget.
        cost_limit: Option<Usd>,
    },
    /// Compare the item's row, then let the reviewer judge what passed twice. Answer: [`Fact::Reviewed`], or
    /// [`Fact::NotAccepted`] where the row was edited since; where the step is redelivered, with
    /// [`End::Interrupted`](super::End::Interrupted) and without a review.
    Review {
        /// The attempt.
        attempt: Attempt,
        /// Its candidate.
        revision: Revision,
        /// How much it changes.
        stat: DiffStat,
        /// What is set aside for the review.
        reserve: Spent,
        /// What it may cost at most, where there is a cost budget.
        cost_limit: Option<Usd>,
        /// How many sessions in a row were lost to an agent's own trouble; sets the length of the next wait.
        outages: u32,
    },
    /// Let the verifiers judge the branch for every phase. Answer: [`Fact::Verified`].
    VerifyPlan {
        /// The tip.
        revision: Revision,
        /// The items whose own verifiers no longer count.
        retired: Vec<ItemRef>,
    },
    /// Let the gates judge. Answer: [`Fact::Judged`].
    Judge {
        /// The attempt.
        attempt: Attempt,
        /// Its candidate.
        revision: Revision,
        /// What it is compared with, one after the other: what the work started from, and what a clean-up did.
        bases: Vec<Revision>,
        /// What a person approved of it.
        opened: Vec<Objection>,
    },
    /// Let a phase's gates judge. Answer: [`Fact::Judged`] or [`Fact::NotJudged`].
    JudgePhase {
        /// The phase.
        phase: PhaseId,
        /// The tip.
        revision: Revision,
        /// What a person approved of the phase.
        opened: Vec<Objection>,
        /// The items whose own verifiers no longer count.
        retired: Vec<ItemRef>,
    },
    /// Compare the item's row, then move the branch. Answer: [`Fact::Accepted`] or [`Fact::NotAccepted`].
    Accept {
        /// The attempt.
        attempt: Attempt,
        /// Its candidate.
        revision: Revision,
    },
    /// Keep a revision for people. Answer: [`Fact::Kept`].
    Keep {
        /// The attempt.
        attempt: Attempt,
        /// What to keep.
        revision: Revision,
        /// Why.
        kind: KeepKind,
    },
    /// Put a decision into the queue. Answer: [`Fact::Asked`].
    Ask {
        /// What is asked.
        request: Box<Request>,
    },
    /// Make the branch known elsewhere. Answer: [`Fact::Published`].
    Publish {
        /// Where it is.
        revision: Revision,
    },
    /// Write an item's mark. Answer: [`Fact::Marked`].
    Mark {
        /// What the iteration came to.
        iteration: Iteration,
        /// The status that the item should have now.
        from: ItemStatus,
    },
    /// Look whether it is enough, and say when a wait that begins now is over. Answer: [`Fact::Rounded`].
    Round {
        /// The phase.
        phase: PhaseId,
        /// How long the wait is, in milliseconds.
        wait_ms: u64,
    },
    /// Wait. Answer: [`Fact::Waited`].
    Wait {
        /// At most so long, in milliseconds.
        wait_ms: u64,
        /// And at most until this wall time, in milliseconds since the epoch.
        until: u64,
    },
}

/// A question with everything that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The phase.
    pub phase: PhaseId,
    /// The item, where it concerns one.
    pub item: Option<ItemRef>,
    /// What is asked.
    pub question: Question,
    /// The work that it is about; at a phase the tip.
    pub revision: Option<Revision>,
    /// The name under which the work is kept.
    pub kept: Option<String>,
    /// How much the work changes.
    pub stat: Option<DiffStat>,
    /// What the agent wrote about it.
    pub said: String,
    /// The end of a verifier's output.
    pub output: String,
    /// Items that an agent proposes.
    pub proposed: Vec<Proposal>,
}
