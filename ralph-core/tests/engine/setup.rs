//! `Setup:` and `Env-Check:`.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use ralph_core::{MemoryPlan, Phase, Plan, StopReason, Verifier, testing::turn, verifier};

use super::{World, run};

fn with_setup(world: &World) -> MemoryPlan {
    let mut phase: Phase = (*world.plan.plan().phases[0]).clone();
    phase.setup = vec!["install".to_owned()];
    MemoryPlan::new(Plan::new([phase]))
}

/// Counts its runs; fails where a file `no-setup` is.
fn counting(runs: &Arc<AtomicU32>) -> impl Verifier {
    let runs = Arc::clone(runs);
    verifier("install", move |folder| {
        runs.fetch_add(1, Ordering::SeqCst);
        Ok(!folder.join("no-setup").exists())
    })
}

#[test]
fn it_runs_in_each_fresh_folder_and_when_a_lock_file_changes() {
    let mut world = World::new(
        3,
        [
            turn().writes("a", "good").writes("cache/x", "kept"),
            turn().writes("b", "good").writes("cache/x", "kept"),
            turn().writes("Cargo.lock", "new").writes("cache/x", "kept"),
        ],
    );
    world.plan = with_setup(&world);
    let runs = Arc::new(AtomicU32::new(0));
    let outcome = run(world.ralph().setup(counting(&runs)));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    // The base and each candidate stand in the clean site, which never has a cache here: 4. The work site is fresh
    // once: 1.
    assert_eq!(runs.load(Ordering::SeqCst), 5);
}

#[test]
fn a_phase_without_setup_runs_none() {
    let world = World::new(1, [turn().writes("a", "good")]);
    let runs = Arc::new(AtomicU32::new(0));
    run(world.ralph().setup(counting(&runs)));
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[test]
fn failing_on_the_base_is_nobodys_fault_and_costs_nothing() {
    let mut world = World::new(1, []);
    world.plan = with_setup(&world);
    let outcome = run(world.ralph().setup(verifier("install", |_| Ok(false))));
    assert_eq!(outcome.stop.reason, StopReason::Environment);
    assert!(world.agent.briefs().is_empty());
}

#[test]
fn failing_only_on_the_candidate_is_a_failed_attempt_like_another() {
    let mut world = World::new(1, [turn().writes("no-setup", ""), turn().writes("a", "good")]);
    world.plan = with_setup(&world);
    let outcome = run(world.ralph().setup(counting(&Arc::default())));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    assert!(world.agent.briefs()[1].prompt.contains("its set-up fails on this work, and not on the base"));

    let mut world = World::new(1, [turn().writes("no-setup", ""), turn().writes("no-setup", "again")]);
    world.plan = with_setup(&world);
    let runs = Arc::new(AtomicU32::new(0));
    let outcome = run(world.ralph().setup(counting(&runs)));
    assert_eq!(outcome.stop.reason, StopReason::ItemsBlocked);
}

#[test]
fn a_red_environment_stops_before_money_is_spent() {
    let world = World::new(1, [turn().writes("a", "good")]);
    let outcome = run(world.ralph().env_check(verifier("database", |_| Ok(false))));
    assert_eq!(outcome.stop.reason, StopReason::Environment);
    assert!(outcome.stop.detail.contains("database"), "{}", outcome.stop.detail);
    assert!(world.agent.briefs().is_empty());
    // The control, and the way on: the same run once the database is up.
    let outcome = run(world.ralph().env_check(verifier("database", |_| Ok(true))));
    assert_eq!(outcome.stop.reason, StopReason::Success);
}
