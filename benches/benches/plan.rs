//! What a large plan costs: a PRD of 10,000 items.
//!
//! ```sh
//! cargo bench -p ralph-benches --bench plan
//! ```
//!
//! Prints how long reading the PRD takes (`parse`), reading it again when nothing has changed (`load again`), and
//! picking and marking an item (`mark`); how many bytes of the file a mark changes; and by how many bytes the prompt for
//! an item grows from a PRD of 10 items to one of 10,000. Times are medians of many rounds.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up has nothing to say")]

use std::{fs, time::Instant};

use ralph_benches::{
    engine::runtime,
    report::{figure, goal, head, median, number},
    stage::prd,
};
use ralph_core::{
    Cx, ItemRef, ItemStatus, PlanSource as _, Prompt, PromptInput,
    ledger::{MarkdownPrd, Prd},
};

const ITEMS: usize = 10_000;

fn main() {
    let rounds = number("rounds").unwrap_or(30);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("PRD-P1.md");
    let text = prd(ITEMS);
    fs::write(&path, &text).expect("a file");
    let plan = MarkdownPrd::open(&path);
    let runtime = runtime();
    let cx = Cx::new();

    let parse = timed(rounds, |_| {
        let read = Prd::parse(text.as_bytes(), "PRD-P1.md", plan.phase().clone()).expect("a plan");
        assert_eq!(read.phase.items.len(), ITEMS);
    });
    let load = timed(rounds, |_| {
        runtime.block_on(plan.load(&cx)).expect("a plan");
    });
    let mut changed = 0;
    let mut before = text.clone().into_bytes();
    let mark = timed(rounds, |round| {
        let item = ItemRef::new("P1", format!("R{:05}", 5_000 + round).as_str());
        runtime.block_on(plan.mark(&item, ItemStatus::Open, ItemStatus::Done, &cx)).expect("a mark");
        let after = fs::read(&path).expect("the plan");
        let other = before.iter().zip(&after).filter(|(old, new)| old != new).count();
        changed = changed.max(other + before.len().abs_diff(after.len()));
        before = after;
    });

    head(&format!("A PRD of {ITEMS} items, {} bytes, {rounds} rounds", text.len()));
    goal("parse", median(&parse), 15.0, " ms");
    figure("load again", format!("{:.2} ms", median(&load)));
    figure("mark", format!("{:.2} ms", median(&mark)));
    goal("bytes of the PRD that a mark changes", changed as f64, 1.0, "");
    let small = prompt(10);
    figure("prompt, 10 items", format!("{small} bytes"));
    goal("prompt, 10,000 items", prompt(ITEMS) as f64, small as f64, " bytes");
}

/// How long the prompt for the second item is.
fn prompt(items: usize) -> usize {
    let read = Prd::parse(prd(items).as_bytes(), "PRD-P1.md", "P1".into()).expect("a plan");
    Prompt::default().render(&PromptInput::new(&read.phase, &read.phase.items[1])).len()
}

/// Milliseconds of each round.
fn timed(rounds: usize, mut work: impl FnMut(usize)) -> Vec<f64> {
    let round = |nth| {
        let from = Instant::now();
        work(nth);
        from.elapsed().as_secs_f64() * 1e3
    };
    (0..rounds).map(round).collect()
}
