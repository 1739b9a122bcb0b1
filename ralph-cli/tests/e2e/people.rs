//! People who edit, commit and decide while a run is on, or between two.

use std::path::Path;

use super::support::{BRANCH, DILIGENT, Ended, Scratch, until};

/// An agent that waits, in its first session, for `notes/go`.
fn waiting(items: usize) -> Scratch {
    let scratch = Scratch::new(items);
    scratch.agent(&format!(
        "{DILIGENT}\necho $RALPH_ATTEMPT >>tries\necho >\"$NOTES/at-work\"; until test -e \"$NOTES/go\"; do sleep 0.02; done"
    ));
    scratch
}

fn go(scratch: &Scratch) {
    std::fs::write(scratch.path("notes/go"), "").unwrap();
}

fn at_work(scratch: &Scratch) {
    until("the session", || scratch.path("notes/at-work").exists());
}

/// A person's commit on the branch, made in a checkout of its own.
fn commit_on_branch(scratch: &Scratch, file: &str) {
    let place = scratch.checkout_of_branch("person");
    let git = |args: &[&str]| scratch.git(&[&["-C", place.to_str().unwrap()], args].concat());
    std::fs::write(place.join(file), "by hand\n").unwrap();
    git(&["add", "-A"]);
    git(&["commit", "-qm", "by hand"]);
    git(&["push", "-q", ".", &format!("HEAD:{BRANCH}")]);
    left(scratch);
    assert!(!Path::new(&place).exists());
}

#[test]
fn a_row_that_is_edited_during_its_session_is_judged_by_its_new_text() {
    let scratch = waiting(1);
    let run = scratch.start(&["run"]);
    at_work(&scratch);
    scratch.edit_prd("make the file 1", "make the file 1, better");
    go(&scratch);
    run.end().stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1", "R01.2"]);
    assert_eq!(scratch.commits(), ["R01: make the file 1, better"]);
    assert_eq!(scratch.git(&["show", &format!("{BRANCH}:tries")]), "1\n2", "the first one's work is the start");
    assert_eq!(scratch.marks(), "x");
}

/// An agent whose first session waits for `notes/go` and does not do what the item asks for.
fn failing_first(items: usize) -> Scratch {
    let scratch = waiting(items);
    scratch.agent(&format!(
        "test $RALPH_ATTEMPT = 1 || {{ {DILIGENT}; exit; }}\n\
         echo no >wrong; echo >\"$NOTES/at-work\"; until test -e \"$NOTES/go\"; do sleep 0.02; done"
    ));
    scratch
}

#[test]
fn a_row_that_is_edited_during_a_session_that_fails_costs_no_third_session() {
    let scratch = failing_first(1);
    let run = scratch.start(&["run"]);
    at_work(&scratch);
    scratch.edit_prd("make the file 1", "make the file 1, better");
    go(&scratch);
    run.end().stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1", "R01.2"]);
    assert_eq!(scratch.commits(), ["R01: make the file 1, better"]);
}

#[test]
fn an_item_that_is_set_aside_during_a_session_that_fails_gets_no_second_one() {
    let scratch = failing_first(2);
    let run = scratch.start(&["run"]);
    at_work(&scratch);
    scratch.edit_prd("- [ ] R01", "- [!] R01");
    go(&scratch);
    run.end();
    assert_eq!(scratch.sessions()[..2], ["R01.1", "R02.1"]);
    assert_eq!(scratch.kept("rejected")[0], "P1/R01/1", "what it left is kept");
}

#[test]
fn a_commit_on_the_branch_during_a_session_that_fails_is_the_base_of_the_next() {
    let scratch = failing_first(1);
    let run = scratch.start(&["run"]);
    at_work(&scratch);
    commit_on_branch(&scratch, "person.txt");
    go(&scratch);
    run.end().stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1", "R01.2"]);
    assert_eq!(scratch.commits(), ["by hand", "R01: make the file 1"]);
}

#[test]
fn an_item_that_is_removed_during_its_session_is_not_done() {
    let scratch = waiting(2);
    let run = scratch.start(&["run"]);
    at_work(&scratch);
    scratch.edit_prd("- [ ] R01: make the file 1\n  Verify: test -s R01.txt\n", "");
    go(&scratch);
    run.end().stopped("SUCCESS", 0);
    assert_eq!(scratch.commits(), ["R02: make the file 2"]);
}

#[test]
fn a_person_who_marks_the_item_during_its_session_is_heeded() {
    let scratch = waiting(2);
    let run = scratch.start(&["run"]);
    at_work(&scratch);
    scratch.edit_prd("- [ ] R01", "- [!] R01");
    go(&scratch);
    run.end().stopped("ITEMS_BLOCKED", 12);
    assert_eq!((scratch.marks().as_str(), scratch.commits()), ("!x", vec!["R02: make the file 2".to_owned()]));
}

