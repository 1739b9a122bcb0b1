//! What is to be done next: derived from the state, never queued.

use super::{
    effect::{Effect, Step},
    fact::Fact,
    lane::{Ending, Fate, Lane, Query, Round, Work},
    state::{About, Machine},
    terms::{Objection, Spec},
};
use crate::{
    decision::{DecisionKind, Question},
    id::{AttemptId, ItemRef, Revision},
    stop::{Stop, StopReason},
    vcs::{Caches, KeepKind},
    verify::Stage,
};

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
            Lane::Untried(spec) => match &self.tip {
                Some(tip) => self.ask(
                    format!("{}/own/{}", spec.item, self.facts),
                    Effect::VerifyOwn {
                        item: spec.item.clone(),
                        revision: tip.clone(),
                        caches: self.clean_caches(false),
                    },
                ),
                None => stop(Stop::new(StopReason::Fault, "an item was chosen before the branch was looked at")),
            },
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
                    asked: self.asked.get(&attempt.id.item).cloned().unwrap_or_default(),
                    outages: self.sitting.outages,
                    resume: self.thread.clone().filter(|_| self.rules.continue_session),
                },
            ),
            Lane::Resting { wait_ms, until, .. } => {
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
                    bases: work.bases(),
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
            Lane::Tidying(work, revision) => self.ask(
                key(&work.attempt.id, "tidy"),
                Effect::Tidy {
                    attempt: work.attempt.clone(),
                    revision: revision.clone(),
                    reserve: self.reserve(self.cost_left()),
                    cost_limit: self.cost_left(),
                },
            ),
            // One that was interrupted is charged before anything is said about the budget.
            Lane::Reviewing { work, revision, .. } => match self.paid_out().filter(|_| !self.redelivered) {
                Some(reason) => stop(Stop { detail: format!("{}; a review is due", reason.detail), ..reason }),
                None => self.ask(
                    format!("{}/{}", key(&work.attempt.id, "review"), self.facts),
                    Effect::Review {
                        attempt: work.attempt.clone(),
                        revision: revision.clone(),
                        stat: work.stat,
                        reserve: self.usual(),
                        cost_limit: self.cost_left(),
                        outages: self.sitting.outages,
                    },
                ),
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
            Lane::Rounding { phase, wait_ms } => {
                self.ask(format!("round/{}", self.facts), Effect::Round { phase: phase.clone(), wait_ms: *wait_ms })
            }
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

    /// What is approved of the work on `item`.
    fn opened(&self, item: &ItemRef) -> Vec<Objection> {
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
            | Lane::Untried(_)
            | Lane::Chosen(_)
            | Lane::Begun(_)
            | Lane::Ready(..)
            | Lane::Resting { .. }
            | Lane::Trial(..)
            | Lane::Blame { .. }
            | Lane::Doubt(_)
            | Lane::Gated(..)
            | Lane::Tidying(..)
            | Lane::Reviewing { .. }
            | Lane::Moving(..)
            | Lane::Confirming(_)
            | Lane::Taking(_)
            | Lane::Withdrawing { .. }
            | Lane::AtGates(_)
            | Lane::Publishing { .. }
            | Lane::Rounding { .. }
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
        mark: None,
    }
}

pub(super) fn stop(stop: Stop) -> Step {
    Step::Record(Box::new(Fact::Stopped { stop }))
}
