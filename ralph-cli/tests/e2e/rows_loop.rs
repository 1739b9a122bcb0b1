//! Reports about other loops, group LOOP (`docs/bug-rows.md`): completion, progress, selection.

use super::support::{BRANCH, DILIGENT, Scratch, until};

/// A diligent agent that prints this in every session.
fn says(items: usize, words: &str) -> Scratch {
    let scratch = Scratch::new(items);
    scratch.agent(&format!("{DILIGENT}\ncat <<'END'\n{words}\nEND"));
    scratch
}

#[test]
fn loop_01_an_agent_that_declares_the_project_complete_after_the_first_item() {
    let scratch = says(5, "Project complete, all done. Nothing left to do.");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), ("xxxxx", 5));
}

#[test]
fn loop_02_words_of_completion_end_nothing() {
    let words = "done complete finished all tasks complete\n".repeat(20);
    let scratch = says(2, &format!("{words}---RALPH_STATUS---\nEXIT_SIGNAL: false\n---END_RALPH_STATUS---"));
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1", "R02.1"]);
}

#[test]
fn loop_04_a_complete_task_is_not_a_complete_run() {
    let scratch = says(3, "---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1", "R02.1", "R03.1"]);
}

#[test]
fn loop_06_a_changelog_full_of_such_words() {
    let scratch = says(2, "diff --git a/CHANGELOG.md\n+ done\n+ complete\n+ <promise>COMPLETE</promise>");
    scratch.agent(&format!("{DILIGENT}; yes 'done complete finished' | head -100 | tee -a CHANGELOG.md"));
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions().len(), 2);
}

#[test]
fn loop_07_a_promise_with_items_open() {
    let scratch = says(3, "<promise>COMPLETE</promise>");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits().len(), 3);
}

#[test]
fn loop_08_a_question_and_exit_0_is_nothing_done() {
    let scratch = Scratch::new(1);
    scratch.agent("echo 'Should I use tabs or spaces?'");
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), ("!", 0));
}

#[test]
fn loop_10_a_promise_at_once_is_no_progress() {
    let scratch = Scratch::new(5);
    scratch.agent("echo '<promise>COMPLETE</promise>'");
    scratch.run(&[]).stopped("NO_PROGRESS", 14);
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), ("!!   ", 0));
}

#[test]
fn loop_11_boxes_in_prose_are_no_items() {
    let scratch = Scratch::new(0);
    scratch.prd(
        "# Plan\nVerify: test -s R01.txt\n\n## Overview\n- [ ] looks good\n\n## Tasks\n- [ ] R01: make it\n\n\
         ## Success criteria\n- [ ] everyone is happy\n",
    );
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1"]);
    assert_eq!(scratch.marks(), " x ");
}

#[test]
fn loop_13_an_agent_that_commits_everything_makes_progress() {
    let scratch = Scratch::new(3);
    scratch.agent(&format!(
        "{DILIGENT}; git config user.name A; git config user.email a@example.org; git add -A; git commit -qm work"
    ));
    scratch.run(&["--set", "budget.no_progress=1"]).stopped("SUCCESS", 0);
}

#[test]
fn loop_17_stashes_and_global_ignore_files_are_no_dirt() {
    let scratch = Scratch::new(1);
    std::fs::write(scratch.path("home/ignore"), "*.txt\n").unwrap();
    scratch.git(&["config", "--global", "core.excludesFile", scratch.path("home/ignore").to_str().unwrap()]);
    scratch.write("README.md", "later\n");
    scratch.git(&["stash", "-q"]);
    // What the operator's ignore files leave out is no work: the item asks for a file of another name.
    scratch.edit_prd("test -s R01.txt", "test -s R01.md");
    scratch.agent("echo made >R01.md; echo made >R01.txt");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.files(BRANCH), [".gitignore", "R01.md", "README.md"]);
    assert!(scratch.git(&["stash", "list"]).contains("stash@{0}"));
}

#[test]
fn loop_20_the_iterations_bind_for_an_agent_that_never_ends() {
    let scratch = Scratch::new(5);
    scratch.agent(&format!("{DILIGENT}; exec sleep 1000"));
    let flags = ["--iterations", "3", "--set", "agent.timeout=300ms"];
    scratch.run(&flags).stopped("BUDGET_EXHAUSTED", 13);
    assert_eq!(scratch.sessions(), ["R01.1", "R02.1", "R03.1"]);
}

#[test]
fn loop_22_an_unknown_status_is_no_success() {
    let scratch = Scratch::new(1);
    scratch.agent("printf '```ralph\\n{\"status\":\"stuck\",\"summary\":\"all good\"}\\n```\\n'");
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    // Where a report is required, it is none.
    let scratch = Scratch::new(1);
    scratch
        .agent(&format!("{DILIGENT}; printf '```ralph\\n{{\"status\":\"stuck\"}}\\n```\\n'; echo $RALPH_ATTEMPT >n"));
    scratch.run(&["--set", "agent.require_signal=true"]).stopped("ITEMS_BLOCKED", 12);
}

#[test]
fn loop_23_nested_boxes_belong_to_their_item() {
    let scratch = Scratch::new(0);
    scratch.prd(
        "# Nested\nVerify: test -s R02.txt\n\n- [x] R01: done\n  - [ ] a criterion\n- [ ] R02: open\n  - [x] one\n  - [x] two\n",
    );
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R02.1"]);
    assert!(scratch.read("ralph-loop/PRD-P1.md").contains("  - [ ] a criterion"));
}

#[test]
fn loop_25_stopping_twice_is_stopping_once() {
    let scratch = Scratch::new(1);
    scratch.agent("trap '' TERM; echo >\"$NOTES/at-work\"; while :; do sleep 0.1; done");
    let run = scratch.start(&["run"]);
    until("the session", || scratch.path("notes/at-work").exists());
    for _ in 0..3 {
        scratch.ralph(&["stop", "--now"]);
    }
    run.end().stopped("CANCELLED", 130);
    scratch.nothing_lives();
    let reasons = scratch.progress().iter().filter(|line| line.starts_with("STOP_REASON")).count();
    assert_eq!(reasons, 1);
}
