//! How long a process tree lives after its time is up.
//!
//! ```sh
//! cargo bench -p ralph-benches --bench kill
//! ```
//!
//! A shell with a tree of 20 processes, of which some are in the background and some have left the process group, gets
//! 0.2 s. The *stubborn* tree ignores the signal that asks it to end, so that it is killed after a grace of 0.3 s; the
//! *willing* one ends when it is asked. Printed is what it took beyond the limit, and for the stubborn tree beyond the
//! grace: the median and the worst of many rounds. When a run is over, nothing of its tree is alive; each round checks
//! that.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up has nothing to say")]

use std::{fs, path::Path, time::Duration};

use ralph_benches::{
    engine::runtime,
    report::{figure, goal, head, median, number},
};
use ralph_process::{Command, End, Limits, Output, env, run};

const LIMIT: Duration = Duration::from_millis(200);
const GRACE: Duration = Duration::from_millis(300);

/// Ten sleepers in the group, eight that left it, each named by a number that no other program uses.
const TREE: &str = "i=0; while [ $i -lt 10 ]; do sleep 98765 & i=$((i + 1)); done; \
    while [ $i -lt 18 ]; do setsid sleep 98765 & i=$((i + 1)); done; sleep 98765 & wait; sleep 98765";

fn main() {
    let rounds = number("rounds").unwrap_or(20);
    ralph_process::become_subreaper();
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = runtime();
    let measure = |trap: &str, grace: Duration| -> Vec<f64> {
        let script = format!("trap '{trap}' TERM; {TREE}");
        let one = |_| runtime.block_on(one(&script, folder.path(), grace));
        (0..rounds).map(one).collect()
    };
    let stubborn = measure("", GRACE);
    let willing = measure("exit 0", Duration::ZERO);
    head(&format!("A tree of 20 processes beyond its time, {rounds} rounds"));
    let worst = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    figure("stubborn, beyond the grace, median", format!("{:.1} ms", median(&stubborn)));
    goal("stubborn, beyond the grace, worst", worst(&stubborn), 50.0, " ms");
    figure("willing, beyond the limit, median", format!("{:.1} ms", median(&willing)));
    goal("willing, beyond the limit, worst", worst(&willing), 50.0, " ms");
}

/// Milliseconds that one run took beyond limit and `expected`.
async fn one(script: &str, folder: &Path, expected: Duration) -> f64 {
    let command = Command::shell(script, folder).envs(env::inherited(&[]));
    let limits = Limits { time: Some(LIMIT), grace: GRACE, ..Limits::default() };
    let output = Output::merged(folder.join("log"));
    let finished = run(&command, &output, &limits, std::future::pending(), |_| {}).await.expect("a run");
    assert_eq!(finished.end, End::TimedOut);
    assert!(finished.swept, "something may be left");
    assert_eq!(sleepers(), 0, "something is left");
    (finished.took.saturating_sub(LIMIT + expected)).as_secs_f64() * 1e3
}

/// How many of the tree's processes are alive.
fn sleepers() -> usize {
    let entries = fs::read_dir("/proc").expect("a list of processes").flatten();
    entries.filter(|entry| fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == b"sleep\x0098765\0")).count()
}
