//! `ralph goal` and `ralph every`.

use rustix::process::Signal;

use super::support::{Scratch, until};

const COUNTS: &str = r#"
n=$(($(cat "$NOTES/n" 2>/dev/null || echo 0) + 1)); echo "$n" >"$NOTES/n"; cat >"$NOTES/prompt-$n"
"#;

fn scratch(script: &str) -> Scratch {
    let scratch = Scratch::new(0);
    std::fs::remove_file(scratch.root.join("ralph-loop/PRD-P1.md")).unwrap();
    scratch.agent(&format!("{COUNTS}{script}"));
    scratch
}

#[test]
fn a_goal_is_worked_on_until_it_is_reached() {
    let scratch = scratch(r#"if [ "$n" = 3 ]; then echo good >answer; else echo "bad $n" >answer; fi"#);
    let goal = ["goal", "Find the answer", "--verify", "grep -qx good answer"];
    let ended = scratch.ralph(&[&goal[..], &["--iterations", "2"]].concat());
    assert_eq!(ended.status.code(), Some(13), "{}", ended.stderr);
    assert!(ended.stdout.contains("iterations: 2 of 2"), "{}", ended.stdout);
    // The same command goes on, with what failed told.
    let ended = scratch.ralph(&goal);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(scratch.note("prompt-3").contains("Attempt 2 failed"), "{}", scratch.note("prompt-3"));
    let branch = scratch.git(&["branch", "--list", "ralph/goal-find-the-answer-*", "--format=%(refname:short)"]);
    let branch = branch.trim();
    assert_eq!(scratch.git(&["show", &format!("{branch}:answer")]), "good");
    assert_eq!(scratch.git(&["rev-list", "--count", &format!("main..{branch}")]).trim(), "1");
    let progress = scratch.read("ralph-loop/PROGRESS.md");
    let outcomes: Vec<&str> =
        progress.lines().filter(|line| line.starts_with("- 0")).map(|line| line.split(' ').nth(4).unwrap()).collect();
    assert_eq!(outcomes, ["open", "open", "done"]);
    // And a third time there is nothing to do.
    let ended = scratch.ralph(&goal);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert_eq!(scratch.note("n"), "3\n");
}

#[test]
fn a_goal_that_was_reached_and_is_lost_again_is_worked_on_again() {
    let scratch = scratch(r#"echo "good $n" >answer"#);
    let goal = ["goal", "Find the answer", "--verify", "grep -q good answer"];
    assert_eq!(scratch.ralph(&goal).status.code(), Some(0));
    let branch = scratch.git(&["branch", "--list", "ralph/goal-*", "--format=%(refname:short)"]);
    // Its work was never merged.
    scratch.git(&["branch", "-D", branch.trim()]);
    let ended = scratch.ralph(&goal);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("1 of 1 open"), "{}", ended.stderr);
    assert_eq!(scratch.git(&["show", &format!("{}:answer", branch.trim())]), "good 2");
    // Where it is not lost, that costs nothing.
    let ended = scratch.ralph(&goal);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert_eq!(scratch.note("n"), "2\n");
}

#[test]
fn who_is_told_to_go_on_is_told_with_what() {
    let scratch = scratch(r#"printf '```ralph\n{"status": "decision", "question": "Which?"}\n```\n'"#);
    let ended = scratch.ralph(&["goal", "Choose", "--verify", "test -s x"]);
    assert_eq!(ended.status.code(), Some(10), "{}", ended.stderr);
    // Without a plan's name it would be another one, or none.
    let again = "ralph run ralph-loop/state/goals/goal-choose-";
    let said = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").contains(again);
    assert!(said(&ended.stdout), "{}", ended.stdout);
    let answered = scratch.ralph(&["btw", "--answer", "D-001=this one"]);
    assert!(said(&answered.stdout), "{} {}", answered.stdout, answered.stderr);
    let skipped = scratch.ralph(&["skip", "G01"]);
    assert!(said(&skipped.stdout), "{} {}", skipped.stdout, skipped.stderr);
}

#[test]
fn what_is_refused_leaves_nothing_behind() {
    let scratch = scratch("echo x >x");
    for more in [["--cost-usd", "5"], ["--set", "agent.session=continue"], ["--set", "agent.backend=cladue"]] {
        for command in [["goal", "Have x", "--verify", "test -s x"], ["every", "1s", "Look", "--until=true"]] {
            let ended = scratch.ralph(&[&command[..], &more[..]].concat());
            assert_eq!(ended.status.code(), Some(2), "{more:?}: {}", ended.stderr);
        }
    }
    assert!(!scratch.root.join("ralph-loop/state").exists(), "nothing was changed");
    // The control.
    assert_eq!(scratch.ralph(&["goal", "Have x", "--verify", "test -s x"]).status.code(), Some(0));
    assert!(scratch.root.join("ralph-loop/state/goals").exists());
}

#[test]
fn a_wait_that_was_cut_off_goes_on_and_says_so() {
    let scratch = scratch("exit 0");
    let running = scratch.start(&["every", "1h", "Look"]);
    until("the wait", || running.stderr().contains("the next session begins at"));
    running.signal(Signal::KILL);
    running.end();
    let running = scratch.start(&["every", "1h", "Look"]);
    until("the wait, again", || running.stderr().contains("the next session begins at"));
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stderr);
    assert_eq!(scratch.note("n"), "1\n", "no session took place meanwhile");
}

#[test]
fn a_budget_that_is_spent_and_a_broken_end_announce_no_session() {
    let scratch = scratch("exit 0");
    let ended = scratch.ralph(&["every", "1s", "Look", "--iterations", "1"]);
    assert_eq!(ended.status.code(), Some(13), "{}", ended.stderr);
    assert!(!ended.stderr.contains("next session"), "{}", ended.stderr);
    let ended = scratch.ralph(&["every", "1s", "Look", "--until", "no-such-command"]);
    assert_eq!(ended.status.code(), Some(15), "{}", ended.stderr);
    assert!(ended.stderr.contains("⚠ enough: broken: ") && !ended.stderr.contains("next session"), "{}", ended.stderr);
}

#[test]
fn a_goal_that_is_reached_already_costs_nothing() {
    let scratch = scratch("echo x >x");
    assert_eq!(scratch.ralph(&["goal", "Have a readme", "--verify", "test -s README.md"]).status.code(), Some(0));
    assert_eq!(scratch.note("n"), "");
    // The control: one that is not reached calls the agent.
    assert_eq!(scratch.ralph(&["goal", "Have x", "--verify", "test -s x"]).status.code(), Some(0));
    assert_eq!(scratch.note("n"), "1\n");
}

#[test]
fn a_goal_needs_something_that_says_when_it_is_reached() {
    let scratch = scratch("echo x >x");
    let ended = scratch.ralph(&["goal", "Be good"]);
    assert_eq!(ended.status.code(), Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("--verify"), "{}", ended.stderr);
    assert!(!scratch.root.join("ralph-loop/state").exists(), "nothing was changed");
    // The control: the settings' verifier is one.
    scratch.settings("[verify]\ncommand = \"test -s x\"\n");
    assert_eq!(scratch.ralph(&["goal", "Be good"]).status.code(), Some(0));
}

#[test]
fn looking_at_a_goal_changes_nothing() {
    let scratch = scratch("echo x >x");
    let before = scratch.operator();
    let ended = scratch.ralph(&["goal", "Have x\nand only x", "--verify", "test -s x", "--dry-run"]);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("Item G01: Have x") && ended.stdout.contains("- and only x"), "{}", ended.stdout);
    assert_eq!(scratch.operator(), before);
}

