//! What people say: questions into the queue, answers out of it.

use super::{
    apply::halt,
    effect::Request,
    lane::{Lane, Matter, Query, Sense, Work},
    state::{About, Asked, Comeback, Failure, Held, Machine, Pending},
    terms::{Iteration, Origin, RetryFrom},
};
use crate::{
    answer::{Answer, Reply},
    decision::DecisionKind,
    id::{DecisionId, ItemRef},
    plan::ItemStatus,
    plan_change::PlanChange,
    stop::{Stop, StopReason},
};

/// How many answered questions a session is told.
const ASKED_MAX: usize = 5;

/// Why a question about an item is taken back.
pub(super) const MARKED_BY_HAND: &str = "the item's mark was changed by hand";

impl Machine {
    /// What is asked about the work of an attempt.
    pub(super) fn matter(&self, work: &Work, matter: &Matter) -> Request {
        let signal = work.signal.as_ref();
        Request {
            phase: work.attempt.id.item.phase.clone(),
            item: Some(work.attempt.id.item.clone()),
            question: matter.question.clone(),
            revision: work.revision.clone(),
            kept: self.current.as_ref().and_then(|current| current.kept.clone()).filter(|_| work.revision.is_some()),
            stat: work.revision.is_some().then_some(work.stat),
            said: signal.map(|signal| signal.summary.clone()).unwrap_or_default(),
            output: String::new(),
            proposed: Vec::new(),
        }
    }

    /// What is asked about a phase.
    pub(super) fn query(&self, query: &Query) -> Request {
        Request {
            phase: query.phase.clone(),
            item: query.item.clone(),
            question: query.question.clone(),
            revision: self.tip.clone(),
            kept: None,
            stat: None,
            said: String::new(),
            output: query.output.clone(),
            proposed: query.about.proposed().to_vec(),
        }
    }

    /// A question about an item is in the queue.
    pub(super) fn asked_about(&mut self, work: &Work, matter: Matter, id: &DecisionId) -> Lane {
        let item = work.attempt.id.item.clone();
        let open = self.comebacks.get(&item).and_then(|comeback| comeback.work.as_ref());
        let mut gates = open.map(|held| held.gates.clone()).unwrap_or_default();
        let by_gates = !matter.gates.is_empty();
        gates.extend(matter.gates);
        let held = work.revision.as_ref().map(|revision| Held::of(work, revision, gates));
        let about = match (matter.sense, held) {
            (Sense::AlreadyDone, _) => About::AlreadyDone { item: item.clone(), row: work.attempt.spec.digest.clone() },
            (Sense::Work, Some(work)) => About::Work { item: item.clone(), work, by_gates },
            (Sense::Work, None) => About::Words { item: item.clone(), work: None },
            (Sense::Words, work) => About::Words { item: item.clone(), work },
        };
        let why = matter.question.text.clone();
        let (phase, question, output) = (item.phase.clone(), matter.question, String::new());
        let pending = Pending { phase, question, about, output };
        self.pending.insert(id.clone(), pending);
        self.parked.insert(item.clone(), id.clone());
        self.comebacks.remove(&item);
        let mut iteration = self.iteration(work, ItemStatus::Decision, why);
        iteration.decision = Some(id.clone());
        Lane::Marking { iteration, from: ItemStatus::Open }
    }

    /// A question about a phase is in the queue: the run ends here, unless it can do without the answer for now.
    pub(super) fn queried(&mut self, query: Query, id: &DecisionId) -> Lane {
        self.questions += 1;
        let item = query.about.item().cloned();
        let mark = query.mark;
        let scope = matches!(query.about, About::Scope { .. });
        let pending =
            Pending { phase: query.phase, question: query.question, about: query.about, output: query.output };
        let stop = waiting_for(id, &pending);
        self.pending.insert(id.clone(), pending);
        match item {
            Some(item) => {
                self.parked.insert(item, id.clone());
                mark.map_or(Lane::Idle, |mark| {
                    let iteration = Iteration { decision: Some(id.clone()), ..*mark };
                    Lane::Marking { iteration, from: ItemStatus::Open }
                })
            }
            None if scope => Lane::Idle,
            None => halt(stop),
        }
    }

    /// The end of a run that waits for a question which is in the queue already.
    pub(super) fn halt_for(&self, id: &DecisionId) -> Lane {
        match self.pending.get(id) {
            Some(pending) => halt(waiting_for(id, pending)),
            None => Lane::Idle,
        }
    }

    /// Answers to questions of this run are taken in, the others are nobody's.
    pub(super) fn taking(&self, answers: &[Answer]) -> Lane {
        let known = answers.iter().filter(|answer| self.pending.contains_key(&answer.decision));
        let known: Vec<Answer> = known.cloned().collect();
        if known.is_empty() { Lane::Idle } else { Lane::Taking(known) }
    }

    /// What an answer changes in the plan.
    pub(super) fn change(&self, answer: &Answer) -> PlanChange {
        let Some(pending) = self.pending.get(&answer.decision) else { return PlanChange::Nothing };
        let item = pending.about.item().map(|item| &item.item);
        PlanChange::of(pending.question.kind, &pending.phase, item, pending.about.proposed(), &answer.reply)
    }

