//! What follows from a look at the branch, the plan and the queue.

use super::{
    answers::{self},
    apply::halt,
    lane::Lane,
    state::Machine,
    terms::{Counts, Mode, Pick, Spec, VerifyOutcome},
};
use crate::{
    id::{DecisionId, Digest, ItemRef, Revision},
    stop::{Stop, StopReason},
    vcs::Tip,
    verify::{Part, Stage},
};

impl Machine {
    pub(super) fn looked(&mut self, tip: &Tip, pick: &Pick, counts: &Counts) -> Lane {
        match tip {
            Tip::At(revision) => {
                if self.tip.as_ref() != Some(revision) {
                    self.base_green = None;
                }
                self.tip = Some(revision.clone());
            }
            Tip::Ahead(revision) => {
                let spec = match pick {
                    Pick::Item(spec) | Pick::Undecided(spec) => Some(spec.clone()),
                    Pick::Gates(_) | Pick::Waiting(_) | Pick::Nothing | Pick::Invalid(_) | Pick::NotApproved(_) => None,
                };
                return Lane::Baseline { spec, moved_to: Some(revision.clone()) };
            }
            Tip::Lost(found) => return halt(Stop::new(StopReason::BranchMoved, found.clone())),
        }
        match pick {
            Pick::Invalid(why) => halt(Stop::new(StopReason::PlanInvalid, why.clone())),
            Pick::NotApproved(why) => halt(Stop::new(StopReason::NotApproved, why.clone())),
            Pick::Undecided(spec) => Lane::Undecided(spec.clone()),
            Pick::Nothing => self.nothing_open(counts),
            Pick::Waiting(here) => self.waiting(here),
            Pick::Gates(spec) => self.checkpoint(&spec.phase).unwrap_or_else(|| self.at_gates(spec)),
            Pick::Item(spec) => match self.checkpoint(&spec.item.phase) {
                Some(pause) => pause,
                None if self.rules.baseline && self.base_green.is_none() => {
                    Lane::Baseline { spec: Some(spec.clone()), moved_to: None }
                }
                None => self.chosen(spec.clone()),
            },
        }
    }

    /// Questions about items that a person took out of the queue.
    pub(super) fn moot(&self, moot: &[ItemRef]) -> Option<Lane> {
        let ids: Vec<DecisionId> = moot.iter().filter_map(|item| self.parked.get(item).cloned()).collect();
        let why = answers::MARKED_BY_HAND.to_owned();
        (!ids.is_empty()).then(|| Lane::Withdrawing { ids, why, then: Box::default() })
    }

    fn chosen(&mut self, spec: Spec) -> Lane {
        if self.current.as_ref().is_some_and(|current| current.item != spec.item) {
            self.current = None;
        }
        self.outdated(&spec);
        if let Some(comeback) = self.comebacks.get_mut(&spec.item)
            && self.rules.mode == Mode::Goal
            && self.base_green != Some(true)
        {
            comeback.on_branch = None;
        }
        // There is work again, which nobody has approved: whatever its phase had come to.
        self.phases.finished.remove(&spec.item.phase);
        self.phases.opened.clear();
        // It is worked on again: its verifier counts again.
        self.phases.retired.remove(&spec.item);
        if let Some(limit) = spec.max_blockers {
            self.sitting.max_blockers.insert(spec.item.phase.clone(), limit);
        }
        self.overtaken_questions().unwrap_or_else(|| self.to_attempt(spec))
    }

    /// What is left of the phase at hand waits for a person, or is blocked.
    fn waiting(&self, here: &Counts) -> Lane {
        if let Some(stop) = self.blocker_limit() {
            return halt(stop);
        }
        if here.decision > 0 {
            let detail = format!("{} waiting for a decision", items(here.decision));
            return halt(Stop::new(StopReason::AwaitingDecisions, detail));
        }
        let mut detail = format!("{} blocked", items(here.blocked));
        if here.unknown > 0 {
            detail.push_str(&format!(", {} with an unknown mark", here.unknown));
        }
        halt(Stop::new(StopReason::ItemsBlocked, detail))
    }

    fn nothing_open(&self, counts: &Counts) -> Lane {
        if !self.pending.is_empty() {
            let ids: Vec<&str> = self.pending.keys().map(DecisionId::as_str).collect();
            let detail = format!("{} to be answered", ids.join(", "));
            return halt(Stop::new(StopReason::AwaitingDecisions, detail));
        }
        if self.accepted.is_empty() && !self.phases.passed {
            return Lane::Closing;
        }
        halt(Stop::new(StopReason::Success, format!("{} done", items(counts.done))))
    }

    pub(super) fn baseline(
        &mut self,
        spec: Option<Spec>,
        moved_to: Option<Revision>,
        (outcome, parts): (VerifyOutcome, &[Part]),
        summary: &str,
    ) -> Lane {
        let was_green = self.base_green;
        if let Some(judged) = moved_to.as_ref().or(self.tip.as_ref()) {
            self.contradiction(&Digest::new(judged.as_str()), (Stage::Base, None), outcome, parts);
        }
        match outcome {
            VerifyOutcome::Broken => return halt(Stop::new(StopReason::VerifierBroken, summary)),
            VerifyOutcome::Unready => return halt(Stop::new(StopReason::Environment, summary)),
            VerifyOutcome::Pass => self.base_green = Some(true),
            VerifyOutcome::Fail => self.base_green = Some(false),
        }
        self.tainted.clean = outcome != VerifyOutcome::Pass;
        match (moved_to, spec) {
            (Some(tip), _)
                if outcome == VerifyOutcome::Fail && (was_green == Some(true) || !self.accepted.is_empty()) =>
            {
                // The good tip stays what the run stands on until a person has put this right.
                self.base_green = was_green;
                let detail = format!("{} was committed on top of the run and does not pass: {summary}", tip.short());
                halt(Stop::new(StopReason::BranchMoved, detail))
            }
            (Some(tip), _) => {
                self.tip = Some(tip);
                Lane::Idle
            }
            (None, Some(spec)) => {
                if self.rules.mode == Mode::Goal && outcome == VerifyOutcome::Pass {
                    // Reached before any session: nothing is left but to verify it once more, on a clean checkout.
                    let comeback = self.comebacks.entry(spec.item.clone()).or_default();
                    comeback.on_branch = Some(spec.digest.clone());
                }
                self.chosen(spec)
            }
            (None, None) => Lane::Idle,
        }
    }
}

fn items(count: u64) -> String {
    if count == 1 { "1 item".to_owned() } else { format!("{count} items") }
}
