//! `kill -9` at any time of a plan with a question, a gate that a person opens and a second phase: the same end as
//! without.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use super::{
    plans::OPEN,
    support::{DILIGENT, Scratch, size},
};

/// Two phases; the second item touches what only a person may let through, and a person opens the first phase's gate.
fn scenario() -> Scratch {
    let scratch = Scratch::planned(&[(2, &["Auto-Gate: test -s R01.txt", "Manual-Gate: lead looks"]), (1, OPEN)]);
    scratch.agent(&format!("test $RALPH_ITEM_ID = R02 && mkdir auth && echo x >auth/key; {DILIGENT}"));
    scratch
}

/// What the person and the program do in turn.
const STORY: [(&str, &str); 5] = [
    ("run", "AWAITING_DECISIONS"),
    ("btw", "D-001=approve"),
    ("run", "MANUAL_GATE"),
    ("btw", "D-002=approve"),
    ("run", "SUCCESS"),
];

/// Marks, commits with their items, the branch's tree, outcomes in PROGRESS.md, the page of phases, the rows.
type Result = (String, Vec<String>, Vec<String>, String, Vec<String>, String, String);

fn comes_to(scratch: &Scratch) -> Result {
    let page = scratch.read("ralph-loop/ORCHESTRATOR-STATE.md");
    // Without times and commits, and without what a run says that began after the last record of the one before.
    let cut = |line: &str| line.split(": done ").next().unwrap().split("SUCCESS:").next().unwrap().to_owned();
    let page = page.lines().map(cut).collect::<Vec<_>>().join("\n");
    let rows = scratch.read("ralph-loop/PRD-P1.md");
    (
        scratch.plan_marks(),
        scratch.commits(),
        scratch.trailers("Ralph-Item"),
        scratch.git(&["rev-parse", &format!("{}^{{tree}}", scratch.branch)]),
        scratch.outcomes().into_iter().filter(|line| !line.ends_with("interrupted")).collect(),
        page,
        rows,
    )
}

fn uncrashed() -> &'static Result {
    static RESULT: OnceLock<Result> = OnceLock::new();
    RESULT.get_or_init(|| {
        let (scratch, deaths) = told(0);
        assert_eq!(deaths, 0);
        let result = comes_to(&scratch);
        assert_eq!((result.0.as_str(), result.1.len(), result.6.matches("Decision D-").count()), ("xx|x", 3, 1));
        result
    })
}

/// The story, in which the program dies at its `point`-th step whenever it is called, and is called again. How often it
/// died.
fn told(point: u64) -> (Scratch, u64) {
    let scratch = scenario();
    let (before, mut deaths) = (scratch.operator(), 0);
    let number = point.to_string();
    for (command, word) in STORY {
        let args: &[&str] = if command == "run" { &["run"] } else { &["btw", "--by", "lead", "--answer", word] };
        let (id, code) = (word.split('=').next().unwrap(), if word == "SUCCESS" { 0 } else { 10 });
        let mut ended = scratch.start_with(args, &[("RALPH_TEST_ABORT_AT", &number)]).end();
        let died = ended.status.code().is_none();
        deaths += u64::from(died);
        if command == "run" {
            if died {
                ended = scratch.run(&[]);
            }
            ended.stopped(word, code);
        } else if died && scratch.waiting().iter().any(|waiting| waiting.starts_with(id)) {
            scratch.btw(&[word]);
        }
        assert!(scratch.waiting().len() <= 1, "{point}: {:?}", scratch.waiting());
    }
    assert_eq!(scratch.git(&["for-each-ref", "refs/ralph/work"]), "", "{point}: nothing is left over");
    scratch.untouched(&before);
    scratch.nothing_lives();
    (scratch, deaths)
}

/// `RALPH_TEST_CRASH_STRIDE=1` takes every point.
#[test]
fn a_plan_dies_in_each_of_its_parts() {
    let stride = size("RALPH_TEST_CRASH_STRIDE", 9);
    let (next, last) = (AtomicU64::new(1), AtomicU64::new(0));
    let work = || {
        loop {
            let point = next.fetch_add(stride, Ordering::SeqCst);
            let (scratch, deaths) = told(point);
            assert_eq!(comes_to(&scratch), *uncrashed(), "died at {point}: {:?}", scratch.progress());
            if deaths == 0 {
                return;
            }
            last.fetch_max(point, Ordering::SeqCst);
        }
    };
    thread::scope(|scope| [(); 2].map(|()| scope.spawn(work)).map(|worker| worker.join().unwrap()));
    let last = last.into_inner();
    assert!(last > 80, "the last point was {last}");
}
