//! Items whose own verifier must fail before there is any work.

use std::sync::{Arc, Mutex};

use ralph_core::{
    Cx, DecisionKind, Item, ItemStatus, MemoryDecisions, MemoryJournal, MemoryPlan, Phase, Plan, RunId, StopReason,
    Target, Verdict, Verifier, VerifyError, async_trait,
    testing::{Turn, turn},
};

use super::{World, run};

/// Judges as a command verifier does: `has FILE` passes where the file is there, anything else is broken.
#[derive(Clone, Debug, Default)]
struct Has(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Verifier for Has {
    fn name(&self) -> &str {
        "has"
    }

    async fn verify(&self, target: &Target, _cx: &Cx) -> Result<Verdict, VerifyError> {
        let commands = target.commands();
        self.0.lock().unwrap().push(format!("{}: {}", target.stage, commands.join(", ")));
        for command in commands {
            let Some(file) = command.strip_prefix("has ") else { return Err(VerifyError::broken("exit 127")) };
            if !target.folder.join(file).exists() {
                return Ok(Verdict::new(false, format!("{file} is missing")));
            }
        }
        Ok(Verdict::new(true, "it is there"))
    }
}

fn world(verify: &str, checks: &[&str], turns: impl IntoIterator<Item = Turn>) -> World {
    let mut item = Item::new("R01", "item");
    item.verify = vec![verify.to_owned()];
    item.checks = checks.iter().map(|&check| check.to_owned()).collect();
    let mut phase = Phase::new("P1", [item]);
    phase.verify = vec!["has README".to_owned()];
    World { plan: MemoryPlan::new(Plan::new([phase])), ..World::new(0, turns) }
}

#[test]
fn a_verifier_that_fails_before_and_passes_after_is_what_is_wanted() {
    let world = world("has a", &["require-red"], [turn().writes("a", "1").writes("README", "x")]);
    let check = Has::default();
    let outcome = run(world.ralph_with(check.clone()).baseline(false));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    // Its own command alone, on the base: that the common one fails there proves nothing about the item.
    let asked = check.0.lock().unwrap().clone();
    assert_eq!(asked[..2], ["base: has a", "workspace: has a, has README"]);
}

#[test]
fn a_verifier_that_passes_already_is_a_question_before_any_money() {
    let (queue, journal) = (MemoryDecisions::new(), MemoryJournal::new());
    let world = world("has README", &["require-red"], [turn().writes("a", "1")]);
    world.vcs.commit_by_hand([("README".to_owned(), b"x".to_vec())].into());
    let ralph = || {
        let ralph = world.ralph_with(Has::default()).decisions(queue.clone());
        ralph.journal(journal.clone(), RunId::new("run"))
    };
    assert_eq!(run(ralph()).stop.reason, StopReason::AwaitingDecisions);
    assert_eq!((world.agent.briefs().len(), world.status("R01")), (0, ItemStatus::Decision));
    let (id, asked) = queue.pending().pop().unwrap();
    assert_eq!(asked.question.kind, DecisionKind::AlreadyDone);
    assert!(asked.question.text.contains("R01's own verifier must fail"), "{}", asked.question.text);
    // Whoever says no has it worked on, and is not asked again.
    queue.answer(&id, "reject: not yet", "lead", std::time::UNIX_EPOCH).unwrap();
    assert_eq!(run(ralph()).stop.reason, StopReason::Success);
    assert_eq!((world.agent.briefs().len(), queue.asked().len()), (1, 1));
}

#[test]
fn whoever_says_that_it_is_done_has_it_verified_on_the_branch() {
    let (queue, journal) = (MemoryDecisions::new(), MemoryJournal::new());
    let world = world("has README", &["require-red"], []);
    world.vcs.commit_by_hand([("README".to_owned(), b"x".to_vec())].into());
    let ralph = || {
        let ralph = world.ralph_with(Has::default()).decisions(queue.clone());
        ralph.journal(journal.clone(), RunId::new("run"))
    };
    run(ralph());
    let (id, _) = queue.pending().pop().unwrap();
    queue.answer(&id, "approve", "lead", std::time::UNIX_EPOCH).unwrap();
    assert_eq!(run(ralph()).stop.reason, StopReason::Success);
    assert_eq!((world.agent.briefs().len(), world.status("R01")), (0, ItemStatus::Done));
}

#[test]
fn it_is_asked_only_where_it_is_wanted() {
    let cases = [
        ("the rule", true, &[][..], 1),
        ("nobody", false, &[], 0),
        ("the item, against the rule", true, &["-require-red"], 0),
        ("the item by itself", false, &["+require-red", "-secrets"], 1),
    ];
    for (what, rule, checks, questions) in cases {
        let world = world("has README", checks, [turn().writes("a", "1")]);
        world.vcs.commit_by_hand([("README".to_owned(), b"x".to_vec())].into());
        let queue = MemoryDecisions::new();
        run(world.ralph_with(Has::default()).require_red(rule).decisions(queue.clone()));
        assert_eq!(queue.asked().len(), questions, "{what}");
    }
}

#[test]
fn one_that_cannot_judge_stops_the_run() {
    let world = world("hsa a", &["require-red"], []);
    let outcome = run(world.ralph_with(Has::default()).baseline(false));
    assert_eq!(outcome.stop.reason, StopReason::VerifierBroken);
    assert_eq!(world.agent.briefs().len(), 0);
}
