//! One run at a time on a control folder; the lock is the system's and goes with its holder.

use rustix::process::Signal;

use super::support::{DILIGENT, Scratch, until};

/// An agent that waits for `notes/go`.
fn waiting(items: usize) -> Scratch {
    let scratch = Scratch::new(items);
    scratch.agent(&format!("{DILIGENT}; echo >\"$NOTES/at-work\"; until test -e \"$NOTES/go\"; do sleep 0.02; done"));
    scratch
}

#[test]
fn a_second_run_is_refused_and_the_first_is_unharmed() {
    let scratch = waiting(1);
    let first = scratch.start(&["run"]);
    until("the session", || scratch.path("notes/at-work").exists());
    let before = (scratch.progress(), scratch.of_run("journal.jsonl"));
    let pid = first.pid().to_string();
    scratch.run(&[]).refused(&["ralph run ralph-loop/PRD-P1.md", &pid, "ralph stop"]);
    assert_eq!((scratch.progress(), scratch.of_run("journal.jsonl")), before);
    assert!(scratch.ralph(&["status"]).stdout.contains("at work"));

    std::fs::write(scratch.path("notes/go"), "").unwrap();
    first.end().stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1"]);
    assert_eq!(scratch.run_folders().len(), 1);
}

#[test]
fn of_ten_that_start_at_once_one_runs() {
    let scratch = waiting(1);
    let all: Vec<_> = (0..10).map(|_| scratch.start(&["run"])).collect();
    until("the session", || scratch.path("notes/at-work").exists());
    let mut refused = 0;
    let mut others = Vec::new();
    for run in all {
        until("a refusal", || run.stderr().contains("is held by") || run.stderr().contains("R01"));
        if run.stderr().contains("is held by") {
            run.end().refused(&["is held by"]);
            refused += 1;
        } else {
            others.push(run);
        }
    }
    std::fs::write(scratch.path("notes/go"), "").unwrap();
    assert_eq!((refused, others.len()), (9, 1));
    others.pop().unwrap().end().stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1"]);
    assert_eq!(scratch.run_folders().len(), 1);
}

#[test]
fn after_a_kill_the_next_run_starts_at_once() {
    let scratch = waiting(1);
    let first = scratch.start(&["run"]);
    until("the session", || scratch.path("notes/at-work").exists());
    first.signal(Signal::KILL);
    assert_eq!(first.end().status.code(), None);

    // The agent of the one that was killed may still be there; the next run ends it before it begins.
    std::fs::remove_file(scratch.path("notes/at-work")).unwrap();
    let second = scratch.start(&["run"]);
    until("the session", || scratch.path("notes/at-work").exists());
    // A shell that is just starting a program is two for an instant; one of an earlier life would stay.
    let agents = || scratch.processes().iter().filter(|(_, command)| command.contains("agent.sh")).count();
    until("one agent", || agents() == 1);
    std::fs::write(scratch.path("notes/go"), "").unwrap();
    second.end().stopped("SUCCESS", 0);
    scratch.nothing_lives();
    assert_eq!(scratch.commits(), ["R01: make the file 1"]);
    assert_eq!(scratch.outcomes(), ["P1/R01 interrupted", "P1/R01 done"]);
}
