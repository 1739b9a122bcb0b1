//! The account of what sessions cost, what verifiers and reviewers said, and what was accepted on that.

use std::collections::BTreeSet;

use super::{Judged, LawBook};
use crate::{
    Budget, Part, Revision, Spent, Stage, Usage, Usd,
    machine::{Attempt, End, Mode, Origin, VerifyOutcome},
};

impl LawBook {
    /// What a session is charged: `reserve` where it does not say.
    pub(super) fn charge(&mut self, end: &End, usage: &Usage, reserve: Spent) {
        let Budget { cost, tokens, .. } = self.rules.budget;
        let sets_aside = (cost.is_none() || reserve.cost > Usd::ZERO) && (tokens.is_none() || reserve.tokens > 0);
        self.hold("L7", sets_aside, || format!("{reserve:?} is set aside for a session"));
        self.known.cost = self.known.cost + usage.known_cost().amount().unwrap_or(Usd::ZERO);
        self.known.tokens += usage.tokens.map_or(0, |tokens| tokens.billed());
        if !matches!(end, End::NoAgent(_)) {
            self.charged.cost = self.charged.cost + usage.known_cost().amount().unwrap_or(reserve.cost);
            self.charged.tokens += usage.tokens.map_or(reserve.tokens, |tokens| tokens.billed());
        }
        let spent = self.machine.spent();
        self.hold("L7", spent.cost == self.charged.cost && spent.tokens == self.charged.tokens, || {
            format!("the run says that it spent {spent:?}")
        });
        self.hold("L7", spent.cost >= self.known.cost && spent.tokens >= self.known.tokens, || {
            format!("cost was lost: {spent:?}")
        });
    }

    /// Whether a verifier passes what it failed before at the same stage.
    pub(super) fn contradicts(&mut self, stage: Stage, outcome: VerifyOutcome, parts: &[Part]) -> bool {
        let Some(tree) = self.candidate.as_ref().and_then(|candidate| self.trees.get(candidate)) else { return false };
        let Some(spec) = self.attempt.as_ref().map(|attempt| attempt.spec.clone()) else { return false };
        let said = |part: &Part| (tree.clone(), stage, spec.item.clone(), spec.digest.clone(), part.name.clone());
        let (passed, failed): (Vec<_>, Vec<_>) = parts.iter().partition(|part| part.passed);
        if outcome == VerifyOutcome::Fail {
            failed.into_iter().for_each(|part| {
                self.failed.entry(said(part)).or_default();
            });
        }
        let again: Vec<Judged> = passed.into_iter().map(said).filter(|said| self.failed.contains_key(said)).collect();
        let turned = !again.is_empty();
        again.into_iter().for_each(|said| {
            self.failed.insert(said, true);
        });
        outcome == VerifyOutcome::Pass && turned
    }

    pub(super) fn passed_twice(&self, revision: &Revision) -> bool {
        let both = |passed: &BTreeSet<Stage>| passed.contains(&Stage::Workspace) && passed.contains(&Stage::Candidate);
        let former = self.untidied.as_ref().filter(|former| former.revision == *revision);
        (self.candidate.as_ref() == Some(revision) && both(&self.passed))
            || former.is_some_and(|former| both(&former.passed))
    }

    pub(super) fn verified(&mut self, stage: Stage, revision: Option<&Revision>, outcome: VerifyOutcome, counts: bool) {
        match (stage, outcome) {
            (Stage::Workspace | Stage::Candidate, VerifyOutcome::Pass) if !counts => {
                self.passed.remove(&stage);
            }
            (Stage::Workspace, VerifyOutcome::Pass) => {
                self.passed.insert(stage);
            }
            (Stage::Candidate, outcome)
                if self.attempt.as_ref().is_some_and(|attempt| attempt.origin == Origin::Branch) =>
            {
                self.confirmed = outcome == VerifyOutcome::Pass && revision == self.tip.as_ref();
            }
            (Stage::Candidate, VerifyOutcome::Pass) if revision == self.candidate.as_ref() => {
                self.passed.insert(stage);
            }
            // A verdict against a stage takes its pass back: runs can only lower a verdict.
            (Stage::Workspace | Stage::Candidate, _) => {
                self.passed.remove(&stage);
            }
            (Stage::Gate, outcome) => self.closing_passed = outcome == VerifyOutcome::Pass,
            (Stage::Base, outcome) => self.base_passed = outcome == VerifyOutcome::Pass,
            (Stage::Setup, _) => {}
        }
    }

    /// Whether a person chose to accept what a reviewer vetoed.
    fn overruled(&self, attempt: &Attempt, revision: &Revision) -> bool {
        let vetoed = self.trees.get(revision).is_some_and(|tree| self.vetoed.contains(tree));
        vetoed && attempt.origin == Origin::Kept && self.chosen.contains(&attempt.id.item)
    }

    pub(super) fn accepted(&mut self, revision: &Revision) {
        let Some(attempt) = self.attempt.clone() else {
            return self.broken("L1", format!("{revision} was accepted without an attempt"));
        };
        let twice = self.passed_twice(revision);
        self.hold("L1", twice, || format!("{revision} was accepted without two passes"));
        let approved = self.approved.contains(&(revision.clone(), attempt.spec.digest.clone()))
            || self.overruled(&attempt, revision);
        self.hold("L1", approved || !self.rules.review, || {
            format!("{revision} was accepted, and no reviewer approved it")
        });
        let item = &attempt.id.item;
        let heard = self.answered.contains(item) || self.reopened.contains(&item.item);
        let red = self.red.contains(item) || heard || self.rules.mode != Mode::Items;
        self.hold("L1", red || !attempt.spec.require_red, || format!("nobody saw the verifier of {item} fail"));
        self.hold("L2", self.tip.as_ref() == Some(&attempt.base), || format!("{revision} does not stand on the tip"));
        let former = self.untidied.take().filter(|former| former.revision == *revision);
        let objects = former.as_ref().map_or(self.gate_objects, |former| former.gate_objects);
        self.hold("L4", !objects, || format!("{revision} was accepted although a gate was not open"));
        let parks = self.parks;
        self.hold("L3", !parks, || format!("{revision} was accepted although its session asked for a person"));
        let silent = self.rules.require_signal && !self.signalled && attempt.origin == Origin::Session;
        self.hold("L12", !silent, || format!("{revision} was accepted without the signal that is required"));
        self.tip = Some(revision.clone());
        // What was tidied is what it was made from.
        self.loose.retain(|_, by| *by != attempt.id);
        self.accepted.insert(attempt.id.item, revision.clone());
        // One attempt, one commit.
        self.passed.clear();
    }
}
