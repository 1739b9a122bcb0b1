//! Items whose own verifier must fail before there is any work: one that passes then proves nothing.

use super::{
    apply::halt,
    lane::{Lane, Query},
    state::{About, Machine},
    terms::{Iteration, Mode, Spec, VerifyOutcome},
};
use crate::{
    budget::Cost,
    decision::{DecisionKind, Question},
    plan::ItemStatus,
    stop::{Stop, StopReason},
};

impl Machine {
    /// Where an item that was chosen goes: to its attempt, or first to its own verifier.
    pub(super) fn to_attempt(&self, spec: Spec) -> Lane {
        let wanted = spec.require_red && self.rules.mode == Mode::Items;
        // Once for each row and iteration; a person who has answered knows how it stands.
        let tried = self.red.get(&spec.item) == Some(&spec.digest) || self.comebacks.contains_key(&spec.item);
        let untried = wanted && !tried && self.spent_out(&spec).is_none();
        if untried { Lane::Untried(spec) } else { Lane::Chosen(spec) }
    }

    /// The item's own verifier judged the branch.
    pub(super) fn red(&mut self, spec: Spec, outcome: VerifyOutcome, summary: &str) -> Lane {
        match outcome {
            VerifyOutcome::Fail => {
                self.red.insert(spec.item.clone(), spec.digest.clone());
                Lane::Chosen(spec)
            }
            VerifyOutcome::Pass => Lane::Querying(Box::new(self.green(&spec, summary))),
            VerifyOutcome::Broken => halt(Stop::new(StopReason::VerifierBroken, summary)),
            VerifyOutcome::Unready => halt(Stop::new(StopReason::Environment, summary)),
        }
    }

    fn green(&mut self, spec: &Spec, summary: &str) -> Query {
        self.iterations += 1;
        let item = spec.item.clone();
        let text = format!(
            "{}'s own verifier must fail before there is any work, and passes ({summary}). Is it done already?",
            item.item
        );
        let mark = Iteration {
            number: self.iterations,
            item: item.clone(),
            title: spec.title.clone(),
            to: ItemStatus::Decision,
            sessions: 0,
            cost: Cost::default(),
            revision: None,
            kept: None,
            decision: None,
            why: text.clone(),
        };
        Query {
            phase: item.phase.clone(),
            question: Question::new(DecisionKind::AlreadyDone, text),
            about: About::AlreadyDone { item: item.clone(), row: spec.digest.clone() },
            output: String::new(),
            item: Some(item),
            mark: Some(Box::new(mark)),
        }
    }
}
