//! What an accepted item costs in things that can be counted: no clock is needed, so that any machine can tell.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use ralph_benches::{
    engine,
    stage::{Stage, prd},
};
use ralph_core::{Cx, Event, ItemRef, ItemStatus, PlanSource as _, StopReason, ledger::MarkdownPrd, machine::Fact};

/// Git processes and scans of a work tree, after each item.
type Counts = Vec<(u64, u64)>;

#[test]
fn an_accepted_item_takes_ten_git_processes_and_three_scans_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::make(folder.path().join("repository"), 60);
    stage.plan(5);
    let counts: Arc<Mutex<Counts>> = Arc::default();
    let outcome = engine::runtime().block_on(async {
        let vcs = engine::git(&stage, folder.path()).await;
        let (counter, seen) = (Arc::clone(&vcs), Arc::clone(&counts));
        engine::run(&stage, vcs, move |event: &Event| {
            if matches!(event, Event::Recorded { record, .. } if matches!(record.fact, Fact::Marked { .. })) {
                seen.lock().unwrap().push((counter.spawns(), counter.scans()));
            }
        })
        .await
    });
    assert_eq!(outcome.stop.reason, StopReason::Success);
    let counts = counts.lock().unwrap();
    assert_eq!(counts.len(), 5);
    // The first one prepares the sites.
    for pair in counts.windows(2) {
        let [(spawns, scans), (next_spawns, next_scans)] = *pair else { unreachable!() };
        let (spawns, scans) = (next_spawns - spawns, next_scans - scans);
        assert!((1..=10).contains(&spawns) && (1..=3).contains(&scans), "{spawns} git processes, {scans} scans");
    }
}

#[test]
fn a_mark_is_one_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("PRD-P1.md");
    let before = prd(1_000);
    fs::write(&path, &before).unwrap();
    let plan = MarkdownPrd::open(&path);
    let item = ItemRef::new("P1", "R00500");
    let cx = Cx::new();
    let mark = plan.mark(&item, ItemStatus::Open, ItemStatus::Done, &cx);
    engine::runtime().block_on(mark).unwrap();
    let after = fs::read(&path).unwrap();
    assert_eq!(after.len(), before.len());
    let changed: Vec<usize> = (0..after.len()).filter(|&at| after[at] != before.as_bytes()[at]).collect();
    let [at] = changed[..] else { panic!("{} bytes were changed", changed.len()) };
    assert!(before[..at].ends_with("\n- [") && before[at..].starts_with(" ] R00500:"));
}
