//! Every way a run can end has its name, its exit code, and goes on with the next `ralph run`.

use rustix::process::Signal;

use super::support::{DILIGENT, Scratch, until};

#[test]
fn the_budget_of_iterations() {
    let scratch = Scratch::new(3);
    let ended = scratch.run(&["--iterations", "2"]).stopped("BUDGET_EXHAUSTED", 13);
    assert!(ended.stdout.contains("iterations"), "it says which budget: {}", ended.stdout);
    assert_eq!(scratch.marks(), "xx ");
    // It goes on with a new budget, as the same run.
    scratch.run(&["--iterations", "2"]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1", "R02.1", "R03.1"]);
    assert_eq!(scratch.run_folders().len(), 1);
}

#[test]
fn work_that_is_finished_on_the_last_iteration_is_a_success() {
    let scratch = Scratch::new(2);
    scratch.run(&["--iterations", "2", "--set", "budget.sessions=2"]).stopped("SUCCESS", 0);
}

#[test]
fn the_budget_of_sessions() {
    let scratch = Scratch::new(3);
    let ended = scratch.run(&["--set", "budget.sessions=1"]).stopped("BUDGET_EXHAUSTED", 13);
    assert!(ended.stdout.contains("sessions"));
    assert_eq!(scratch.marks(), "x  ");
}

#[test]
fn the_budget_of_time() {
    let scratch = Scratch::new(3);
    scratch.agent(&format!("{DILIGENT}; sleep 0.6"));
    let ended = scratch.run(&["--time", "500ms"]).stopped("BUDGET_EXHAUSTED", 13);
    assert!(ended.stdout.contains("time"));
    assert_eq!(scratch.marks(), "x  ", "the verdict comes before the budget");
}

/// The transcript `success-usage` says $0.0155676 and 3003 + 63 + 153 tokens.
#[test]
fn the_budget_of_money() {
    let scratch = Scratch::new(3);
    scratch.claude("success-usage", DILIGENT);
    let ended = scratch.run(&["--cost-usd", "0.03"]).stopped("BUDGET_EXHAUSTED", 13);
    assert!(ended.stdout.contains("cost_usd: $0.03 of $0.03"), "{}", ended.stdout);
    assert_eq!(scratch.marks(), "xx ", "overshoot is at most one session");
    assert!(scratch.progress()[0].contains("cost=$0.02"), "{:?}", scratch.progress());
    // Money is per run: the same budget is spent.
    scratch.run(&["--cost-usd", "0.03"]).stopped("BUDGET_EXHAUSTED", 13);
    scratch.run(&["--cost-usd", "0.05"]).stopped("SUCCESS", 0);
}

#[test]
fn the_budget_of_tokens() {
    let scratch = Scratch::new(3);
    scratch.claude("success-usage", DILIGENT);
    let ended = scratch.run(&["--tokens", "3219"]).stopped("BUDGET_EXHAUSTED", 13);
    assert!(ended.stdout.contains("tokens: 3219 of 3219"), "{}", ended.stdout);
    assert_eq!(scratch.marks(), "x  ");
    scratch.run(&["--tokens", "1000000"]).stopped("SUCCESS", 0);
}

#[test]
fn no_progress() {
    let scratch = Scratch::new(4);
    scratch.agent("echo I looked at it and it is fine");
    scratch.run(&["--set", "budget.blockers_per_phase=9"]).stopped("NO_PROGRESS", 14);
    assert_eq!(scratch.marks(), "!!  ", "two iterations in a row");
    assert_eq!(scratch.sessions().len(), 4);
}

#[test]
fn going_back_and_forth_is_no_progress() {
    // One of two bad answers in turn, each from a clean start.
    let scratch = Scratch::new(0);
    scratch.prd(&format!("# Same\nVerify: grep -qx 42 answer\n\n{}", "- [ ] the answer\n".repeat(4)));
    scratch.agent("echo $(($RALPH_ATTEMPT % 2)) >answer");
    let flags = ["--set", "run.retry_from=base", "--set", "budget.blockers_per_phase=9"];
    scratch.run(&flags).stopped("NO_PROGRESS", 14);
    assert_eq!(scratch.marks(), "!!! ", "the first two answers were new");
    // The control: other bad answers each time.
    let control = Scratch::new(0);
    control.prd(&scratch.read("ralph-loop/PRD-P1.md").replace('!', " "));
    control.agent("wc -l <\"$NOTES/sessions\" >answer");
    control.run(&flags).stopped("ITEMS_BLOCKED", 12);
}

#[test]
fn too_many_blocked_items() {
    let scratch = Scratch::new(5);
    scratch.agent("echo $RALPH_ITEM_ID >>wrong");
    scratch.run(&[]).stopped("BLOCKER_LIMIT", 12);
    assert_eq!(scratch.marks(), "!!!  ");
    // A limit that the settings raise.
    let scratch = Scratch::new(4);
    scratch.agent("echo $RALPH_ITEM_ID >>wrong");
    scratch.run(&["--set", "budget.blockers_per_phase=9"]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!(scratch.marks(), "!!!!");
}

#[test]
fn an_item_with_an_unknown_mark_is_no_success() {
    let scratch = Scratch::new(2);
    scratch.edit_prd("- [ ] R02", "- [~] R02");
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!(scratch.marks(), "x~");
}

/// An agent that says when it is at work, and goes on when it is told to.
const WAITS: &str = r#"echo >"$NOTES/at-work"; until test -e "$NOTES/go"; do sleep 0.02; done"#;

#[test]
fn the_first_interrupt_ends_after_the_session() {
    let scratch = Scratch::new(2);
    scratch.agent(&format!("{WAITS}; {DILIGENT}"));
    let run = scratch.start(&["run"]);
    until("the session", || scratch.path("notes/at-work").exists());
    run.signal(Signal::INT);
    until("the note", || run.stderr().contains("stopping after the step"));
    std::fs::write(scratch.path("notes/go"), "").unwrap();
    run.end().stopped("CANCELLED", 130);
    scratch.nothing_lives();
    // What the session left was paid for: it is judged when the run goes on.
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1", "R02.1"]);
    assert_eq!(scratch.commits().len(), 2);
}

/// Ends a session that never ends by these signals, and takes the run up again.
#[track_caller]
fn ended_now_by(signals: &[Signal]) {
    let scratch = Scratch::new(1);
    scratch.agent(&format!("echo half >R01.txt; {WAITS} & wait"));
    scratch.edit_prd("test -s R01.txt", "grep -qx made R01.txt");
    let before = scratch.operator();
    let run = scratch.start(&["run"]);
    until("the session", || scratch.path("notes/at-work").exists());
    for (number, signal) in signals.iter().enumerate() {
        run.signal(*signal);
        let word = if number + 1 == signals.len() { "ending the step" } else { "stopping after the step" };
        until("the note", || run.stderr().contains(word));
    }
    run.end().stopped("CANCELLED", 130);
    scratch.nothing_lives();
    scratch.untouched(&before);
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), (" ", 0));
    assert_eq!(scratch.kept("interrupted"), ["P1/R01/1"], "what it left is kept");

    scratch.agent(DILIGENT);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits(), ["R01: make the file 1"]);
}

