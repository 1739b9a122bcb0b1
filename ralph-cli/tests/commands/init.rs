use super::support::Scratch;

#[test]
fn a_first_plan_in_a_repository_with_a_check() {
    let scratch = Scratch::repo(&[("Makefile", "test:\n\techo fine\n")]);
    scratch.program("claude", "echo 9.9.9");
    let said = scratch.ralph(&["init", "--task", "Greet  a customer\nby name"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let settings = scratch.read("ralph-loop/ralph.toml");
    insta::assert_snapshot!(scratch.stable(&format!("{}\n--- ralph.toml\n{settings}", said.stdout)));
    let prd = scratch.read("ralph-loop/PRD-P1.md");
    assert!(prd.ends_with("\n- [ ] R01: Greet a customer by name\n"), "{prd}");
    assert_eq!(scratch.read("ralph-loop/.gitignore"), "state/\n");
    let check = scratch.ralph(&["check"]);
    assert_eq!(check.code, 0, "{}", check.stdout);
    let doctor = scratch.ralph(&["doctor"]);
    assert_eq!(doctor.code, 0, "{}", doctor.stdout);
}

#[test]
fn without_an_agent_and_a_check_one_is_told_what_to_fill_in() {
    let scratch = Scratch::repo(&[("README.md", "hello\n")]);
    let said = scratch.ralph(&["init"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let settings = scratch.read("ralph-loop/ralph.toml");
    let check = scratch.ralph(&["check"]);
    insta::assert_snapshot!(
        scratch.stable(&format!("{}\n--- ralph.toml\n{settings}\n--- ralph check\n{}", said.stdout, check.stdout))
    );
    assert_eq!(check.code, 2);
}

#[test]
fn what_is_there_stays() {
    let files = [
        ("ralph-loop/ralph.toml", "# mine\n"),
        ("ralph-loop/PRD-shop.md", "- [ ] mine\n"),
        ("ralph-loop/.gitignore", "state/\n"),
    ];
    let scratch = Scratch::repo(&files);
    let said = scratch.ralph(&["init", "--task", "Greet"]);
    assert_eq!(said.code, 0);
    assert!(said.stdout.starts_with(
        "left   ralph-loop/ralph.toml as it is\nleft   ralph-loop/PRD-shop.md as it is; the task was not added: write it there\n"
    ));
    assert_eq!(scratch.git(&["status", "--porcelain"]), "");
}

#[test]
fn an_unknown_agent_changes_nothing() {
    let scratch = Scratch::repo(&[("README.md", "hello\n")]);
    for (args, expected) in [
        (
            ["init", "--agent", "clade"],
            "error: --agent clade: there are claude, codex, gemini, opencode, acp and command\n",
        ),
        (["init", "--task", " "], "error: --task says nothing\n"),
    ] {
        let said = scratch.ralph(&args);
        assert_eq!((said.code, said.stderr.as_str()), (2, expected));
    }
    assert!(!scratch.path().join("ralph-loop").exists());
}

#[test]
fn a_command_for_claude_code_is_written_once() {
    let scratch = Scratch::repo(&[("Makefile", "test:\n\techo fine\n")]);
    let said = scratch.ralph(&["init", "--agent", "claude", "--claude"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let command = scratch.read(".claude/commands/btw.md");
    insta::assert_snapshot!(scratch.stable(&format!("{}\n--- .claude/commands/btw.md\n{command}", said.stdout)));
    assert!(command.lines().all(|line| line.chars().count() <= 120));

    scratch.commit("Begin with Ralph");
    let again = scratch.ralph(&["init", "--claude"]);
    assert!(again.code == 0 && again.stdout.contains("left   .claude/commands/btw.md as it is\n"), "{again:?}");
    assert_eq!(scratch.git(&["status", "--porcelain"]), "");
}

#[test]
fn hooks_are_added_to_no_settings_of_ones_own() {
    let files = [(".claude/settings.json", "{}\n"), ("ralph-loop/criteria.md", "Verify: true\n")];
    let scratch = Scratch::repo(&files);
    let said = scratch.ralph(&["init", "--claude"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("left   ralph-loop/criteria.md as it is\n"), "{}", said.stdout);
    let advice = "left   .claude/settings.json as it is; for the hooks, add to its `hooks`:\n{\n  \"hooks\": {\n";
    assert!(said.stdout.contains(advice) && said.stdout.contains("ralph hook stop"), "{}", said.stdout);
    for (name, text) in files {
        assert_eq!(scratch.read(name), text);
    }
}

#[test]
fn a_command_of_ones_own_stays() {
    let scratch = Scratch::repo(&[(".claude/commands/btw.md", "mine\n"), ("README.md", "hello\n")]);
    let said = scratch.ralph(&["init", "--claude"]);
    assert!(said.code == 0 && said.stdout.contains("left   .claude/commands/btw.md as it is\n"), "{said:?}");
    assert_eq!(scratch.read(".claude/commands/btw.md"), "mine\n");
    // The control: it is written only where it is asked for.
    let scratch = Scratch::repo(&[("README.md", "hello\n")]);
    assert_eq!(scratch.ralph(&["init"]).code, 0);
    assert!(!scratch.path().join(".claude").exists());
}
