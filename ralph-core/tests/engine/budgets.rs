//! Budgets, waits and the count of what gets nowhere.

use std::time::{Duration, UNIX_EPOCH};

use ralph_core::{
    Budget, Clock, Event, ItemStatus, MemoryDecisions, MemoryJournal, Record, RunId, StopReason, Trouble, Usd,
    engine::Backoff, machine::Fact, testing::turn,
};

use super::{World, refused, run};

fn budget(change: impl FnOnce(&mut Budget)) -> Budget {
    let mut budget = Budget::default();
    change(&mut budget);
    budget
}

#[test]
fn work_finished_on_the_last_allowed_iteration_is_success() {
    let turns = || [turn().writes("a", "1"), turn().writes("b", "2")];
    let world = World::new(2, turns());
    let outcome = run(world.ralph().budget(budget(|budget| budget.iterations = 2)));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    let world = World::new(3, turns());
    let outcome = run(world.ralph().budget(budget(|budget| budget.iterations = 2)));
    assert_eq!(outcome.stop.reason, StopReason::BudgetExhausted);
    assert_eq!(outcome.stop.detail, "iterations: 2 of 2");
}

#[test]
fn iterations_count_per_invocation_and_money_per_run() {
    let world = World::new(4, (0..4).map(|n| turn().writes(format!("f{n}"), "x").costs("0.40")));
    let journal = MemoryJournal::new();
    let ralph = || {
        let limits = budget(|budget| {
            budget.iterations = 2;
            budget.cost = Some(Usd::from_micros(1_100_000));
        });
        world.ralph().journal(journal.clone(), RunId::new("run")).budget(limits)
    };
    let first = run(ralph());
    assert_eq!(first.stop.detail, "iterations: 2 of 2");
    // $0.80 of $1.10 are spent: one more session may begin, and no other.
    let second = run(ralph());
    assert_eq!(second.stop.reason, StopReason::BudgetExhausted);
    assert!(second.stop.detail.starts_with("cost_usd: $1.20"), "{}", second.stop.detail);
    assert_eq!(second.accepted.len(), 3);
}

#[test]
fn a_session_that_does_not_say_what_it_cost_is_not_free() {
    let world = World::new(20, (0..20).map(|n| turn().writes(format!("f{n}"), "x")));
    let outcome = run(world.ralph().budget(budget(|budget| budget.cost = Some(Usd::from_micros(1_000_000)))));
    assert_eq!(outcome.stop.reason, StopReason::BudgetExhausted);
    // A tenth of the budget is set aside for each.
    assert_eq!((outcome.accepted.len(), outcome.spent.unknown_cost), (10, 10));
}

