//! A person who answers at a terminal.

use super::{
    plans::{SIGNED, same},
    support::{DILIGENT, Scratch},
};

/// Three questions: a choice, one in free words, and one of a policy.
fn three() -> Scratch {
    let scratch = Scratch::new(3);
    let which = r#"{"status": "decision", "question": "Which?", "options": ["Resend", "Postmark"], "recommendation": "Resend"}"#;
    let how = r#"{"status": "decision", "question": "How many?"}"#;
    let script = format!("test $RALPH_ITEM_ID = R03 && {{ mkdir auth; echo x >auth/key; }}; {DILIGENT}");
    scratch.agent_asks(&[("R01", which), ("R02", how)], &script);
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    scratch
}

#[test]
fn questions_are_asked_one_after_the_other() {
    let scratch = three();
    let mut terminal = scratch.at_terminal(&["btw", "--by", "lead"]);
    // The most urgent one first: not an answer, then one.
    terminal.says("\n> ", 1, "perhaps\n");
    terminal.says("\n> ", 2, "yes\n");
    // An empty line leaves one for later.
    terminal.says("\n> ", 3, "\n");
    terminal.says("\n> ", 4, "seven\n");
    terminal.says("Resume operator now? [y/N] ", 1, "\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    insta::with_settings!({filters => [(r"\d{8}-\d{6}-[0-9a-f]{6}", "[run]"), (r"(?m) +$", "")]}, {
        insta::assert_snapshot!(screen, @r"
        3 questions; an empty line leaves one for later.

        operator:D-003  security  P1/R03
            `auth/key` would be added, which is a matter of security (`**/auth/**`). Accept it?
            the work: 2 files, +2 −0 lines, kept as refs/ralph/parked/[run]/P1/R03/1
            look at it with `ralph diff R03`
            say `approve`, `reject` or `reject: the reason`
        > perhaps
        `perhaps` is no answer to this question: say `approve`, `reject` or `reject: the reason`
        > yes
        operator:D-003 P1/R03: approve

        operator:D-001  choice  P1/R01
          the agent asks (its words):
            Which?
            A) Resend
            B) Postmark
          recommended:
            Resend
            say one of the options or its letter (A to B), or `other: your own words`
        >

        operator:D-002  choice  P1/R02
          the agent asks (its words):
            How many?
            say it in your own words
        > seven
        operator:D-002 P1/R02: seven
        Resume operator now? [y/N]
        ");
    });
    assert_eq!(scratch.waiting(), ["D-001 choice P1/R01"]);
    assert_eq!(scratch.marks(), "?  ");
    assert_eq!(scratch.sessions().len(), 3, "nothing was resumed");
}

#[test]
fn the_run_is_resumed_when_the_person_says_so() {
    let scratch = three();
    let mut terminal = scratch.at_terminal(&["btw", "--by", "lead"]);
    terminal.says("\n> ", 1, "approve\n");
    terminal.says("\n> ", 2, "B\n");
    terminal.says("\n> ", 3, "seven\n");
    terminal.says("Resume operator now? [y/N] ", 1, "y\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("resuming operator") && screen.contains("SUCCESS"), "{screen}");
    assert_eq!((scratch.marks().as_str(), scratch.run_folders().len()), ("xxx", 1));
}

#[test]
fn who_leaves_in_the_middle_has_answered_what_was_answered() {
    let scratch = three();
    let mut terminal = scratch.at_terminal(&["btw", "--by", "lead"]);
    terminal.says("\n> ", 1, "no: not by hand\n");
    // The end of the input.
    terminal.says("\n> ", 2, "\u{4}");
    terminal.says("Resume operator now? [y/N] ", 1, "\u{4}");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(scratch.waiting(), ["D-001 choice P1/R01", "D-002 choice P1/R02"]);
    // Nothing left to ask about.
    let page = scratch.read("ralph-loop/PRD-P1.md");
    assert!(page.contains("): reject: not by hand\n"), "{page}");
    scratch.btw(&["D-001=A", "D-002=x"]);
    let (code, screen) = scratch.at_terminal(&["btw"]).end();
    assert_eq!((code, screen.as_str()), (Some(0), "Nothing waits for you.\n"));
}

#[test]
fn a_plan_is_signed_at_a_terminal() {
    let scratch = Scratch::planned(&[(1, &["Auto-Gate: true"])]);
    scratch.edit("MASTER-PLAN.md", SIGNED, "");
    let before = scratch.everything();
    for no in ["\n", "n\n", "yess\n", "\u{4}"] {
        let mut terminal = scratch.at_terminal(&["approve", "--by", "lead"]);
        terminal.says("Approve as lead? [y/N] ", 1, no);
        let (code, screen) = terminal.end();
        assert!(code == Some(1) && screen.contains("Nothing was approved."), "{code:?} {screen}");
        same(&before, &scratch.everything());
    }
    let mut terminal = scratch.at_terminal(&["approve", "--by", "lead"]);
    terminal.says("Approve as lead? [y/N] ", 1, "y\n");
    let (code, screen) = terminal.end();
    assert!(code == Some(0) && screen.contains("Approved-By: lead, "), "{screen}");
    scratch.run(&[]).stopped("SUCCESS", 0);
}
