//! `run --dry-run`, `status`, `log` and `stop`, as somebody sees them who only looks.

use super::support::{Scratch, filters};

fn shop() -> Scratch {
    Scratch::repo(&[
        ("ralph-loop/PRD-P1.md", "Verify: test -f a\nSetup: true\n\n- [ ] R01: Greet\n  Verify: grep hello a\n"),
        (
            "ralph-loop/ralph.toml",
            "agent.backend = \"command\"\nagent.command = [\"sh\", \"-c\", \"echo hello > a\"]\nbudget.time = \"90m\"\n",
        ),
    ])
}

#[test]
fn a_dry_run_says_what_would_happen_and_does_nothing() {
    let scratch = shop();
    let said = scratch.ralph(&["run", "--dry-run"]);
    let head = said.stdout.split("\n\n").next().unwrap();
    let mut filters = filters();
    filters.push((r"repo-\[commit\]", "[repo]"));
    insta::with_settings!({filters => filters}, { insta::assert_snapshot!(scratch.stable(head)) });
    assert!(said.stdout.contains("Item R01: Greet"), "{}", said.stdout);
    assert_eq!(scratch.git(&["status", "--porcelain"]), "");
    assert!(!scratch.path().join("ralph-loop/state").exists());
}

#[test]
fn the_log_of_an_item_is_that_of_the_run_that_worked_on_it() {
    let scratch = shop();
    for _ in 0..2 {
        let run = scratch.ralph(&["run"]);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    }
    let log = scratch.ralph(&["log", "R01"]);
    assert!(log.code == 0 && log.stdout.contains("● R01 done"), "{log:?}");
    let log = scratch.ralph(&["log", "P1/R01", "--json"]);
    for line in log.stdout.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["schema_version"], 1);
    }
    let none = scratch.ralph(&["log", "R09"]);
    assert_eq!(none.stderr, "error: no run has worked on `R09`; `ralph status` shows the items\n");
}

#[test]
fn without_a_run_there_is_little_to_see() {
    let scratch = shop();
    for (args, code, expected) in [
        (["stop", "--now"].as_slice(), 0, "No run is at work here.\n"),
        (&["log"], 2, "error: there is no run yet; `ralph run` begins one\n"),
        (&["diff"], 2, "error: there is no run yet, and so nothing to review\n"),
        (&["status"], 0, "ralph-loop/PRD-P1.md on ralph/prd-p1 — no run yet\n\nOpen (1)\n  R01           Greet\n"),
    ] {
        let said = scratch.ralph(args);
        assert_eq!((said.code, format!("{}{}", said.stdout, said.stderr).as_str()), (code, expected), "{args:?}");
    }
}