#[test]
fn a_plan_that_breaks_during_the_run_stops_it() {
    let scratch = waiting(2);
    let run = scratch.start(&["run"]);
    at_work(&scratch);
    scratch.edit_prd("- [ ] R02", "- [ ] R01");
    go(&scratch);
    let ended = run.end().stopped("PLAN_INVALID", 2);
    assert!(ended.stderr.contains("R01"), "{}", ended.stderr);
    scratch.edit_prd("- [ ] R01: make the file 2", "- [ ] R02: make the file 2");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits().len(), 2);
}

#[test]
fn a_plan_that_is_gone_during_the_run_stops_it() {
    let scratch = waiting(1);
    let run = scratch.start(&["run"]);
    at_work(&scratch);
    let (plan, away) = (scratch.root.join("ralph-loop/PRD-P1.md"), scratch.path("away.md"));
    std::fs::rename(&plan, &away).unwrap();
    go(&scratch);
    run.end().stopped("PLAN_INVALID", 2);
    std::fs::rename(&away, &plan).unwrap();
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1"], "the work was not lost");
}

#[test]
fn a_commit_on_the_branch_during_a_session_becomes_the_base() {
    let scratch = waiting(2);
    let run = scratch.start(&["run"]);
    at_work(&scratch);
    commit_on_branch(&scratch, "by-hand.txt");
    go(&scratch);
    run.end().stopped("SUCCESS", 0);
    assert_eq!(scratch.commits(), ["by hand", "R01: make the file 1", "R02: make the file 2"]);
    assert!(scratch.files(BRANCH).contains(&"by-hand.txt".to_owned()));
    assert_eq!(scratch.kept("interrupted"), ["P1/R01/1"], "work on the old base is kept");
}

#[test]
fn a_commit_on_the_branch_that_does_not_pass_is_told() {
    let scratch = waiting(2);
    scratch.edit_prd("# PRD-P1 — Files\n", "# PRD-P1 — Files\nVerify: test ! -e bad.txt\n");
    let run = scratch.start(&["run"]);
    at_work(&scratch);
    commit_on_branch(&scratch, "bad.txt");
    go(&scratch);
    let ended = run.end().stopped("BRANCH_MOVED", 15);
    assert!(ended.stdout.contains("does not pass"), "{}", ended.stdout);
    assert_eq!(scratch.commits(), ["by hand"], "nothing is put on top of it");
}

#[test]
fn a_branch_that_is_rewritten_or_gone_stops_the_run() {
    for args in [&["update-ref", "refs/heads/ralph/prd-p1", "main~0^{tree}"][..], &["branch", "-qD", BRANCH]] {
        let scratch = Scratch::new(3);
        scratch.run(&["--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
        if args[0] == "update-ref" {
            let other = scratch.git(&["commit-tree", "-m", "other", "main^{tree}"]);
            scratch.git(&["update-ref", "refs/heads/ralph/prd-p1", &other]);
        } else {
            scratch.git(args);
        }
        let refs = scratch.git(&["for-each-ref", "refs/heads"]);
        scratch.run(&[]).stopped("BRANCH_MOVED", 15);
        assert_eq!(scratch.git(&["for-each-ref", "refs/heads"]), refs, "it is left as it is");
        assert_eq!(scratch.sessions(), ["R01.1"]);
    }
}

#[test]
fn a_rewrite_during_a_session_is_not_overwritten() {
    let scratch = waiting(1);
    let run = scratch.start(&["run"]);
    at_work(&scratch);
    let other = scratch.git(&["commit-tree", "-m", "other", "main^{tree}"]);
    scratch.git(&["update-ref", "refs/heads/ralph/prd-p1", &other]);
    go(&scratch);
    run.end().stopped("BRANCH_MOVED", 15);
    assert_eq!(scratch.git(&["rev-parse", BRANCH]), other);
    assert_eq!((scratch.marks().as_str(), scratch.kept("interrupted").len()), (" ", 1));
}

#[test]
fn a_blocked_item_that_is_opened_again_gets_fresh_attempts() {
    let scratch = Scratch::new(1);
    scratch.agent("echo $RALPH_ATTEMPT >>wrong");
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    scratch.edit_prd("- [!] R01", "- [ ] R01");
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!(scratch.sessions(), ["R01.1", "R01.2", "R01.3", "R01.4"]);
    // The same by a command.
    assert_eq!(scratch.ralph(&["retry", "R01"]).status.code(), Some(0));
    assert_eq!(scratch.marks(), " ");
    scratch.agent(DILIGENT);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.kept("rejected").len(), 4, "all of it is kept");
}

#[test]
fn a_done_item_that_is_opened_again_is_done_again() {
    let scratch = Scratch::new(1);
    scratch.agent("wc -l <\"$NOTES/sessions\" >R01.txt");
    scratch.run(&[]).stopped("SUCCESS", 0);
    scratch.ralph(&["retry", "R01"]);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits().len(), 2);
    assert_eq!(scratch.marks(), "x");
}

