//! What becomes of an attempt: from what its session left to the item's mark.

use super::{
    apply::halt,
    lane::{Fate, Lane, Next, Round, Work},
    questions::{changed_nothing, scope, signalled},
    state::{Current, Failure, Machine, Tainted},
    terms::{Attempt, Iteration, Mode, Origin, Refusal, RetryFrom, VerifyOutcome},
};
use crate::{
    budget::Cost,
    id::Revision,
    plan::ItemStatus,
    stop::{Stop, StopReason},
    vcs::Finding,
    verify::Part,
};

/// How many items the sessions of one iteration may propose.
const PROPOSED_MAX: usize = 10;

impl Machine {
    pub(super) fn captured(&mut self, work: Work, findings: &[Finding]) -> Lane {
        let new = work.changed && !self.rejected.contains(&work.tree);
        self.note_progress(new);
        let in_rounds = self.in_rounds();
        if let (Some(current), Some(signal)) = (&mut self.current, work.signal.as_ref().filter(|_| !in_rounds)) {
            current.proposed.extend(signal.proposed.iter().cloned());
            current.proposed.truncate(PROPOSED_MAX);
        }
        if let Some(fate) = signalled(&work) {
            return self.part(work, fate);
        }
        let fail = |why: String| Fate::Failed(Failure { attempt: work.attempt.id.number, why, tail: String::new() });
        if !findings.is_empty() {
            let named: Vec<String> = findings.iter().take(20).map(ToString::to_string).collect();
            let fate = fail(format!("the work cannot be committed: {}", named.join("; ")));
            return self.part(work, fate);
        }
        if self.rules.require_signal && work.signal.is_none() {
            let fate = fail("the session ended without the report that is required".to_owned());
            return self.part(work, fate);
        }
        Lane::Trial(work, Round::Workspace)
    }

    pub(super) fn note_progress(&mut self, progress: bool) {
        if let Some(current) = &mut self.current {
            current.stale &= !progress;
        }
    }

    pub(super) fn tried(
        &mut self,
        mut work: Work,
        at: Round,
        (outcome, parts): (VerifyOutcome, &[Part]),
        summary: &str,
        tail: &str,
    ) -> Lane {
        let flaky = self.contradiction(&work.tree, (at.stage(), Some(&work.attempt.spec)), outcome, parts);
        if outcome != VerifyOutcome::Pass || flaky.is_some() {
            self.tainted = Tainted { work: true, clean: true };
        } else if at == Round::Candidate {
            self.tainted.clean = false;
        }
        if at == Round::Candidate {
            work.tests = parts.iter().filter_map(|part| part.tests).reduce(u64::saturating_add);
        }
        let passed = outcome == VerifyOutcome::Pass && flaky.is_none() && !work.lost_tests();
        if let Some(untidied) = self.untidied(&work).filter(|_| !passed) {
            return untidied;
        }
        if let Some(why) = flaky {
            let fate = self.refused(&work, why);
            return self.part(work, fate);
        }
        match (at, outcome) {
            (Round::Workspace, VerifyOutcome::Pass) => match work.revision.clone().filter(|_| work.changed) {
                None if self.stays_open() && work.revision.is_none() => self.round_over(&work, None),
                None => {
                    let failed = self.current.as_ref().and_then(|current| current.failure.as_ref());
                    let vetoed = self.vetoed.get(&work.tree).filter(|(row, _)| *row == work.attempt.spec.digest);
                    let against = vetoed.map(|(_, why)| why).or(failed.map(|failure| &failure.why));
                    let matter = changed_nothing(&work, summary, against);
                    self.part(work, Fate::Parked(Box::new(matter)))
                }
                Some(_) => self.to_gates(work),
            },
            (Round::Workspace, VerifyOutcome::Fail) => {
                let failure =
                    Failure { attempt: work.attempt.id.number, why: summary.to_owned(), tail: tail.to_owned() };
                self.part(work, Fate::Failed(failure))
            }
            (Round::Candidate, VerifyOutcome::Pass) => match work.revision.clone() {
                Some(revision) => self.passed_twice(work, revision),
                None => self.part(work, Fate::Rejected("there is no candidate".to_owned())),
            },
            (Round::Candidate, VerifyOutcome::Fail) => Lane::Doubt(work),
            (Round::Workspace | Round::Candidate, VerifyOutcome::Broken) => {
                Lane::Blame { work, round: at, unready: false }
            }
            (Round::Workspace | Round::Candidate, VerifyOutcome::Unready) => {
                Lane::Blame { work, round: at, unready: true }
            }
        }
    }

