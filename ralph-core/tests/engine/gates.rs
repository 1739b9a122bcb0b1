//! Gates at the item boundary.

use ralph_core::async_trait;
use ralph_core::{
    Boundary, Cx, DecisionKind, Gate, GateError, ItemStatus, MemoryDecisions, Question, Ruling, StopReason,
    testing::turn,
};

use super::{World, run};

/// Rules by what a file of the candidate says, and asks where it meets a boundary that it does not know.
#[derive(Debug)]
pub(super) struct ByFile;

#[async_trait]
impl Gate for ByFile {
    fn name(&self) -> &str {
        "by-file"
    }

    async fn judge(&self, boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
        let Boundary::Item(at) = boundary else {
            return Ok(Ruling::Ask(Question::new(DecisionKind::Choice, "what is this?")));
        };
        let read = at.tree.read(b"gate", 100).await.map_err(|error| GateError::Other(error.into()))?;
        Ok(match read.as_deref() {
            Some(b"closed") => Ruling::Closed("the gate file says no".to_owned()),
            Some(b"ask") => Ruling::Ask(Question::new(DecisionKind::Dependency, "a new dependency?")),
            _ => Ruling::Open,
        })
    }
}

#[test]
fn an_open_gate_lets_work_through() {
    let world = World::new(1, [turn().writes("a", "good")]);
    let outcome = run(world.ralph().gate(ByFile));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    assert_eq!(world.facts("judged").len(), 1);
}

#[test]
fn a_closed_gate_fails_the_attempt_and_says_why() {
    let world = World::new(1, [turn().writes("gate", "closed"), turn().writes("gate", "open")]);
    let outcome = run(world.ralph().gate(ByFile));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    assert!(world.agent.briefs()[1].prompt.contains("the gate file says no"));
}

#[test]
fn a_gate_that_asks_parks_verified_work() {
    let world = World::new(2, [turn().writes("gate", "ask"), turn().writes("b", "good")]);
    let queue = MemoryDecisions::new();
    let outcome = run(world.ralph().gate(ByFile).decisions(queue.clone()));
    assert_eq!(outcome.stop.reason, StopReason::AwaitingDecisions);
    assert_eq!((world.status("R01"), world.status("R02")), (ItemStatus::Decision, ItemStatus::Done));
    let asked = queue.asked();
    assert_eq!(asked[0].question.kind, DecisionKind::Dependency);
    // The work waits under a name, and the branch never held it.
    let kept = world.vcs.kept();
    assert_eq!(kept.values().next(), asked[0].revision.as_ref());
    assert!(kept.keys().all(|name| name.starts_with("parked/")));
    assert!(!world.vcs.files().contains_key("gate"));
}

#[test]
fn work_that_fails_wakes_nobody() {
    let world = World::new(1, [turn().writes("gate", "ask").writes("a", "bad"), turn().writes("a", "bad")]);
    let outcome = run(world.ralph().gate(ByFile));
    assert_eq!(outcome.stop.reason, StopReason::ItemsBlocked);
    assert_eq!(world.facts("judged").len(), 0);
}
