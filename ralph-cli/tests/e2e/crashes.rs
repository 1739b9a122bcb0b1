//! `kill -9` at any time, then `ralph run`: the state that there would have been.

use std::{
    fs,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::process::Signal;

use super::support::{BRANCH, DILIGENT, Scratch, size, until};

/// Two items; the first one fails once. A run of all kinds of steps but questions.
fn scenario() -> Scratch {
    let scratch = Scratch::new(2);
    scratch.agent(&format!(r#"test "$RALPH_ITEM_ID$(ls first 2>/dev/null)" = R01 && echo >first || {DILIGENT}"#));
    scratch
}

/// Marks, commits, their items, the branch's tree, outcomes in PROGRESS.md.
type Result = (String, Vec<String>, Vec<String>, String, Vec<String>);

/// What the scenario comes to when nothing happens to the program.
fn uncrashed() -> &'static Result {
    static RESULT: OnceLock<Result> = OnceLock::new();
    RESULT.get_or_init(|| {
        let scratch = scenario();
        scratch.run(&[]).stopped("SUCCESS", 0);
        comes_to(&scratch)
    })
}

/// What must be the same however often the program died: everything but the numbers of attempts.
fn comes_to(scratch: &Scratch) -> Result {
    let progress = scratch.outcomes().into_iter().filter(|line| !line.ends_with("interrupted")).collect();
    (
        scratch.marks(),
        scratch.commits(),
        scratch.trailers("Ralph-Item"),
        scratch.git(&["rev-parse", &format!("{BRANCH}^{{tree}}")]),
        progress,
    )
}

/// The program dies at its `point`-th durable operation, and the run is taken up. Whether it died.
fn dies_at(point: u64) -> bool {
    let scratch = scenario();
    let before = scratch.operator();
    let number = point.to_string();
    let first = scratch.start_with(&["run"], &[("RALPH_TEST_ABORT_AT", &number)]).end();
    let died = first.status.code().is_none();
    // Right after the last record nothing is left to take up: the next run is a new one, which finds nothing to do.
    let runs = if died && scratch.of_run("journal.jsonl").contains("SUCCESS") { 2 } else { 1 };
    if died {
        for commit in scratch.git(&["for-each-ref", "--format=%(objectname)", "refs/heads/ralph"]).lines() {
            // What is on the branch was verified, whenever the program died.
            assert!(scratch.files(commit).len() >= 2, "{point}");
        }
        scratch.run(&[]).stopped("SUCCESS", 0);
    }
    assert_eq!(comes_to(&scratch), *uncrashed(), "died at {point}: {:?}", scratch.progress());
    assert_eq!(scratch.run_folders().len(), runs, "{point}");
    assert_eq!(scratch.git(&["for-each-ref", "refs/ralph/work"]), "", "{point}: nothing is left over");
    scratch.untouched(&before);
    scratch.nothing_lives();
    died
}

/// The real program, killed at each durable operation in turn; `RALPH_TEST_CRASH_STRIDE=7` takes every seventh.
#[test]
fn the_program_dies_at_every_durable_operation() {
    let stride = size("RALPH_TEST_CRASH_STRIDE", 1);
    let (next, last) = (AtomicU64::new(1), AtomicU64::new(0));
    let work = || {
        loop {
            let point = next.fetch_add(stride, Ordering::SeqCst);
            if !dies_at(point) {
                return;
            }
            last.fetch_max(point, Ordering::SeqCst);
        }
    };
    thread::scope(|scope| [(); 2].map(|()| scope.spawn(work)).map(|worker| worker.join().unwrap()));
    // The scenario has about this many; far fewer would mean that the points were not reached.
    let last = last.into_inner();
    assert!(last > 100, "the last point was {last}");
}

/// Killed from outside at many times, until the run comes to its end. `RALPH_TEST_KILLS` sets how many at most.
#[test]
fn the_program_is_killed_again_and_again() {
    let scratch = Scratch::new(4);
    scratch.agent(&format!("{DILIGENT}; sleep 0.05"));
    let kills = size("RALPH_TEST_KILLS", 10);
    for kill in 0..kills {
        let run = scratch.start(&["run"]);
        // Spread over the length of an iteration, and long enough to get somewhere.
        thread::sleep(Duration::from_millis(60 + kill * 397 % 500));
        run.signal(Signal::KILL);
        run.end();
        let done = scratch.marks().matches('x').count();
        let commits = scratch.commits_if_any();
        assert!(commits.len() == done || commits.len() == done + 1, "{commits:?} {}", scratch.marks());
    }
    // Three interrupted sessions in a row block an item; a person opens it again.
    scratch.run(&[]);
    scratch.prd(&scratch.read("ralph-loop/PRD-P1.md").replace("- [!]", "- [ ]"));
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.marks(), "xxxx");
    let mut items = scratch.trailers("Ralph-Item");
    items.sort();
    assert_eq!(items, ["P1/R01", "P1/R02", "P1/R03", "P1/R04"], "one commit for each item");
    let done = scratch.outcomes().iter().filter(|line| line.ends_with("done")).count();
    assert_eq!(done, 4, "and one line");
    scratch.nothing_lives();
}

#[test]
fn three_interrupted_sessions_in_a_row_block_the_item() {
    let scratch = Scratch::new(2);
    scratch.agent(&format!(
        r#"test $RALPH_ITEM_ID = R01 || {{ {DILIGENT}; exit; }}
           echo half >R01.txt; echo >"$NOTES/at-work.$RALPH_ATTEMPT"; sleep 1000"#
    ));
    for number in 1..=3 {
        let run = scratch.start(&["run"]);
        until("the session", || scratch.path(&format!("notes/at-work.{number}")).exists());
        run.signal(Signal::KILL);
        run.end();
    }
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!(scratch.marks(), "!x");
    assert_eq!(scratch.sessions(), ["R01.1", "R01.2", "R01.3", "R02.1"]);
    assert_eq!(scratch.kept("interrupted").len(), 3, "what each left is kept");
    scratch.nothing_lives();
}

#[test]
fn a_crash_forgets_no_cost() {
    let scratch = Scratch::new(2);
    scratch.claude("success-usage", DILIGENT);
    let run = scratch.start(&["run", "--cost-usd", "0.05"]);
    until("the first item", || scratch.marks().starts_with('x'));
    run.signal(Signal::KILL);
    run.end();
    let ended = scratch.run(&["--cost-usd", "0.05"]);
    assert!(ended.stdout.contains("Cost $0.0"), "{}", ended.stdout);
    let cost = ended.stdout.lines().find(|line| line.starts_with("Cost")).unwrap();
    assert!(!cost.contains("$0.00"), "{cost}");
}

#[test]
fn a_journal_with_a_torn_end_goes_on_and_a_damaged_one_is_not_guessed_at() {
    let scratch = Scratch::new(2);
    scratch.run(&["--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
    let journal = scratch.run_folders()[0].join("journal.jsonl");
    let whole = fs::read(&journal).unwrap();
    // Damage inside.
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&journal, &damaged).unwrap();
    let ended = scratch.run(&[]);
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("journal.jsonl"), "{}", ended.stderr);
    assert_eq!(scratch.sessions(), ["R01.1"], "nothing is begun on it");
    assert_eq!(fs::read(&journal).unwrap(), damaged, "and nothing is written over it");
    // A torn end.
    fs::write(&journal, [&whole[..], b"{\"seq\":999"].concat()).unwrap();
    let ended = scratch.run(&[]).stopped("SUCCESS", 0);
    assert!(ended.stderr.contains("never finished"), "{}", ended.stderr);
}

/// Cuts the last run's journal right before the record that the branch moved, as if the program had died in between.
fn forget_the_acceptance(scratch: &Scratch) {
    let journal = scratch.of_run("journal.jsonl");
    let accepted = journal.lines().position(|line| line.contains("\"accepted\"")).expect("it is recorded");
    let path = scratch.run_folders()[0].join("journal.jsonl");
    fs::write(path, journal.lines().take(accepted).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}

#[test]
fn what_landed_before_a_crash_is_done_whatever_the_row_says_now() {
    let scratch = Scratch::new(1);
    scratch.run(&[]).stopped("SUCCESS", 0);
    forget_the_acceptance(&scratch);
    scratch.edit_prd("- [x] R01: make the file 1", "- [ ] R01: make the file 1, better");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!((scratch.marks().as_str(), scratch.commits().len(), scratch.sessions().len()), ("x", 1, 1));
}

#[test]
fn a_mark_that_was_not_written_before_a_crash_is_written_once() {
    // The branch has the commit, the PRD not yet the mark.
    let scratch = Scratch::new(1);
    scratch.run(&[]).stopped("SUCCESS", 0);
    forget_the_acceptance(&scratch);
    scratch.edit_prd("- [x]", "- [ ]");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!((scratch.marks().as_str(), scratch.commits().len(), scratch.sessions().len()), ("x", 1, 1));
}

/// The journal says how the run ended, the logs do not yet: nobody takes that run up again.
#[test]
fn an_end_that_was_not_told_is_told_by_the_next_run() {
    let scratch = scenario();
    scratch.run(&[]).stopped("SUCCESS", 0);
    let folder = scratch.run_folders().remove(0);
    // As a death right after the last record leaves it: no summary, no last line, and a cursor that knows it.
    fs::remove_file(folder.join("summary.md")).unwrap();
    let text = scratch.read("ralph-loop/PROGRESS.md").replace("STOP_REASON: SUCCESS\n", "");
    scratch.write("ralph-loop/PROGRESS.md", &text);
    let cursor = fs::read_to_string(folder.join("logs.json")).unwrap();
    let mut cursor: serde_json::Value = serde_json::from_str(&cursor).unwrap();
    cursor["seq"] = (cursor["seq"].as_u64().unwrap() - 1).into();
    cursor["progress"] = text.len().into();
    fs::write(folder.join("logs.json"), cursor.to_string()).unwrap();

    scratch.run(&[]).stopped("SUCCESS", 0);
    assert!(folder.join("summary.md").exists());
    let told = scratch.read("ralph-loop/PROGRESS.md");
    assert_eq!(told.matches("STOP_REASON: SUCCESS").count(), 2, "the first run's and the second's: {told}");
    assert_eq!(told.matches("R01 done").count(), 1, "{told}");
}
