//! What a run knows of those before it: gates that were opened, and work that was not yet taken in.

use std::fs;

use rustix::process::Signal;

use super::support::{DILIGENT, Ended, Scratch, until};

const GATE: &str = "Manual-Gate: lead looks";

/// A plan whose two phases were finished and approved; and then a third one is added.
fn finished() -> Scratch {
    let scratch = Scratch::planned(&[(1, &[GATE]), (1, &[GATE])]);
    scratch.approve();
    scratch.run(&[]).stopped("MANUAL_GATE", 10);
    scratch.btw(&["D-001=approve"]);
    scratch.run(&[]).stopped("MANUAL_GATE", 10);
    scratch.btw(&["D-002=approve"]);
    scratch.run(&[]).stopped("SUCCESS", 0);
    scratch
}

fn add_a_phase(scratch: &Scratch) {
    scratch.write("ralph-loop/PRD-P3.md", "- [ ] R03: make the file 3\n  Verify: test -s R03.txt\n");
    let plan = scratch.read("ralph-loop/MASTER-PLAN.md");
    scratch.plan(&format!("{plan}\nPhase P3 — Part 3\n  PRD: ralph-loop/PRD-P3.md\n  {GATE}\n"));
    scratch.approve();
}

/// The places of the questions that wait.
fn places(scratch: &Scratch) -> Vec<String> {
    scratch.pending().into_iter().map(|asked| asked.place).collect()
}

#[test]
fn a_run_that_died_before_it_began_makes_nothing_forgotten() {
    let scratch = finished();
    let last = scratch.run_folders().pop().unwrap();
    let stamp = last.file_name().unwrap().to_str().unwrap().rsplit_once('-').unwrap().0.to_owned();
    let blank = last.with_file_name(format!("{stamp}-zzzzzz"));
    fs::create_dir(&blank).unwrap();
    fs::copy(last.join("run.json"), blank.join("run.json")).unwrap();
    add_a_phase(&scratch);
    scratch.run(&[]).stopped("MANUAL_GATE", 10);
    assert_eq!(places(&scratch), ["P3"], "the gates before it were opened");
}

#[test]
fn the_last_run_of_a_plan_is_not_cleaned_away() {
    let scratch = finished();
    let last = "the last of ralph-loop/MASTER-PLAN.md on ralph/master-plan";
    let clean = || scratch.ralph(&["clean", "--runs-older-than", "1s", "--yes"]);
    until("the run is old", || clean().stdout.contains(last));
    add_a_phase(&scratch);
    scratch.run(&[]).stopped("MANUAL_GATE", 10);
    assert_eq!(places(&scratch), ["P3"]);
}

#[test]
fn a_gate_is_opened_for_a_branch() {
    let scratch = finished();
    // On another branch nobody has looked, and not even the work is there.
    scratch.run(&["--set", "run.branch=ralph/other"]).stopped("AUTO_GATE_FAILED", 11);
    assert_eq!(places(&scratch), ["P1"]);
}

/// Ends a run by `signal` in the middle of its first session, whose work is half done; cleans; and goes on.
fn cleaned_after(signal: Signal) -> Ended {
    let scratch = Scratch::new(1);
    let first = "echo hours >half.txt; echo >\"$NOTES/at-work\"; until test -e \"$NOTES/go\"; do sleep 0.02; done";
    scratch.agent(&format!("test -e \"$NOTES/at-work\" || {{ {first}; }}; {DILIGENT}"));
    let run = scratch.start(&["run"]);
    until("the session", || scratch.path("notes/at-work").exists());
    run.signal(signal);
    run.end();
    fs::write(scratch.path("notes/go"), "").unwrap();
    let said = scratch.ralph(&["clean", "--yes"]);
    assert_eq!(said.status.code(), Some(0), "{}", said.stderr);
    let text = said.stdout.clone();
    assert!(text.contains("Nothing to remove.") && text.contains("its work may be in them"), "{text}");
    scratch.run(&[]).stopped("SUCCESS", 0);
    // The control: nothing needs them any more.
    let after = scratch.ralph(&["clean", "--yes"]).stdout;
    assert!(after.contains("workspace") && !after.contains("Stays"), "{after}");
    if signal == Signal::KILL {
        let kept = scratch.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/interrupted"]);
        assert!(scratch.files(&kept).contains(&"half.txt".to_owned()), "{kept}");
    }
    said
}

#[test]
fn work_that_is_in_the_workspaces_only_is_not_cleaned_away() {
    assert!(cleaned_after(Signal::KILL).stdout.contains("was cut off"));
    assert!(cleaned_after(Signal::TERM).stdout.contains("was cancelled"));
}
