//! Second attempts: what they are told, what they start from, and what becomes of work that never passes.

use super::support::{BRANCH, DILIGENT, Scratch};

#[test]
fn the_second_attempt_is_told_why_and_passes() {
    let scratch = Scratch::new(0);
    scratch.prd("# Two\nVerify: cat answer; grep -qx 42 answer\n\n- [ ] R01: write the answer\n");
    scratch.agent(
        r#"cat >"$NOTES/prompt.$RALPH_ATTEMPT"
           if test "$RALPH_ATTEMPT" = 1; then echo "wrong: 41" >answer; echo kept >beside; else echo 42 >answer; fi"#,
    );
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert!(!scratch.note("prompt.1").contains("failed"));
    let told = scratch.note("prompt.2");
    assert!(told.contains("Attempt 1 failed") && told.contains("> wrong: 41"), "{told}");
    assert_eq!(scratch.commits(), ["R01: write the answer"]);
    assert_eq!(scratch.trailers("Ralph-Attempt"), ["2"]);
    assert!(scratch.files(BRANCH).contains(&"beside".to_owned()), "it went on from the first one's work");
    assert_eq!(scratch.kept("rejected"), ["P1/R01/1"]);
}

#[test]
fn a_retry_from_the_base_starts_clean() {
    let scratch = Scratch::new(1);
    scratch.agent(r#"test "$RALPH_ATTEMPT" = 2 && echo made >R01.txt || echo first >beside"#);
    scratch.run(&["--set", "run.retry_from=base"]).stopped("SUCCESS", 0);
    assert_eq!(scratch.files(BRANCH), [".gitignore", "R01.txt", "README.md"]);
}

#[test]
fn after_two_failures_the_work_is_kept_and_the_next_item_is_done() {
    let scratch = Scratch::new(2);
    scratch.agent(&format!(r#"test "$RALPH_ITEM_ID" = R01 && echo $RALPH_ATTEMPT >>tries || {DILIGENT}"#));
    let before = scratch.operator();
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!(scratch.marks(), "!x");
    assert_eq!(scratch.sessions(), ["R01.1", "R01.2", "R02.1"]);
    assert_eq!(scratch.commits(), ["R02: make the file 2"]);
    assert_eq!(scratch.kept("rejected"), ["P1/R01/1", "P1/R01/2"]);
    let second = scratch.kept_ref("rejected", "P1/R01/2");
    assert_eq!(scratch.git(&["show", &format!("{second}:tries")]), "1\n2");
    assert!(!scratch.files(BRANCH).contains(&"tries".to_owned()), "nothing of it is in the branch");
    assert_eq!(scratch.outcomes(), ["P1/R01 blocked", "P1/R02 done"]);
    scratch.untouched(&before);
}

#[test]
fn a_crashed_agent_is_judged_by_what_it_left() {
    let scratch = Scratch::new(2);
    scratch.agent(&format!(r#"{DILIGENT}; test "$RALPH_ITEM_ID" = R01 && exit 3; kill -9 $$"#));
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits().len(), 2);
}

#[test]
fn a_required_report_that_is_missing_is_a_failed_attempt() {
    let scratch = Scratch::new(1);
    scratch.agent(&format!(r#"{DILIGENT}; echo $RALPH_ATTEMPT >note; test "$RALPH_ATTEMPT" = 1 || printf '```ralph\n{{"status":"done"}}\n```\n'"#));
    scratch.run(&["--set", "agent.require_signal=true"]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1", "R01.2"]);
}
