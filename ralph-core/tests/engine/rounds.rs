//! A goal, and a prompt at an interval: each session is an iteration.

use std::{sync::Arc, time::Duration};

use ralph_core::{
    Budget, Clock, ItemStatus, MemoryJournal, PlanSource, Ralph, RunId, StopReason, Verifier,
    machine::{Every, Mode},
    testing::{Turn, turn},
    verifier,
};

use super::{World, no_bad_files, run};

/// Passes where the file says `good`.
fn good(file: &'static str) -> impl Verifier {
    verifier("it is good", move |folder| Ok(std::fs::read(folder.join(file)).is_ok_and(|text| text == b"good")))
}

fn iterations(count: u32) -> Budget {
    let mut budget = Budget::default();
    budget.iterations = count;
    budget
}

fn goal(turns: impl IntoIterator<Item = Turn>) -> World {
    World::new(1, turns)
}

#[test]
fn a_goal_is_tried_until_its_verifier_passes() {
    let tries = ["bad 1", "bad 2", "bad 3", "good"];
    let world = goal(tries.map(|text| turn().writes("a", text)));
    let outcome = run(world.ralph_with(good("a")).mode(Mode::Goal));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    assert_eq!((world.status("R01"), outcome.accepted.len()), (ItemStatus::Done, 1));
    world.agent.assert_played();
    let briefs = world.agent.briefs();
    assert!(
        !briefs[0].prompt.contains("failed") && briefs[3].prompt.contains("Attempt 3 failed"),
        "{}",
        briefs[3].prompt
    );
    // Each session is an iteration of its own.
    let numbers: Vec<u64> =
        world.facts("marked").iter().map(|fact| fact["iteration"]["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
}

#[test]
fn a_goal_ends_at_its_budget_and_goes_on_with_the_next() {
    let world = goal((1..=6).map(|n| turn().writes("a", if n == 6 { "good".to_owned() } else { format!("bad {n}") })));
    let journal = MemoryJournal::new();
    let ralph = || {
        world.ralph_with(good("a")).journal(journal.clone(), RunId::new("run")).mode(Mode::Goal).budget(iterations(3))
    };
    let first = run(ralph());
    assert_eq!((first.stop.reason, first.stop.detail.as_str()), (StopReason::BudgetExhausted, "iterations: 3 of 3"));
    assert_eq!(world.status("R01"), ItemStatus::Open);
    assert_eq!(run(ralph()).stop.reason, StopReason::Success);
    world.agent.assert_played();
}

#[test]
fn a_goal_that_gets_nowhere_is_no_progress() {
    let world = goal((0..9).map(|_| turn().writes("a", "bad")));
    let outcome = run(world.ralph_with(good("a")).mode(Mode::Goal));
    assert_eq!(outcome.stop.reason, StopReason::NoProgress);
    // The first changed something; two in a row did not.
    assert_eq!(world.agent.briefs().len(), 3);
}

#[test]
fn a_goal_that_is_reached_already_costs_no_session() {
    let world = goal([]);
    let outcome = run(world.ralph_with(no_bad_files()).mode(Mode::Goal));
    assert_eq!((outcome.stop.reason, world.status("R01")), (StopReason::Success, ItemStatus::Done));
    assert!(world.agent.briefs().is_empty());
}

#[test]
fn a_goal_that_only_seems_to_be_reached_gets_a_session() {
    let world = goal([turn().writes("a", "good")]);
    // The base passes, a clean checkout of it fails; then the session's work passes twice.
    let verdicts = std::sync::Mutex::new(vec![true, true, false, true]);
    let check = verifier("scripted", move |_| Ok(verdicts.lock().unwrap().pop().unwrap_or(false)));
    let outcome = run(world.ralph_with(check).mode(Mode::Goal));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    let prompt = &world.agent.briefs()[0].prompt;
    assert!(
        prompt.contains("the verifier passed on the branch as it is") && !prompt.contains("a person took"),
        "{prompt}"
    );
}

#[test]
fn a_false_completion_is_tried_again() {
    // The check looks beside the work at first, and at the commit only later.
    let world = goal([turn().writes("a", "good"), turn().writes("b", "2")]);
    let verdicts = std::sync::Mutex::new(vec![true, true, true, false, false, true, false]);
    let check = verifier("scripted", move |_| Ok(verdicts.lock().unwrap().pop().unwrap_or(false)));
    // Base fails, workspace passes, candidate fails twice; then the second session passes twice.
    let outcome = run(world.ralph_with(check).mode(Mode::Goal));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    assert!(world.agent.briefs()[1].prompt.contains("false completion"), "{}", world.agent.briefs()[1].prompt);
}

#[test]
fn who_is_blocked_or_asks_stops_a_goal() {
    let world = goal([turn().signals(r#"{"status": "blocked", "summary": "no key"}"#)]);
    assert_eq!(run(world.ralph_with(good("a")).mode(Mode::Goal)).stop.reason, StopReason::ItemsBlocked);
    let world = goal([turn().signals(r#"{"status": "decision", "question": "which?"}"#)]);
    assert_eq!(run(world.ralph_with(good("a")).mode(Mode::Goal)).stop.reason, StopReason::AwaitingDecisions);
}

const MINUTE: u64 = 60_000;

fn every(verified: bool) -> Mode {
    Mode::Every(Every { usual_ms: 10 * MINUTE, min_ms: 2 * MINUTE, max_ms: 30 * MINUTE, verified })
}

/// A loop at an interval over `world`: its plan's item stays open.
fn looped(world: &World, verified: bool) -> Ralph {
    looped_with(world, no_bad_files(), verified)
}

fn looped_with(world: &World, check: impl Verifier, verified: bool) -> Ralph {
    let seen = Arc::clone(&world.seen);
    let plan: Arc<dyn PlanSource> = Arc::new(ralph_core::Evergreen::new(world.plan.clone()));
    Ralph::builder(plan, world.agent.clone(), check, world.vcs.clone())
        .clock(world.clock.clone())
        .observe(move |event: &ralph_core::Event| seen.lock().unwrap().push(event.clone()))
        .baseline(false)
        .mode(every(verified))
}

fn waits(world: &World) -> Vec<u64> {
    world.facts("waited").iter().map(|fact| fact["took_ms"].as_u64().unwrap() / MINUTE).collect()
}

#[test]
fn sessions_at_an_interval_leave_nothing_behind() {
    let world = World::new(1, (0..3).map(|n| turn().writes(format!("f{n}"), "x")));
    let outcome = run(looped(&world, false).budget(iterations(3)));
    assert_eq!(outcome.stop.detail, "iterations: 3 of 3");
    assert_eq!(waits(&world), [10, 10], "no wait comes after the last");
    assert_eq!(world.vcs.branch().len(), 1, "nothing was committed");
    assert!(world.vcs.kept().is_empty());
    assert_eq!(world.status("R01"), ItemStatus::Open);
    world.agent.assert_played();
}

#[test]
fn an_agent_chooses_within_bounds_when_it_is_called_again() {
    let asks = |minutes: &str| turn().signals(&format!(r#"{{"status": "done", "next_minutes": {minutes}}}"#));
    let turns = [asks("5"), asks("0.1"), asks("1000"), asks("\"soon\""), turn()];
    let world = World::new(1, turns);
    run(looped(&world, false).budget(iterations(5)));
    assert_eq!(waits(&world), [5, 2, 30, 10]);
}

#[test]
fn what_passes_at_an_interval_is_committed_and_what_fails_is_told() {
    let turns = [turn().writes("a", "1"), turn().writes("a", "bad"), turn().writes("a", "3")];
    let world = World::new(1, turns);
    let outcome = run(looped(&world, true).budget(iterations(3)));
    assert_eq!(outcome.stop.detail, "iterations: 3 of 3");
    assert_eq!(world.vcs.branch().len(), 3);
    assert!(world.agent.briefs()[2].prompt.contains("failed"));
}

#[test]
fn a_round_with_nothing_to_do_asks_nobody() {
    let world = World::new(1, [turn(), turn(), turn().writes("a", "1"), turn()]);
    let outcome = run(looped(&world, true).budget(iterations(4)));
    assert_eq!(outcome.stop.detail, "iterations: 4 of 4");
    assert_eq!((waits(&world), world.vcs.branch().len()), (vec![10, 10, 10], 2));
    // What an earlier round left, and no verifier has passed before, is a person's to judge.
    let world = World::new(1, [turn().writes("a", "good"), turn().signals(r#"{"status": "done"}"#)]);
    let outcome = run(looped(&world, true).require_signal(true).budget(iterations(2)));
    assert_eq!(outcome.stop.reason, StopReason::AwaitingDecisions);
}

#[test]
fn a_loop_ends_when_it_is_enough() {
    let world = World::new(1, [turn().writes("a", "1"), turn().writes("b", "2"), turn().writes("stop", "good")]);
    let outcome = run(looped(&world, false).until(good("stop")));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    assert_eq!(world.agent.briefs().len(), 3);
}

#[test]
fn a_loop_that_is_taken_up_asks_first_whether_it_is_enough() {
    let world = World::new(1, [turn().writes("a", "1"), turn().writes("b", "2")]);
    let journal = MemoryJournal::new();
    let ralph = || looped(&world, false).journal(journal.clone(), RunId::new("run"));
    let broken = verifier("broken", |_| Err("exit 127".into()));
    assert_eq!(run(ralph().until(broken)).stop.reason, StopReason::VerifierBroken);
    assert_eq!(run(ralph().until(no_bad_files())).stop.reason, StopReason::Success);
    assert_eq!(world.agent.briefs().len(), 1);
    // Where it is not, the session that was due begins without a wait.
    assert_eq!(run(ralph().until(good("stop")).budget(iterations(1))).stop.reason, StopReason::BudgetExhausted);
    assert_eq!((world.agent.briefs().len(), waits(&world)), (2, vec![0]));
}

#[test]
fn no_wait_begins_that_the_time_budget_does_not_outlast() {
    let world = World::new(1, (0..9).map(|_| turn()));
    let mut budget = Budget::default();
    budget.time = Duration::from_secs(25 * 60);
    let from = world.clock.monotonic();
    let outcome = run(looped(&world, false).budget(budget));
    assert_eq!(outcome.stop.reason, StopReason::BudgetExhausted);
    assert!(outcome.stop.detail.starts_with("time: the next session"), "{}", outcome.stop.detail);
    assert_eq!((world.clock.monotonic() - from).as_secs() / 60, 20);
}

#[test]
fn no_wait_begins_that_no_session_would_follow() {
    let spent = |change: &dyn Fn(&mut Budget)| {
        let world = World::new(1, (0..9).map(|_| turn().costs("1").uses_tokens(1000)));
        let mut budget = Budget::default();
        change(&mut budget);
        let outcome = run(looped(&world, false).budget(budget));
        assert_eq!(outcome.stop.reason, StopReason::BudgetExhausted);
        (world.agent.briefs().len(), waits(&world).len(), outcome.stop.detail)
    };
    for (what, (sessions, waits, detail)) in [
        ("cost_usd: ", spent(&|budget| budget.cost = Some("2".parse().unwrap()))),
        ("tokens: ", spent(&|budget| budget.tokens = Some(2000))),
        ("sessions: ", spent(&|budget| budget.sessions = 2)),
        ("iterations: ", spent(&|budget| budget.iterations = 2)),
    ] {
        assert!(detail.starts_with(what), "{detail}");
        assert_eq!((sessions, waits), (2, 1), "{detail}");
    }
}
