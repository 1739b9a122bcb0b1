//! What is to be done next: derived from the state, never queued.

use super::{
    fact::{Attempt, Fact, Iteration, Spec},
    state::{About, Ending, Failure, Fate, Lane, Machine, Query, Round, Work},
};
use crate::{
    answer::Answer,
    decision::{DecisionKind, Question},
    id::{AttemptId, DecisionId, ItemRef, PhaseId, Revision},
    plan::{ItemStatus, Proposal},
    stop::{Stop, StopReason},
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
        /// How many sessions in a row were lost to the agent's own trouble; sets the length of the next wait.
        outages: u32,
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
        /// The gates that a person opened for it.
        opened: Vec<String>,
    },
    /// Let a phase's gates judge. Answer: [`Fact::Judged`] or [`Fact::NotJudged`].
    JudgePhase {
        /// The phase.
        phase: PhaseId,
        /// The tip.
        revision: Revision,
        /// The gates that a person opened.
        opened: Vec<String>,
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
    /// Wait. Answer: [`Fact::Waited`].
    Wait {
        /// At most so long, in milliseconds.
        wait_ms: u64,
        /// And at most until this wall time, in milliseconds since the epoch.
        until: u64,
    },
}

/// What an answer changes in the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanChange {
    /// Nothing.
    Nothing,
    /// The item keeps the answer.
    Note {
        /// Which.
        item: ItemRef,
    },
    /// The item keeps the answer and is open again.
    Reopen {
        /// Which.
        item: ItemRef,
        /// The status that it should have now.
        from: ItemStatus,
    },
    /// The phase gets these items.
    Extend {
        /// Which.
        phase: PhaseId,
        /// The items.
        items: Vec<Proposal>,
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

impl Machine {
    /// What is to be done next. Pure: the same state gives the same step.
    pub fn step(&self) -> Step {
        if let Some(stop) = &self.stopped {
            return Step::End(stop.clone());
        }
        if self.cancel && self.may_pause() {
            return stop(Stop::new(StopReason::Cancelled, ""));
        }
        match &self.lane {
            Lane::Halt { stop: reason, .. } => match self.last_publish() {
                Some(publish) => publish,
                None => stop(reason.clone()),
            },
            Lane::Idle => self.ask(
                format!("look/{}", self.facts),
                Effect::Look {
                    expect: self.tip.clone(),
                    parked: self.parked.keys().cloned().collect(),
                    pending: self.pending.keys().cloned().collect(),
                    finished: self.phases.finished.iter().cloned().collect(),
                },
            ),
            Lane::Taking(answers) => match answers.first() {
                Some(answer) => self.ask(
                    format!("take-in/{}", answer.decision),
                    Effect::TakeIn { answer: answer.clone(), change: self.change(answer) },
                ),
                None => stop(Stop::new(StopReason::Fault, "there is no answer to take in")),
            },
            Lane::Withdrawing { ids, why, .. } => {
                self.ask(format!("withdraw/{}", self.facts), Effect::Withdraw { ids: ids.clone(), why: why.clone() })
            }
            Lane::Baseline { spec, moved_to } => self.ask(
                format!("baseline/{}", self.facts),
                Effect::Verify {
                    stage: Stage::Base,
                    attempt: None,
                    phase: spec.as_ref().map(|spec| spec.item.phase.clone()),
                    revision: moved_to.clone().or_else(|| self.tip.clone()),
                    caches: self.clean_caches(false),
                },
            ),
            Lane::Undecided(spec) => {
                let query = undecided(spec);
                self.ask(
                    format!("{}/marked/{}", spec.item, self.questions),
                    Effect::Ask { request: Box::new(self.query(&query)) },
                )
            }
            Lane::Chosen(spec) => self.begin(spec),
            Lane::Moving(attempt, held) => self.ask(
                key(&attempt.id, "rebase"),
                Effect::Rebase { attempt: attempt.clone(), revision: held.revision.clone() },
            ),
            Lane::Confirming(attempt) => self.ask(
                key(&attempt.id, "confirm"),
                Effect::Verify {
                    stage: Stage::Candidate,
                    attempt: Some(attempt.clone()),
                    phase: Some(attempt.id.item.phase.clone()),
                    revision: Some(attempt.base.clone()),
                    caches: Caches::Drop,
                },
            ),
            Lane::Begun(attempt) => self.ask(
                key(&attempt.id, "prepare"),
                Effect::Prepare {
                    attempt: attempt.clone(),
                    caches: if self.tainted.work { Caches::Drop } else { Caches::Keep },
                },
            ),
            Lane::Ready(attempt, _) => self.ask(
                key(&attempt.id, "session"),
                Effect::Session {
                    attempt: attempt.clone(),
                    failure: self.current.as_ref().and_then(|current| current.failure.clone()),
                    outages: self.sitting.outages,
                },
            ),
            Lane::Resting { wait_ms, until } => {
                self.ask(format!("wait/{}", self.facts), Effect::Wait { wait_ms: *wait_ms, until: *until })
            }
            Lane::Left(attempt, _, _) => {
                self.ask(key(&attempt.id, "capture"), Effect::Capture { attempt: attempt.clone() })
            }
            Lane::Trial(work, round) => self.verify(work, *round, "verify"),
            Lane::Blame { work, round, .. } => self.ask(
                key(&work.attempt.id, &format!("blame-{}", round.stage())),
                Effect::Verify {
                    stage: Stage::Base,
                    attempt: Some(work.attempt.clone()),
                    phase: Some(work.attempt.id.item.phase.clone()),
                    revision: Some(work.attempt.base.clone()),
                    caches: Caches::Drop,
                },
            ),
            Lane::Doubt(work) => self.verify(work, Round::Candidate, "doubt"),
            Lane::Gated(work, revision) => self.ask(
                key(&work.attempt.id, "judge"),
                Effect::Judge {
                    attempt: work.attempt.clone(),
                    revision: revision.clone(),
                    opened: self.opened(&work.attempt.id.item),
                },
            ),
            Lane::AtGates(spec) => match &self.tip {
                Some(tip) => self.ask(
                    format!("{}/gates/{}", spec.phase, self.facts),
                    Effect::JudgePhase {
                        phase: spec.phase.clone(),
                        revision: tip.clone(),
                        opened: self.phases.opened.get(&spec.phase).into_iter().flatten().cloned().collect(),
                        retired: self.phases.retired.iter().filter(|item| item.phase == spec.phase).cloned().collect(),
                    },
                ),
                None => stop(Stop::new(StopReason::Fault, "a phase ended before the branch was looked at")),
            },
            Lane::Finishing(spec) => match &self.tip {
                Some(tip) => {
                    Step::Record(Box::new(Fact::PhaseDone { phase: spec.phase.clone(), revision: tip.clone() }))
                }
                None => stop(Stop::new(StopReason::Fault, "a phase ended before the branch was looked at")),
            },
            Lane::Querying(query) => self.ask(
                format!("{}/{}/{}", query.phase, query.question.kind, self.questions),
                Effect::Ask { request: Box::new(self.query(query)) },
            ),
            Lane::Publishing { .. } => match &self.tip {
                Some(tip) => self.publish(tip),
                None => stop(Stop::new(StopReason::Fault, "there is nothing to publish")),
            },
            Lane::Proven(work, revision) => self.ask(
                key(&work.attempt.id, "accept"),
                Effect::Accept { attempt: work.attempt.clone(), revision: revision.clone() },
            ),
            Lane::Parting(work, revision, fate) => self.ask(
                key(&work.attempt.id, "keep"),
                Effect::Keep {
                    attempt: work.attempt.clone(),
                    revision: revision.clone(),
                    kind: match fate {
                        Fate::Failed(_) | Fate::Rejected(_) => KeepKind::Rejected,
                        Fate::Parked(_) => KeepKind::Parked,
                        Fate::Interrupted(_) => KeepKind::Interrupted,
                    },
                },
            ),
            Lane::Asking(work, matter) => {
                self.ask(key(&work.attempt.id, "ask"), Effect::Ask { request: Box::new(self.matter(work, matter)) })
            }
            Lane::Marking { iteration, from } => self.ask(
                format!("{}/mark/{}", iteration.item, iteration.number),
                Effect::Mark { iteration: iteration.clone(), from: *from },
            ),
            Lane::Closing => match &self.tip {
                Some(tip) => self.ask(
                    format!("closing/{}", self.facts),
                    Effect::VerifyPlan {
                        revision: tip.clone(),
                        retired: self.phases.retired.iter().cloned().collect(),
                    },
                ),
                None => stop(Stop::new(StopReason::Fault, "a plan ended before the branch was looked at")),
            },
        }
    }

    /// The gates that are open for the work on `item`.
    fn opened(&self, item: &ItemRef) -> Vec<String> {
        let work = self.comebacks.get(item).and_then(|comeback| comeback.work.as_ref());
        work.map(|held| held.gates.clone()).unwrap_or_default()
    }

    /// What was not made known elsewhere is tried once more before the run ends.
    fn last_publish(&self) -> Option<Step> {
        let due = self.rules.publish && self.unpublished && !self.sitting.published_last && !self.cancel;
        self.tip.as_ref().filter(|_| due).map(|tip| self.publish(tip))
    }

    fn publish(&self, tip: &Revision) -> Step {
        self.ask(format!("publish/{}", self.facts), Effect::Publish { revision: tip.clone() })
    }

    fn ask(&self, key: String, effect: Effect) -> Step {
        Step::Do { key, redelivered: self.redelivered, effect: Box::new(effect) }
    }

    /// Whether a first request to stop ends the run here. What brings finished work into safety is short and done first.
    fn may_pause(&self) -> bool {
        match &self.lane {
            Lane::Idle
            | Lane::Baseline { .. }
            | Lane::Undecided(_)
            | Lane::Chosen(_)
            | Lane::Begun(_)
            | Lane::Ready(..)
            | Lane::Resting { .. }
            | Lane::Trial(..)
            | Lane::Blame { .. }
            | Lane::Doubt(_)
            | Lane::Gated(..)
            | Lane::Moving(..)
            | Lane::Confirming(_)
            | Lane::Taking(_)
            | Lane::Withdrawing { .. }
            | Lane::AtGates(_)
            | Lane::Publishing { .. }
            | Lane::Closing => true,
            // A session that was cancelled together with the run leaves its report to be captured.
            Lane::Left(_, _, Ending::Judge(_) | Ending::Keep(_))
            | Lane::Proven(..)
            | Lane::Parting(..)
            | Lane::Asking(..)
            | Lane::Querying(_)
            | Lane::Finishing(_)
            | Lane::Marking { .. }
            | Lane::Halt { .. } => false,
        }
    }

    fn verify(&self, work: &Work, round: Round, kind: &str) -> Step {
        let stage = round.stage();
        self.ask(
            key(&work.attempt.id, &format!("{kind}-{stage}")),
            Effect::Verify {
                stage,
                attempt: Some(work.attempt.clone()),
                phase: Some(work.attempt.id.item.phase.clone()),
                revision: match round {
                    Round::Workspace => None,
                    Round::Candidate => work.revision.clone(),
                },
                caches: self.clean_caches(work.attempt.spec.last || kind == "doubt"),
            },
        )
    }

    fn clean_caches(&self, last_word: bool) -> Caches {
        if last_word || self.tainted.clean { Caches::Drop } else { Caches::Keep }
    }
}

fn key(attempt: &AttemptId, kind: &str) -> String {
    format!("{}/{}/{kind}", attempt.item, attempt.number)
}

/// What is asked about an item that somebody marked so.
pub(super) fn undecided(spec: &Spec) -> Query {
    let text = format!("{} is marked as waiting for a decision. What is to be decided?", spec.item.item);
    Query {
        phase: spec.item.phase.clone(),
        question: Question::new(DecisionKind::Choice, text),
        about: About::Words { item: spec.item.clone(), work: None },
        output: String::new(),
        item: Some(spec.item.clone()),
    }
}

pub(super) fn stop(stop: Stop) -> Step {
    Step::Record(Box::new(Fact::Stopped { stop }))
}
