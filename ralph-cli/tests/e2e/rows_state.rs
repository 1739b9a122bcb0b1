//! Reports about other loops, group STATE (`docs/bug-rows.md`): durable state, crashes, concurrency.

use std::fs;

use rustix::process::Signal;

use super::support::{DILIGENT, Scratch, until};

#[test]
fn state_01_whoever_reads_while_a_run_writes_sees_whole_documents() {
    let scratch = Scratch::new(4);
    scratch.agent(&format!("{DILIGENT}; sleep 0.1"));
    let run = scratch.start(&["run"]);
    let mut reads = 0;
    until("the end", || {
        let status = scratch.ralph(&["status", "--json"]);
        let document: serde_json::Value = serde_json::from_str(&status.stdout).expect(&status.stderr);
        reads += 1;
        document["stop"]["reason"] == "SUCCESS"
    });
    run.end().stopped("SUCCESS", 0);
    assert!(reads > 3, "{reads}");
}

#[test]
fn state_04_work_whose_session_is_over_is_judged_after_a_kill_and_not_done_again() {
    let scratch = Scratch::new(1);
    let notes = scratch.path("notes");
    // In the workspace the verifier waits, so that the program can be killed in the middle of it.
    let wait = format!("touch {0}/judging; until test -e {0}/go; do sleep 0.02; done", notes.display());
    scratch.edit_prd("test -s R01.txt", &format!("test $RALPH_STAGE != workspace || {{ {wait}; }}; test -s R01.txt"));
    let run = scratch.start(&["run"]);
    until("the verifier", || notes.join("judging").exists());
    run.signal(Signal::KILL);
    run.end();
    fs::write(notes.join("go"), "").unwrap();
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1"]);
    assert_eq!(scratch.commits(), ["R01: make the file 1"]);
    scratch.nothing_lives();
}

#[test]
fn state_06_a_workspace_that_is_removed_under_the_session() {
    let scratch = Scratch::new(2);
    scratch.agent(&format!(
        "{DILIGENT}\ntest $RALPH_ITEM_ID.$RALPH_ATTEMPT = R01.1 && here=$PWD && cd / && rm -rf \"$here\"; true"
    ));
    let before = scratch.operator();
    // Its work is gone, so that the attempt has failed; the next one has a new workspace.
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1", "R01.2", "R02.1"]);
    scratch.untouched(&before);
}

#[test]
fn state_06_a_workspace_that_is_replaced_by_the_operators_checkout() {
    let scratch = Scratch::new(1);
    scratch.agent(
        "test $RALPH_ATTEMPT = 1 || { echo made >R01.txt; exit; }\nhere=$PWD; cd /; mv \"$here\" \"$here.away\"; ln -s \"$OPERATOR\" \"$here\"",
    );
    let before = scratch.operator();
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1", "R01.2"]);
    scratch.untouched(&before);
}

#[test]
fn state_17_each_file_of_the_state_is_deleted_in_turn() {
    let names = [
        "lock",
        "runs",
        "runs/RUN/journal.jsonl",
        "runs/RUN/run.json",
        "runs/RUN/logs.json",
        "runs/RUN/iterations",
        "",
    ];
    for name in names {
        let scratch = Scratch::new(2);
        scratch.run(&["--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
        let run = scratch.run_folders()[0].file_name().unwrap().to_str().unwrap().to_owned();
        let path = scratch.root.join("ralph-loop/state").join(name.replace("RUN", &run));
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        scratch.run(&[]).stopped("SUCCESS", 0);
        assert_eq!(scratch.commits(), ["R01: make the file 1", "R02: make the file 2"], "without {name:?}");
        assert_eq!(scratch.sessions(), ["R01.1", "R02.1"], "without {name:?}");
    }
}

#[test]
fn state_19_an_unmerged_branch_of_an_aborted_run_blocks_nobody() {
    let scratch = Scratch::new(2);
    scratch.run(&["--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
    scratch.run(&["--new"]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits().len(), 2);
    // Another plan has another branch.
    scratch.write("ralph-loop/PRD-P2.md", "- [ ] R01: other\n  Verify: test -s R01.txt\n");
    scratch.run(&["ralph-loop/PRD-P2.md"]).stopped("SUCCESS", 0);
    assert_eq!(
        scratch.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]),
        "main\nralph/prd-p1\nralph/prd-p2"
    );
}
