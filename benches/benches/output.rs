//! How much memory 1 GB of output takes.
//!
//! ```sh
//! cargo bench -p ralph-benches --bench output               # writes 4 GB to the temporary folder, one after the other
//! cargo bench -p ralph-benches --bench output -- --megabytes 100
//! ```
//!
//! An agent, then a verifier, prints 1 GB: as lines of 100 bytes, and as one line. Each case is a process of its own, a
//! child of the bench, and says by how much the peak of its resident memory (`VmHWM`) is above what it had when its
//! runtime stood and nothing had run yet. Linux only.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up has nothing to say")]
#![expect(clippy::print_stdout, reason = "the child says its figure")]

use std::{fs, path::Path, process::Command, sync::Arc};

use ralph_agents::CommandAgent;
use ralph_benches::{
    engine::runtime,
    report::{goal, head, number},
};
use ralph_core::{
    AgentBackend as _, AttemptId, Brief, Cx, ItemRef, Phase, RunId, SessionEnd, Stage, Target, Verifier as _,
};
use ralph_verify::{CommandVerifier, Shell};

const CASES: [(&str, &str); 4] = [
    ("agent-lines", "an agent's output in lines"),
    ("agent-one", "an agent's output in one line"),
    ("verifier-lines", "a verifier's output in lines"),
    ("verifier-one", "a verifier's output in one line"),
];

fn main() {
    let megabytes = number("megabytes").unwrap_or(1_000);
    if let Ok(case) = std::env::var("RALPH_BENCH_CASE") {
        return println!("{}", child(&case, megabytes));
    }
    head(&format!("Peak memory over idle, {megabytes} MB of output"));
    for (case, name) in CASES {
        let output = Command::new(std::env::current_exe().expect("this program"))
            .args(["--megabytes", &megabytes.to_string()])
            .env("RALPH_BENCH_CASE", case)
            .output()
            .expect("this program again");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let kib: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
        goal(name, kib / 1024.0, 8.0, " MiB");
    }
}

/// Runs one case; by how many KiB the peak is above idle.
fn child(case: &str, megabytes: usize) -> u64 {
    let bytes = megabytes * 1_000_000;
    let line = if case.ends_with("-lines") {
        let line = "x".repeat(99);
        format!("yes {line} | head -c {bytes}")
    } else {
        format!("head -c {bytes} /dev/zero | tr '\\0' x")
    };
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("output.log");
    let runtime = runtime();
    let idle = status("VmRSS");
    if case.starts_with("agent") {
        runtime.block_on(session(&line, folder.path(), &log));
    } else {
        runtime.block_on(verify(&line, folder.path(), &log));
    }
    let written = fs::metadata(&log).expect("a log").len();
    assert!(written >= bytes as u64, "the log is complete: {written}");
    status("VmHWM").saturating_sub(idle)
}

async fn session(line: &str, folder: &Path, log: &Path) {
    let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
    let mut brief = Brief::new(folder, "Print.", RunId::new("run"), attempt);
    brief.log = Some(log.to_owned());
    let agent = CommandAgent::new("/bin/sh").args(["-c", line]);
    let report = agent.run(&brief, &Cx::new()).await.expect("a report");
    assert_eq!(report.end, SessionEnd::Finished);
}

async fn verify(line: &str, folder: &Path, log: &Path) {
    let mut phase = Phase::new("P1", []);
    phase.verify = vec![line.to_owned()];
    let mut target = Target::new(folder, Stage::Workspace, RunId::new("run"), Arc::new(phase));
    target.log = Some(log.to_owned());
    let verifier = CommandVerifier::new(Shell::new().output_bytes(1 << 40));
    assert!(verifier.verify(&target, &Cx::new()).await.expect("a verdict").passed());
}

/// A figure of this process in KiB, as the kernel knows it.
fn status(key: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").expect("a status");
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).expect("a figure");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}
