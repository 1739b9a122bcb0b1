//! Loops in which each session is an iteration: a goal, and a prompt at an interval.

use super::{
    apply::halt,
    lane::{Cleaning, Fate, Lane, Work},
    questions::signalled,
    state::{Comeback, Failure, Machine},
    terms::{Attempt, Mode, RetryFrom, VerifyOutcome},
};
use crate::{
    id::{Digest, PhaseId},
    plan::ItemStatus,
    signal::Signal,
    stop::{Stop, StopReason},
    vcs::DiffStat,
};

impl Machine {
    /// Whether what sessions leave in the workspace is nobody's concern.
    pub(super) fn discards(&self) -> bool {
        matches!(self.rules.mode, Mode::Every(every) if !every.verified)
    }

    /// Whether a round in which there was nothing to do is a good one: the item stays open, and nobody is asked if it is
    /// done.
    pub(super) fn stays_open(&self) -> bool {
        matches!(self.rules.mode, Mode::Every(_))
    }

    /// Whether an attempt that fails is the end of its iteration, and another one follows.
    pub(super) fn in_rounds(&self) -> bool {
        match self.rules.mode {
            Mode::Items => false,
            Mode::Goal | Mode::Every(_) => true,
        }
    }

    /// A session whose work is not kept has ended: what it said counts all the same.
    pub(super) fn reported(&mut self, attempt: Attempt, tree: Digest, signal: Option<Signal>) -> Lane {
        let work = Work {
            attempt,
            revision: None,
            tree,
            changed: false,
            stat: DiffStat::default(),
            signal,
            cleaning: Cleaning::Not,
            tests: None,
        };
        match signalled(&work) {
            Some(fate) => self.part(work, fate),
            None => self.round_over(&work, None),
        }
    }

    /// The iteration ends, and the item stays open: the next session is told of `failure`, and starts from the work.
    pub(super) fn round_over(&mut self, work: &Work, failure: Option<Failure>) -> Lane {
        let why = failure.as_ref().map(|failure| failure.why.clone()).unwrap_or_default();
        let start = match (self.rules.retry_from, &work.revision) {
            (RetryFrom::Kept, Some(revision)) if failure.is_some() => {
                Some((revision.clone(), work.attempt.base.clone()))
            }
            (RetryFrom::Kept | RetryFrom::Base, _) => None,
        };
        let comeback = Comeback { failure, start, ..Comeback::default() };
        self.comebacks.insert(work.attempt.id.item.clone(), comeback);
        let iteration = self.iteration(work, ItemStatus::Open, why);
        Lane::Marking { iteration, from: ItemStatus::Open }
    }

    /// What becomes of work that is not accepted: in rounds it is tried again.
    pub(super) fn refused(&self, work: &Work, why: String) -> Fate {
        if self.in_rounds() {
            return Fate::Failed(Failure { attempt: work.attempt.id.number, why, tail: String::new() });
        }
        Fate::Rejected(why)
    }

    /// After a round at an interval: look whether it is enough, then wait. `asked` is when the agent would like to be
    /// called again.
    pub(super) fn next_round(&self, phase: &PhaseId, asked: Option<u64>) -> Option<Lane> {
        match self.rules.mode {
            Mode::Items | Mode::Goal => None,
            Mode::Every(every) => Some(Lane::Rounding { phase: phase.clone(), wait_ms: every.wait_ms(asked) }),
        }
    }

    /// The end was looked for. No wait is begun that a budget would not let end in a session.
    pub(super) fn rounded(
        &self,
        phase: PhaseId,
        wait_ms: u64,
        enough: Option<VerifyOutcome>,
        summary: &str,
        until: u64,
    ) -> Lane {
        let end = match enough {
            Some(VerifyOutcome::Pass) => Some(Stop::new(StopReason::Success, format!("enough: {summary}"))),
            Some(VerifyOutcome::Broken) => Some(Stop::new(StopReason::VerifierBroken, summary)),
            Some(VerifyOutcome::Unready) => Some(Stop::new(StopReason::Environment, summary)),
            Some(VerifyOutcome::Fail) | None => None,
        };
        if let Some(stop) = end {
            // No session begins before it was asked again: else a crash at this point would cost one.
            return Lane::Halt { stop, then: Box::new(Lane::Rounding { phase, wait_ms: 0 }) };
        }
        // The look before the next session says which budget is spent.
        if self.exhausted(false).is_some() {
            return Lane::Idle;
        }
        let left = self.rules.budget.time.as_millis().saturating_sub(u128::from(self.sitting.took_ms));
        if u128::from(wait_ms) > left {
            let detail = format!("time: the next session would begin in {} s, beyond the budget", wait_ms / 1000);
            return halt(Stop::new(StopReason::BudgetExhausted, detail));
        }
        Lane::Resting { wait_ms, until, then: Box::default() }
    }
}
