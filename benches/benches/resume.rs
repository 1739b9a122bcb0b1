//! How long it takes to take up a run whose journal has 10,000 records.
//!
//! ```sh
//! cargo bench -p ralph-benches --bench resume
//! ```
//!
//! The journal is one that the engine wrote, over 1,111 accepted items. Opening reads and checks it and takes its lock;
//! folding gives every record to the machine. Medians of many rounds, nothing cached but by the operating system.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up has nothing to say")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use ralph_benches::{
    engine::runtime,
    report::{figure, goal, head, median, number},
};
use ralph_core::{
    Budget, Event, Journal as _, MemoryPlan, Ralph, RunId, agent_fn, ledger::JsonlJournal, machine::Machine,
    testing::MemoryVcs, verifier,
};

/// Nine records each.
const ITEMS: usize = 1_111;

fn main() {
    let rounds = number("rounds").unwrap_or(30);
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = runtime();
    let journal = JsonlJournal::new(folder.path());
    let run = RunId::new("long");
    let records = runtime.block_on(write(&journal, &run));

    let (mut open, mut fold) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let from = Instant::now();
        let opened = runtime.block_on(journal.open(&run)).expect("a journal");
        open.push(from.elapsed());
        assert_eq!(opened.records.len(), records);
        let from = Instant::now();
        let mut machine = Machine::new();
        for record in &opened.records {
            machine.apply(&record.fact).expect("a record that fits");
        }
        fold.push(from.elapsed());
    }
    let ms = |times: &[Duration]| median(&times.iter().map(|time| time.as_secs_f64() * 1e3).collect::<Vec<_>>());
    let bytes = std::fs::metadata(journal.path(&run)).map_or(0, |file| file.len());
    head(&format!("A journal of {records} records, {} KiB, {rounds} rounds", bytes >> 10));
    figure("open", format!("{:.2} ms", ms(&open)));
    figure("fold", format!("{:.2} ms", ms(&fold)));
    let both: Vec<Duration> = open.iter().zip(&fold).map(|(open, fold)| *open + *fold).collect();
    goal("open and fold", ms(&both), 100.0, " ms");
}

/// Lets the engine write a journal: real files, everything else in memory.
async fn write(journal: &JsonlJournal, run: &RunId) -> usize {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let mut budget = Budget::default();
    (budget.iterations, budget.sessions) = (u32::MAX, u32::MAX);
    let agent = agent_fn("counter", |brief| {
        std::fs::write(brief.workspace.join("count"), brief.attempt.item.item.as_str())?;
        Ok("I counted on.".to_owned())
    });
    let plan = MemoryPlan::of((1..=ITEMS).map(|nth| format!("Count on to {nth}")));
    let check = verifier("the count is there", |folder| Ok(folder.join("count").exists()));
    let outcome = Ralph::builder(plan, agent, check, MemoryVcs::new())
        .journal(journal.clone(), run.clone())
        .budget(budget)
        .observe(move |event: &Event| {
            if let Event::Recorded { record, .. } = event {
                count.store(record.seq as usize, Ordering::Relaxed);
            }
        })
        .run()
        .await
        .expect("a run");
    assert_eq!(outcome.accepted.len(), ITEMS, "{:?}", outcome.stop);
    seen.load(Ordering::Relaxed)
}
