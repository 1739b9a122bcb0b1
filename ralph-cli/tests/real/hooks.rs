//! The hooks of `ralph init --claude` in Claude Code itself, which a person started: it ends when the criteria hold.

use super::{
    agents::{self, Agent},
    install::Clis,
    model::{Model, says, writes},
    offline::offline,
    three_items::repository,
};
use crate::e2e::support::Scratch;

const MAX_BLOCKS: usize = 3;

/// A repository with the hooks, and criteria that do not hold yet.
fn hooked(clis: &Clis, model: &Model) -> (Scratch, Agent) {
    let (scratch, agent) = (repository(), agents::claude(clis, model, "edits"));
    scratch.settings(&format!("[hook]\nmax_blocks = {MAX_BLOCKS}\n"));
    assert!(scratch.shell("ralph init --claude").status.success());
    let verify = "grep -qx one R01.txt || { echo 'R01.txt does not say one'; exit 1; }";
    scratch.write("ralph-loop/criteria.md", format!("## OBJECTIVE\nR01.txt says one.\n\nVerify: {verify}\n"));
    (scratch, agent)
}

/// What was noted of each time that a session wanted to end, without when and which.
fn outcomes(scratch: &Scratch) -> Vec<String> {
    let log = scratch.read("ralph-loop/state/hooks/log");
    log.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap().to_owned()).collect()
}

#[test]
#[ignore = "the real Claude Code: set RALPH_REAL_CLIS=1"]
fn a_session_goes_on_until_the_criteria_hold() {
    offline("real::hooks::a_session_goes_on_until_the_criteria_hold", |clis| {
        let model = Model::start([vec![says("It says one."), writes("R01.txt", "one\n"), says("Now it does.")]]);
        let (scratch, agent) = hooked(clis, &model);
        let said = agent.alone(clis, &scratch, &scratch.root, "Have R01.txt say one.");
        model.told_all();
        assert_eq!((said.as_str(), scratch.read("R01.txt").as_str()), ("Now it does.\n", "one\n"));
        let asked = model.asked();
        assert!(asked[1].last.contains("(block 1 of 3)") && asked[1].last.contains("\nR01.txt does not say one\n"));
        let [began, blocked, passed] = &outcomes(&scratch)[..] else { panic!("{:?}", outcomes(&scratch)) };
        assert!(began == "began" && blocked.contains("(block 1 of 3)") && passed.starts_with("passed: "));
    });
}

#[test]
#[ignore = "the real Claude Code: set RALPH_REAL_CLIS=1"]
fn a_session_that_never_gets_there_is_let_go() {
    offline("real::hooks::a_session_that_never_gets_there_is_let_go", |clis| {
        let model = Model::start([vec![says("It says one."); MAX_BLOCKS + 1]]);
        let (scratch, agent) = hooked(clis, &model);
        agent.alone(clis, &scratch, &scratch.root, "Have R01.txt say one.");
        model.told_all();
        let outcomes = outcomes(&scratch);
        assert_eq!(outcomes.len(), 1 + MAX_BLOCKS + 1, "{outcomes:?}");
        assert!(outcomes.last().is_some_and(|last| last.starts_with("let go: ")), "{outcomes:?}");
    });
}

/// The workspace has the hooks too. There, Ralph says what is enough.
#[test]
#[ignore = "the real Claude Code: set RALPH_REAL_CLIS=1"]
fn the_sessions_of_a_run_are_not_held_by_it() {
    offline("real::hooks::the_sessions_of_a_run_are_not_held_by_it", |clis| {
        let model =
            Model::start([vec![says("R01.txt says one.")], vec![writes("R01.txt", "one\n"), says("Now it does.")]]);
        let (scratch, agent) = hooked(clis, &model);
        scratch.git(&["add", "--force", "."]);
        scratch.git(&["commit", "-qm", "hooks"]);
        // The program, which notes how the hooks call it.
        let ours = env!("CARGO_BIN_EXE_ralph");
        let noting = scratch.script("ralph", &format!("echo \"$*\" >>\"$NOTES/calls\"; exec '{ours}' \"$@\""));
        let path = format!("{}:{}", noting.parent().unwrap().display(), std::env::var("PATH").unwrap());
        agent.with("PATH", &path).run(&scratch, &["--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
        model.told_all();
        assert_eq!(scratch.outcomes(), ["P1/R01 done"]);
        assert_eq!(scratch.note("calls"), "hook session-start\nhook stop\n".repeat(2));
    });
}
