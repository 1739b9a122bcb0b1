//! Reports about other loops, group BUDGET (`docs/bug-rows.md`): spawn, cost, time.

use std::{fs, thread, time::Duration};

use rustix::process::Signal;

use super::support::{DILIGENT, Scratch, kill, until};

#[test]
fn budget_08_time_in_which_all_was_stopped_is_no_hang() {
    let waits = || {
        let scratch = Scratch::new(1);
        scratch.agent(&format!(
            "touch \"$NOTES/up\"; until test -e \"$NOTES/go\"; do echo >>\"$NOTES/beats\"; sleep 0.05; done; {DILIGENT}"
        ));
        let run = scratch.start(&["run", "--set", "agent.timeout=6s", "--set", "run.attempts=1"]);
        until("the session", || scratch.path("notes/up").exists());
        (scratch, run)
    };
    let (stopped, mut run) = waits();
    // As a laptop that is closed, or Ctrl-Z: all of it, and ralph first, so that nobody is missed.
    run.signal(Signal::STOP);
    let processes = stopped.processes();
    assert!(processes.len() > 1, "{processes:?}");
    processes.iter().for_each(|(pid, _)| kill(*pid, Signal::STOP));
    // The control waits just as long, and is not stopped.
    let (control, awake) = waits();
    thread::sleep(Duration::from_secs(7));
    stopped.processes().iter().for_each(|(pid, _)| kill(*pid, Signal::CONT));
    // It goes on for long enough to be looked at several times.
    let beats = stopped.note("beats").len();
    until("some beats", || stopped.note("beats").len() >= beats + 8 || run.has_ended());
    fs::write(stopped.path("notes/go"), "").unwrap();
    run.end().stopped("SUCCESS", 0);
    awake.end().stopped("ITEMS_BLOCKED", 12);
    assert!(control.read("ralph-loop/BLOCKERS.md").contains("R01"));
    stopped.nothing_lives();
}