#[test]
fn sessions_at_an_interval_keep_nothing_and_end_when_it_is_enough() {
    let scratch = scratch(
        r#"echo "$n" >"round-$n"; printf '```ralph\n{"status": "done", "summary": "looked", "next_minutes": 0}\n```\n'"#,
    );
    let ended = scratch.ralph(&["every", "1s..1h", "Look after the queue", "--until", "test -e round-2"]);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert_eq!(scratch.note("n"), "2\n");
    assert!(ended.stdout.contains("enough: test -e round-2"), "{}", ended.stdout);
    assert!(scratch.note("prompt-1").contains("`next_minutes` says"), "{}", scratch.note("prompt-1"));
    let branch = scratch.git(&["branch", "--list", "ralph/every-*", "--format=%(refname:short)"]);
    assert_eq!(scratch.git(&["rev-list", "--count", &format!("main..{}", branch.trim())]).trim(), "0");
    let status = scratch.ralph(&["status"]);
    assert_eq!(status.status.code(), Some(0), "{}", status.stderr);
    assert!(status.stdout.contains("··"), "{}", status.stdout);
}

#[test]
fn status_says_when_the_next_session_begins() {
    let scratch = scratch("echo x >x");
    let run = scratch.start(&["every", "1h", "Look after the queue"]);
    until("the wait", || scratch.ralph(&["status"]).stdout.contains("; the next session begins at "));
    run.signal(Signal::INT);
    run.end().stopped("CANCELLED", 130);
    let status = scratch.ralph(&["status"]).stdout;
    assert!(status.contains("CANCELLED") && !status.contains("next session"), "{status}");
}

#[test]
fn what_passes_at_an_interval_is_committed() {
    let scratch = scratch(r#"echo "$n" >>log"#);
    let ended = scratch.ralph(&["every", "1s", "Write the log", "--verify", "test -s log", "--iterations", "2"]);
    assert_eq!(ended.status.code(), Some(13), "{}", ended.stderr);
    let branch = scratch.git(&["branch", "--list", "ralph/every-*", "--format=%(refname:short)"]);
    assert_eq!(scratch.git(&["show", &format!("{}:log", branch.trim())]), "1\n2");
}

#[test]
fn intervals_that_are_none_are_refused() {
    let scratch = scratch("echo x >x");
    for (interval, words) in [("soon", "soon"), ("2h..5m", "comes first"), ("0s", "0s")] {
        let ended = scratch.ralph(&["every", interval, "Look"]);
        assert_eq!(ended.status.code(), Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(words), "{interval}: {}", ended.stderr);
    }
}
