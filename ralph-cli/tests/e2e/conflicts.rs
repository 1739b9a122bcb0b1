//! Another run at work on the same control folder; who is told of an end; and where the branch is pushed.

use std::{
    fs,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::Value;

use super::{
    plans::{listing, same},
    support::{BRANCH, DILIGENT, Ended, Running, Scratch, until},
};

/// A run whose first session waits for `notes/go`.
fn live(items: usize, then: &str) -> (Scratch, Running) {
    let scratch = Scratch::new(items);
    scratch.agent(&format!("echo >\"$NOTES/at-work\"; until test -e \"$NOTES/go\"; do sleep 0.02; done; {then}"));
    let run = scratch.start(&["run"]);
    until("the session", || scratch.path("notes/at-work").exists());
    (scratch, run)
}

fn go(scratch: &Scratch) {
    fs::write(scratch.path("notes/go"), "").unwrap();
}

#[test]
fn a_live_run_is_left_alone() {
    let (scratch, run) = live(1, DILIGENT);
    let holder = run.pid().to_string();
    let before = listing(&scratch.root);
    for args in [&["--on-conflict", "refuse"][..], &["--set", "run.on_conflict=\"refuse\"", "--new"]] {
        scratch.run(args).refused(&["ralph run ralph-loop/PRD-P1.md", &holder, "ralph stop"]);
        same(&before, &listing(&scratch.root));
    }
    scratch.run(&["--on-conflict", "adopt"]).refused(&["adopt_existing"]);
    go(&scratch);
    run.end().stopped("SUCCESS", 0);
    assert_eq!((scratch.sessions().len(), scratch.run_folders().len()), (1, 1));
}

#[test]
fn records_are_brought_up_to_date_beside_a_live_run() {
    let (scratch, run) = live(1, DILIGENT);
    let journal = scratch.of_run("journal.jsonl");
    let ended = scratch.run(&["--on-conflict", "artifact_only"]);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("checks and records only") && ended.stdout.contains("1 item"), "{ended:?}");
    let page = scratch.run(&["--on-conflict", "artifact_only", "--json"]).stdout;
    assert_eq!(serde_json::from_str::<Value>(&page).unwrap()["schema_version"], 1);
    assert_eq!((scratch.sessions().len(), scratch.of_run("journal.jsonl")), (1, journal));
    // What is wrong with the plan is said as `ralph check` says it.
    scratch.edit_prd("Verify:", "Verfy:");
    scratch.run(&["--on-conflict", "artifact_only"]).refused(&["Verfy"]);
    scratch.edit_prd("Verfy:", "Verify:");
    go(&scratch);
    run.end().stopped("SUCCESS", 0);
    assert_eq!(scratch.run_folders().len(), 1);
}

/// Two more calls follow the live run, for people and for machines, until `end` ends it.
#[track_caller]
fn followed(then: &str, end: impl FnOnce(&Scratch, &Running), reason: &str, code: i32) {
    let (scratch, run) = live(1, then);
    let followers = [
        scratch.start(&["run", "--on-conflict", "adopt_existing"]),
        scratch.start(&["run", "--on-conflict", "adopt_existing", "--json"]),
    ];
    followers.iter().for_each(|follower| until("following", || follower.stderr().contains("following")));
    end(&scratch, &run);
    let ended = run.end();
    assert!(ended.status.code().is_none_or(|found| found == code), "{ended:?}");
    let [people, machines] = followers.map(Running::end);
    assert_eq!((people.status.code(), machines.status.code()), (Some(code), Some(code)), "{people:?} {machines:?}");
    assert!(people.stderr.contains("R01"), "{people:?}");
    let lines: Vec<Value> = machines.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() > 3 && lines.iter().all(|line| line["schema_version"] == 1), "{}", machines.stdout);
    let last = lines.last().unwrap();
    assert_eq!((&last["kind"], &last["reason"], &last["exit"]), (&"stopped".into(), &reason.into(), &code.into()));
    assert_eq!((scratch.sessions().len(), scratch.run_folders().len()), (1, 1), "nothing was started");
}

#[test]
fn a_live_run_is_followed_to_its_end() {
    followed(DILIGENT, |scratch, _| go(scratch), "SUCCESS", 0);
    let asks = "printf '\\n```ralph\\n{\"status\": \"decision\", \"question\": \"Which?\"}\\n```\\n'";
    followed(asks, |scratch, _| go(scratch), "AWAITING_DECISIONS", 10);
    followed(DILIGENT, |_, run| run.signal(Signal::TERM), "CANCELLED", 130);
    // One that is cut off has no end of its own.
    followed(DILIGENT, |_, run| run.signal(Signal::KILL), "FAULT", 1);
}

#[test]
fn where_no_run_is_on_there_is_nothing_to_follow() {
    let scratch = Scratch::new(1);
    scratch.run(&["--on-conflict", "adopt_existing"]).stopped("SUCCESS", 0);
    let (scratch, run) = live(1, DILIGENT);
    run.signal(Signal::KILL);
    run.end();
    go(&scratch);
    scratch.run(&["--on-conflict", "artifact_only"]).stopped("SUCCESS", 0);
}

/// A command at the end that notes what it was told, and then does `then`.
fn telling(scratch: &Scratch, then: &str) {
    let told = scratch.path("notes/told");
    let line = "$RALPH_STOP_REASON $RALPH_STOP_EXIT $RALPH_STOP_RUN/${RALPH_RUN_ID-none}: $RALPH_STOP_DETAIL";
    scratch.settings(&format!("[run]\non_stop = '''echo \"{line}\" >>'{}'; {then}'''\n", told.display()));
}

