//! Pauses that are forced, and work that goes on around what waits for a person.

use std::fs;

use rustix::process::Signal;

use super::{
    plans::OPEN,
    support::{DILIGENT, Scratch, until},
};

/// Seven phases of one item each, which no person has to open.
fn seven() -> Scratch {
    Scratch::planned(&[(1, OPEN); 7])
}

/// It paused after exactly five phases, and goes on when a person says so.
#[track_caller]
fn pauses_after_five(scratch: &Scratch, sessions: usize) {
    assert_eq!(scratch.plan_marks(), "x|x|x|x|x| | ");
    assert_eq!(scratch.waiting(), ["D-001 checkpoint P6"]);
    assert!(scratch.read("ralph-loop/ORCHESTRATOR-STATE.md").contains("phases since the last checkpoint: 5"));
    // It stays there until then, and `stop` is no leave to go on.
    scratch.run(&[]).stopped("CHECKPOINT", 10);
    scratch.btw(&["D-001=stop"]);
    scratch.run(&[]).stopped("CHECKPOINT", 10);
    assert_eq!(
        (scratch.waiting(), scratch.plan_marks().as_str()),
        (vec!["D-002 checkpoint P6".to_owned()], "x|x|x|x|x| | ")
    );
    assert_eq!(scratch.sessions().len(), sessions);
    scratch.ralph(&["btw", "--answer", "D-002=approve"]).refused(&["`continue` or `stop`"]);
    scratch.btw(&["D-002=continue"]);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.plan_marks(), "x|x|x|x|x|x|x");
    assert_eq!((scratch.sessions().len(), scratch.commits().len()), (sessions + 2, 7));
}

#[test]
fn after_five_phases_there_is_a_pause() {
    let scratch = seven();
    scratch.run(&[]).stopped("CHECKPOINT", 10);
    pauses_after_five(&scratch, 5);
}

#[test]
fn phases_are_counted_across_restarts() {
    // Stopped by budgets, by a person and in between.
    let scratch = seven();
    scratch.run(&["--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
    scratch.run(&["--phase", "P2"]).stopped("SUCCESS", 0);
    scratch.run(&["--iterations", "2"]).stopped("BUDGET_EXHAUSTED", 13);
    scratch.run(&[]).stopped("CHECKPOINT", 10);
    pauses_after_five(&scratch, 5);
}

#[test]
fn phases_are_counted_across_a_kill() {
    let scratch = seven();
    scratch.agent(&format!(
        "{DILIGENT}; test $RALPH_ITEM_ID = R03 || exit 0; touch \"$NOTES/third\"; until test -e \"$NOTES/go\"; do sleep 0.02; done"
    ));
    let run = scratch.start(&["run"]);
    until("the third phase", || scratch.path("notes/third").exists());
    run.signal(Signal::KILL);
    run.end();
    fs::write(scratch.path("notes/go"), "").unwrap();
    scratch.run(&[]).stopped("CHECKPOINT", 10);
    // The third item's session twice: the one that was cut off, and its successor.
    pauses_after_five(&scratch, 6);
}

#[test]
fn phases_are_counted_however_often_the_program_dies() {
    let scratch = seven();
    let (mut deaths, mut in_third) = (0, false);
    let ended = loop {
        let point = (61 + deaths * 7).to_string();
        let ended = scratch.start_with(&["run"], &[("RALPH_TEST_ABORT_AT", &point)]).end();
        if ended.status.code().is_some() {
            break ended;
        }
        deaths += 1;
        in_third |= scratch.plan_marks().starts_with("x|x| ");
        assert!(deaths < 30, "it does not get on: {}", scratch.plan_marks());
    };
    ended.stopped("CHECKPOINT", 10);
    assert!(deaths >= 2 && in_third, "it died {deaths} times");
    let sessions = scratch.sessions().len();
    pauses_after_five(&scratch, sessions);
}

#[test]
fn there_is_no_pause_after_the_last_phase_or_where_none_is_wanted() {
    let scratch = Scratch::planned(&[(1, OPEN); 5]);
    scratch.run(&[]).stopped("SUCCESS", 0);
    let scratch = Scratch::planned(&[(1, OPEN); 3]);
    scratch.run(&["--set", "budget.checkpoint_every=2"]).stopped("CHECKPOINT", 10);
    assert_eq!(scratch.plan_marks(), "x|x| ");
}

/// Six items, of which the second needs a decision and nobody gets the fourth done.
fn six() -> Scratch {
    let scratch = Scratch::new(6);
    let which = r#"{"status": "decision", "question": "Which mailer?", "options": ["Resend", "Postmark"]}"#;
    let script = format!("test $RALPH_ITEM_ID = R04 && {{ echo $RALPH_ATTEMPT >>wrong; exit; }}\n{DILIGENT}");
    scratch.agent_asks(&[("R02", which)], &script);
    scratch
}

#[test]
fn work_goes_on_around_a_question_and_a_blocked_item() {
    let scratch = six();
    let ended = scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    assert_eq!(scratch.marks(), "x?x!xx");
    assert!(ended.stdout.contains("Which mailer?"), "{}", ended.stdout);
    assert_eq!(scratch.waiting(), ["D-001 choice P1/R02"]);
    assert!(scratch.read("ralph-loop/BLOCKERS.md").contains("R04"));
    let (commits, others) = (scratch.commits(), scratch.read("ralph-loop/PRD-P1.md"));
    assert_eq!(commits.len(), 4);

    scratch.btw(&["D-001=b"]);
    let answered = scratch.read("ralph-loop/PRD-P1.md");
    let line = answered.lines().find(|line| line.contains("Decision D-001")).unwrap();
    assert!(line.starts_with("  - Decision D-001 (lead, ") && line.ends_with("): Postmark"), "{line}");
    let expected = others.replace("- [?] R02", "- [ ] R02");
    assert_eq!(answered.replacen(&format!("{line}\n"), "", 1), expected, "no other byte has changed");

    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!(scratch.marks(), "xxx!xx");
    assert_eq!(scratch.commits(), [&commits[..], &["R02: make the file 2".to_owned()]].concat());
    let sessions = ["R01.1", "R02.1", "R03.1", "R04.1", "R04.2", "R05.1", "R06.1", "R02.1"];
    let found: Vec<String> = scratch.sessions();
    assert_eq!((found.len(), &found[..7]), (sessions.len(), &sessions.map(str::to_owned)[..7]));
    assert!(found[7].starts_with("R02."), "{found:?}");
}

#[test]
fn a_phase_with_what_waits_does_not_come_to_its_gates() {
    let scratch = Scratch::planned(&[(2, OPEN), (1, OPEN)]);
    // The gate says so when it is asked.
    let asked = scratch.path("notes/asked");
    scratch.edit("MASTER-PLAN.md", "Auto-Gate: true", &format!("Auto-Gate: touch {}", asked.display()));
    scratch.edit("PRD-P1.md", "- [ ] R02", "- [!] R02");
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!((scratch.plan_marks().as_str(), asked.exists()), ("x!| ", false), "and the next phase does not begin");
    assert_eq!(scratch.ralph(&["retry", "R02"]).status.code(), Some(0));
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!((scratch.plan_marks().as_str(), asked.exists()), ("xx|x", true));
}
