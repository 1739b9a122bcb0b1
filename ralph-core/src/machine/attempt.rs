//! What becomes of an attempt: from the end of its session to the item's mark.

use super::{
    apply::halt,
    lane::{Ending, Fate, Lane, Matter, Next, Query, Round, Sense, Work},
    state::{About, Current, Failure, Machine, Tainted},
    terms::{Attempt, End, Iteration, Mode, Origin, Refusal, RetryFrom, VerifyOutcome},
};
use crate::{
    budget::{Cost, Spent, Usage, Usd},
    decision::{DecisionKind, Question},
    id::{Digest, Revision},
    plan::{ItemStatus, Proposal},
    signal::{Signal, SignalStatus},
    stop::{Stop, StopReason},
    vcs::Finding,
    verify::Part,
};

/// Interrupted sessions in a row after which an item is blocked.
const INTERRUPTED_MAX: u32 = 3;

impl Current {
    fn interrupted_too_often(&self) -> Option<String> {
        let often = self.interrupted;
        (often >= INTERRUPTED_MAX).then(|| format!("interrupted {often} times in a row"))
    }
}

/// How many items the sessions of one iteration may propose.
const PROPOSED_MAX: usize = 10;

impl Machine {
    /// A session's bill: what it said, and where it did not say, what was set aside for it.
    fn settle(&mut self, attempt: &Attempt, usage: &Usage) {
        self.release(attempt);
        self.charge(usage, attempt.reserve);
        if let Some(current) = &mut self.current {
            current.sessions += 1;
        }
    }

    /// What a session is charged: `reserve` where it does not say what it used.
    pub(super) fn charge(&mut self, usage: &Usage, reserve: Spent) {
        let tokens = usage.tokens.map(|tokens| tokens.billed());
        let cost = usage.known_cost();
        let bill = Spent {
            cost: cost.amount().unwrap_or(reserve.cost),
            estimated: if let Cost::Estimated(amount) = cost { amount } else { Usd::ZERO },
            tokens: tokens.unwrap_or(reserve.tokens),
            unknown_cost: u32::from(cost == Cost::Unknown),
        };
        self.spent.cost = self.spent.cost + bill.cost;
        self.spent.estimated = self.spent.estimated + bill.estimated;
        self.spent.tokens = self.spent.tokens.saturating_add(bill.tokens);
        self.spent.unknown_cost += bill.unknown_cost;
        self.dearest.cost = self.dearest.cost.max(bill.cost);
        self.dearest.tokens = self.dearest.tokens.max(bill.tokens);
        if let Some(current) = &mut self.current {
            current.cost = current.cost + cost;
        }
    }

    pub(super) fn ended(
        &mut self,
        attempt: Attempt,
        tree: Digest,
        end: &End,
        usage: &Usage,
        signal: Option<&Signal>,
    ) -> Lane {
        if !matches!(end, End::NoAgent(_)) {
            self.settle(&attempt, usage);
        }
        let ending = match end {
            End::Finished | End::Failed(_) | End::Limit(_) => {
                self.answered();
                Ending::Judge(signal.cloned())
            }
            End::Cancelled if self.cancel => Ending::Keep(Next::Halt(Stop::new(StopReason::Cancelled, ""))),
            End::Unusable(why) => Ending::Keep(Next::Halt(Stop::new(StopReason::AgentUnavailable, why.clone()))),
            // Cancelled, but not by the run: somebody ended the agent from outside.
            End::Cancelled | End::Interrupted => {
                self.interrupted();
                Ending::Keep(Next::Again)
            }
            End::Unavailable { trouble, detail, wait_ms, until } => {
                Ending::Keep(match self.outage(*wait_ms, &format!("{trouble}: {detail}")) {
                    Some(stop) => Next::Halt(stop),
                    None => Next::Rest { wait_ms: *wait_ms, until: *until },
                })
            }
            End::NoAgent(why) => {
                self.give_back(&attempt);
                return halt(Stop::new(StopReason::AgentUnavailable, why.clone()));
            }
        };
        if let Some(current) = &mut self.current {
            current.next_ms = signal.and_then(|signal| signal.next_ms);
        }
        match ending {
            Ending::Judge(signal) if self.discards() => self.reported(attempt, tree, signal),
            Ending::Keep(next) if self.discards() => self.resume(&attempt, next),
            ending => Lane::Left(attempt, tree, ending),
        }
    }

    /// An agent is there, and answers.
    pub(super) fn answered(&mut self) {
        self.sitting.outages = 0;
        self.sitting.waited_ms = 0;
        if let Some(current) = &mut self.current {
            current.interrupted = 0;
        }
    }

    /// A session was interrupted; what to say of it, where that was once too often.
    pub(super) fn interrupted(&mut self) -> Option<String> {
        let current = self.current.as_mut()?;
        current.interrupted += 1;
        current.interrupted_too_often()
    }

