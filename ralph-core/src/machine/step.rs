//! What is to be done next: derived from the state, never queued.

use super::{
    fact::{Attempt, Fact, Iteration, Spec},
    state::{Ending, Failure, Fate, Lane, Machine, Round, Work},
};
use crate::{
    budget::{Spent, Usd},
    decision::{DecisionKind, Question},
    id::{AttemptId, ItemRef, PhaseId, Revision},
    plan::ItemStatus,
    stop::{Stop, StopReason},
    vcs::{Caches, KeepKind},
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
    /// Let the gates judge. Answer: [`Fact::Judged`].
    Judge {
        /// The attempt.
        attempt: Attempt,
        /// Its candidate.
        revision: Revision,
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
        /// The item.
        item: ItemRef,
        /// What is asked.
        question: Question,
        /// The work that it is about.
        revision: Option<Revision>,
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
            Lane::Halt { stop: reason, .. } => stop(reason.clone()),
            Lane::Idle => self.ask(
                format!("look/{}", self.facts),
                Effect::Look { expect: self.tip.clone(), parked: self.parked.keys().cloned().collect() },
            ),
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
                let text = format!("{} is marked as waiting for a decision. What is to be decided?", spec.item.item);
                self.ask(
                    format!("{}/marked", spec.item),
                    Effect::Ask {
                        item: spec.item.clone(),
                        question: Question::new(DecisionKind::Choice, text),
                        revision: None,
                    },
                )
            }
            Lane::Chosen(spec) => self.begin(spec),
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
                Effect::Judge { attempt: work.attempt.clone(), revision: revision.clone() },
            ),
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
            Lane::Asking(work, question) => self.ask(
                key(&work.attempt.id, "ask"),
                Effect::Ask {
                    item: work.attempt.id.item.clone(),
                    question: question.clone(),
                    revision: work.revision.clone(),
                },
            ),
            Lane::Marking { iteration, from } => self.ask(
                format!("{}/mark/{}", iteration.item, iteration.number),
                Effect::Mark { iteration: iteration.clone(), from: *from },
            ),
            Lane::Closing => self.ask(
                format!("closing/{}", self.facts),
                Effect::Verify {
                    stage: Stage::Gate,
                    attempt: None,
                    phase: None,
                    revision: self.tip.clone(),
                    caches: Caches::Drop,
                },
            ),
        }
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
            | Lane::Closing => true,
            // A session that was cancelled together with the run leaves its report to be captured.
            Lane::Left(_, _, Ending::Judge(_) | Ending::Keep(_))
            | Lane::Proven(..)
            | Lane::Parting(..)
            | Lane::Asking(..)
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

    /// Budgets bind here: before a session, never between a session and its verdict.
    fn begin(&self, spec: &Spec) -> Step {
        if let Some(reason) = self.spent_out(spec) {
            return stop(reason);
        }
        let Some(base) = self.tip.clone() else {
            return stop(Stop::new(StopReason::Fault, "an item was chosen before the branch was looked at"));
        };
        let current = self.current.as_ref().filter(|current| current.item == spec.item);
        // Work on another base is not started from: it would take back what was committed since.
        let start = current
            .and_then(|current| current.start.as_ref())
            .filter(|(_, stands_on)| *stands_on == base)
            .map_or_else(|| base.clone(), |(work, _)| work.clone());
        let budget = &self.rules.budget;
        let cost_left = budget.cost.map(|limit| limit.saturating_sub(self.spent.cost + self.reserved.cost));
        let attempt = Attempt {
            id: AttemptId {
                item: spec.item.clone(),
                number: self.numbers.get(&spec.item).map_or(1, |number| number + 1),
            },
            spec: spec.clone(),
            iteration: current.map_or(self.iterations + 1, |current| current.number),
            charged: current.map_or(1, |current| current.failed + 1),
            start,
            base,
            reserve: self.reserve(cost_left),
            cost_limit: cost_left,
        };
        Step::Record(Box::new(Fact::Began { attempt }))
    }

    /// What is set aside for a session: as much as the dearest so far, a tenth of the budget before there was one.
    fn reserve(&self, cost_left: Option<Usd>) -> Spent {
        let budget = &self.rules.budget;
        let mut reserve = Spent::default();
        if let (Some(limit), Some(left)) = (budget.cost, cost_left) {
            let usual =
                if self.dearest.cost > Usd::ZERO { self.dearest.cost } else { Usd::from_micros(limit.micros() / 10) };
            reserve.cost = usual.min(left);
        }
        if let Some(limit) = budget.tokens {
            let left = limit.saturating_sub(self.spent.tokens.saturating_add(self.reserved.tokens));
            let usual = if self.dearest.tokens > 0 { self.dearest.tokens } else { limit / 10 };
            reserve.tokens = usual.min(left);
        }
        reserve
    }

    /// The first reason, in the order of precedence, for which no session may begin now.
    fn spent_out(&self, spec: &Spec) -> Option<Stop> {
        let (budget, sitting) = (&self.rules.budget, &self.sitting);
        if let Some(stop) = self.blocker_limit() {
            return Some(stop);
        }
        if sitting.idle >= budget.no_progress {
            let detail = format!("{} iterations in a row changed nothing for the better", sitting.idle);
            return Some(Stop::new(StopReason::NoProgress, detail));
        }
        let counted = self.current.as_ref().is_some_and(|current| current.item == spec.item && current.counted);
        let exhausted = |what: String| Some(Stop::new(StopReason::BudgetExhausted, what));
        if !counted && sitting.iterations >= budget.iterations {
            return exhausted(format!("iterations: {} of {}", sitting.iterations, budget.iterations));
        }
        if u128::from(sitting.took_ms) >= budget.time.as_millis() {
            return exhausted(format!("time: {} s of {} s", sitting.took_ms / 1000, budget.time.as_secs()));
        }
        if sitting.sessions >= budget.sessions {
            return exhausted(format!("sessions: {} of {}", sitting.sessions, budget.sessions));
        }
        match budget.cost {
            Some(limit) if self.spent.cost >= limit => {
                return exhausted(format!("cost_usd: {} of {limit}", self.spent.cost));
            }
            _ => {}
        }
        match budget.tokens {
            Some(limit) if self.spent.tokens >= limit => exhausted(format!("tokens: {} of {limit}", self.spent.tokens)),
            _ => None,
        }
    }

    /// Whether too many items are blocked.
    pub(super) fn blocker_limit(&self) -> Option<Stop> {
        let budget = &self.rules.budget;
        let full = self.sitting.blocked.iter().find(|(_, count)| **count >= budget.blockers_per_phase);
        if let Some((phase, count)) = full {
            let detail = format!("{count} blocked items in {phase}, the limit is {}", budget.blockers_per_phase);
            return Some(Stop::new(StopReason::BlockerLimit, detail));
        }
        let all: u32 = self.sitting.blocked.values().sum();
        (all >= budget.blockers_per_plan).then(|| {
            let detail = format!("{all} blocked items, the limit is {}", budget.blockers_per_plan);
            Stop::new(StopReason::BlockerLimit, detail)
        })
    }
}

fn key(attempt: &AttemptId, kind: &str) -> String {
    format!("{}/{}/{kind}", attempt.item, attempt.number)
}

fn stop(stop: Stop) -> Step {
    Step::Record(Box::new(Fact::Stopped { stop }))
}