#[test]
fn a_second_interrupt_ends_now() {
    ended_now_by(&[Signal::INT, Signal::INT]);
}

#[test]
fn sigterm_and_sighup_end_now() {
    ended_now_by(&[Signal::TERM]);
    ended_now_by(&[Signal::HUP]);
}

#[test]
fn ralph_stop_is_the_same_as_a_signal() {
    let scratch = Scratch::new(1);
    scratch.agent(WAITS);
    let run = scratch.start(&["run"]);
    until("the session", || scratch.path("notes/at-work").exists());
    assert!(scratch.ralph(&["stop", "--now"]).stdout.contains("ralph run"));
    run.end().stopped("CANCELLED", 130);
    scratch.nothing_lives();
    assert!(scratch.ralph(&["stop"]).stdout.contains("No run is at work"));
}

#[test]
fn an_agent_that_is_not_there() {
    let scratch = Scratch::new(1);
    scratch.write("ralph-loop/ralph.toml", "[agent]\nbackend = \"command\"\ncommand = [\"no-such-agent\"]\n");
    let ended = scratch.run(&[]).stopped("AGENT_UNAVAILABLE", 16);
    assert!(ended.stdout.contains("no-such-agent") && ended.stdout.contains("install it"), "{}", ended.stdout);
    assert_eq!(scratch.marks(), " ", "no item is blamed");
    scratch.write(
        "ralph-loop/ralph.toml",
        "[agent]\nbackend = \"command\"\ncommand = [\"sh\", \"-c\", \"no-such-agent\"]\n",
    );
    scratch.run(&[]).stopped("AGENT_UNAVAILABLE", 16);
}

#[test]
fn a_refused_login() {
    let scratch = Scratch::new(1);
    scratch.claude("oauth-401", "");
    let ended = scratch.run(&[]).stopped("AGENT_UNAVAILABLE", 16);
    assert!(ended.stdout.contains("log in"), "{}", ended.stdout);
    assert_eq!((scratch.marks().as_str(), scratch.sessions().len()), (" ", 1));
}

#[test]
fn a_usage_window_that_opens_after_the_time_budget() {
    let scratch = Scratch::new(1);
    scratch.claude("oauth-usage-limit", "");
    // The window of the recording opened long ago; the usual wait is longer than the budget.
    scratch.run(&["--time", "2s"]).stopped("AGENT_UNAVAILABLE", 16);
    assert_eq!(scratch.marks(), " ", "a limit is never the item's fault");
}

#[test]
fn a_verifier_that_is_ended_in_the_middle_judges_again() {
    let scratch = Scratch::new(1);
    let notes = scratch.path("notes").display().to_string();
    let wait = format!("touch {notes}/judging; until test -e {notes}/go; do sleep 0.02; done");
    scratch.edit_prd("test -s R01.txt", &format!("test $RALPH_STAGE = base || {{ {wait}; }}; test -s R01.txt"));
    let run = scratch.start(&["run"]);
    until("the verifier", || scratch.path("notes/judging").exists());
    run.signal(Signal::TERM);
    run.end().stopped("CANCELLED", 130);
    scratch.nothing_lives();
    std::fs::write(scratch.path("notes/go"), "").unwrap();
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1"]);
}
