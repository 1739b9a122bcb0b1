//! A plan that goes well, and an operator whose checkout nobody touches.

use super::support::{BRANCH, Scratch};

#[test]
fn three_items_become_three_commits() {
    let scratch = Scratch::new(3);
    let before = scratch.operator();
    scratch.run(&[]).stopped("SUCCESS", 0);

    assert_eq!(scratch.marks(), "xxx");
    assert_eq!(
        scratch.commits(),
        ["R01: make the file 1", "R02: make the file 2", "R03: make the file 3"],
        "one commit for each item"
    );
    assert_eq!(scratch.trailers("Ralph-Item"), ["P1/R01", "P1/R02", "P1/R03"]);
    assert_eq!(scratch.trailers("Ralph-Attempt"), ["1", "1", "1"]);
    let run = scratch.run_folders()[0].file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(scratch.trailers("Ralph-Run"), [run.as_str(); 3]);
    assert_eq!(scratch.files(BRANCH), [".gitignore", "R01.txt", "R02.txt", "R03.txt", "README.md"]);
    assert_eq!(scratch.outcomes(), ["P1/R01 done", "P1/R02 done", "P1/R03 done"]);
    assert!(scratch.of_run("summary.md").contains("R03"));
    assert_eq!(scratch.sessions(), ["R01.1", "R02.1", "R03.1"]);
    scratch.untouched(&before);
    scratch.nothing_lives();
}

#[test]
fn a_dirty_checkout_stays_dirty_in_the_same_way() {
    let scratch = Scratch::new(1);
    scratch.write("staged.txt", "staged\n");
    scratch.write("README.md", "changed and not staged\n");
    scratch.git(&["add", "staged.txt"]);
    scratch.git(&["stash", "push", "-q", "--include-untracked", "-m", "later", "README.md"]);
    scratch.write("README.md", "changed again\n");
    scratch.write("new.txt", "new\n");
    let before = scratch.operator();

    scratch.run(&[]).stopped("SUCCESS", 0);
    scratch.untouched(&before);
    // What was not committed is no base of work.
    assert_eq!(scratch.files(BRANCH), [".gitignore", "R01.txt", "README.md"]);
    assert_eq!(scratch.git(&["show", &format!("{BRANCH}:README.md")]), "hello");
    // The control: the comparison sees a change.
    scratch.git(&["reset", "-q", "staged.txt"]);
    assert!(!scratch.changed(&before).is_empty());
}

#[test]
fn a_detached_head_is_where_the_branch_starts() {
    let scratch = Scratch::new(1);
    scratch.git(&["checkout", "-q", "--detach"]);
    scratch.git(&["commit", "-q", "--allow-empty", "-m", "on no branch"]);
    let before = scratch.operator();

    scratch.run(&[]).stopped("SUCCESS", 0);
    scratch.untouched(&before);
    assert_eq!(scratch.commits(), ["on no branch", "R01: make the file 1"]);
}

#[test]
fn after_a_success_a_new_item_is_a_new_run_on_the_same_branch() {
    let scratch = Scratch::new(1);
    scratch.run(&[]).stopped("SUCCESS", 0);
    scratch.edit_prd(
        "  Verify: test -s R01.txt\n",
        "  Verify: test -s R01.txt\n- [ ] R02: more\n  Verify: test -s R02.txt\n",
    );
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits(), ["R01: make the file 1", "R02: more"]);
    assert_eq!(scratch.run_folders().len(), 2);
    assert_eq!(scratch.sessions(), ["R01.1", "R02.1"], "nothing is done again");
}

#[test]
fn a_run_with_nothing_to_do_is_a_success_only_if_the_branch_passes() {
    let scratch = Scratch::new(1);
    scratch.run(&[]).stopped("SUCCESS", 0);
    scratch.run(&["--new"]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1"]);
    // The verifier of the item is red now, and nothing is open: no success.
    scratch.edit_prd("test -s R01.txt", "test -s R99.txt");
    scratch.run(&["--new"]).stopped("AUTO_GATE_FAILED", 11);
}

#[test]
fn events_as_json_end_with_the_reason() {
    let scratch = Scratch::new(1);
    let ended = scratch.run(&["--json"]).stopped("SUCCESS", 0);
    let lines: Vec<serde_json::Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    assert!(lines.iter().all(|line| line["schema_version"] == 1));
    let last = lines.last().unwrap();
    assert_eq!((&last["kind"], &last["reason"], &last["exit"]), (&"stopped".into(), &"SUCCESS".into(), &0.into()));
}

#[test]
fn a_dry_run_changes_nothing() {
    let scratch = Scratch::new(1);
    let before = scratch.operator();
    let ended = scratch.run(&["--dry-run"]);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    for word in ["R01: make the file 1", "test -s R01.txt", BRANCH] {
        assert!(ended.stdout.contains(word), "{word}: {}", ended.stdout);
    }
    assert_eq!(scratch.sessions(), [""; 0]);
    scratch.untouched(&before);
    assert_eq!(scratch.git(&["for-each-ref", "refs/ralph", "refs/heads/ralph"]), "");
    assert!(!scratch.root.join("ralph-loop/state").exists());
}
