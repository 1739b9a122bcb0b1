//! The laws among verifiers that lie, flake, break and hang, sessions that cheat, and people who do anything.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use ralph_core::{
    StopReason,
    testing::adversary::{Act, Bend, Conduct, Deed, Played, Tally, Trap, Trouble, play},
};

/// How many runs there are, unless the environment says otherwise.
const RUNS: u64 = 300;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name}={value} is no number")))
}

/// Plays every seed below `runs`, on all cores.
fn play_all(runs: u64, look: impl Fn(&Played) + Sync) -> Tally {
    let next = AtomicU64::new(0);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut tally = Tally::default();
        loop {
            let seed = next.fetch_add(1, Ordering::SeqCst);
            if seed >= runs {
                return tally;
            }
            let played = play(seed, None);
            look(&played);
            tally.add(&played.tally);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let mut all = Tally::default();
        for worker in workers {
            all.add(&worker.join().unwrap());
        }
        all
    })
}

#[test]
fn the_laws_hold_among_opponents() {
    if let Some(seed) = number("RALPH_ADVERSARY_SEED") {
        let played = play(seed, None);
        println!("{}\n{}", played.journal, played.tally);
        assert_eq!(played.violations, []);
        return;
    }
    let runs = number("RALPH_ADVERSARY_RUNS").unwrap_or(RUNS);
    let failed = AtomicU64::new(0);
    let tally = play_all(runs, |played| {
        if !played.violations.is_empty() {
            failed.fetch_add(1, Ordering::SeqCst);
            println!("RALPH_ADVERSARY_SEED={} breaks {:#?}", played.seed, played.violations);
        }
    });
    println!("{tally}");
    assert_eq!(failed.into_inner(), 0, "of {runs} runs broke a law");
}
