//! Tests that disappear are noticed, in whichever life of a run they do.

use rustix::process::Signal;

use super::support::{DILIGENT, Scratch, until};

/// Runs the files in `cases/` as tests, and says how many as cargo does.
const VERIFY: &str = r#"ok=$(ls cases | wc -l); echo "running $ok tests"; echo "test result: ok. $ok passed; 0 failed; 0 ignored; 0 measured; 0 filtered out""#;

/// Two items over three tests, and a command that counts them: the items' own or the common one. The second item's agent
/// takes a test away.
fn story(common: &str, own: &str) -> Scratch {
    let scratch = Scratch::new(0);
    for case in ["a", "b", "c"] {
        scratch.write(&format!("cases/{case}"), "x\n");
    }
    scratch.git(&["add", "cases"]);
    scratch.git(&["commit", "-qm", "cases"]);
    let items = ["R01", "R02"].map(|id| format!("- [ ] {id}: make it\n{own}"));
    scratch.prd(&format!("# Cases\n{common}\n{}", items.concat()));
    scratch.agent(&format!("{DILIGENT}\nif test $RALPH_ITEM_ID = R02; then rm cases/b; fi"));
    scratch
}

/// Stopped between two items that have the same command of their own. The base is judged anew when a run is taken up, but
/// by the common verifiers alone.
fn stopped() -> Scratch {
    let scratch = story("", &format!("  Verify: {VERIFY}\n"));
    scratch.run(&["--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
    assert_eq!(scratch.marks(), "x ");
    scratch
}

#[track_caller]
fn is_caught(scratch: &Scratch) {
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), ("x!", 1));
    assert!(scratch.read("ralph-loop/BLOCKERS.md").contains("3 tests ran on the base, 2 now"));
    assert_eq!(scratch.run_folders().len(), 1, "it is the same run");
}

#[test]
fn a_run_that_is_taken_up_knows_how_many_tests_there_were() {
    is_caught(&stopped());
}

/// Killed while the second item's work was judged, which is judged again before anything else.
#[test]
fn so_does_one_that_was_killed_in_the_middle_of_a_judgement() {
    let slow = r#"if test -e "$HOME/slow" && test "$RALPH_ITEM_ID" = R02; then echo >"$HOME/judges"; sleep 1000; fi"#;
    let scratch = story(&format!("Verify: {slow}; {VERIFY}\n"), "");
    std::fs::write(scratch.path("home/slow"), "").unwrap();
    let first = scratch.start(&["run"]);
    until("the second item's work is judged", || scratch.path("home/judges").exists());
    first.signal(Signal::KILL);
    first.end();
    assert_eq!(scratch.marks(), "x ");
    std::fs::remove_file(scratch.path("home/slow")).unwrap();
    is_caught(&scratch);
    scratch.nothing_lives();
}

/// Controls: it is the file that knows. Without it nothing is held against the work; one that is damaged is told.
#[test]
fn what_is_lost_or_damaged_is_not_guessed() {
    for damage in [None, Some("{\"version\":1}\nno such line")] {
        let scratch = stopped();
        let file = scratch.run_folders().pop().unwrap().join("tests.jsonl");
        match damage {
            None => std::fs::remove_file(&file).unwrap(),
            Some(text) => std::fs::write(&file, text).unwrap(),
        }
        let ended = scratch.run(&[]).stopped("SUCCESS", 0);
        assert_eq!(ended.stderr.contains("tests.jsonl: line 2: "), damage.is_some(), "{}", ended.stderr);
        assert_eq!(ended.stderr.contains("How many tests ran before is not known"), damage.is_some());
        assert_eq!(file.with_file_name("tests.jsonl.damaged").exists(), damage.is_some());
    }
}