    /// The verifier broke on the work: the work's fault where it can judge the base. A set-up that fails on the work alone
    /// is a failed attempt like another; a second verdict that the work alone breaks is a rejection.
    pub(super) fn blamed(
        &mut self,
        work: Work,
        at: Round,
        unready: bool,
        outcome: VerifyOutcome,
        summary: &str,
    ) -> Lane {
        self.tainted = Tainted { work: true, clean: true };
        let nobodys = match outcome {
            VerifyOutcome::Broken => Some(StopReason::VerifierBroken),
            VerifyOutcome::Unready => Some(StopReason::Environment),
            VerifyOutcome::Pass | VerifyOutcome::Fail => None,
        };
        if let Some(reason) = nobodys {
            return Lane::Halt { stop: Stop::new(reason, summary), then: Box::new(Lane::Trial(work, at)) };
        }
        let what = if unready { "its set-up fails" } else { "the verifier breaks" };
        let why = format!("{what} on this work, and not on the base");
        let fate = if at == Round::Candidate && !unready {
            self.refused(&work, why)
        } else {
            Fate::Failed(Failure { attempt: work.attempt.id.number, why, tail: String::new() })
        };
        self.part(work, fate)
    }

    pub(super) fn landed(&mut self, work: &Work, revision: &Revision) -> Lane {
        let item = work.attempt.id.item.clone();
        self.tip = Some(revision.clone());
        self.base_green = Some(true);
        self.comebacks.remove(&item);
        self.accepted.insert(item, revision.clone());
        self.unpublished = self.rules.publish;
        let iteration = self.iteration(work, ItemStatus::Done, String::new());
        Lane::Marking { iteration, from: ItemStatus::Open }
    }

    pub(super) fn not_accepted(&mut self, work: Work, revision: Revision, why: &Refusal) -> Lane {
        match why {
            Refusal::ItemChanged => {
                self.comebacks.remove(&work.attempt.id.item);
                if let Some(current) = &mut self.current {
                    current.start = Some((revision.clone(), work.attempt.base.clone()));
                    current.failed = 0;
                    current.failure = None;
                }
                Lane::Parting(work, revision, Fate::Interrupted(Next::Again))
            }
            Refusal::Overtaken(_) => {
                if self.rules.rebase {
                    self.carry_over(&work, &revision);
                }
                Lane::Parting(work, revision, Fate::Interrupted(Next::Again))
            }
            // Once it can be moved again, the work need not be done again, and is judged by what judges then.
            Refusal::Barred(why) => Lane::Halt {
                stop: Stop::new(StopReason::BranchMoved, why.clone()),
                then: Box::new(self.to_gates(work)),
            },
            Refusal::Lost(found) => {
                let stop = Stop::new(StopReason::BranchMoved, found.clone());
                Lane::Parting(work, revision, Fate::Interrupted(Next::Halt(stop)))
            }
        }
    }

    /// What passed in the workspace, on its way to the second verdict.
    pub(super) fn to_gates(&self, work: Work) -> Lane {
        match work.revision.clone() {
            Some(revision) if self.rules.gates => Lane::Gated(work, revision),
            Some(_) | None => Lane::Trial(work, Round::Candidate),
        }
    }

    /// Work that does not go to the branch: into safety first, where there is any.
    pub(super) fn part(&mut self, work: Work, fate: Fate) -> Lane {
        match work.revision.clone() {
            Some(revision) => Lane::Parting(work, revision, fate),
            None => self.parted(work, fate),
        }
    }