#[test]
fn somebody_is_told_of_every_end() {
    let scratch = Scratch::new(2);
    telling(&scratch, "true");
    scratch.run(&["--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
    scratch.run(&["--phase", "P2"]).refused(&["--phase"]);
    scratch.run(&[]).stopped("SUCCESS", 0);
    let run = scratch.run_folders()[0].file_name().unwrap().to_string_lossy().into_owned();
    let told = scratch.note("told");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 2, "only of runs that began: {told}");
    assert!(lines[0].starts_with(&format!("BUDGET_EXHAUSTED 13 {run}/none: iterations")), "{told}");
    assert!(lines[1].starts_with(&format!("SUCCESS 0 {run}/none: ")), "{told}");
}

#[test]
fn whoever_is_told_changes_nothing_about_the_end() {
    for (then, words) in
        [("exit 3", "run.on_stop"), ("kill -9 $$", "run.on_stop"), ("no-such-command", "no-such-command")]
    {
        let scratch = Scratch::new(1);
        telling(&scratch, then);
        let ended = scratch.run(&[]).stopped("SUCCESS", 0);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
        assert!(scratch.note("told").starts_with("SUCCESS 0 "));
    }
    let (scratch, run) = {
        let scratch = Scratch::new(1);
        telling(&scratch, "exit 3");
        scratch.agent("echo >\"$NOTES/at-work\"; sleep 1000");
        let run = scratch.start(&["run"]);
        until("the session", || scratch.path("notes/at-work").exists());
        (scratch, run)
    };
    run.signal(Signal::TERM);
    run.end().stopped("CANCELLED", 130);
    assert!(scratch.note("told").starts_with("CANCELLED 130 "));
}

#[test]
fn a_signal_ends_whoever_is_told_and_the_program() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let scratch = Scratch::new(1);
        telling(&scratch, "sleep 1000");
        let run = scratch.start(&["run"]);
        until("the command", || !scratch.note("told").is_empty());
        run.signal(signal);
        // Its limit is a minute.
        let started = Instant::now();
        let ended = run.end().stopped("SUCCESS", 0);
        assert!(started.elapsed() < Duration::from_secs(30), "it was not heard");
        assert!(ended.stderr.contains("`run.on_stop`: ended by a signal"), "{}", ended.stderr);
        scratch.nothing_lives();
    }
}

/// A repository with a bare one beside it, to which its branch is pushed.
fn pushing(items: usize) -> Scratch {
    let scratch = Scratch::new(items);
    let remote = scratch.path("remote.git");
    scratch.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    scratch.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    scratch.settings("[run]\npush = \"origin\"\n");
    scratch
}

/// The refs of the remote, each with its commit's subject.
fn remote(scratch: &Scratch) -> Vec<String> {
    let remote = scratch.path("remote.git");
    let refs = scratch.git(&["-C", remote.to_str().unwrap(), "for-each-ref", "--format=%(refname:short) %(subject)"]);
    refs.lines().map(str::to_owned).collect()
}

#[track_caller]
fn not_pushed(scratch: &Scratch, ended: &Ended) {
    assert!(ended.stdout.contains("Not pushed"), "{}", ended.stdout);
    assert_eq!(scratch.status_json()["unpublished"], true);
}

#[test]
fn the_branch_is_pushed_after_each_item() {
    let scratch = pushing(2);
    let there = format!(
        "git -C '{}' log --format=%s {BRANCH} >\"$NOTES/there.$RALPH_ITEM_ID\" 2>&1",
        scratch.path("remote.git").display()
    );
    scratch.agent(&format!("{there}; {DILIGENT}"));
    scratch.git(&["tag", "mine"]);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert!(scratch.note("there.R02").starts_with("R01: make the file 1\n"), "{}", scratch.note("there.R02"));
    assert_eq!(remote(&scratch), [format!("{BRANCH} R02: make the file 2")], "and nothing else");
    assert_eq!(scratch.status_json()["unpublished"], false);
    Scratch::new(1).run(&["--set", "run.push=\"nowhere\""]).refused(&["`nowhere`", "git remote add"]);
}

#[test]
fn a_remote_that_is_gone_fails_nothing() {
    let scratch = pushing(2);
    let (remote_path, away) = (scratch.path("remote.git"), scratch.path("away.git"));
    fs::rename(&remote_path, &away).unwrap();
    let ended = scratch.run(&[]).stopped("SUCCESS", 0);
    not_pushed(&scratch, &ended);
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), ("xx", 2));
    // It goes with the next item.
    fs::rename(&away, &remote_path).unwrap();
    scratch.edit_prd("- [x] R02", "- [ ] R03: one more\n  Verify: test -s R03.txt\n- [x] R02");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(remote(&scratch), [format!("{BRANCH} R03: one more")]);
    assert_eq!(scratch.status_json()["unpublished"], false);
}

#[test]
fn what_was_not_pushed_is_tried_again_at_the_end() {
    let scratch = pushing(2);
    let (remote_path, away) = (scratch.path("remote.git"), scratch.path("away.git"));
    fs::rename(&remote_path, &away).unwrap();
    // The remote is back when nothing is left to accept.
    let back = format!("mv '{}' '{}'", away.display(), remote_path.display());
    scratch.agent(&format!(
        "test $RALPH_ITEM_ID = R01 && {{ {DILIGENT}; exit; }}
         {back}; printf '\\n```ralph\\n{{\"status\": \"decision\", \"question\": \"Which?\"}}\\n```\\n'"
    ));
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    assert_eq!(remote(&scratch), [format!("{BRANCH} R01: make the file 1")]);
    assert_eq!(scratch.status_json()["unpublished"], false);
    assert_eq!(scratch.sessions(), ["R01.1", "R02.1"]);
}
