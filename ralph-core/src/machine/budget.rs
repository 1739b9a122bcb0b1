//! Whether an attempt may begin, and what is set aside for it.

use super::{
    effect::Step,
    fact::Fact,
    state::Machine,
    step::stop,
    terms::{Attempt, Origin, Spec},
};
use crate::{
    budget::{Spent, Usd},
    id::AttemptId,
    stop::{Stop, StopReason},
};

impl Machine {
    /// Budgets bind here: before a session, never between a session and its verdict.
    pub(super) fn begin(&self, spec: &Spec) -> Step {
        let origin = self.origin(&spec.item);
        // What costs no session is not kept from the branch by a budget.
        if let Some(reason) = self.spent_out(spec).filter(|_| origin == Origin::Session) {
            return stop(reason);
        }
        let Some(base) = self.tip.clone() else {
            return stop(Stop::new(StopReason::Fault, "an item was chosen before the branch was looked at"));
        };
        let current = self.current.as_ref().filter(|current| current.item == spec.item);
        let comeback = self.comebacks.get(&spec.item);
        let work = comeback.and_then(|comeback| comeback.work.as_ref()).map(|held| held.revision.clone());
        // Work on another base is not started from: it would take back what was committed since.
        let begun = match current {
            Some(current) => current.start.as_ref(),
            None => comeback.and_then(|comeback| comeback.start.as_ref()),
        };
        let begun = begun.filter(|(_, stands_on)| *stands_on == base).map(|(work, _)| work.clone());
        let start = work.or(begun).unwrap_or_else(|| base.clone());
        let cost_left = self.cost_left();
        let attempt = Attempt {
            id: AttemptId {
                item: spec.item.clone(),
                number: self.numbers.get(&spec.item).map_or(1, |number| number + 1),
            },
            spec: spec.clone(),
            iteration: current.map_or(self.iterations + 1, |current| current.number),
            origin,
            charged: current.map_or(1, |current| current.failed + 1),
            start,
            base,
            reserve: if origin == Origin::Session { self.reserve(cost_left) } else { Spent::default() },
            cost_limit: cost_left,
        };
        Step::Record(Box::new(Fact::Began { attempt }))
    }

    pub(super) fn cost_left(&self) -> Option<Usd> {
        self.rules.budget.cost.map(|limit| limit.saturating_sub(self.spent.cost + self.reserved.cost))
    }

    /// What is set aside for a session: the usual, and no more than there is.
    pub(super) fn reserve(&self, cost_left: Option<Usd>) -> Spent {
        let usual = self.usual();
        let used = self.spent.tokens.saturating_add(self.reserved.tokens);
        let tokens_left = self.rules.budget.tokens.map(|limit| limit.saturating_sub(used));
        Spent {
            cost: cost_left.map_or(usual.cost, |left| usual.cost.min(left)),
            tokens: tokens_left.map_or(usual.tokens, |left| usual.tokens.min(left)),
            ..usual
        }
    }

    /// What a session is taken to use: as much as the dearest so far, a tenth of the budget before there was one; nothing
    /// where there is no budget.
    pub(super) fn usual(&self) -> Spent {
        let mut usual = Spent::default();
        if let Some(limit) = self.rules.budget.cost {
            let first = Usd::from_micros((limit.micros() / 10).max(1));
            usual.cost = if self.dearest.cost > Usd::ZERO { self.dearest.cost } else { first };
        }
        if let Some(limit) = self.rules.budget.tokens {
            usual.tokens = if self.dearest.tokens > 0 { self.dearest.tokens } else { (limit / 10).max(1) };
        }
        usual
    }

    /// The first reason, in the order of precedence, for which no session may begin now.
    pub(super) fn spent_out(&self, spec: &Spec) -> Option<Stop> {
        let (budget, sitting) = (&self.rules.budget, &self.sitting);
        if let Some(stop) = self.blocker_limit() {
            return Some(stop);
        }
        if sitting.idle >= budget.no_progress {
            let detail = format!("{} iterations in a row changed nothing for the better", sitting.idle);
            return Some(Stop::new(StopReason::NoProgress, detail));
        }
        let counted = self.current.as_ref().is_some_and(|current| current.item == spec.item && current.counted);
        self.exhausted(counted)
    }

    /// Which budget is spent; that of iterations does not count within one that has begun.
    pub(super) fn exhausted(&self, within: bool) -> Option<Stop> {
        let (budget, sitting) = (&self.rules.budget, &self.sitting);
        let exhausted = |what: String| Some(Stop::new(StopReason::BudgetExhausted, what));
        if !within && sitting.iterations >= budget.iterations {
            return exhausted(format!("iterations: {} of {}", sitting.iterations, budget.iterations));
        }
        if u128::from(sitting.took_ms) >= budget.time.as_millis() {
            return exhausted(format!("time: {} s of {} s", sitting.took_ms / 1000, budget.time.as_secs()));
        }
        if sitting.sessions >= budget.sessions {
            return exhausted(format!("sessions: {} of {}", sitting.sessions, budget.sessions));
        }
        self.paid_out()
    }

    /// Which of the budgets that sessions are paid from is spent.
    pub(super) fn paid_out(&self) -> Option<Stop> {
        let (budget, spent) = (&self.rules.budget, &self.spent);
        let what = match (budget.cost, budget.tokens) {
            (Some(limit), _) if spent.cost >= limit => format!("cost_usd: {} of {limit}", spent.cost),
            (_, Some(limit)) if spent.tokens >= limit => format!("tokens: {} of {limit}", spent.tokens),
            _ => return None,
        };
        Some(Stop::new(StopReason::BudgetExhausted, what))
    }

    /// Whether too many items are blocked.
    pub(super) fn blocker_limit(&self) -> Option<Stop> {
        let budget = &self.rules.budget;
        let limit = |phase| self.sitting.max_blockers.get(phase).copied().unwrap_or(budget.blockers_per_phase);
        let full = self.sitting.blocked.iter().find(|(phase, count)| **count >= limit(phase));
        if let Some((phase, count)) = full {
            let detail = format!("{count} blocked items in {phase}, the limit is {}", limit(phase));
            return Some(Stop::new(StopReason::BlockerLimit, detail));
        }
        let all: u32 = self.sitting.blocked.values().sum();
        (all >= budget.blockers_per_plan).then(|| {
            let detail = format!("{all} blocked items, the limit is {}", budget.blockers_per_plan);
            Stop::new(StopReason::BlockerLimit, detail)
        })
    }
}
