//! What follows from answers: rows, and the one commit in the operator's own repository.

use std::fs;

use super::{
    plans::same,
    support::{DILIGENT, Scratch, until},
};

const WHICH: &str = r#"{"status": "decision", "question": "Which?", "options": ["Resend", "Postmark"]}"#;

/// The operator's own last commit: its subject, and the files in it.
fn last_commit(scratch: &Scratch) -> Vec<String> {
    scratch
        .git(&["show", "--format=%s", "--name-only", "main"])
        .lines()
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}

fn track(scratch: &Scratch) {
    scratch.git(&["add", "ralph-loop"]);
    scratch.git(&["commit", "-qm", "the plan"]);
}

#[test]
fn an_answers_commit_has_what_ralph_wrote_and_nothing_else() {
    let scratch = Scratch::planned(&[(2, &["Auto-Gate: true"]), (1, &["Auto-Gate: true"])]);
    scratch.write("ralph-loop/NOTES.md", "mine\n");
    scratch.agent_asks(&[("R01", WHICH)], DILIGENT);
    track(&scratch);
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    scratch.write("ralph-loop/NOTES.md", "half a thought\n");
    scratch.write("ralph-loop/salaries.md", "of all of us\n");
    scratch.edit("PRD-P2.md", "# PRD-P2", "Not yet.\n\n# PRD-P2");
    scratch.btw(&["D-001=a"]);
    let pages = ["DECISIONS.md", "ORCHESTRATOR-STATE.md", "PRD-P1.md", "PROGRESS.md"];
    let mut expected = vec!["[Decision] D-001 R01: Resend".to_owned(), "ralph-loop/.gitignore".to_owned()];
    expected.extend(pages.map(|page| format!("ralph-loop/{page}")));
    assert_eq!(last_commit(&scratch), expected);
    let left = scratch.git(&["status", "--short", "ralph-loop"]);
    assert_eq!(left, " M ralph-loop/NOTES.md\n M ralph-loop/PRD-P2.md\n?? ralph-loop/salaries.md");
}

#[test]
fn answers_that_are_settled_together_are_one_commit_that_names_them() {
    let scratch = Scratch::new(3);
    let wait = "echo >\"$NOTES/at-work\"; until test -e \"$NOTES/go\"; do sleep 0.02; done";
    scratch.agent_asks(
        &[("R01", WHICH), ("R02", WHICH)],
        &format!("test $RALPH_ITEM_ID != R03 || {{ {wait}; }}; {DILIGENT}"),
    );
    track(&scratch);
    let run = scratch.start(&["run"]);
    until("the third session", || scratch.path("notes/at-work").exists());
    scratch.btw(&["D-001=a", "D-002=b"]);
    assert_eq!(last_commit(&scratch)[0], "the plan", "the control: not before the run has taken them in");
    fs::write(scratch.path("notes/go"), "").unwrap();
    run.end().stopped("SUCCESS", 0);
    assert_eq!(last_commit(&scratch)[0], "[Decision] D-001 R01: Resend; D-002 R02: Postmark");
    assert_eq!(scratch.git(&["rev-list", "--count", "main"]), "3");
}

/// An answer about a plan that is gone waits for it, and holds up no other.
#[test]
fn an_answer_whose_plan_is_gone_stops_no_other_plan() {
    let scratch = Scratch::new(1);
    scratch.agent_asks(&[("R01", WHICH)], DILIGENT);
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    let prd = scratch.root.join("ralph-loop/PRD-P1.md");
    fs::rename(&prd, scratch.path("away")).unwrap();
    let said = scratch.btw(&["D-001=a"]).stdout;
    assert!(said.contains("D-001: the answer is recorded, but not yet in the plan"), "{said}");
    scratch.write("ralph-loop/PRD-P2.md", "- [ ] R09: another\n  Verify: true\n");
    scratch.agent("echo made >other.txt");
    let ended = scratch.run(&["ralph-loop/PRD-P2.md"]).stopped("SUCCESS", 0);
    assert!(ended.stderr.contains("D-001: the answer is recorded, but not yet in the plan"), "{}", ended.stderr);
    // It comes into the plan when that is back.
    fs::rename(scratch.path("away"), &prd).unwrap();
    scratch.agent(DILIGENT);
    scratch.run(&["ralph-loop/PRD-P1.md"]).stopped("SUCCESS", 0);
    assert_eq!(scratch.read("ralph-loop/PRD-P1.md").matches("Decision D-001 (lead, ").count(), 1);
}

/// What more an agent proposes does not keep an answered item waiting.
#[test]
fn a_proposal_that_waits_keeps_no_answered_item_waiting() {
    let scratch = Scratch::new(1);
    let report = r#"{"status": "decision", "question": "Which?", "kind": "choice", "proposed": [{"title": "More", "verify": "true"}]}"#;
    scratch.agent_asks(&[("R01", report)], DILIGENT);
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    let choice = scratch.pending().into_iter().find(|asked| asked.kind == "choice").unwrap();
    assert_eq!(scratch.pending().len(), 2);
    scratch.btw(&[&format!("{}=blue", choice.id)]);
    assert_eq!((scratch.marks().as_str(), scratch.pending().len()), (" ", 1));
}

/// The rows of an approved proposal are in the plan, and the program died before the approval knew of them.
#[test]
fn an_addition_that_was_cut_off_before_it_was_approved_is_brought_to_its_end() {
    let scratch = Scratch::planned(&[(1, &["Auto-Gate: test -s R01.txt"])]);
    scratch.approve();
    let report = r#"{"status": "done", "proposed": [{"title": "Tell people", "verify": "test -s told.txt"}]}"#;
    scratch.agent(&format!(
        "{DILIGENT}; echo made >told.txt\ntest $RALPH_ITEM_ID = R01 && printf '\\n```ralph\\n%s\\n```\\n' '{report}'"
    ));
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    let approvals = scratch.root.join("ralph-loop/state/approvals");
    let record = fs::read_dir(&approvals).unwrap().map(|entry| entry.unwrap().path()).next().unwrap();
    let before = fs::read(&record).unwrap();
    scratch.btw(&["D-001=approve"]);
    assert_ne!(fs::read(&record).unwrap(), before, "the control: the approval has grown");
    fs::write(&record, &before).unwrap();
    // With nothing to settle these rows are somebody's who may not add any, and nothing is touched.
    let all = scratch.everything();
    scratch.run(&[]).not_approved(&["test -s told.txt"]);
    same(&all, &scratch.everything());
    // To look settles nothing either.
    scratch.edit("state/decisions/D-001.json", "\"settled\": true", "\"settled\": false");
    let all = scratch.everything();
    scratch.run(&["--dry-run"]).not_approved(&["test -s told.txt"]);
    same(&all, &scratch.everything());
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!((scratch.plan_marks().as_str(), scratch.commits().len()), ("xx", 2));
    assert_ne!(fs::read(&record).unwrap(), before);
}
