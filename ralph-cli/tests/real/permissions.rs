//! What a session may do is said in the agent's own words, and kept to.

use ralph_agents::{Exit, claude::Transcript};

use super::{
    agents,
    model::{Model, runs, says, writes},
    offline::offline,
    three_items::repository,
};

#[test]
#[ignore = "the real Claude Code: set RALPH_REAL_CLIS=1"]
fn edits_of_claude_code_are_no_commands() {
    offline("real::permissions::edits_of_claude_code_are_no_commands", |clis| {
        // The same deed, first by a tool that would need permission, then by one that does not.
        let model = Model::start([
            vec![runs("echo one >R01.txt && sh -c 'echo one >R01.txt'"), says("R01.txt says one.")],
            vec![writes("R01.txt", "one\n"), says("R01.txt says one.")],
        ]);
        let scratch = repository();
        agents::claude(clis, &model, "edits").run(&scratch, &["--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
        model.told_all();
        assert!(model.asked()[1].last.contains("requires approval"), "{:?}", model.asked()[1].last);
        assert!(scratch.progress()[0].contains(" attempts=2 "), "{:?}", scratch.progress());
        let denied = |log: &str| {
            let mut transcript = Transcript::new();
            transcript.push(scratch.of_run(&format!("iterations/0001/{log}")).as_bytes());
            transcript.outcome(Exit::Code(0), "").denied
        };
        assert_eq!((denied("session.log"), denied("session-2.log")), (1, 0));
    });
}

#[test]
#[ignore = "the real Claude Code: set RALPH_REAL_CLIS=1"]
fn claude_code_does_not_skip_permissions_as_root() {
    offline("real::permissions::claude_code_does_not_skip_permissions_as_root", |clis| {
        let (model, scratch) = (Model::start([vec![says("R01.txt says one.")]]), repository());
        let agent = agents::claude(clis, &model, "all").without("IS_SANDBOX");
        let ended = agent.run(&scratch, &[]).stopped("AGENT_UNAVAILABLE", 16);
        assert!(ended.stderr.contains("set IS_SANDBOX=1"), "{}", ended.stderr);
        assert!(model.asked().is_empty(), "nothing is spent");
    });
}

/// Codex asks nobody: it keeps commands in a sandbox, in which the workspace and folders for temporary files can be written.
#[test]
#[ignore = "the real Codex: set RALPH_REAL_CLIS=1"]
fn edits_of_codex_stay_in_the_workspace() {
    offline("real::permissions::edits_of_codex_stay_in_the_workspace", |clis| {
        let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let file = outside.path().join("file");
        // With the control, in which anything may be done.
        for (permissions, written) in [("edits", false), ("all", true)] {
            let command = format!("echo one >R01.txt; echo two >'{}'", file.display());
            let model = Model::start([vec![runs(&command), says("R01.txt says one.")]]);
            let (scratch, agent) = (repository(), agents::codex(clis, &model, permissions));
            agent.run(&scratch, &["--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
            model.told_all();
            assert_eq!(scratch.outcomes(), ["P1/R01 done"]);
            assert_eq!(file.exists(), written, "{permissions}: {}", model.asked()[1].last);
        }
    });
}