#[test]
fn answers_give_no_budget_back() {
    let asks = || turn().signals(r#"{"status": "decision", "question": "which?"}"#);
    // Every question is answered at once, and the run goes on with it.
    let after = |limits| {
        let world = World::new(1, (0..10).map(|_| asks()).chain([turn().writes("a", "good")]));
        let decisions = MemoryDecisions::new();
        let queue = decisions.clone();
        let answers = move |event: &Event| {
            if let Event::Recorded { record: Record { fact: Fact::Asked { id, .. }, .. }, .. } = event {
                queue.answer(id, "this one", "lead", UNIX_EPOCH).unwrap();
            }
        };
        let outcome = run(world.ralph().decisions(decisions).budget(limits).observe(answers));
        (outcome.stop.reason, outcome.stop.detail, world.facts("took_in").len())
    };
    let spent = |detail: &str, answered| (StopReason::BudgetExhausted, detail.to_owned(), answered);
    assert_eq!(after(budget(|budget| budget.iterations = 10)), spent("iterations: 10 of 10", 10));
    assert_eq!(after(budget(|budget| budget.sessions = 4)), spent("sessions: 4 of 4", 4));
    // The control: with one more it is done.
    let (reason, _, answered) = after(budget(|budget| budget.iterations = 11));
    assert_eq!((reason, answered), (StopReason::Success, 10));
}

#[test]
fn budgets_that_cannot_be_honoured_are_refused() {
    let world = World::new(1, []);
    let blind = ralph_core::agent_fn("blind", |_| Ok(String::new()));
    let limits = budget(|budget| budget.cost = Some(Usd::from_micros(1)));
    let ralph = ralph_core::Ralph::builder(world.plan.clone(), blind, super::no_bad_files(), world.vcs.clone());
    assert!(refused(ralph.budget(limits)).contains("`blind` does not report its cost"));
    assert!(refused(world.ralph().attempts(0)).contains("at least one attempt"));
}

#[test]
fn trouble_of_the_agent_costs_neither_attempt_nor_iteration() {
    let down = || turn().is_unavailable(Trouble::Overload, None);
    let world = World::new(1, [down(), down(), down(), turn().writes("a", "good")]);
    let limits = budget(|budget| budget.iterations = 1);
    let outcome = run(world.ralph().attempts(1).budget(limits));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    assert_eq!(world.facts("waited").len(), 3, "one record for each wait");
}

#[test]
fn a_stated_reset_time_is_waited_for() {
    let mut world = World::new(1, []);
    let until = world.clock.now() + Duration::from_secs(3600);
    world.agent = ralph_core::testing::ScriptedAgent::new([
        turn().is_unavailable(Trouble::UsageWindow, Some(until)),
        turn().writes("a", "good"),
    ]);
    run(world.ralph().backoff(Backoff::none()));
    assert_eq!(world.facts("waited")[0]["took_ms"], 3_600_000);
}

#[test]
fn a_reset_beyond_the_time_budget_stops_at_once() {
    let mut world = World::new(1, []);
    let until = world.clock.now() + Duration::from_secs(9 * 3600);
    world.agent = ralph_core::testing::ScriptedAgent::new([turn().is_unavailable(Trouble::UsageWindow, Some(until))]);
    let limits = budget(|budget| budget.wait_at_most = Duration::from_secs(100 * 3600));
    let outcome = run(world.ralph().budget(limits));
    assert_eq!(outcome.stop.reason, StopReason::AgentUnavailable);
    assert!(outcome.stop.detail.contains("beyond the time budget"), "{}", outcome.stop.detail);
    assert_eq!(world.status("R01"), ItemStatus::Open, "it is not the item's fault");
}

#[test]
fn an_agent_that_is_out_for_good_ends_the_run() {
    let world = World::new(1, (0..9).map(|_| turn().is_unavailable(Trouble::Network, None)));
    let outcome = run(world.ralph().budget(budget(|budget| budget.outages = 4)));
    assert_eq!(outcome.stop.reason, StopReason::AgentUnavailable);
    assert_eq!(world.agent.briefs().len(), 4);
}

#[test]
fn iterations_that_change_nothing_end_the_run() {
    // Two sessions an item, all of them only talk; the verifier is never satisfied.
    let world = World::new(5, (0..10).map(|_| turn().says("done!")));
    let outcome = run(world.ralph_with(ralph_core::verifier("never", |_| Ok(false))));
    assert_eq!(outcome.stop.reason, StopReason::NoProgress);
    assert_eq!(world.agent.briefs().len(), 4);
}

#[test]
fn going_back_and_forth_is_no_progress() {
    // A, B, then A and B again: both were rejected before.
    let turns = ["a", "b", "a", "b", "a", "b"].map(|text| turn().writes("x", text));
    let world = World::new(3, turns);
    let outcome = run(world.ralph_with(ralph_core::verifier("never", |_| Ok(false))).budget(budget(|budget| {
        budget.no_progress = 2;
        budget.blockers_per_phase = 9;
    })));
    // The first iteration was new, the second and third were not.
    assert_eq!(outcome.stop.reason, StopReason::ItemsBlocked);
    let world = World::new(4, ["a", "b", "a", "b", "a", "b"].map(|text| turn().writes("x", text)));
    let outcome = run(world.ralph_with(ralph_core::verifier("never", |_| Ok(false))).budget(budget(|budget| {
        budget.no_progress = 2;
        budget.blockers_per_phase = 9;
    })));
    assert_eq!(outcome.stop.reason, StopReason::NoProgress);
}

#[test]
fn blocked_items_reach_their_limit() {
    let turns = (0..20).map(|n| turn().writes(format!("f{n}"), "bad"));
    let world = World::new(5, turns);
    let outcome = run(world.ralph());
    assert_eq!(outcome.stop.reason, StopReason::BlockerLimit);
    assert_eq!(outcome.stop.detail, "3 blocked items in P1, the limit is 3");
    assert_eq!(world.agent.briefs().len(), 6);
}
