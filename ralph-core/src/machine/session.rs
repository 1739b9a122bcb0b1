//! The end of a session: what it is charged, and whether its work is judged, kept, or waited for.

use super::{
    apply::halt,
    lane::{Ending, Lane, Next},
    state::{Current, Machine},
    terms::{Attempt, End},
};
use crate::{
    budget::{Cost, Spent, Usage, Usd},
    id::Digest,
    signal::Signal,
    stop::{Stop, StopReason},
};

/// Interrupted sessions in a row after which an item is blocked.
const INTERRUPTED_MAX: u32 = 3;

impl Current {
    pub(super) fn interrupted_too_often(&self) -> Option<String> {
        let often = self.interrupted;
        (often >= INTERRUPTED_MAX).then(|| format!("interrupted {often} times in a row"))
    }
}

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
}
