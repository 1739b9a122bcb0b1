//! What the laws say of goals and of loops at an interval is seen to fail.

use std::sync::Arc;

use ralph_core::{
    Evergreen, ItemStatus, MemoryJournal, MemoryPlan, PlanSource, Ralph, Record, RunId, Stage, StopReason,
    machine::{Every, Fact, Mode, VerifyOutcome},
    testing::{Files, MemoryVcs, ScriptedAgent, StillClock, turn},
    verifier,
};

use super::saboteurs::{broken_laws, position};

/// The record of an honest loop of one item: what `sessions` write, in `mode`; `reached` is where it is done or enough.
fn honest_loop(mode: Mode, sessions: &[&str], reached: &'static str) -> Vec<Record> {
    let there = |file: &'static str| verifier("it is there", move |folder| Ok(folder.join(file).exists()));
    let plan = MemoryPlan::of(["look after it"]);
    let (journal, run) = (MemoryJournal::new(), RunId::new("run"));
    let agent = ScriptedAgent::new(sessions.iter().map(|file| turn().writes(file, "x")));
    let files = Files::from([("README".to_owned(), b"start".to_vec())]);
    let plan: Arc<dyn PlanSource> = match mode {
        Mode::Every(_) => Arc::new(Evergreen::new(plan)),
        Mode::Items | Mode::Goal => Arc::new(plan),
    };
    let ralph = Ralph::builder(plan, agent, there(reached), MemoryVcs::with(files))
        .mode(mode)
        .until(there(reached))
        .clock(StillClock::new())
        .journal(journal.clone(), run.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(ralph.run()).unwrap().stop.reason, StopReason::Success);
    let records = journal.records(&run);
    assert_eq!(broken_laws(&records), [] as [&str; 0], "the control");
    records
}

#[track_caller]
fn assert_found_in_loop(
    law: &str,
    mut records: Vec<Record>,
    wanted: impl Fn(&Fact) -> bool,
    forge: impl Fn(&mut Fact),
) {
    let at = position(&records, wanted);
    forge(&mut records[at].fact);
    let found = broken_laws(&records);
    assert!(found.contains(&law), "{law} was not found broken, only {found:?}");
}

#[test]
fn l3_a_goal_is_reached_that_the_base_does_not_pass() {
    let is_base = |fact: &Fact| matches!(fact, Fact::Verified { stage: Stage::Base, .. });
    assert_found_in_loop("L3", honest_loop(Mode::Goal, &[], "README"), is_base, |fact| {
        if let Fact::Verified { outcome, .. } = fact {
            *outcome = VerifyOutcome::Fail;
        }
    });
}

#[test]
fn l3_what_only_a_goal_may_is_done_in_a_plan() {
    let opens = |fact: &Fact| matches!(fact, Fact::Opened { .. });
    assert_found_in_loop("L3", honest_loop(Mode::Goal, &[], "README"), opens, |fact| {
        if let Fact::Opened { rules, .. } = fact {
            rules.mode = Mode::Items;
        }
    });
}

#[test]
fn l8_a_loop_succeeds_without_having_been_enough() {
    let every = Every { usual_ms: 60_000, min_ms: 60_000, max_ms: 60_000, verified: false };
    let records = honest_loop(Mode::Every(every), &["a", "stop"], "stop");
    let last = |fact: &Fact| matches!(fact, Fact::Rounded { enough: Some(VerifyOutcome::Pass), .. });
    assert_found_in_loop("L8", records.clone(), last, |fact| {
        if let Fact::Rounded { enough, .. } = fact {
            *enough = Some(VerifyOutcome::Fail);
        }
    });
    // Only at an interval is that an end.
    let opens = |fact: &Fact| matches!(fact, Fact::Opened { .. });
    assert_found_in_loop("L8", records, opens, |fact| {
        if let Fact::Opened { rules, .. } = fact {
            rules.mode = Mode::Goal;
        }
    });
}

#[test]
fn l12_an_item_is_left_open_outside_of_rounds() {
    let records = honest_loop(Mode::Goal, &["a", "b"], "b");
    let left_open = |fact: &Fact| matches!(fact, Fact::Marked { iteration, .. } if iteration.to == ItemStatus::Open);
    position(&records, left_open);
    let opens = |fact: &Fact| matches!(fact, Fact::Opened { .. });
    assert_found_in_loop("L12", records, opens, |fact| {
        if let Fact::Opened { rules, .. } = fact {
            rules.mode = Mode::Items;
        }
    });
}
