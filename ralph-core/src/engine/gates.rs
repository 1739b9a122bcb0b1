//! The effects that let gates judge.

use std::sync::Arc;

use super::{
    bounds::{self, bounded},
    effects::{CLEAN, Call, Done, Seams},
    folders::{Standing, verified},
};
use crate::{
    decision::Question,
    gate::{Boundary, Gate, GateError, ItemBoundary, PhaseBoundary, Ruling},
    gates::without_retired,
    id::{ItemId, ItemRef, PhaseId, Revision},
    machine::{Attempt, Fact, Objection, VerifyOutcome},
    plan::Phase,
    stop::{Stop, StopReason},
    vcs::Caches,
    verify::{Evidence, Stage, Target},
};

impl Seams {
    /// One no outweighs every question; several questions become one.
    pub(super) async fn judge(
        &self,
        attempt: &Attempt,
        (revision, bases): (&Revision, &[Revision]),
        opened: &[Objection],
        call: &Call<'_>,
    ) -> Done {
        let from = self.clock.monotonic();
        let (phase, item) = self.item(attempt, &call.cx).await?;
        let tree = self.vcs.tree(revision, &call.cx).await?;
        let mut boundaries = Vec::new();
        for base in bases {
            boundaries.push(Boundary::Item(ItemBoundary {
                run: call.run.clone(),
                phase: Arc::clone(&phase),
                item: Arc::clone(&item),
                revision: revision.clone(),
                tree: Arc::clone(&tree),
                base_tree: self.vcs.tree(base, &call.cx).await?,
                changes: self.vcs.changes(base, revision, &call.cx).await?.into(),
            }));
        }
        let (mut asked, mut by): (Option<Question>, Vec<Objection>) = (None, Vec::new());
        let judged = |ruling, by, took_ms| {
            Ok(Fact::Judged { phase: None, ruling: bounds::ruling(ruling), by, opened: opened.to_vec(), took_ms })
        };
        for boundary in &boundaries {
            for gate in &self.gates {
                let ruling = gate.judge(boundary, &call.cx).await?;
                let Some(objection) = objection(&**gate, &ruling).filter(|objection| !opened.contains(objection))
                else {
                    continue;
                };
                match ruling {
                    Ruling::Open => {}
                    closed @ Ruling::Closed(_) => return judged(closed, vec![objection], self.since(from)),
                    Ruling::Ask(question) => {
                        asked = Some(match asked {
                            None => question,
                            Some(before) => before.and(&question),
                        });
                        by.push(objection);
                    }
                }
            }
        }
        judged(asked.map_or(Ruling::Open, Ruling::Ask), by, self.since(from))
    }

    /// Every phase on a clean checkout of the tip; the first one that does not pass has the word.
    pub(super) async fn verify_plan(&self, revision: &Revision, retired: &[ItemRef], call: &Call<'_>) -> Done {
        let from = self.clock.monotonic();
        let mut last = (VerifyOutcome::Pass, String::new(), Evidence::default());
        for phase in &self.plan.load(&call.cx).await?.phases {
            let retired: Vec<ItemId> =
                retired.iter().filter(|item| item.phase == phase.id).map(|item| item.item.clone()).collect();
            last = match self.stand(CLEAN, revision, Caches::Drop, phase, None, call).await? {
                Standing::Ready(folder) => {
                    let phase = without_retired(phase, &retired);
                    let mut target = Target::new(folder, Stage::Gate, call.run.clone(), phase);
                    target.revision = Some(revision.clone());
                    target.log = self.artifacts.loose(&format!("verify-gate-{}", target.phase.id))?;
                    self.verdict(&target, call).await?
                }
                Standing::Unready(why) => (VerifyOutcome::Unready, why, Evidence::default()),
                Standing::Unplaceable(why) => (VerifyOutcome::Fail, why, Evidence::default()),
            };
            if last.0 != VerifyOutcome::Pass {
                break;
            }
        }
        let (outcome, summary, evidence) = last;
        Ok(verified(Stage::Gate, Some(revision), outcome, &summary, evidence, self.since(from)))
    }

    /// One gate after the other on a clean checkout of the tip; the first that is not open has the word.
    pub(super) async fn judge_phase(
        &self,
        id: &PhaseId,
        revision: &Revision,
        opened: &[Objection],
        retired: &[ItemRef],
        call: &Call<'_>,
    ) -> Done {
        let from = self.clock.monotonic();
        let plan = self.plan.load(&call.cx).await?;
        let judged = |ruling, by: Option<Objection>, took_ms| Fact::Judged {
            phase: Some(id.clone()),
            ruling: bounds::ruling(ruling),
            by: by.into_iter().collect(),
            opened: opened.to_vec(),
            took_ms,
        };
        let not_judged = |reason, why: String| {
            Ok(Fact::NotJudged { phase: id.clone(), stop: Stop::new(reason, bounded(&format!("{id}: {why}"))) })
        };
        let Some(phase) = plan.phases.iter().find(|phase| phase.id == *id) else {
            let gone = Ruling::Closed("the phase is no longer in the plan".to_owned());
            return Ok(judged(gone, None, self.since(from)));
        };
        let folder = match self.stand(CLEAN, revision, Caches::Drop, phase, None, call).await? {
            Standing::Ready(folder) => folder,
            Standing::Unready(why) => return not_judged(StopReason::Environment, why),
            Standing::Unplaceable(why) => return not_judged(StopReason::Environment, why),
        };
        let boundary = Boundary::Phase(PhaseBoundary {
            run: call.run.clone(),
            phase: Arc::<Phase>::clone(phase),
            revision: revision.clone(),
            tree: self.vcs.tree(revision, &call.cx).await?,
            folder,
            retired: retired.iter().map(|item| item.item.clone()).collect(),
            log: self.artifacts.loose(&format!("gate-{id}"))?,
        });
        for gate in &self.phase_gates {
            match gate.judge(&boundary, &call.cx).await {
                Ok(ruling) => {
                    let objection = objection(&**gate, &ruling).filter(|objection| !opened.contains(objection));
                    if objection.is_some() {
                        return Ok(judged(ruling, objection, self.since(from)));
                    }
                }
                Err(GateError::Broken(why)) => return not_judged(StopReason::VerifierBroken, why),
                Err(error @ GateError::Other(_)) => return Err(error.into()),
            }
        }
        Ok(judged(Ruling::Open, None, self.since(from)))
    }
}

/// What a gate has against going on. An approval covers a question; what is closed, no approval opens.
fn objection(gate: &dyn Gate, ruling: &Ruling) -> Option<Objection> {
    let (kind, words) = match ruling {
        Ruling::Open => return None,
        Ruling::Closed(why) => ("closed", why),
        Ruling::Ask(question) => (question.kind.name(), &question.text),
    };
    Some(Objection::new(gate.name(), &format!("{kind}: {words}")))
}
