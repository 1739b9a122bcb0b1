//! Agents that say more than they did. What they say is a signal; what counts is the verifier, twice.

use super::support::{BRANCH, DILIGENT, Scratch};

/// A PRD with one item and this verifier.
fn one(verify: &str) -> Scratch {
    let scratch = Scratch::new(0);
    scratch.prd(&format!("# Claims\nVerify: {verify}\n\n- [ ] R01: make it so\n"));
    scratch
}

/// What an agent says that believes itself.
const BOAST: &str = r#"
printf 'All done! Project complete. <promise>COMPLETE</promise>\n'
printf -- '---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n'
printf '```ralph\n{"status":"done","summary":"all tests pass"}\n```\n'
"#;

#[test]
fn who_only_claims_is_blocked_after_two_attempts() {
    let scratch = one("test -s R01.txt");
    scratch.agent(BOAST);
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!(scratch.marks(), "!");
    assert_eq!(scratch.sessions(), ["R01.1", "R01.2"]);
    assert_eq!(scratch.commits(), [""; 0]);
    assert!(scratch.read("ralph-loop/BLOCKERS.md").contains("P1/R01"));
    scratch.nothing_lives();

    // The control: the same words with the work.
    let scratch = one("test -s R01.txt");
    scratch.agent(&format!("{DILIGENT}\n{BOAST}"));
    scratch.run(&[]).stopped("SUCCESS", 0);
}

#[test]
fn who_does_nothing_under_a_green_verifier_is_a_question() {
    let scratch = one("test -s README.md");
    scratch.agent(BOAST);
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    assert_eq!(scratch.marks(), "?");
    assert_eq!(scratch.sessions(), ["R01.1"], "no second session is paid for");
    let decisions = scratch.read("ralph-loop/DECISIONS.md");
    assert!(decisions.contains("D-001") && decisions.contains("already-done"), "{decisions}");
    assert_eq!(scratch.commits(), [""; 0]);

    // Nothing changes by itself, and no session is paid for.
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    assert_eq!(scratch.sessions(), ["R01.1"]);

    // A person who says that it is not done gives it a fresh attempt.
    scratch.agent(DILIGENT);
    scratch.ralph(&["retry", "R01"]);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits(), ["R01: make it so"]);
}

#[test]
fn an_ignored_file_that_makes_the_check_pass_is_a_false_completion() {
    let scratch = one("test -s made.ignored");
    scratch.agent("echo made >made.ignored; echo real >real.txt");
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!(scratch.marks(), "!");
    assert_eq!(scratch.commits(), [""; 0]);
    assert_eq!(scratch.kept("rejected"), ["P1/R01/1"]);
    let kept = scratch.kept_ref("rejected", "P1/R01/1");
    assert_eq!(scratch.files(&kept), [".gitignore", "README.md", "real.txt"], "what it did is kept");
    assert!(scratch.read("ralph-loop/BLOCKERS.md").contains("false completion"));

    // The control: the same file where it is not ignored.
    let scratch = one("test -s made.txt");
    scratch.agent("echo made >made.txt");
    scratch.run(&[]).stopped("SUCCESS", 0);
}

#[test]
fn a_verifier_that_wavers_is_flaky_and_never_a_pass() {
    // On the clean checkout it fails once and passes after that.
    let scratch = one(r#"test "$RALPH_STAGE" != candidate || { test -e "$COUNT" || { touch "$COUNT"; false; }; }"#);
    scratch.edit_prd("\"$COUNT\"", &scratch.path("notes/count").display().to_string());
    scratch.edit_prd("\"$COUNT\"", &scratch.path("notes/count").display().to_string());
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert!(scratch.read("ralph-loop/BLOCKERS.md").contains("flaky"));
    assert_eq!((scratch.commits().len(), scratch.kept("rejected").len()), (0, 1));
}

#[test]
fn ticking_the_copy_in_the_workspace_ticks_nothing() {
    let scratch = one("test -s R01.txt");
    scratch.git(&["add", "ralph-loop/PRD-P1.md"]);
    scratch.git(&["commit", "-qm", "the plan is in git"]);
    scratch.agent("sed -i 's/\\[ ]/[x]/' ralph-loop/PRD-P1.md; echo Verify: true >>ralph-loop/PRD-P1.md");
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!(scratch.marks(), "!");
    assert_eq!(scratch.commits(), [""; 0]);

    // The control, and no copy of the ledger in a candidate either.
    scratch.agent(&format!("{DILIGENT}; echo forged >ralph-loop/PRD-P1.md; echo x >ralph-loop/new"));
    scratch.ralph(&["retry", "R01"]);
    scratch.run(&[]).stopped("SUCCESS", 0);
    let plan = scratch.git(&["show", &format!("{BRANCH}:ralph-loop/PRD-P1.md")]);
    assert!(plan.contains("make it so") && !plan.contains("forged"), "{plan}");
    assert!(!scratch.files(BRANCH).contains(&"ralph-loop/new".to_owned()));
}

#[test]
fn ticking_the_copy_of_a_plan_that_lies_elsewhere_does_not_come_back_by_the_merge() {
    let scratch = Scratch::new(2);
    let plan = scratch.read("ralph-loop/PRD-P1.md");
    scratch.write("docs/PRD-P1.md", &plan);
    scratch.git(&["add", "docs"]);
    scratch.git(&["commit", "-qm", "the plan is in git"]);
    scratch.agent(&format!("{DILIGENT}; sed -i 's/\\[ ]/[x]/' docs/PRD-P1.md; echo more >docs/more.md"));
    scratch.run(&["docs/PRD-P1.md", "--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
    assert_eq!(scratch.git(&["show", &format!("{BRANCH}:docs/PRD-P1.md")]), plan.trim_end());
    assert!(scratch.files(BRANCH).contains(&"docs/more.md".to_owned()), "the control");
}

#[test]
fn an_agent_may_block_or_ask_by_its_report() {
    let report = |json: &str| format!("printf '```ralph\\n{json}\\n```\\n'");
    let scratch = Scratch::new(3);
    scratch.agent(&format!(
        "case $RALPH_ITEM_ID in\nR01) {};;\nR02) {};;\n*) {DILIGENT};;\nesac",
        report(r#"{"status":"blocked","summary":"no network"}"#),
        report(r#"{"status":"decision","question":"Which mail service?","options":["Resend","SES"]}"#),
    ));
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    assert_eq!(scratch.marks(), "!?x", "the run goes on with the rest");
    assert!(scratch.read("ralph-loop/BLOCKERS.md").contains("no network"));
    assert!(scratch.read("ralph-loop/DECISIONS.md").contains("Which mail service?"));
    assert_eq!(scratch.commits(), ["R03: make the file 3"]);
}