    /// An agent is out; the end of the run, where it is not waited for any longer.
    pub(super) fn outage(&mut self, wait_ms: u64, why: &str) -> Option<Stop> {
        self.sitting.outages += 1;
        self.sitting.waited_ms = self.sitting.waited_ms.saturating_add(wait_ms);
        let limit = self.too_long(wait_ms)?;
        Some(Stop::new(StopReason::AgentUnavailable, format!("{why} ({limit})")))
    }

    /// Why the run does not wait for the agent any longer, if so.
    fn too_long(&self, wait_ms: u64) -> Option<String> {
        let (budget, sitting) = (&self.rules.budget, &self.sitting);
        if sitting.outages >= budget.outages {
            return Some(format!("{} sessions in a row", sitting.outages));
        }
        if u128::from(sitting.waited_ms) > budget.wait_at_most.as_millis() {
            return Some(format!("waiting {} s in all is more than the limit", sitting.waited_ms / 1000));
        }
        let left = budget.time.as_millis().saturating_sub(u128::from(sitting.took_ms));
        (u128::from(wait_ms) > left).then(|| format!("a wait of {} s goes beyond the time budget", wait_ms / 1000))
    }

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
        work: Work,
        at: Round,
        (outcome, parts): (VerifyOutcome, &[Part]),
        summary: &str,
        tail: &str,
    ) -> Lane {
        let flaky = self.contradiction(&work.tree, (at.stage(), Some(&work.attempt.id.item)), outcome, parts);
        if outcome != VerifyOutcome::Pass || flaky.is_some() {
            self.tainted = Tainted { work: true, clean: true };
        } else if at == Round::Candidate {
            self.tainted.clean = false;
        }
        let passed = outcome == VerifyOutcome::Pass && flaky.is_none();
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
                    let failure = self.current.as_ref().and_then(|current| current.failure.as_ref());
                    let matter = changed_nothing(&work, summary, failure);
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

/// What a session's own words come to, where they do not leave it to the verdicts.
pub(super) fn signalled(work: &Work) -> Option<Fate> {
    let signal = work.signal.as_ref()?;
    match signal.status {
        SignalStatus::Done => None,
        SignalStatus::Blocked => {
            let said = [signal.question.as_deref().unwrap_or_default(), &signal.summary];
            let why = said.iter().find(|text| !text.is_empty()).unwrap_or(&"without a reason");
            Some(Fate::Rejected(format!("the agent is blocked: {why}")))
        }
        SignalStatus::Decision => {
            let matter = Matter { question: asked_by_agent(signal), sense: Sense::Words, gates: Vec::new() };
            Some(Fate::Parked(Box::new(matter)))
        }
    }
}

/// What a person is asked about items that a session would add.
fn scope(iteration: &Iteration, items: Vec<Proposal>) -> Query {
    let more = match items.len() {
        1 => "one more item. Add it?".to_owned(),
        several => format!("{several} more items. Add them?"),
    };
    let text = format!("The agent that worked on {} proposes {more}", iteration.item.item);
    Query {
        phase: iteration.item.phase.clone(),
        question: Question::new(DecisionKind::Scope, text),
        about: About::Scope { items },
        output: String::new(),
        item: Some(iteration.item.clone()),
        mark: None,
    }
}

/// What a person is asked where a session left things as they were and the verifier passes all the same.
fn changed_nothing(work: &Work, summary: &str, failure: Option<&Failure>) -> Matter {
    let item = &work.attempt.id.item.item;
    if work.revision.is_none() {
        let text = format!("The session changed nothing, and the verifier passes already ({summary}). Is {item} done?");
        let question = Question::new(DecisionKind::AlreadyDone, text);
        return Matter { question, sense: Sense::AlreadyDone, gates: Vec::new() };
    }
    // The work of an earlier attempt, which failed for another reason than its verifier.
    let failed = failure.map_or_else(String::new, |failure| format!(" It was turned down before: {}.", failure.why));
    let text = format!(
        "The session added nothing to the work of an earlier attempt, which passes ({summary}).{failed} Is it right?"
    );
    let question = Question::new(DecisionKind::Choice, text).with_options(["accept the work", "start again"]);
    Matter { question, sense: Sense::Work, gates: Vec::new() }
}

fn asked_by_agent(signal: &Signal) -> Question {
    let text = signal.question.clone().filter(|text| !text.is_empty()).unwrap_or_else(|| signal.summary.clone());
    let mut question = Question::new(signal.kind.unwrap_or(DecisionKind::Choice), text);
    question.options.clone_from(&signal.options);
    question.recommendation.clone_from(&signal.recommendation);
    question.from_agent = true;
    question
}
