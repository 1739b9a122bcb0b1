//! The person of a simulation: answers what is asked, as the scenario's behaviours say, once the run has stopped.

use std::time::UNIX_EPOCH;

use super::{Behaviour, PhaseGates, Reviews, Scenario, doubles::with_file, world::World};
use crate::{Decision, DecisionId, DecisionKind};

impl World {
    /// What a person does about one question in the queue; whether anything.
    pub(super) fn answer_one(&self) -> bool {
        self.decisions.pending().iter().any(|(id, decision)| self.answer(id, decision))
    }

    fn answer(&self, id: &DecisionId, decision: &Decision) -> bool {
        let Some(said) = self.reply(decision) else { return false };
        match self.decisions.answer(id, &said, "lead", UNIX_EPOCH) {
            Ok(_) => true,
            Err(why) => unreachable!("`{said}` to {decision:?}: {why}"),
        }
    }

    /// `None`: the person leaves it for another day.
    fn reply(&self, decision: &Decision) -> Option<String> {
        let yes = || Some("approve".to_owned());
        let item = decision.item.as_ref().map(|item| crate::ItemRef::new(decision.phase.clone(), item.clone()));
        let plan = self.plan.plan();
        let title = item.and_then(|item| plan.find(&item).map(|(_, item)| item.title.clone()));
        let behaviour = title.as_deref().map(Behaviour::of);
        // Answered twice, and no reviewer has the work: that would go on for ever.
        if self.scenario.reviews == Some(Reviews::Vetoes) && decision.item.is_some() && self.asked_about(decision) > 2 {
            return None;
        }
        match decision.question.kind {
            // Not whether work is right that adds nothing to an earlier attempt's.
            DecisionKind::Choice => (behaviour == Some(Behaviour::AsksAnswered)
                && decision.question.options.is_empty())
            .then(|| "use a".to_owned()),
            DecisionKind::AlreadyDone => {
                if behaviour == Some(Behaviour::AlreadyDoneApproved) {
                    yes()
                } else {
                    None
                }
            }
            DecisionKind::Dependency => match behaviour {
                Some(Behaviour::PolicyRejected) => Some("reject: do without".to_owned()),
                Some(Behaviour::PolicyApprovedLate) => {
                    self.commit_once("late", "the operator's");
                    yes()
                }
                Some(Behaviour::PolicyContradicted) => {
                    let item = decision.item.as_ref().map(ToString::to_string).unwrap_or_default();
                    self.commit_once(&format!("{item}-dependency"), "right-pad");
                    yes()
                }
                _ => yes(),
            },
            DecisionKind::Scope => yes(),
            DecisionKind::ManualGate => {
                let rejects = self.gates_of(&decision.phase) == Some(PhaseGates::ManualRejected);
                if rejects && self.commit_once(&format!("rejected-{}", decision.phase), "the operator's") {
                    return Some("reject: not yet".to_owned());
                }
                yes()
            }
            DecisionKind::AutoGate => {
                let first = plan.phases.iter().find(|phase| phase.id == decision.phase)?.items.first()?;
                Some(format!("reopen {}", first.id))
            }
            DecisionKind::Checkpoint => Some("continue".to_owned()),
            DecisionKind::Security | DecisionKind::Database | DecisionKind::PublicApi | DecisionKind::Protected => None,
        }
    }

    /// How often something was asked about the item of `decision`.
    fn asked_about(&self, decision: &Decision) -> usize {
        let same = |asked: &Decision| (&asked.phase, &asked.item) == (&decision.phase, &decision.item);
        self.decisions.asked().iter().filter(|asked| same(asked)).count()
    }

    fn gates_of(&self, phase: &crate::PhaseId) -> Option<PhaseGates> {
        let index = self.plan.plan().phases.iter().position(|known| known.id == *phase)?;
        let Scenario { phases, .. } = &self.scenario;
        phases.get(index).copied()
    }

    /// Commits a file on the branch, unless it is there; whether it was not.
    fn commit_once(&self, name: &str, content: &str) -> bool {
        let files = self.vcs.files();
        if files.contains_key(name) {
            return false;
        }
        self.vcs.commit_by_hand(with_file(files, name, content));
        true
    }
}
