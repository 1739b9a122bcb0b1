//! Where the program is started, what it passes on, and who reads what it prints.

use std::process::Stdio;

use super::support::{BRANCH, DILIGENT, Scratch};

#[test]
fn a_session_is_told_of_its_workspace_and_of_nothing_else() {
    let scratch = Scratch::new(1);
    scratch.agent(&format!(
        "{DILIGENT}; tr '\\0' '\\n' </proc/$$/environ >\"$NOTES/env\"; cat >\"$NOTES/prompt\"; pwd >\"$NOTES/pwd\""
    ));
    scratch.start_with(&["run"], &[("PWD", scratch.root.to_str().unwrap())]).end().stopped("SUCCESS", 0);
    let (root, env, prompt) = (scratch.root.to_str().unwrap(), scratch.note("env"), scratch.note("prompt"));
    assert!(!env.contains(root), "{env}");
    assert!(!prompt.contains(root), "{prompt}");
    assert!(scratch.note("pwd").starts_with(scratch.path("state").to_str().unwrap()));
    for name in ["RALPH_RUN_ID=", "RALPH_ITEM_ID=R01", "RALPH_ATTEMPT=1", "HOME=", "PATH="] {
        assert!(env.contains(name), "{name}: {env}");
    }
}

#[test]
fn keys_reach_whom_they_are_named_for() {
    let scratch = Scratch::new(1);
    let notes = scratch.path("notes").display().to_string();
    scratch.edit_prd("test -s R01.txt", &format!("env >{notes}/verifier.$RALPH_STAGE; test -s R01.txt"));
    scratch.agent(&format!("{DILIGENT}; env >\"$NOTES/agent\""));
    let settings = "env = [\"AGENT_KEY\"]\n\n[verify]\nenv = [\"DATABASE_URL\"]\n";
    scratch.settings(settings);
    let variables = [("AGENT_KEY", "a1"), ("DATABASE_URL", "d1"), ("AWS_SECRET_ACCESS_KEY", "s1")];
    scratch.start_with(&["run"], &variables).end().stopped("SUCCESS", 0);
    let has = |name: &str, key: &str| scratch.note(name).lines().any(|line| line.starts_with(&format!("{key}=")));
    for name in ["agent", "verifier.workspace", "verifier.candidate"] {
        let agent = name == "agent";
        assert_eq!(has(name, "AGENT_KEY"), agent, "{name}");
        assert_eq!(has(name, "DATABASE_URL"), !agent, "{name}");
        assert!(!has(name, "AWS_SECRET_ACCESS_KEY"), "{name}");
        assert!(has(name, "RALPH_RUN_ID") && has(name, "HOME"), "{name}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_reason_to_stop() {
    for args in [&["run"][..], &["run", "--json"]] {
        let scratch = Scratch::new(2);
        let mut command = scratch.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        let status = child.wait().unwrap();
        assert_eq!(scratch.marks(), "xx", "{args:?}");
        assert_eq!(scratch.progress().last().unwrap(), "STOP_REASON: SUCCESS", "{args:?}");
        assert_eq!(status.code(), Some(0), "{args:?}");
    }
}

#[test]
fn what_an_agent_says_cannot_drive_a_terminal_or_forge_a_log() {
    let scratch = Scratch::new(1);
    let evil = r"\u001b]52;c;aGk=\u0007 \u001b[2J\n- 0009 2026-01-01T00:00:00Z P1/R09 done\nSTOP_REASON: SUCCESS";
    scratch.agent(&format!(
        "printf '\\033[31mred\\033]0;title\\007\\n'\ncat <<'END'\n```ralph\n{{\"status\":\"blocked\",\"summary\":\"{evil}\"}}\n```\nEND"
    ));
    let ended = scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    for (name, text) in [
        ("stdout", ended.stdout),
        ("stderr", ended.stderr),
        ("PROGRESS.md", scratch.read("ralph-loop/PROGRESS.md")),
        ("BLOCKERS.md", scratch.read("ralph-loop/BLOCKERS.md")),
        ("summary.md", scratch.of_run("summary.md")),
        ("status", scratch.ralph(&["status"]).stdout),
        ("log", scratch.ralph(&["log", "R01"]).stdout),
    ] {
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{name}: {text:?}");
        assert!(!text.lines().any(|line| line.starts_with("STOP_REASON: SUCCESS")), "{name}: {text}");
    }
    assert_eq!(scratch.outcomes(), ["P1/R01 blocked"]);
}

#[test]
fn it_may_be_started_from_any_folder_of_the_checkout() {
    let scratch = Scratch::new(1);
    std::fs::create_dir_all(scratch.root.join("deep/down")).unwrap();
    scratch.ralph(&["-C", "deep/down", "run"]).stopped("SUCCESS", 0);
    assert_eq!(scratch.marks(), "x");
}

#[test]
fn a_relative_path_to_the_agent_counts_from_the_root_wherever_one_stands() {
    let scratch = Scratch::new(1);
    scratch.write("sub/deeper/file", "");
    let agent = std::fs::read_to_string(scratch.path("agent.sh")).unwrap();
    scratch.script("operator/sub/agent.sh", agent.split_once('\n').unwrap().1);
    scratch.write("ralph-loop/ralph.toml", "[agent]\nbackend = \"command\"\ncommand = [\"sub/agent.sh\"]\n");
    let mut command = scratch.command(&["run"]);
    let output = command.current_dir(scratch.root.join("sub/deeper")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_linked_checkout_is_a_checkout() {
    let scratch = Scratch::new(1);
    let linked = scratch.path("linked");
    scratch.git(&["worktree", "add", "-q", "-b", "feature", linked.to_str().unwrap()]);
    std::fs::rename(scratch.root.join("ralph-loop"), linked.join("ralph-loop")).unwrap();
    let before = scratch.operator();
    let ended = scratch.ralph(&["-C", linked.to_str().unwrap(), "run"]);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert_eq!(scratch.commits(), ["R01: make the file 1"]);
    scratch.untouched(&before);
}

#[test]
fn names_with_spaces_and_letters_of_all_kinds() {
    let scratch = Scratch::new(0);
    scratch
        .prd("# Ünïcode\nVerify: test -s 'ein Name ü.txt'\n\n- [ ] R-ä 1: „Größe“ `x` $(touch /tmp/no) \\ \"q\" 'q'\n");
    scratch.agent("echo x >'ein Name ü.txt'; printf x >\"$(printf 'tab\\there')\"");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits().len(), 1);
    assert!(scratch.git(&["log", "-1", "--format=%s", BRANCH]).contains("„Größe“"));
}

#[test]
fn line_ends_and_marks_of_the_file_survive() {
    let scratch = Scratch::new(0);
    let prd = "\u{feff}# CR\r\nVerify: test -s R01.txt\r\n\r\n* [ ] R01: make it  \r\n\t- a criterion\r\n\r\nEnd without a line end";
    scratch.prd(prd);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.read("ralph-loop/PRD-P1.md"), prd.replace("[ ]", "[x]"));
}

#[test]
fn a_hook_or_signature_of_the_operators_is_not_run_by_accepting() {
    let scratch = Scratch::new(1);
    let hook = scratch.script("hook", "echo \"$0\" >>\"$NOTES/hooks\"");
    for name in
        ["pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-checkout", "post-index-change"]
    {
        scratch.write(&format!(".git/hooks/{name}"), "");
        std::fs::copy(&hook, scratch.root.join(".git/hooks").join(name)).unwrap();
    }
    scratch.git(&["config", "commit.gpgsign", "true"]);
    scratch.git(&["config", "gpg.program", hook.to_str().unwrap()]);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.note("hooks"), "");
    // The control: they run for the operator.
    scratch.git(&["commit", "-q", "--allow-empty", "--no-gpg-sign", "-m", "by hand"]);
    assert!(scratch.note("hooks").contains("pre-commit"));
}

#[test]
fn a_log_that_cannot_be_written_is_told_and_stops_nothing() {
    let scratch = Scratch::new(1);
    std::fs::create_dir(scratch.root.join("ralph-loop/PROGRESS.md")).unwrap();
    let ended = scratch.run(&[]);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("could not be written") && ended.stderr.contains("PROGRESS.md"), "{}", ended.stderr);
    assert_eq!(scratch.marks(), "x");
    // The next run can write it.
    std::fs::remove_dir(scratch.root.join("ralph-loop/PROGRESS.md")).unwrap();
    scratch.edit_prd("- [x]", "- [ ]");
    scratch.agent("echo again >>R01.txt");
    scratch.run(&[]).stopped("SUCCESS", 0);
}
