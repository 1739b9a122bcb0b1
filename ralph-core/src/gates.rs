//! The gates that plans name: one that a verifier opens, and one that only a person opens.
//!
//! Every run has them at the phase boundary, in this order; they open where the plan names nothing.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    cx::Cx,
    decision::{DecisionKind, Question},
    error::chain,
    gate::{Boundary, Gate, GateError, Ruling},
    id::ItemId,
    plan::Phase,
    verify::{Evidence, Stage, Target, Verdict, Verifier, VerifyError},
};

/// The gate that a verifier opens (`Auto-Gate:`): on a clean checkout of the branch, every item's own verifier once more,
/// then the phase's, then the gate's commands.
///
/// ```
/// use ralph_core::{Boundary, gates::AutoGate, verifier};
/// let gate = AutoGate::new(verifier("always", |_folder| Ok(true)));
/// assert_eq!(ralph_core::Gate::name(&gate), "auto-gate");
/// ```
#[derive(Debug)]
pub struct AutoGate {
    verifier: Arc<dyn Verifier>,
}

impl AutoGate {
    /// Judged by `verifier`, which is shown the phase at [`Stage::Gate`]; see [`Target::commands`].
    pub fn new(verifier: impl Verifier) -> Self {
        Self { verifier: Arc::new(verifier) }
    }
}

#[async_trait]
impl Gate for AutoGate {
    fn name(&self) -> &str {
        "auto-gate"
    }

    async fn judge(&self, boundary: &Boundary, cx: &Cx) -> Result<Ruling, GateError> {
        let Boundary::Phase(at) = boundary else { return Ok(misplaced(self.name())) };
        let phase = without_retired(&at.phase, &at.retired);
        let mut target = Target::new(&at.folder, Stage::Gate, at.run.clone(), phase);
        target.revision = Some(at.revision.clone());
        target.tree = Some(Arc::clone(&at.tree));
        target.log.clone_from(&at.log);
        match self.verifier.verify(&target, cx).await {
            Ok(Verdict::Pass(_)) => Ok(Ruling::Open),
            Ok(Verdict::Fail(evidence)) => Ok(Ruling::Closed(reason(&evidence))),
            Err(VerifyError::Broken { why, .. }) => Err(GateError::Broken(why)),
            Err(error @ VerifyError::Cancelled) => Err(GateError::other(error)),
            Err(error @ VerifyError::Other(_)) => Err(GateError::Broken(chain(&error))),
        }
    }
}

/// The summary, and as a second paragraph the end of the output.
fn reason(evidence: &Evidence) -> String {
    if evidence.tail.trim().is_empty() {
        return evidence.summary.clone();
    }
    format!("{}\n\n{}", evidence.summary.replace("\n\n", "\n"), evidence.tail)
}

/// The phase without the own verifiers of items that a person retired.
pub(crate) fn without_retired(phase: &Arc<Phase>, retired: &[ItemId]) -> Arc<Phase> {
    if retired.is_empty() {
        return Arc::clone(phase);
    }
    let mut phase = Phase::clone(phase);
    for item in phase.items.iter_mut().filter(|item| retired.contains(&item.id)) {
        Arc::make_mut(item).verify.clear();
    }
    Arc::new(phase)
}

/// The gate that only a person opens (`Manual-Gate:`).
///
/// It asks wherever the plan names something to approve; that it was approved is the engine's business, which does not
/// ask a gate again that a person opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct ManualGate;

#[async_trait]
impl Gate for ManualGate {
    fn name(&self) -> &str {
        "manual-gate"
    }

    async fn judge(&self, boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
        let Boundary::Phase(at) = boundary else { return Ok(misplaced(self.name())) };
        Ok(match &at.phase.manual_gate {
            Some(what) => {
                let text = format!("Manual-Gate awaits: {what}");
                Ruling::Ask(Question::new(DecisionKind::ManualGate, text))
            }
            None => Ruling::Open,
        })
    }
}

fn misplaced(gate: &str) -> Ruling {
    let text = format!("The gate `{gate}` judges phases and was asked about something else. Go on?");
    Ruling::Ask(Question::new(DecisionKind::ManualGate, text))
}
