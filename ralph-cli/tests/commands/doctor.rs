use super::support::{Said, Scratch, filters};

const PRD: &str = "Verify: sh test.sh\n\n- [ ] R01: Greet\n";
const CLAUDE: &str = "agent.backend = \"claude\"\n";

fn repo(settings: &str, test: &str) -> Scratch {
    Scratch::repo(&[("ralph-loop/ralph.toml", settings), ("ralph-loop/PRD-P1.md", PRD), ("test.sh", test)])
}

fn shown(scratch: &Scratch, said: &Said) -> String {
    scratch.stable(&format!("exit {}\n{}{}", said.code, said.stdout, said.stderr))
}

fn assert_snapshot(name: &str, text: &str) {
    let mut filters = filters();
    filters.push((r"\d+(\.\d)? GiB", "[size]"));
    filters.push((r"✓ git         \d+\.\d+[^;]*;", "✓ git         [version];"));
    filters.push((r"repo-[0-9a-f]{10}|repo-\[commit\]", "[repo]"));
    // Where lines break depends on how long the path of the scratch folder is.
    filters.push((r"\n {14}([^|])", " $1"));
    insta::with_settings!({filters => filters}, { insta::assert_snapshot!(name, text) });
}

#[test]
fn a_healthy_patient() {
    let scratch = repo(CLAUDE, "echo '3 tests pass'\n");
    scratch.program("claude", "echo '9.9.9 (Claude Code)'");
    let said = scratch.ralph(&["doctor"]);
    assert_snapshot("healthy", &shown(&scratch, &said));
    assert_eq!(scratch.git(&["branch", "--list"]), "* main\n", "no branch is made");
    assert_eq!(scratch.git(&["status", "--porcelain"]), "");
    assert_eq!(scratch.git(&["for-each-ref", "refs/ralph"]), "");
}

#[test]
fn what_is_missing_or_broken_is_named() {
    let scratch = repo(CLAUDE, "echo cannot find it; exit 127\n");
    let said = scratch.ralph(&["doctor"]);
    assert_eq!(said.code, 1);
    assert_snapshot("broken", &shown(&scratch, &said));

    let scratch = repo("agent.backend = \"command\"\nagent.command = [\"sh\"]\n", "echo one of them fails; exit 1\n");
    let said = scratch.ralph(&["doctor"]);
    assert_eq!(said.code, 0);
    assert_snapshot("red", &shown(&scratch, &said));
}

/// Found out now, and not when the first item is done and paid for.
#[test]
fn a_reviewer_that_is_not_there_is_named() {
    let settings = |program: &str, enabled: bool| {
        format!(
            "{CLAUDE}[review]\nenabled = {enabled}\nagent = {{ backend = \"command\", command = [\"{program}\"] }}\n"
        )
    };
    for (program, enabled, code, words) in [
        ("no-such-critic", true, 1, "`no-such-critic` is not a program that can be found"),
        ("no-such-critic", false, 0, ""),
        ("sh", true, 0, "review"),
    ] {
        let scratch = repo(&settings(program, enabled), "exit 0\n");
        scratch.program("claude", "echo '9.9.9 (Claude Code)'");
        let said = scratch.ralph(&["doctor"]);
        let flat = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.code == code && flat.contains(words), "{program} {enabled}: {}", said.stdout);
    }
}

#[test]
fn damaged_records_are_named_and_left_alone() {
    let scratch = repo("agent.backend = \"command\"\nagent.command = [\"true\"]\n", "exit 0\n");
    let run = scratch.ralph(&["run"]);
    assert_ne!(run.code, 2, "{}{}", run.stdout, run.stderr);
    let folder = scratch.path().join("ralph-loop/state/runs");
    let run = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let journal = run.join("journal.jsonl");
    let damaged = std::fs::read_to_string(&journal).unwrap().replacen("\"seq\":2", "\"seq\":7", 1);
    std::fs::write(&journal, &damaged).unwrap();
    let said = scratch.ralph(&["doctor", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let failed: Vec<&str> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["mark"] == "failed")
        .map(|check| check["text"].as_str().unwrap())
        .collect();
    assert_eq!((said.code, failed.len(), &report["usable"]), (1, 1, &serde_json::Value::Bool(false)), "{report:#}");
    assert!(failed[0].contains("record 2 at byte") && failed[0].contains("checksum"), "{failed:?}");
    assert_eq!(std::fs::read_to_string(&journal).unwrap(), damaged);
}

/// STATE-17: from every state there is a way on, and what is lost is told.
#[test]
fn lost_records_are_named_and_the_next_run_goes_on() {
    for (lost, word) in [("journal.jsonl", "has no journal"), ("run.json", "does not say what it is about")] {
        let scratch = repo("agent.backend = \"command\"\nagent.command = [\"true\"]\n", "exit 0\n");
        let first = scratch.ralph(&["run"]);
        assert_ne!(first.code, 2, "{}", first.stderr);
        let control = scratch.ralph(&["doctor"]);
        assert!(!control.stdout.contains(word), "{}", control.stdout);
        let folder = scratch.path().join("ralph-loop/state/runs");
        let run = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        std::fs::remove_file(run.join(lost)).unwrap();
        let said = scratch.ralph(&["doctor"]);
        assert!(said.code == 0 && said.stdout.contains(word), "{lost}: {}", said.stdout);
        assert_eq!(scratch.ralph(&["run"]).code, first.code, "{lost}");
    }
}

#[test]
fn a_repository_without_anything() {
    let scratch = Scratch::repo(&[("README.md", "hello\n")]);
    let said = scratch.ralph(&["doctor"]);
    assert_snapshot("nothing", &shown(&scratch, &said));
    assert!(!scratch.path().join("ralph-loop").exists(), "nothing is made");
}
