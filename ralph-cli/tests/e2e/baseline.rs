//! What the verifier says of the commit that a run begins with is told before any money is spent.

use super::support::{DILIGENT, Scratch};

/// A plan with this common verifier, and an agent that notes what people had been told before its session.
fn with(verify: &str) -> Scratch {
    let scratch = Scratch::new(0);
    scratch.prd(&format!(
        "# Base\nVerify: {verify}\n\n- [ ] R01: make it\n- [ ] R02: make it too\n  Verify: test -s R02.txt\n"
    ));
    scratch.agent(&format!(
        "cp -n /proc/$PPID/fd/1 \"$NOTES/stdout\"; cp -n /proc/$PPID/fd/2 \"$NOTES/stderr\"\n{DILIGENT}"
    ));
    scratch
}

const RED: &str = "echo 'no such table: shops'; test -s R01.txt";

/// The parts of what is told of a red base.
const TOLD: [&str; 5] = [
    "✗ the base: echo 'no such table: shops'; test -s R01.txt: exit 1",
    "⚠ red before any work: every attempt has to make it pass",
    "stop (Ctrl-C) and mend it first: each item would be blamed for it",
    "    | no such table: shops",
    "    the whole output: ralph-loop/state/runs/",
];

#[test]
fn a_red_base_is_told_before_the_first_session_and_costs_none() {
    let scratch = with(RED);
    let ended = scratch.run(&[]).stopped("SUCCESS", 0);
    let before = scratch.note("stderr");
    for part in TOLD {
        assert!(before.contains(part), "{part:?} is not in {before}");
        assert_eq!(ended.stderr.matches(part).count(), 1, "told once: {}", ended.stderr);
    }
    let log = before.lines().find_map(|line| line.split_once("the whole output: ")).unwrap().1;
    assert!(scratch.read(log).contains("no such table: shops"));
    let summary = scratch.of_run("summary.md");
    for part in ["## Before any work\n\n- ", " failed: echo 'no such table", "every attempt has to make it pass"] {
        assert!(summary.contains(part), "{part:?} is not in {summary}");
    }
    // The control: a green one warns of nothing.
    let scratch = with("test -s README.md");
    scratch.edit_prd("R01: make it\n", "R01: make it\n  Verify: test -s R01.txt\n");
    let ended = scratch.run(&[]).stopped("SUCCESS", 0);
    assert!(ended.stderr.contains("✓ the base: test -s README.md: exit 0"), "{}", ended.stderr);
    assert!(!ended.stderr.contains('⚠'), "{}", ended.stderr);
    let summary = scratch.of_run("summary.md");
    assert!(summary.contains(" passed: test -s README.md: exit 0") && !summary.contains("every attempt"), "{summary}");
}

#[test]
fn so_is_a_green_one_where_any_change_would_pass() {
    let scratch = with("test -s README.md");
    scratch.run(&[]).stopped("SUCCESS", 0);
    let told = "⚠ green before any work: any change at all passes for what has no `Verify:` of its own: R01\n";
    assert!(scratch.note("stderr").contains(told), "{}", scratch.note("stderr"));
}

#[test]
fn a_base_that_cannot_be_judged_is_told_with_its_output() {
    for (verify, setup, told, output) in [
        (
            "echo lost; no-such-program",
            "true",
            "⚠ no verdict before any work, so that no session begins",
            "verify-base.log",
        ),
        ("true", "echo lost; exit 3", "⚠ nothing can be judged before any work", "setup-base.log"),
    ] {
        let scratch = with(verify);
        scratch.edit_prd("Verify:", &format!("Setup: {setup}\nVerify:"));
        let ended = scratch.run(&[]);
        assert_eq!(ended.status.code(), Some(15), "{}", ended.stderr);
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
        let log = ended.stderr.lines().find_map(|line| line.split_once("the whole output: ")).unwrap().1;
        assert!(log.ends_with(output) && scratch.read(log).contains("lost"), "{log}");
        assert_eq!(scratch.sessions(), [""; 0]);
    }
}

#[test]
fn machines_are_told_too() {
    for (verify, outcome, means) in
        [(RED, "fail", "red before any work"), ("test -s README.md", "pass", "green before")]
    {
        let scratch = with(verify);
        scratch.run(&["--json"]).stopped("SUCCESS", 0);
        let printed = scratch.note("stdout");
        let lines: Vec<serde_json::Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let told: Vec<_> = lines.iter().filter(|line| line["kind"] == "baseline").collect();
        assert_eq!(told.len(), 1, "before the session: {printed}");
        assert_eq!((&told[0]["schema_version"], &told[0]["outcome"]), (&1.into(), &outcome.into()), "{}", told[0]);
        assert!(told[0]["means"][0].as_str().unwrap().starts_with(means), "{}", told[0]);
        assert!(scratch.read(told[0]["log"].as_str().unwrap()).starts_with("$ "));
    }
}

/// A run that is taken up tells anew; what was told is no verdict on work.
#[test]
fn it_is_told_once_in_each_life_of_a_run() {
    let scratch = with(RED);
    scratch.edit_prd("R02.txt", "never");
    let ended = scratch.run(&["--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
    assert_eq!(ended.stderr.matches("red before any work").count(), 1);
    let ended = scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert!(ended.stderr.contains("✓ the base: ") && !ended.stderr.contains("before any work"), "{}", ended.stderr);
}

/// A commit of a person's that does not pass, on top of good work, stops the run: nobody has to make it pass.
#[test]
fn a_red_commit_on_top_of_good_work_has_words_of_its_own() {
    let scratch = with("test ! -e bad");
    scratch.run(&["--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
    let checkout = scratch.checkout_of_branch("checkout");
    std::fs::write(checkout.join("bad"), "x").unwrap();
    let commit = "git add bad && git commit -qm bad && git push -q . HEAD:ralph/prd-p1";
    let script = format!("cd '{}' && {commit}", checkout.display());
    assert!(scratch.shell(&script).status.success());
    let ended = scratch.run(&[]).stopped("BRANCH_MOVED", 15);
    assert!(ended.stderr.contains("⚠ red on top of verified work: the run stops"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("every attempt"), "{}", ended.stderr);
}

/// A goal is not reached before any work; nobody is warned of that.
#[test]
fn of_a_goal_it_is_what_the_work_is_for() {
    let scratch = Scratch::new(0);
    scratch.agent("echo made >made.txt");
    let ended = scratch.ralph(&["goal", "Make it", "--verify", "test -s made.txt"]).stopped("SUCCESS", 0);
    assert!(ended.stderr.contains("the goal is not reached yet"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("blamed"), "{}", ended.stderr);
}
