//! `kill -9` between any two steps of an answer: it was given or not, and what follows from it happens once.

use std::{
    fs,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use super::support::{DILIGENT, Ended, Scratch, size, until};

/// A question, and what its answer comes to.
struct Story {
    report: &'static str,
    answer: &'static str,
    /// The words of the answer in the plan.
    line: &'static str,
    /// Marks while it waits, and at the end.
    marks: [&'static str; 2],
}

/// An answer that opens its item again.
const CHOICE: Story = Story {
    report: r#"{"status": "decision", "question": "Which?", "options": ["Resend", "Postmark"]}"#,
    answer: "D-001=b",
    line: "D-001 (lead, ",
    marks: ["?", "x"],
};

/// An answer that adds an item.
const SCOPE: Story = Story {
    report: r#"{"status": "done", "proposed": [{"title": "Tell people", "verify": "test -s told.txt"}]}"#,
    answer: "D-001=approve",
    line: "D-001 (lead, ",
    marks: ["x", "xx"],
};

fn waiting(story: &Story) -> Scratch {
    let scratch = Scratch::new(1);
    let report = format!("printf '\\n```ralph\\n%s\\n```\\n' '{}'", story.report);
    scratch.agent(&format!(
        "case \"$(cat)\" in *'(lead, 20'*) answered=1 ;; esac
         test -n \"$answered\" || {{ test '{}' = '?' || {DILIGENT}; {report}; exit; }}
         {DILIGENT}; echo made >told.txt",
        story.marks[0]
    ));
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    assert_eq!((scratch.marks().as_str(), scratch.waiting().len()), (story.marks[0], 1));
    scratch
}

fn dies(scratch: &Scratch, args: &[&str], point: u64) -> Ended {
    scratch.start_with(args, &[("RALPH_TEST_ABORT_AT", &point.to_string())]).end()
}

/// The program dies at the `point`-th step of the answer, and `then`-th of the run that takes it up. Whether it died.
fn dies_at(story: &Story, point: u64, then: Option<u64>) -> bool {
    let scratch = waiting(story);
    let died = dies(&scratch, &["btw", "--by", "lead", "--answer", story.answer], point).status.code().is_none();
    if !scratch.pending().is_empty() {
        assert!(died, "{point}: it said that it had answered");
        // Nothing of it has happened: it can be given now.
        assert!(!scratch.read("ralph-loop/PRD-P1.md").contains(story.line), "{point}");
        assert_eq!(scratch.marks(), story.marks[0], "{point}");
        scratch.btw(&[story.answer]);
    } else {
        scratch.ralph(&["btw", "--answer", story.answer]).refused(&["D-001 waits no longer"]);
    }
    if let Some(then) = then {
        dies(&scratch, &["run"], then);
    }
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.marks(), story.marks[1], "{point}");
    let prd = scratch.read("ralph-loop/PRD-P1.md");
    assert_eq!(prd.matches(story.line).count(), 1, "{point}: {prd}");
    assert_eq!((scratch.waiting().len(), scratch.run_folders().len()), (0, 1), "{point}");
    assert_eq!(scratch.commits().len(), story.marks[1].len(), "{point}");
    assert_eq!(scratch.read("ralph-loop/DECISIONS.md").matches("### D-001").count(), 1, "{point}");
    died
}

fn each_step(story: &Story, at_least: u64) {
    let (next, last) = (AtomicU64::new(1), AtomicU64::new(0));
    let work = || {
        loop {
            let point = next.fetch_add(1, Ordering::SeqCst);
            // Every other time the run that follows dies early, too: in what it does again of the answer.
            if !dies_at(story, point, (point % 2 == 0).then_some(point / 2)) {
                return;
            }
            last.fetch_max(point, Ordering::SeqCst);
        }
    };
    thread::scope(|scope| [(); 2].map(|()| scope.spawn(work)).map(|worker| worker.join().unwrap()));
    let last = last.into_inner();
    assert!(last >= at_least, "the last point was {last}");
}

#[test]
fn an_answer_that_is_cut_off_is_given_or_not() {
    each_step(&CHOICE, 9);
}

#[test]
fn an_approved_proposal_that_is_cut_off_adds_its_item_once() {
    each_step(&SCOPE, 7);
}

/// The run is on when the answer comes, and dies at its `point`-th step: before, while or after it takes the answer in.
/// Whether it died after the answer; `None` where it did before.
fn live_dies_at(point: u64) -> Option<bool> {
    let scratch = Scratch::new(2);
    let wait = "echo >\"$NOTES/at-work\"; until test -e \"$NOTES/go\"; do sleep 0.01; done";
    let script = format!("test $RALPH_ITEM_ID = R01 || {{ {wait}; }}; {DILIGENT}");
    scratch.agent_asks(&[("R01", CHOICE.report)], &script);
    let mut run = scratch.start_with(&["run"], &[("RALPH_TEST_ABORT_AT", &point.to_string())]);
    until("the second session, or the end", || scratch.path("notes/at-work").exists() || run.has_ended());
    if run.has_ended() {
        return None;
    }
    let said = scratch.btw(&["D-001=b"]).stdout;
    assert!(said.contains("takes it in"), "{said}");
    fs::write(scratch.path("notes/go"), "").unwrap();
    let ended = run.end();
    let died = ended.status.code().is_none();
    if died {
        scratch.run(&[]).stopped("SUCCESS", 0);
    } else {
        ended.stopped("SUCCESS", 0);
    }
    let prd = scratch.read("ralph-loop/PRD-P1.md");
    assert_eq!((scratch.marks().as_str(), prd.matches(CHOICE.line).count()), ("xx", 1), "{point}: {prd}");
    assert_eq!((scratch.waiting().len(), scratch.commits().len()), (0, 2), "{point}");
    Some(died)
}

#[test]
fn a_run_that_dies_taking_an_answer_in_takes_it_in_once() {
    let stride = size("RALPH_TEST_CRASH_STRIDE", 4);
    let (mut point, mut deaths) = (40, 0);
    loop {
        match live_dies_at(point) {
            Some(false) => break,
            Some(true) => deaths += 1,
            None => {}
        }
        point += stride;
    }
    assert!(deaths * stride > 30, "it died {deaths} times");
}