    /// The answer is in the plan: what it means for what comes next.
    pub(super) fn took_in(&mut self, answer: &Answer, refused: bool) {
        let Some(pending) = self.pending.remove(&answer.decision) else { return };
        let accepts = accepts(&pending.question.options, &answer.reply);
        if let Some(item) = pending.about.item().cloned().or_else(|| reopened(&pending, answer)) {
            self.parked.remove(&item);
            let asked = self.asked.entry(item).or_default();
            let id = answer.decision.clone();
            asked.push(Asked { id, question: pending.question.text.clone(), output: pending.output });
            let old = asked.len().saturating_sub(ASKED_MAX);
            asked.drain(..old);
        }
        let phase = pending.phase;
        match pending.about {
            About::Words { .. } | About::Work { .. } | About::AlreadyDone { .. } if refused => {}
            About::Words { item, work } => {
                let start = work.filter(|_| self.rules.retry_from == RetryFrom::Kept);
                let start = start.map(|held| (held.revision, held.base));
                self.comebacks.insert(item, Comeback { start, ..Comeback::default() });
            }
            About::Work { item, work, by_gates } if accepts => {
                // Whoever says so of what a reviewer vetoed was told why, and has the last word.
                let vetoed = self.vetoed.get(&work.tree).is_some_and(|(row, _)| *row == work.row);
                if vetoed && !by_gates {
                    self.approved = Some((work.revision.clone(), work.row.clone()));
                }
                self.comebacks.insert(item, Comeback { work: Some(work), ..Comeback::default() });
            }
            About::Work { item, work, .. } => {
                let why = format!("its work was not wanted ({}): {}", answer.decision, answer.reply.text());
                let failure = Some(Failure { attempt: work.attempt, why, tail: String::new() });
                self.comebacks.insert(item, Comeback { failure, ..Comeback::default() });
            }
            About::AlreadyDone { item, row } => {
                self.comebacks.insert(item, Comeback { on_branch: accepts.then_some(row), ..Comeback::default() });
            }
            About::Gates { gates, .. } if accepts => self.phases.opened.entry(phase).or_default().extend(gates),
            About::Gates { at, .. } => {
                let why = format!("{} said: {}", answer.by, answer.reply.text());
                self.phases.refused.insert(phase, (at, why));
            }
            About::AutoGate => match &answer.reply {
                // New work: whoever approved the phase has not seen it, and nobody needs to be asked if it is done.
                Reply::Reopen(item) => {
                    self.phases.opened.remove(&phase);
                    self.comebacks.entry(ItemRef { phase, item: item.clone() }).or_default();
                }
                Reply::Retire(item) => {
                    self.phases.retired.insert(ItemRef { phase, item: item.clone() });
                }
                Reply::Approve
                | Reply::Reject(_)
                | Reply::Continue
                | Reply::Stop
                | Reply::Retry
                | Reply::Choice(_)
                | Reply::Text(_) => {}
            },
            About::Checkpoint if answer.reply == Reply::Continue => self.phases.since_checkpoint = 0,
            About::Checkpoint | About::Scope { .. } => {}
        }
    }

    /// Forgets questions that were taken back.
    pub(super) fn withdrawn(&mut self, ids: &[DecisionId]) {
        for id in ids {
            if let Some(item) = self.pending.remove(id).and_then(|pending| pending.about.item().cloned()) {
                self.parked.remove(&item);
            }
        }
    }

    /// Forgets questions that got lost, once in an invocation: no queue that loses everything has a run ask for ever.
    pub(super) fn forgets(&mut self, lost: &[DecisionId]) -> bool {
        let forgets = !self.sitting.forgot && lost.iter().any(|id| self.pending.contains_key(id));
        if forgets {
            self.sitting.forgot = true;
            self.withdrawn(lost);
        }
        forgets
    }

    /// Where the next attempt at `item` gets its work from.
    pub(super) fn origin(&self, item: &ItemRef) -> Origin {
        match self.comebacks.get(item) {
            Some(Comeback { work: Some(_), .. }) => Origin::Kept,
            Some(Comeback { on_branch: Some(_), .. }) => Origin::Branch,
            Some(Comeback { .. }) | None => Origin::Session,
        }
    }
}

/// Whether `reply` is a yes. Where there are options, the first one is.
fn accepts(options: &[String], reply: &Reply) -> bool {
    match reply {
        Reply::Approve | Reply::Continue => true,
        Reply::Choice(choice) => options.first() == Some(choice),
        Reply::Reject(_) | Reply::Stop | Reply::Retry | Reply::Reopen(_) | Reply::Retire(_) | Reply::Text(_) => false,
    }
}

/// The item that an answer about a phase opens again.
fn reopened(pending: &Pending, answer: &Answer) -> Option<ItemRef> {
    match &answer.reply {
        Reply::Reopen(item) => Some(ItemRef { phase: pending.phase.clone(), item: item.clone() }),
        Reply::Approve
        | Reply::Reject(_)
        | Reply::Continue
        | Reply::Stop
        | Reply::Retry
        | Reply::Retire(_)
        | Reply::Choice(_)
        | Reply::Text(_) => None,
    }
}

/// Why a run ends that waits for an answer.
fn waiting_for(id: &DecisionId, pending: &Pending) -> Stop {
    let reason = match pending.question.kind {
        DecisionKind::ManualGate => StopReason::ManualGate,
        DecisionKind::AutoGate => StopReason::AutoGateFailed,
        DecisionKind::Checkpoint => StopReason::Checkpoint,
        DecisionKind::Choice
        | DecisionKind::Security
        | DecisionKind::Database
        | DecisionKind::Dependency
        | DecisionKind::PublicApi
        | DecisionKind::Protected
        | DecisionKind::Scope
        | DecisionKind::AlreadyDone => StopReason::AwaitingDecisions,
    };
    Stop::new(reason, format!("{id}: {}", pending.question.text))
}
