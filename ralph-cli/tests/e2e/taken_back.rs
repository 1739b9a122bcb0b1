//! `ralph retry` and `ralph skip` take back what was asked about an item, and nothing else.

use super::support::{DILIGENT, Scratch};

const WHICH: &str = r#"{"status": "decision", "question": "Which?"}"#;

/// Two plans in one control folder that both have a `P1/R01`, about which both ask.
fn two_plans() -> Scratch {
    let scratch = Scratch::new(1);
    for name in ["a", "b"] {
        scratch.write(&format!("{name}/PRD-P1.md"), "- [ ] R01: make the file 1\n  Verify: test -s R01.txt\n");
        let plan = format!("Phase P1 — {name}\n  PRD: {name}/PRD-P1.md\n  Auto-Gate: true\n");
        scratch.write(&format!("{name}/MASTER-PLAN-{name}.md"), plan);
    }
    scratch.agent_asks(&[("R01", WHICH)], DILIGENT);
    for plan in ["a/MASTER-PLAN-a.md", "b/MASTER-PLAN-b.md"] {
        assert_eq!(scratch.ralph(&["approve", "--by", "lead", "--yes", plan]).status.code(), Some(0));
        scratch.run(&[plan]).stopped("AWAITING_DECISIONS", 10);
    }
    assert_eq!(scratch.waiting(), ["D-001 choice P1/R01", "D-002 choice P1/R01"]);
    scratch
}

#[test]
fn what_another_plan_asked_still_stands() {
    for (command, plan, left) in [("retry", "a", "D-002"), ("skip", "b", "D-001")] {
        let scratch = two_plans();
        let plan = format!("{plan}/MASTER-PLAN-{plan}.md");
        let said = scratch.ralph(&[command, "P1/R01", "--plan", &plan]);
        assert_eq!(said.status.code(), Some(0), "{}", said.stderr);
        assert_eq!(said.stdout.matches("no longer waits").count(), 1, "{}", said.stdout);
        assert_eq!(scratch.waiting(), [format!("{left} choice P1/R01")]);
    }
}

#[test]
fn what_an_agent_proposed_still_stands() {
    let scratch = Scratch::new(2);
    let more = r#"{"status": "done", "proposed": [{"title": "More", "verify": "true"}]}"#;
    scratch.agent_asks(&[("R02", WHICH)], &format!("{DILIGENT}\nprintf '\\n```ralph\\n%s\\n```\\n' '{more}'"));
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    assert_eq!(scratch.waiting(), ["D-001 scope P1/R01", "D-002 choice P1/R02"]);
    let said = scratch.ralph(&["retry", "R01", "R02"]).stdout;
    assert!(said.contains("D-002 no longer waits") && !said.contains("D-001"), "{said}");
    assert_eq!(scratch.waiting(), ["D-001 scope P1/R01"]);
    // It can still be answered.
    scratch.btw(&["D-001=approve"]);
    assert_eq!(scratch.marks(), "   ");
}
