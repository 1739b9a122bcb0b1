//! The effects around the plan and the queue: looking what is to be done, asking people, taking in what they say.

use std::collections::BTreeSet;

use super::effects::{Call, Done, Seams};
use crate::{
    answer::Answer,
    cx::Cx,
    decision::Decision,
    error::chain,
    id::{DecisionId, Digest, ItemRef, PhaseId, Revision},
    machine::{Counts, Fact, PhaseSpec, Pick, Request, Spec},
    plan::{Item, ItemStatus, Phase, Plan, PlanError},
    plan_change::PlanChange,
};

/// What the machine knows of plan and queue when it looks.
pub(super) struct Known<'a> {
    pub(super) parked: &'a [ItemRef],
    pub(super) pending: &'a [DecisionId],
    pub(super) finished: &'a [PhaseId],
}

impl Seams {
    pub(super) async fn look(&self, expect: Option<&Revision>, known: &Known<'_>, cx: &Cx) -> Done {
        let tip = self.vcs.tip(expect, cx).await?;
        let (mut answers, mut lost) = (Vec::new(), Vec::new());
        if !known.pending.is_empty() {
            answers = self.decisions.answers(known.pending, cx).await?;
            lost = self.decisions.lost(known.pending, cx).await?;
        }
        let nothing = |pick| {
            Ok(Fact::Looked {
                tip: tip.clone(),
                pick,
                counts: Counts::default(),
                answers: Vec::new(),
                moot: Vec::new(),
                lost: Vec::new(),
            })
        };
        let plan = match self.plan.load(cx).await {
            Ok(plan) => plan,
            Err(PlanError::NotApproved(why)) => return nothing(Pick::NotApproved(why)),
            Err(error @ (PlanError::Invalid(_) | PlanError::Io { .. })) => {
                return nothing(Pick::Invalid(chain(&error)));
            }
        };
        // Whatever the source makes of it: nothing was done where there is nothing (law L12).
        if let Some(why) = unfit(&plan) {
            return nothing(Pick::Invalid(why));
        }
        let (pick, counts) = pick(&plan, known, self);
        let waits = |item: &&ItemRef| plan.find(item).is_some_and(|(_, found)| found.status == ItemStatus::Decision);
        let moot = known.parked.iter().filter(|item| !waits(item)).cloned().collect();
        Ok(Fact::Looked { tip, pick, counts, answers, moot, lost })
    }

    pub(super) async fn ask(&self, request: &Request, call: &Call<'_>) -> Done {
        let key = format!("{}/{}", call.run, call.key);
        let (phase, question) = (request.phase.clone(), request.question.clone());
        let mut decision = Decision::new(key, call.run.clone(), phase, question, self.clock.now());
        decision.item = request.item.as_ref().map(|item| item.item.clone());
        decision.revision.clone_from(&request.revision);
        decision.kept.clone_from(&request.kept);
        decision.stat = request.stat;
        decision.said.clone_from(&request.said);
        decision.output.clone_from(&request.output);
        decision.proposed.clone_from(&request.proposed);
        let id = self.decisions.submit(&decision, &call.cx).await?;
        // Whoever proposes items is not stuck.
        let item = request.item.clone().filter(|_| request.proposed.is_empty());
        Ok(Fact::Asked { id, item })
    }

    pub(super) async fn take_in(&self, answer: &Answer, change: &PlanChange, cx: &Cx) -> Done {
        let refused = change.write(&*self.plan, answer, cx).await?;
        Ok(Fact::TookIn { answer: answer.clone(), refused })
    }

    pub(super) async fn withdraw(&self, ids: &[DecisionId], why: &str, cx: &Cx) -> Done {
        for id in ids {
            self.decisions.close(id, why, cx).await?;
        }
        Ok(Fact::Withdrawn { ids: ids.to_vec() })
    }
}

/// Why nobody could tell when the plan is done.
fn unfit(plan: &Plan) -> Option<String> {
    if plan.phases.is_empty() {
        return Some("the plan has no items".to_owned());
    }
    let mut seen = BTreeSet::new();
    plan.phases.iter().find_map(|phase| {
        if phase.items.is_empty() {
            return Some(format!("{} has no items", phase.id));
        }
        let twice = phase.items.iter().find(|item| !seen.insert(phase.name(item)))?;
        Some(format!("there are two items {}", phase.name(twice)))
    })
}

/// What the first phase that is not finished asks for, and how all items stand.
fn pick(plan: &Plan, known: &Known<'_>, seams: &Seams) -> (Pick, Counts) {
    let count = |items: &mut dyn Iterator<Item = &std::sync::Arc<Item>>| {
        let mut counts = Counts::default();
        items.for_each(|item| counts.add(item.status));
        counts
    };
    let counts = count(&mut plan.phases.iter().flat_map(|phase| &phase.items));
    let spec = |phase: &Phase, item: &Item, last| Spec {
        item: phase.name(item),
        title: item.title.clone(),
        digest: item.digest.clone(),
        decisions: item.decisions.len(),
        last,
        max_blockers: phase.max_blockers,
        require_red: !item.verify.is_empty() && item.requires_red().unwrap_or(seams.require_red),
    };
    for phase in &plan.phases {
        let waits = |item: &&std::sync::Arc<Item>| item.status == ItemStatus::Decision;
        let asked = |item: &&std::sync::Arc<Item>| known.parked.contains(&phase.name(item));
        if let Some(item) = phase.items.iter().filter(waits).find(|item| !asked(item)) {
            return (Pick::Undecided(spec(phase, item, false)), counts);
        }
    }
    let done = |phase: &Phase| phase.items.iter().all(|item| item.status == ItemStatus::Done);
    let finished = |phase: &Phase| done(phase) && known.finished.contains(&phase.id);
    let Some(index) = plan.phases.iter().position(|phase| !finished(phase)) else { return (Pick::Nothing, counts) };
    let phase = &plan.phases[index];
    if done(phase) {
        let gated = phase.is_gated() || seams.every_phase_gated;
        return (Pick::Gates(PhaseSpec { phase: phase.id.clone(), gated, gates: gates(phase) }), counts);
    }
    let mut open = phase.items.iter().filter(|item| item.status == ItemStatus::Open);
    let pick = match open.next() {
        Some(item) => Pick::Item(spec(phase, item, open.next().is_none())),
        None => Pick::Waiting(count(&mut phase.items.iter())),
    };
    (pick, counts)
}

/// What the plan says about a phase's gates.
fn gates(phase: &Phase) -> Digest {
    let mut said = phase.auto_gate.join("\0");
    if let Some(manual) = &phase.manual_gate {
        said.push_str("\0\0");
        said.push_str(manual);
    }
    Digest::of(said.as_bytes())
}
