//! Ends that somebody asks for, and sessions that end oddly.

use std::io::{self, ErrorKind};

use ralph_core::{
    ItemStatus, MemoryJournal, RunError, RunId, StopReason, engine::Artifacts, machine::RetryFrom, testing::turn,
    verifier,
};

use super::{World, block_on, run};

#[test]
fn the_first_request_ends_after_the_step_and_the_run_goes_on_later() {
    let world = World::new(2, [turn().writes("a", "good"), turn().writes("b", "good")]);
    let journal = MemoryJournal::new();
    let ralph = || world.ralph().journal(journal.clone(), RunId::new("run"));
    let first = ralph();
    first.switches().stop.cancel();
    let outcome = run(first);
    assert_eq!(outcome.stop.reason, StopReason::Cancelled);
    assert!(world.agent.briefs().is_empty());
    assert_eq!(run(ralph()).stop.reason, StopReason::Success);
}

#[test]
fn the_second_request_ends_a_session_and_keeps_what_it_left() {
    let world = World::new(1, [turn().writes("half", "done").costs("0.30").hangs(), turn().writes("a", "good")]);
    let journal = MemoryJournal::new();
    let ralph = || world.ralph().journal(journal.clone(), RunId::new("run"));
    let first = ralph();
    let now = first.switches().now;
    let outcome = block_on(async {
        let agent = world.agent.clone();
        let running = tokio::spawn(first.run());
        while agent.briefs().is_empty() {
            tokio::task::yield_now().await;
        }
        now.cancel();
        running.await.unwrap().unwrap()
    });
    assert_eq!(outcome.stop.reason, StopReason::Cancelled);
    assert_eq!(outcome.spent.cost.to_string(), "$0.30", "what it cost is not lost");
    assert!(world.vcs.kept().keys().all(|name| name.starts_with("interrupted/")));
    assert_eq!(world.vcs.kept().len(), 1);
    // The attempt does not count: with one attempt allowed, the item is done all the same.
    let outcome = run(ralph().attempts(1));
    assert_eq!((outcome.stop.reason, world.status("R01")), (StopReason::Success, ItemStatus::Done));
}

#[test]
fn what_a_crashed_session_left_is_judged() {
    let world = World::new(1, [turn().writes("a", "good").crashes("exit 1")]);
    assert_eq!(run(world.ralph()).stop.reason, StopReason::Success);
}

#[test]
fn a_full_disk_is_a_fault_and_the_run_goes_on_when_there_is_room() {
    let world = World::new(1, [turn().writes("a", "good")]);
    let journal = MemoryJournal::new();
    let full_of = |kind: ErrorKind| {
        let check = verifier("writes its log", move |_| Err(io::Error::from(kind).into()));
        block_on(world.ralph_with(check).journal(journal.clone(), RunId::new("run")).run())
    };
    for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded] {
        assert!(matches!(full_of(kind), Err(RunError::Fault(_))));
    }
    let broken = full_of(ErrorKind::PermissionDenied).unwrap();
    assert_eq!(broken.stop.reason, StopReason::VerifierBroken, "only a full disk is told apart");
    let outcome = run(world.ralph().journal(journal.clone(), RunId::new("run")));
    assert_eq!((outcome.stop.reason, world.status("R01")), (StopReason::Success, ItemStatus::Done));
}

#[test]
fn a_missing_agent_stops_at_once_with_advice() {
    let world = World::new(2, [turn().is_missing()]);
    let outcome = run(world.ralph());
    assert_eq!(outcome.stop.reason, StopReason::AgentUnavailable);
    assert!(outcome.stop.detail.contains("script it otherwise"), "{}", outcome.stop.detail);
    assert_eq!(world.status("R01"), ItemStatus::Open);
}

#[test]
fn a_required_signal_is_required() {
    let done = "{\"status\":\"done\"}";
    let world = World::new(1, [turn().writes("a", "good"), turn().writes("b", "good").signals(done)]);
    let outcome = run(world.ralph().require_signal(true));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    assert_eq!(world.agent.briefs().len(), 2);
    // The signal alone does nothing.
    let world = World::new(1, [turn().writes("a", "bad").signals(done), turn().writes("a", "bad").signals(done)]);
    assert_eq!(run(world.ralph().require_signal(true)).stop.reason, StopReason::ItemsBlocked);
}

#[test]
fn a_second_attempt_starts_from_the_first_ones_work_or_clean() {
    for (from, expected) in [(RetryFrom::Kept, true), (RetryFrom::Base, false)] {
        let world = World::new(1, [turn().writes("first", "good").writes("a", "bad"), turn().writes("a", "good")]);
        run(world.ralph().retry_from(from));
        assert_eq!(world.vcs.files().contains_key("first"), expected, "{from:?}");
    }
}

#[test]
fn prompts_and_outputs_are_kept_by_iteration() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(1, [turn().writes("a", "bad"), turn().writes("a", "good")]);
    run(world.ralph().artifacts(Artifacts::below(folder.path())));
    let read = |name: &str| std::fs::read_to_string(folder.path().join("0001").join(name)).unwrap();
    assert!(read("prompt.md").contains("Item R01: item 0"));
    assert!(read("prompt-2.md").contains("Attempt 1 failed"));
}

#[test]
fn a_commit_by_hand_becomes_the_base_after_it_passed() {
    let world = World::new(1, [turn().writes("a", "good")]);
    let journal = MemoryJournal::new();
    let ralph = || world.ralph().journal(journal.clone(), RunId::new("run"));
    let first = ralph();
    first.switches().stop.cancel();
    run(first);
    // Looked at once, so that the run knows where the branch was.
    let mut files = world.vcs.files();
    files.insert("by-hand".to_owned(), b"good".to_vec());
    world.vcs.commit_by_hand(files);
    assert_eq!(run(ralph()).stop.reason, StopReason::Success);
    assert_eq!(world.vcs.files().len(), 2, "the work stands on the person's commit");
}

#[test]
fn a_rewritten_branch_stops_the_run() {
    let world = World::new(2, [turn().writes("a", "good")]);
    let journal = MemoryJournal::new();
    let limits = || {
        let mut budget = ralph_core::Budget::default();
        budget.iterations = 1;
        budget
    };
    let ralph = || world.ralph().journal(journal.clone(), RunId::new("run")).budget(limits());
    assert_eq!(run(ralph()).stop.reason, StopReason::BudgetExhausted);
    world.vcs.rewrite_by_hand([("other".to_owned(), Vec::new())].into());
    let outcome = run(ralph());
    assert_eq!(outcome.stop.reason, StopReason::BranchMoved);
    assert_eq!(world.agent.briefs().len(), 1);
}