    pub(super) fn parted(&mut self, work: Work, fate: Fate) -> Lane {
        match fate {
            Fate::Interrupted(next) => self.resume(&work.attempt, next),
            Fate::Parked(matter) => Lane::Asking(work, matter),
            Fate::Failed(failure) if work.attempt.origin == Origin::Kept => {
                self.rejected.insert(work.tree.clone());
                self.comes_to_nothing(&work.attempt, failure.why, &failure.tail)
            }
            Fate::Rejected(why) if work.attempt.origin == Origin::Kept => {
                self.rejected.insert(work.tree.clone());
                self.comes_to_nothing(&work.attempt, why, "")
            }
            Fate::Rejected(why) => {
                self.rejected.insert(work.tree.clone());
                let iteration = self.iteration(&work, ItemStatus::Blocked, why);
                Lane::Marking { iteration, from: ItemStatus::Open }
            }
            Fate::Failed(failure) => {
                self.rejected.insert(work.tree.clone());
                if self.in_rounds() {
                    return self.round_over(&work, Some(failure));
                }
                let attempts = self.rules.attempts;
                let retry_from = self.rules.retry_from;
                let again = self.current.as_mut().is_some_and(|current| {
                    current.failed += 1;
                    current.start = match (retry_from, &work.revision) {
                        (RetryFrom::Kept, Some(revision)) => Some((revision.clone(), work.attempt.base.clone())),
                        (RetryFrom::Kept, None) | (RetryFrom::Base, _) => None,
                    };
                    current.failure = Some(failure.clone());
                    current.failed < attempts
                });
                if again {
                    // Not at once: a person may have changed the row or the branch during the session.
                    return Lane::Idle;
                }
                let iteration = self.iteration(&work, ItemStatus::Blocked, failure.why);
                Lane::Marking { iteration, from: ItemStatus::Open }
            }
        }
    }

    /// Goes on after an attempt that does not count.
    pub(super) fn resume(&mut self, attempt: &Attempt, next: Next) -> Lane {
        match next {
            Next::Halt(stop) => halt(stop),
            Next::Rest { wait_ms, until } => Lane::Resting { wait_ms, until, then: Box::default() },
            Next::Again => {
                let Some(often) = self.current.as_ref().and_then(Current::interrupted_too_often) else {
                    return Lane::Idle;
                };
                let why = format!("its session was {often}");
                let iteration = self.summary(attempt, None, ItemStatus::Blocked, why);
                Lane::Marking { iteration, from: ItemStatus::Open }
            }
        }
    }

    pub(super) fn iteration(&self, work: &Work, to: ItemStatus, why: String) -> Iteration {
        self.summary(&work.attempt, work.revision.clone(), to, why)
    }

    pub(super) fn summary(
        &self,
        attempt: &Attempt,
        revision: Option<Revision>,
        to: ItemStatus,
        why: String,
    ) -> Iteration {
        let current = self.current.as_ref();
        Iteration {
            number: attempt.iteration,
            item: attempt.id.item.clone(),
            title: attempt.spec.title.clone(),
            to,
            sessions: current.map_or(0, |current| current.sessions),
            cost: current.map_or(Cost::default(), |current| current.cost),
            revision,
            kept: current.and_then(|current| current.kept.clone()).filter(|_| to != ItemStatus::Done),
            decision: None,
            why,
        }
    }

    pub(super) fn marked(&mut self, iteration: &Iteration) -> Lane {
        let current = self.current.take();
        let stale = current.as_ref().is_some_and(|current| current.stale);
        self.red.remove(&iteration.item);
        match iteration.to {
            ItemStatus::Done => self.sitting.idle = 0,
            ItemStatus::Blocked => {
                self.given_up(&iteration.item);
                *self.sitting.blocked.entry(iteration.item.phase.clone()).or_default() += 1;
                self.sitting.idle = if stale { self.sitting.idle + 1 } else { 0 };
            }
            ItemStatus::Open if self.rules.mode == Mode::Goal => {
                self.sitting.idle = if stale { self.sitting.idle + 1 } else { 0 };
            }
            ItemStatus::Decision | ItemStatus::Open | ItemStatus::Unknown => {}
        }
        match iteration.to {
            // In rounds: what the next session is told, and what its verdicts are compared with.
            ItemStatus::Open => {}
            ItemStatus::Decision => self.progress.forget(&iteration.item),
            ItemStatus::Done | ItemStatus::Blocked | ItemStatus::Unknown => {
                self.comebacks.remove(&iteration.item);
                self.progress.forget(&iteration.item);
            }
        }
        let asked = current.as_ref().and_then(|current| current.next_ms);
        let proposed = current.map(|current| current.proposed).unwrap_or_default();
        let again = matches!(iteration.to, ItemStatus::Open | ItemStatus::Done);
        let next = self.next_round(&iteration.item.phase, asked).filter(|_| again).unwrap_or_default();
        let then = if proposed.is_empty() { next } else { Lane::Querying(Box::new(scope(iteration, proposed))) };
        if iteration.to == ItemStatus::Done && self.unpublished {
            return Lane::Publishing { then: Box::new(then) };
        }
        then
    }
}
