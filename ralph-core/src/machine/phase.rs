//! The way of a phase through its gates, and the forced pause after several of them.

use super::{
    apply::halt,
    lane::{Lane, Query},
    state::{About, Machine, Standpoint},
    terms::{Objection, PhaseSpec},
};
use crate::{
    decision::{DecisionKind, Question},
    gate::Ruling,
    id::{DecisionId, PhaseId},
    stop::{Stop, StopReason},
};

impl Machine {
    /// Every item of the phase is done.
    pub(super) fn at_gates(&mut self, spec: &PhaseSpec) -> Lane {
        if !spec.gated {
            return Lane::Finishing(spec.clone());
        }
        let now = self.standpoint(spec);
        match self.phases.refused.get(&spec.phase) {
            Some((at, why)) if Some(at) == now.as_ref() => {
                let detail = format!(
                    "{}: {why}; it is asked again once the branch has moved, or its gate was changed",
                    spec.phase
                );
                return halt(Stop::new(StopReason::ManualGate, detail));
            }
            Some(_) => {
                self.phases.refused.remove(&spec.phase);
            }
            None => {}
        }
        // Nothing has changed since a person was asked.
        let waits = |about: &About| matches!(about, About::Gates { at, .. } if Some(at) == now.as_ref());
        if let Some(id) = self.question_of(&spec.phase, waits) {
            return self.halt_for(&id);
        }
        Lane::AtGates(spec.clone())
    }

    fn standpoint(&self, spec: &PhaseSpec) -> Option<Standpoint> {
        self.tip.clone().map(|tip| Standpoint { tip, gates: spec.gates.clone() })
    }

    /// Takes back what was asked about the phase's gates, and goes on with `then`.
    fn instead(&self, phase: &PhaseId, why: &str, then: Lane, is_meant: impl Fn(&About) -> bool) -> Lane {
        let of_phase = self.pending.iter().filter(|(_, pending)| pending.phase == *phase);
        let ids: Vec<DecisionId> =
            of_phase.filter(|(_, pending)| is_meant(&pending.about)).map(|(id, _)| id.clone()).collect();
        if ids.is_empty() {
            return then;
        }
        Lane::Withdrawing { ids, why: why.to_owned(), then: Box::new(then) }
    }

    /// Takes back what was asked about gates before there was work again: an answer would be about other work.
    pub(super) fn overtaken_questions(&self) -> Option<Lane> {
        let gates = self.pending.iter().filter(|(_, pending)| matches!(pending.about, About::Gates { .. }));
        let ids: Vec<DecisionId> = gates.map(|(id, _)| id.clone()).collect();
        let why = "an item is worked on again, and the gate is asked about what comes of it".to_owned();
        (!ids.is_empty()).then(|| Lane::Withdrawing { ids, why, then: Box::default() })
    }

    /// The gates have ruled.
    pub(super) fn ruled(&mut self, spec: PhaseSpec, ruling: &Ruling, by: &[Objection]) -> Lane {
        match ruling {
            Ruling::Open => {
                self.phases.passed = true;
                let phase = spec.phase.clone();
                self.instead(&phase, "the gate is open now", Lane::Finishing(spec), |about| {
                    matches!(about, About::Gates { .. } | About::AutoGate)
                })
            }
            Ruling::Closed(why) => {
                if let Some(id) = self.question_of(&spec.phase, |about| matches!(about, About::AutoGate)) {
                    return self.halt_for(&id);
                }
                let (why, output) = why.split_once("\n\n").unwrap_or((why, ""));
                let text = format!("The gate of {} is closed: {why}. What now?", spec.phase);
                let question = Question::new(DecisionKind::AutoGate, text);
                ask_phase(spec.phase, question, About::AutoGate, output)
            }
            Ruling::Ask(question) => {
                let Some(at) = self.standpoint(&spec) else { return Lane::Idle };
                let about = About::Gates { gates: by.to_vec(), at };
                // Asked before at another tip: the question is the same one.
                let earlier = |about: &About| matches!(about, About::Gates { gates, .. } if gates == by);
                if let Some(id) = self.question_of(&spec.phase, earlier) {
                    if let Some(pending) = self.pending.get_mut(&id) {
                        pending.about = about;
                    }
                    return self.halt_for(&id);
                }
                let phase = spec.phase.clone();
                let then = ask_phase(spec.phase, question.clone(), about, "");
                self.instead(&phase, "the gate asks something else now", then, |about| {
                    matches!(about, About::Gates { .. })
                })
            }
        }
    }

    fn question_of(&self, phase: &PhaseId, is_meant: impl Fn(&About) -> bool) -> Option<DecisionId> {
        let mut of_phase = self.pending.iter().filter(|(_, pending)| pending.phase == *phase);
        of_phase.find(|(_, pending)| is_meant(&pending.about)).map(|(id, _)| id.clone())
    }

    pub(super) fn phase_done(&mut self, spec: &PhaseSpec) -> Lane {
        let phases = &mut self.phases;
        phases.finished.insert(spec.phase.clone());
        phases.opened.remove(&spec.phase);
        phases.refused.remove(&spec.phase);
        phases.since_checkpoint += 1;
        Lane::Idle
    }

    /// The forced pause before more is done in `next`, where one is due.
    pub(super) fn checkpoint(&self, next: &PhaseId) -> Option<Lane> {
        let count = self.phases.since_checkpoint;
        if count < self.rules.budget.checkpoint_every {
            return None;
        }
        let asked = self.pending.iter().find(|(_, pending)| matches!(pending.about, About::Checkpoint));
        if let Some((id, _)) = asked {
            return Some(self.halt_for(id));
        }
        let many = if count == 1 { "1 phase was".to_owned() } else { format!("{count} phases were") };
        let text = format!("{many} finished without a pause. Go on with {next}?");
        Some(ask_phase(next.clone(), Question::new(DecisionKind::Checkpoint, text), About::Checkpoint, ""))
    }
}

fn ask_phase(phase: PhaseId, question: Question, about: About, output: &str) -> Lane {
    Lane::Querying(Box::new(Query { phase, question, about, output: output.to_owned(), item: None, mark: None }))
}
