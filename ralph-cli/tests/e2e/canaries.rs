//! What an agent and a verifier see of the operator's environment: canaries that must stay where they are.

use super::support::Scratch;

/// Variables of every kind, each with a value that is found wherever it leaks.
const CANARIES: [(&str, &str); 11] = [
    ("ANTHROPIC_API_KEY", "canary-anthropic"),
    ("OPENAI_API_KEY", "canary-openai"),
    ("CODEX_API_KEY", "canary-codex"),
    ("GEMINI_API_KEY", "canary-gemini"),
    ("AWS_SECRET_ACCESS_KEY", "canary-aws"),
    ("GITHUB_TOKEN", "canary-github"),
    ("NPM_TOKEN", "canary-npm"),
    ("DATABASE_URL", "canary-database"),
    ("CLAUDECODE", "canary-outer-claude"),
    ("CODEX_THREAD_ID", "canary-outer-codex"),
    ("RALPH_SPAWN_STATE", "canary-outer-budget"),
];

/// The canaries that a note holds, without `canary-`.
fn seen(note: &str) -> Vec<&'static str> {
    let found = CANARIES.iter().filter(|(_, value)| note.contains(value));
    found.map(|(_, value)| value.trim_start_matches("canary-")).collect()
}

/// A run of one item by `backend`, whose program notes its environment, as every verifier does.
fn canaries(backend: &str, settings: &str) -> Scratch {
    let scratch = Scratch::new(1);
    let notes = scratch.path("notes").display().to_string();
    scratch.edit_prd("test -s R01.txt", &format!("env >>{notes}/verifiers; test -s R01.txt"));
    let transcripts = concat!(env!("CARGO_MANIFEST_DIR"), "/../ralph-agents/tests/transcripts");
    scratch.agent(&format!(
        "env >\"$NOTES/agent\"; cat >\"$NOTES/prompt\"; echo made >R01.txt\n\
         [ {backend} = command ] || cat {transcripts}/{backend}/success.stdout"
    ));
    let program = format!("{:?}", scratch.path("agent.sh").to_str().unwrap());
    scratch
        .write("ralph-loop/ralph.toml", format!("[agent]\nbackend = \"{backend}\"\ncommand = [{program}]\n{settings}"));
    scratch.start_with(&["run"], &CANARIES).end().stopped("SUCCESS", 0);
    scratch
}

#[test]
fn each_agent_sees_its_own_keys_and_no_others() {
    for (backend, own) in [
        ("claude", &["anthropic"][..]),
        ("codex", &["openai", "codex"]),
        ("gemini", &["gemini"]),
        ("opencode", &[]),
        ("command", &[]),
    ] {
        let scratch = canaries(backend, "");
        assert_eq!(seen(&scratch.note("agent")), own, "{backend}");
        assert_eq!(seen(&scratch.note("verifiers")), [""; 0], "{backend}: a verifier sees no key of an agent");
        assert_eq!(seen(&scratch.note("prompt")), [""; 0], "{backend}");
        // The control: its environment was noted.
        assert!(
            scratch.note("agent").contains("RALPH_ITEM_ID=R01") && scratch.note("verifiers").contains("RALPH_STAGE=")
        );
        let kept = scratch.run_folders().pop().unwrap();
        let kept = walk(&kept);
        assert_eq!(seen(&kept), [""; 0], "{backend}: no value in what is recorded");
    }
}

/// The content of every file below a folder.
fn walk(folder: &std::path::Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &walk(&path);
        } else {
            text += &String::from_utf8_lossy(&std::fs::read(&path).unwrap());
        }
    }
    text
}

#[test]
fn what_the_operator_names_is_seen_and_told_by_name() {
    let scratch = canaries("claude", "env = [\"DATABASE_URL\", \"GITHUB_*\"]\n[verify]\nenv = [\"NPM_TOKEN\"]\n");
    assert_eq!(seen(&scratch.note("agent")), ["anthropic", "github", "database"]);
    assert_eq!(seen(&scratch.note("verifiers")), ["npm"]);
    let ended = scratch.start_with(&["run", "--new"], &CANARIES).end();
    assert!(
        ended.stderr.contains("variables that it sees: ANTHROPIC_API_KEY, DATABASE_URL, GITHUB_TOKEN\n"),
        "{}",
        ended.stderr
    );
    assert_eq!(seen(&ended.stderr), [""; 0], "names, and no values");
}

#[test]
fn each_session_of_a_run_has_a_spawn_budget_of_its_own() {
    let scratch = Scratch::new(2);
    let ralph = env!("CARGO_BIN_EXE_ralph");
    // The hook is what Claude Code would call before it starts a subagent.
    scratch.claude(
        "success",
        &format!(
            r#"echo made >"$RALPH_ITEM_ID.txt"; printf '%s\n' "$*" >>"$NOTES/args"; printf '%s\n' "$RALPH_SPAWN_STATE" >>"$NOTES/states"
            for n in 1 2 3 4 5; do
              printf '{{"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_use_id": "t%s", "tool_input": {{}}}}' $n |
                {ralph} hook pre-tool-use >"$NOTES/answer" || :
              if grep -q deny "$NOTES/answer"; then echo refused; else echo granted; fi >>"$NOTES/$RALPH_ITEM_ID"
            done"#
        ),
    );
    scratch.settings("[spawn]\ntotal = 3\n");
    scratch.run(&[]).stopped("SUCCESS", 0);
    for item in ["R01", "R02"] {
        assert_eq!(scratch.note(item), "granted\ngranted\ngranted\nrefused\nrefused\n", "{item}");
    }
    let states = scratch.note("states");
    let states: Vec<&str> = states.lines().collect();
    assert!(states.len() == 2 && states[0] != states[1], "{states:?}");
    assert!(states.iter().all(|state| !std::path::Path::new(state).exists()), "gone with their sessions");
    assert!(scratch.note("args").contains("hook pre-tool-use"), "{}", scratch.note("args"));
}
