//! `ralph hook pre-tool-use`, told what Claude Code and Codex were seen to tell their hooks.

use std::fs;

use ralph_agents::spawn::{Limits, SpawnBudget};
use serde_json::{Value, json};

use super::support::{Said, Scratch};

/// The inputs of a recorded session, with its folder replaced.
pub(super) fn recorded(scratch: &Scratch, name: &str) -> Vec<Value> {
    let path = format!("{}/tests/commands/hooks/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let mut inputs: Vec<Value> =
        fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for input in &mut inputs {
        input["cwd"] = scratch.path().to_str().unwrap().into();
    }
    inputs
}

/// The first input of an event.
pub(super) fn event(inputs: &[Value], name: &str) -> Value {
    inputs.iter().find(|input| input["hook_event_name"] == name).unwrap().clone()
}

/// That a subagent is about to be started by Claude Code.
fn spawn(scratch: &Scratch) -> Value {
    event(&recorded(scratch, "claude-subagent"), "PreToolUse")
}

fn repo(settings: &str) -> Scratch {
    Scratch::repo(&[("ralph-loop/ralph.toml", settings), ("ralph-loop/.gitignore", "state/\n")])
}

/// Asks for so many calls of a tool, one after the other; how many of them were allowed, and the last answer.
fn ask(scratch: &Scratch, input: &Value, calls: u32, vars: &[(&str, &str)]) -> (u32, Said) {
    let mut input = input.clone();
    let mut allowed = 0;
    let mut last = None;
    for call in 0..calls {
        input["tool_use_id"] = format!("toolu_{call}").into();
        let said = scratch.hook("pre-tool-use", &input.to_string(), vars);
        assert_eq!(said.code, 0, "{said:?}");
        allowed += u32::from(said.stdout.is_empty());
        last = Some(said);
    }
    (allowed, last.unwrap())
}

/// The reason of an answer that refuses.
fn denied(said: &Said) -> String {
    let answer: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let output = &answer["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "PreToolUse");
    assert_eq!(output["permissionDecision"], "deny");
    output["permissionDecisionReason"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_may_start_so_many_and_each_call_takes_one() {
    let scratch = repo("[spawn]\ntotal = 3\n");
    let input = spawn(&scratch);
    for _ in 0..5 {
        let said = scratch.hook("pre-tool-use", &input.to_string(), &[]);
        assert_eq!(
            (said.code, said.stdout.as_str(), said.stderr.as_str()),
            (0, "", ""),
            "a call that is asked about again"
        );
    }
    let (allowed, last) = ask(&scratch, &input, 5, &[]);
    assert_eq!(allowed, 2);
    insta::assert_snapshot!(last.stdout);
    // Of its own subagents, too; another session has a budget of its own.
    let mut inside = input.clone();
    inside["agent_id"] = "a78a44f7092ab3276".into();
    assert!(denied(&ask(&scratch, &inside, 1, &[]).1).contains("used up: 3 agents in all"));
    let mut other = input;
    other["session_id"] = "../another".into();
    assert_eq!(ask(&scratch, &other, 5, &[]).0, 3);
}

#[test]
fn children_and_depth_bind_where_they_are_set() {
    let scratch = repo("[spawn]\ntotal = 100\nchildren = 2\ndepth = 2\n");
    let input = spawn(&scratch);
    let (allowed, last) = ask(&scratch, &input, 4, &[]);
    assert_eq!(allowed, 2);
    assert!(denied(&last).contains("each agent may start 2 others"));
    let mut child = input.clone();
    child["agent_id"] = "child".into();
    let mut grandchild = input;
    grandchild["agent_id"] = "grandchild".into();
    for call in ["toolu_c1", "toolu_c2"] {
        child["tool_use_id"] = call.into();
        assert_eq!(scratch.hook("pre-tool-use", &child.to_string(), &[]).stdout, "");
    }
    let (allowed, last) = ask(&scratch, &grandchild, 2, &[]);
    assert_eq!(allowed, 0);
    assert!(denied(&last).contains("2 levels deep"));
}

#[test]
fn codex_asks_in_the_same_way() {
    let scratch = repo("");
    let inputs = recorded(&scratch, "codex-subagent");
    let input = event(&inputs, "PreToolUse");
    assert_eq!(input["tool_name"], "collaborationspawn_agent");
    assert_eq!(ask(&scratch, &input, 7, &[]).0, 5);
    let others = inputs.iter().filter(|input| input["tool_name"] != "collaborationspawn_agent");
    for input in others.filter(|input| input["hook_event_name"] == "PreToolUse") {
        assert_eq!(scratch.hook("pre-tool-use", &input.to_string(), &[]).stdout, "", "{input}");
    }
}

#[test]
fn what_starts_no_agent_is_not_asked_about() {
    let scratch = repo("[spawn]\ntotal = 0\n");
    let mut input = spawn(&scratch);
    for tool in ["Bash", "Edit", "TaskOutput", "mcp__x__Task", "task"] {
        input["tool_name"] = tool.into();
        assert_eq!(scratch.hook("pre-tool-use", &input.to_string(), &[]).stdout, "", "{tool}");
    }
    for tool in ["Task", "Agent", "Workflow"] {
        input["tool_name"] = tool.into();
        denied(&scratch.hook("pre-tool-use", &input.to_string(), &[]));
    }
}

/// Hooks fail open: what goes wrong must be an answer that refuses.
#[test]
fn what_cannot_be_read_is_refused() {
    let scratch = repo("");
    let good = spawn(&scratch);
    for bad in
        ["", "garbage", "[]", "{", "null", "{\"tool_name\":5}", "{\"session_id\":\"s\"}", "{\"tool_name\":\"Task\"}"]
    {
        let said = scratch.hook("pre-tool-use", bad, &[]);
        assert_eq!(said.code, 0, "{bad}: {said:?}");
        assert!(denied(&said).starts_with("ralph: what the hook was told "), "{bad}: {said:?}");
    }
    let said =
        scratch.sh("printf '\\377' | \"$RALPH\" hook pre-tool-use", "", &[("RALPH", env!("CARGO_BIN_EXE_ralph"))]);
    denied(&said);
    // Where even the answer cannot be given, the exit code refuses.
    let said =
        scratch.sh("\"$RALPH\" hook pre-tool-use >/dev/full", "garbage", &[("RALPH", env!("CARGO_BIN_EXE_ralph"))]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.stderr.contains("ralph hook: what the hook was told"), "{said:?}");
    // The control.
    assert_eq!(scratch.hook("pre-tool-use", &good.to_string(), &[]).stdout, "");
}

#[test]
fn bad_settings_open_nothing_and_are_told() {
    for settings in ["[spawn]\ntotl = 99\n", "[spawn\n", "[spawn]\nchildren = -1\n", "[agent]\nbackend = \"clade\"\n"] {
        let scratch = repo(settings);
        let (allowed, last) = ask(&scratch, &spawn(&scratch), 8, &[]);
        assert_eq!(allowed, 5, "{settings}");
        assert!(last.stderr.starts_with("ralph hook: ") && last.stderr.contains("ralph.toml:"), "{last:?}");
        assert!(last.stderr.contains("the defaults hold"), "{last:?}");
    }
    // The control.
    let scratch = repo("[spawn]\nchildren = 7\n");
    assert_eq!(ask(&scratch, &spawn(&scratch), 8, &[]).0, 7);
}

#[test]
fn the_budget_of_a_run_binds_whatever_else_is_said() {
    let scratch = repo("[spawn]\ntotal = 100\nchildren = 100\n");
    let path = scratch.home().join("budget/state.json");
    let budget = SpawnBudget::create(&path, Limits { total: 2, children: None, depth: None }).unwrap();
    let vars = budget.root_env();
    let mut vars: Vec<_> = vars.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    vars.push(("RALPH_RUN_ID", "run-1"));
    assert_eq!(ask(&scratch, &spawn(&scratch), 4, &vars).0, 2);
    assert_eq!(budget.standing().spent, 2);

    // Gone, or not named, in a session of a run: nothing is left.
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    assert!(denied(&ask(&scratch, &spawn(&scratch), 1, &vars).1).contains("cannot be looked at"));
    let said = ask(&scratch, &spawn(&scratch), 1, &[("RALPH_RUN_ID", "run-1")]).1;
    assert!(denied(&said).contains("this is a session that Ralph started (run-1)"), "{said:?}");
    // The control: the same session without a run.
    assert_eq!(ask(&scratch, &spawn(&scratch), 1, &[]).0, 1);
}

#[test]
fn the_budget_of_a_session_that_began_is_not_made_again() {
    let scratch = repo("");
    let begins = event(&recorded(&scratch, "claude-subagent"), "SessionStart");
    let state = scratch.home().join(".local/state/ralph/spawn/sessions");
    assert_eq!(scratch.hook("session-start", &begins.to_string(), &[]).code, 0);
    assert_eq!(ask(&scratch, &spawn(&scratch), 2, &[]).0, 2);
    fs::remove_dir_all(&state).unwrap();
    for source in ["compact", "resume"] {
        let mut again = begins.clone();
        again["source"] = source.into();
        scratch.hook("session-start", &again.to_string(), &[]);
        assert!(denied(&ask(&scratch, &spawn(&scratch), 1, &[]).1).contains("is gone"));
    }
    // The control: one that was never seen gets its own.
    let mut other = begins;
    other["session_id"] = "other".into();
    scratch.hook("session-start", &other.to_string(), &[]);
    assert!(state.join("other.json").exists());
}

/// An agent that asks for three subagents, each of which does the same, four levels deep.
const TREE: &str = r#"
echo ran >>"$TRACE"
[ "$1" -lt 4 ] || exit 0
for call in 1 2 3; do
    input='{"session_id":"s","cwd":"'"$PWD"'","tool_name":"Task","tool_use_id":"'"$$-$call"'"}'
    answer=$(printf '%s' "$input" | $UNSET "$RALPH" hook pre-tool-use) || exit 1
    [ -n "$answer" ] || $UNSET sh tree.sh $(($1 + 1)) || exit 1
done
"#;

#[test]
fn budget_01_a_tree_that_asks_the_hook_is_as_large_as_the_total() {
    // The variables of the budget are left out by everything below the root; it is found by the processes above.
    let ways: &[&str] =
        if cfg!(target_os = "linux") { &["", "env -u RALPH_SPAWN_STATE -u RALPH_SPAWN_ID"] } else { &[""] };
    for unset in ways {
        let scratch = Scratch::repo(&[("tree.sh", TREE)]);
        let env = which::which("env").unwrap();
        std::os::unix::fs::symlink(env, scratch.home().join("../bin/env")).unwrap();
        let path = scratch.home().join("budget/state.json");
        let budget = SpawnBudget::create(&path, Limits { total: 12, children: None, depth: None }).unwrap();
        let trace = scratch.path().join("trace");
        let vars = budget.root_env();
        let mut vars: Vec<_> = vars.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        vars.extend([("TRACE", trace.to_str().unwrap()), ("RALPH", env!("CARGO_BIN_EXE_ralph")), ("UNSET", unset)]);
        let said = scratch.sh("sh tree.sh 0", "", &vars);
        assert_eq!(said.code, 0, "{said:?}");
        assert_eq!(fs::read_to_string(trace).unwrap().lines().count(), 1 + 12, "{unset}");
    }
}

#[test]
fn hooks_that_init_installs_work_and_refuse_where_the_program_is_missing() {
    let scratch = Scratch::repo(&[("README.md", "hello\n")]);
    assert_eq!(scratch.ralph(&["init", "--claude"]).code, 0);
    let settings: Value = serde_json::from_str(&scratch.read(".claude/settings.json")).unwrap();
    let command = |event: &str| settings["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
    let input = spawn(&scratch).to_string();
    assert_eq!(scratch.sh(&command("PreToolUse"), &input, &[]).code, 2, "there is no ralph: no leave");
    assert_eq!(scratch.sh(&command("Stop"), &input, &[]).code, 0, "there is no ralph: nobody is kept");

    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ralph"), scratch.home().join("../bin/ralph")).unwrap();
    for event in ["SessionStart", "PreToolUse", "Stop"] {
        let said = scratch.sh(&command(event), &input, &[]);
        assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, "", ""), "{event}");
    }
    let said = scratch.sh(&command("PreToolUse"), &json!({"tool_name": "Workflow"}).to_string(), &[]);
    insta::assert_snapshot!(said.stdout);
}

#[test]
fn a_refusal_that_nobody_can_read_is_the_other_kind_of_refusal() {
    let scratch = repo("[spawn]\ntotal = 0\n");
    let (input, ralph) = (spawn(&scratch).to_string(), env!("CARGO_BIN_EXE_ralph"));
    for to in [">&-", ">/dev/null", ">/dev/full"] {
        let said = scratch.sh(&format!("{ralph} hook pre-tool-use {to}"), &input, &[]);
        assert_eq!(said.code, 2, "{to}: {said:?}");
        assert!(said.stderr.contains("no agent may be started here"), "{to}: {said:?}");
    }
    // Whoever reads it gets it; and what is allowed is, whoever reads.
    assert!(denied(&scratch.hook("pre-tool-use", &input, &[])).contains("no agent may be started here"));
    let harmless = input.replace("\"Agent\"", "\"Read\"").replace("\"Task\"", "\"Read\"");
    assert_eq!(scratch.sh(&format!("{ralph} hook pre-tool-use >&-"), &harmless, &[]).code, 0);
}