#[test]
fn an_item_that_was_ticked_by_hand_is_told_as_such() {
    let scratch = Scratch::new(2);
    scratch.edit_prd("- [ ] R01", "- [x] R01");
    let ended = scratch.run(&[]).stopped("SUCCESS", 0);
    assert!(ended.stdout.contains("Ticked by hand, not verified (1)"), "{}", ended.stdout);
    assert!(scratch.of_run("summary.md").to_lowercase().contains("by hand"));
    assert_eq!(scratch.commits(), ["R02: make the file 2"]);
}

#[test]
fn an_item_that_is_skipped_is_passed_by() {
    let scratch = Scratch::new(2);
    assert_eq!(scratch.ralph(&["skip", "R01"]).status.code(), Some(0));
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!((scratch.marks().as_str(), scratch.sessions()), ("!x", vec!["R02.1".to_owned()]));
    scratch.ralph(&["skip", "R09"]).refused(&["R09"]);
}

#[test]
fn items_that_are_added_during_the_run_are_done_too() {
    let scratch = waiting(1);
    let run = scratch.start(&["run"]);
    at_work(&scratch);
    scratch.edit_prd("test -s R01.txt\n", "test -s R01.txt\n- [ ] R02: more\n  Verify: test -s R02.txt\n");
    go(&scratch);
    run.end().stopped("SUCCESS", 0);
    assert_eq!(scratch.marks(), "xx");
}

/// A run whose branch is checked out by a person when the work of its only item is finished.
fn checked_out_meanwhile() -> (Scratch, Ended) {
    let scratch = waiting(1);
    let run = scratch.start(&["run"]);
    at_work(&scratch);
    scratch.git(&["worktree", "add", "-q", scratch.path("person").to_str().unwrap(), BRANCH]);
    go(&scratch);
    let ended = run.end();
    (scratch, ended)
}

/// The person leaves the branch.
fn left(scratch: &Scratch) {
    scratch.git(&["worktree", "remove", "--force", scratch.path("person").to_str().unwrap()]);
}

#[test]
fn a_branch_that_is_checked_out_during_a_session_is_not_moved_under_anybody() {
    let (scratch, ended) = checked_out_meanwhile();
    assert!(matches!(ended.status.code(), Some(1 | 15)), "{}", ended.stderr);
    assert!(ended.stderr.contains("checked out"), "{}", ended.stderr);
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), (" ", 0));
    left(&scratch);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1"], "the work was not lost");
}

/// A policy that came while finished work waited for the branch has its say.
#[test]
fn work_that_waited_for_the_branch_is_judged_by_the_policies_of_then() {
    let (scratch, _) = checked_out_meanwhile();
    left(&scratch);
    scratch.settings("[policy]\nsecurity = [\"*\"]\n");
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    assert_eq!((scratch.sessions().len(), scratch.commits().len()), (1, 0));
}

/// Somebody sets the item aside while its session fails: the iteration and what it cost are on record all the same.
#[test]
fn an_iteration_that_is_set_aside_leaves_its_line() {
    let scratch = Scratch::new(1);
    let prd = scratch.path("operator/ralph-loop/PRD-P1.md");
    let prd = prd.display();
    scratch.agent(&format!("plan=$(sed 's/\\[ \\] R01/[!] R01/' '{prd}') && printf '%s\\n' \"$plan\" >'{prd}'"));
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    let progress = scratch.read("ralph-loop/PROGRESS.md");
    let line = progress.lines().find(|line| line.starts_with("- 0001")).unwrap_or_else(|| panic!("{progress}"));
    assert!(line.contains("P1/R01 interrupted attempts=1 cost=unknown"), "{line}");
    assert_eq!(progress.matches("- 0001").count(), 1, "{progress}");
}

/// What an earlier run verified is not said to be on a branch that was made anew.
#[test]
fn verified_work_is_on_the_branch_only_where_it_is() {
    let scratch = Scratch::new(1);
    scratch.agent(DILIGENT);
    scratch.run(&[]).stopped("SUCCESS", 0);
    let there = "Verified twice, on the branch (1)";
    let status = scratch.ralph(&["status"]).stdout;
    assert!(status.contains(there), "the control: {status}");
    scratch.git(&["branch", "--quiet", "-D", BRANCH]);
    let status = scratch.ralph(&["status"]).stdout;
    let elsewhere = "Verified by an earlier run, not on this branch (1)";
    assert!(status.contains(elsewhere) && !status.contains(there), "{status}");
}
