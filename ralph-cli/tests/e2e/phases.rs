//! A Master Plan from phase to phase: what its gates let through, whom they ask, and where the run stops.

use super::{
    plans::{OPEN, PLAN_BRANCH},
    support::{DILIGENT, Scratch},
};

const MANUAL: &str = "Manual-Gate: lead approves the text";

/// The plan of the specification in small: a person opens the first phase and the last.
fn three() -> Scratch {
    Scratch::planned(&[
        (2, &["Auto-Gate: test -s R01.txt && test -s R02.txt", MANUAL, "Items: 2"]),
        (1, &["Auto-Gate: test -s R03.txt", "Manual-Gate: —"]),
        (1, &["Manual-Gate: security lead approves the release"]),
    ])
}

#[test]
fn a_plan_goes_from_gate_to_gate() {
    let scratch = three();
    let before = scratch.operator();
    let ended = scratch.run(&[]).stopped("MANUAL_GATE", 10);
    assert!(ended.stdout.contains("Manual-Gate awaits: lead approves the text"), "{}", ended.stdout);
    assert!(ended.stdout.contains("ralph btw"), "{}", ended.stdout);
    assert_eq!((scratch.plan_marks().as_str(), scratch.waiting()), ("xx| | ", vec!["D-001 manual-gate P1".to_owned()]));
    assert_eq!(scratch.sessions(), ["R01.1", "R02.1"]);
    // Nothing is asked twice, and nothing is paid for while a person is waited for.
    scratch.run(&[]).stopped("MANUAL_GATE", 10);
    assert_eq!((scratch.pending().len(), scratch.sessions().len()), (1, 2));

    let said = scratch.btw(&["D-001=approved"]).stdout;
    assert!(said.contains("D-001 P1: approve"), "{said}");
    let ended = scratch.run(&[]).stopped("MANUAL_GATE", 10);
    assert!(ended.stdout.contains("security lead approves the release"), "{}", ended.stdout);
    assert_eq!((scratch.plan_marks().as_str(), scratch.waiting()), ("xx|x|x", vec!["D-002 manual-gate P3".to_owned()]));

    scratch.btw(&["D-002=yes"]);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1", "R02.1", "R03.1", "R04.1"]);
    assert_eq!(scratch.trailers("Ralph-Item"), ["P1/R01", "P1/R02", "P2/R03", "P3/R04"]);
    assert_eq!((scratch.run_folders().len(), scratch.waiting().len()), (1, 0));
    scratch.untouched(&before);
    scratch.nothing_lives();
    // Another run finds the gates open as they are, and asks nobody again.
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!((scratch.sessions().len(), scratch.waiting().len()), (4, 0));
}

#[test]
fn where_the_phases_stand_is_told() {
    let scratch = three();
    scratch.run(&[]).stopped("MANUAL_GATE", 10);
    scratch.btw(&["D-001=approve"]);
    scratch.run(&[]).stopped("MANUAL_GATE", 10);
    let page = scratch.read("ralph-loop/ORCHESTRATOR-STATE.md");
    insta::with_settings!({filters => [(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "[when]"), (r"at [0-9a-f]{7,}", "at [commit]")]}, {
        insta::assert_snapshot!(page, @r"
        # Orchestrator state

        This page is rendered: what is written here is not read.

        ## Phases

        - [x] P1 — Part 1: done [when] at [commit]
        - [x] P2 — Part 2: done [when] at [commit]
        - [ ] P3 — Part 3: at its gates

        ## Counters

        - phases since the last checkpoint: 2
        - last stop: MANUAL_GATE: D-002: Manual-Gate awaits: security lead approves the release
        ");
    });
    let status = scratch.status_json();
    let lines = |key: &str| status[key].as_array().unwrap().iter().map(|row| format!("{row}\n")).collect::<String>();
    insta::assert_snapshot!(lines("phases"), @r#"
    {"cost":null,"done":2,"finished":true,"items":2,"phase":"P1","title":"Part 1"}
    {"cost":null,"done":1,"finished":true,"items":1,"phase":"P2","title":"Part 2"}
    {"cost":null,"done":1,"finished":false,"items":1,"phase":"P3","title":"Part 3"}
    "#);
    insta::assert_snapshot!(lines("pending"), @r#"{"id":"D-002","kind":"manual-gate","place":"P3","question":"Manual-Gate awaits: security lead approves the release"}"#);
    assert_eq!(status["stop"]["reason"], "MANUAL_GATE");
    let last = scratch.run(&["--json"]).stopped("MANUAL_GATE", 10).stdout;
    let last: serde_json::Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    assert_eq!((&last["kind"], &last["reason"], &last["exit"]), (&"stopped".into(), &"MANUAL_GATE".into(), &10.into()));
    assert_eq!(last["outcome"]["phases"], status["phases"]);
    // The page is rendered: what a person writes into it opens nothing.
    scratch.edit("ORCHESTRATOR-STATE.md", "- [ ] P3", "- [x] P3");
    scratch.run(&[]).stopped("MANUAL_GATE", 10);
}

#[test]
fn a_gate_that_is_rejected_is_asked_again_once_the_branch_has_moved() {
    let scratch = Scratch::planned(&[(1, &[MANUAL]), (1, OPEN)]);
    scratch.run(&[]).stopped("MANUAL_GATE", 10);
    scratch.btw(&["D-001=reject: the tone is wrong"]);
    for _ in 0..2 {
        let ended = scratch.run(&[]).stopped("MANUAL_GATE", 10);
        assert!(ended.stdout.contains("the tone is wrong"), "{}", ended.stdout);
        assert_eq!((scratch.waiting().len(), scratch.plan_marks().as_str()), (0, "x| "), "nobody is asked again");
    }
    scratch.commit_on_branch("R01.txt", "kinder\n");
    scratch.run(&[]).stopped("MANUAL_GATE", 10);
    assert_eq!(scratch.waiting(), ["D-002 manual-gate P1"]);
    scratch.btw(&["D-002=approve"]);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits(), ["R01: make the file 1", "by hand", "R02: make the file 2"]);
}

#[test]
fn a_closed_gate_stops_the_run_until_it_is_open() {
    let gate = "Auto-Gate: echo looking for the licence; test -s LICENCE";
    let scratch = Scratch::planned(&[(1, &[gate]), (1, OPEN)]);
    scratch.run(&[]).stopped("AUTO_GATE_FAILED", 11);
    let asked = scratch.pending().remove(0);
    assert_eq!((asked.kind.as_str(), asked.place.as_str()), ("auto-gate", "P1"));
    assert!(asked.output.contains("looking for the licence"), "{asked:?}");
    let page = scratch.read("ralph-loop/DECISIONS.md");
    assert!(page.contains("looking for the licence") && page.contains("`retry`"), "{page}");
    // A later run tries the gate, and asks once.
    scratch.run(&[]).stopped("AUTO_GATE_FAILED", 11);
    assert_eq!((scratch.waiting(), scratch.plan_marks().as_str()), (vec!["D-001 auto-gate P1".to_owned()], "x| "));
    // Saying so does not open it: a gate is never waived.
    let before = scratch.read("ralph-loop/DECISIONS.md");
    for said in ["approve", "yes", "continue", "waive"] {
        scratch.ralph(&["btw", "--answer", &format!("D-001={said}")]).refused(&["retry", "reopen ITEM"]);
    }
    assert_eq!(scratch.read("ralph-loop/DECISIONS.md"), before);
    scratch.btw(&["D-001=retry"]);
    scratch.run(&[]).stopped("AUTO_GATE_FAILED", 11);
    assert_eq!(scratch.waiting(), ["D-002 auto-gate P1"]);
    scratch.commit_on_branch("LICENCE", "MIT\n");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!((scratch.waiting().len(), scratch.plan_marks().as_str()), (0, "x|x"));
    let page = scratch.read("ralph-loop/DECISIONS.md");
    assert!(page.contains("the gate is open now"), "the pass closed it: {page}");
}

#[test]
fn an_item_is_reopened_by_the_answer_to_a_closed_gate() {
    let scratch = Scratch::planned(&[(3, &["Auto-Gate: grep -q better R03.txt"])]);
    scratch.run(&[]).stopped("AUTO_GATE_FAILED", 11);
    scratch.ralph(&["btw", "--answer", "D-001=reopen R09"]).refused(&["R09"]);
    scratch.btw(&["D-001=reopen R03"]);
    assert_eq!(scratch.plan_marks(), "xx ");
    let prd = scratch.read("ralph-loop/PRD-P1.md");
    assert_eq!(prd.matches("Decision D-001 (lead, ").count(), 1, "{prd}");
    scratch.agent("cat >\"$NOTES/prompt\"; echo better >R03.txt");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!((scratch.plan_marks().as_str(), scratch.sessions().len()), ("xxx", 4));
    assert!(scratch.note("prompt").contains("D-001"), "the session knows why: {}", scratch.note("prompt"));
}

#[test]
fn a_check_that_a_later_item_overtook_is_retired() {
    let scratch = Scratch::planned(&[(2, &["Auto-Gate: test -s R02.txt"]), (1, OPEN)]);
    // The second item rightly takes away what the first one made.
    scratch.agent("test $RALPH_ITEM_ID = R02 && rm R01.txt; echo made >$RALPH_ITEM_ID.txt");
    scratch.run(&[]).stopped("AUTO_GATE_FAILED", 11);
    assert_eq!((scratch.waiting(), scratch.plan_marks().as_str()), (vec!["D-001 auto-gate P1".to_owned()], "xx| "));
    scratch.btw(&["D-001=retire R01"]);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!((scratch.plan_marks().as_str(), scratch.sessions().len()), ("xx|x", 3));
    assert!(scratch.read("ralph-loop/PRD-P1.md").contains(": retire R01"), "it is told where the item is");
}

#[test]
fn a_gate_that_cannot_judge_is_neither_open_nor_closed() {
    for (gate, put_right) in
        [("Auto-Gate: no-such-checker", "no-such-checker"), ("Auto-Gate: kill -9 $$", "kill -9 $$")]
    {
        let scratch = Scratch::planned(&[(1, &[gate])]);
        let ended = scratch.run(&[]).stopped("VERIFIER_BROKEN", 15);
        assert!(ended.stdout.contains("P1"), "{}", ended.stdout);
        assert_eq!((scratch.waiting().len(), scratch.plan_marks().as_str()), (0, "x"), "nobody is asked");
        scratch.run(&[]).stopped("VERIFIER_BROKEN", 15);
        // A person puts the gate right, and says so.
        scratch.edit("MASTER-PLAN.md", put_right, "true");
        scratch.run(&[]).not_approved(&["Auto-Gate"]);
        scratch.approve();
        scratch.run(&[]).stopped("SUCCESS", 0);
        assert_eq!(scratch.sessions(), ["R01.1"]);
    }
}

#[test]
fn each_items_own_check_counts_at_the_gate_once_more() {
    // The second item breaks the first one's work without anybody's own verifier seeing it.
    let scratch = Scratch::planned(&[(2, OPEN)]);
    scratch.agent(&format!("test $RALPH_ITEM_ID = R02 && : >R01.txt; {DILIGENT}"));
    scratch.run(&[]).stopped("AUTO_GATE_FAILED", 11);
    let asked = scratch.pending().remove(0);
    assert!(asked.text.contains("test -s R01.txt"), "{asked:?}");
}

#[test]
fn a_phase_runs_in_its_turn_only() {
    let scratch = three();
    let refused = |args: &[&str], words: &[&str]| {
        let before = scratch.operator();
        scratch.run(args).refused(words);
        scratch.untouched(&before);
        assert_eq!((scratch.run_folders().len(), scratch.sessions().len()), (0, 0), "{args:?}");
    };
    refused(&["--phase", "P2"], &["P2 comes after P1"]);
    refused(&["--phase", "P3"], &["P3 comes after P1, P2"]);
    refused(&["--phase", "P9"], &["no phase `P9`", "P1, P2, P3"]);
    for prd in ["ralph-loop/PRD-P1.md", "ralph-loop/PRD-P2.md"] {
        refused(&[prd], &["MASTER-PLAN.md", "ralph run --phase"]);
    }
    // The control: a PRD that no plan names runs alone.
    scratch.write("ralph-loop/other.md", "Verify: test -s R09.txt\n\n- [ ] R09: another\n");
    scratch.run(&["ralph-loop/other.md"]).stopped("SUCCESS", 0);

    scratch.run(&["--phase", "P1"]).stopped("MANUAL_GATE", 10);
    scratch.run(&["--phase", "P2"]).refused(&["P2 comes after P1"]);
    scratch.btw(&["D-001=approve"]);
    scratch.run(&["--phase", "P1"]).stopped("SUCCESS", 0);
    assert_eq!(scratch.plan_marks(), "xx| | ", "no further than that");
    scratch.run(&["--phase", "P2"]).stopped("SUCCESS", 0);
    assert_eq!(scratch.plan_marks(), "xx|x| ");
    scratch.run(&[]).stopped("MANUAL_GATE", 10);
    assert_eq!(scratch.plan_marks(), "xx|x|x");
    assert_eq!(
        scratch.git(&["branch", "--list", "ralph/*", "--format=%(refname:short)"]),
        format!("{PLAN_BRANCH}\nralph/other")
    );
}

#[test]
fn a_phase_may_have_a_limit_of_its_own() {
    let plan = |keys: &[&str]| {
        let scratch = Scratch::planned(&[(4, keys)]);
        scratch.agent("echo $RALPH_ITEM_ID >>wrong");
        scratch
    };
    let scratch = plan(&["Auto-Gate: true", "Max-Blockers: 1"]);
    scratch.run(&[]).stopped("BLOCKER_LIMIT", 12);
    assert_eq!(scratch.plan_marks(), "!   ");
    // The controls: more than the usual three, and the usual three.
    let scratch = plan(&["Auto-Gate: true", "Max-Blockers: 9"]);
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!(scratch.plan_marks(), "!!!!");
    let scratch = plan(OPEN);
    scratch.run(&[]).stopped("BLOCKER_LIMIT", 12);
    assert_eq!(scratch.plan_marks(), "!!! ");
}
