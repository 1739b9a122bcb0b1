//! What the program tells people to do next works, and is all that it tells.

use super::support::Scratch;

fn asking() -> Scratch {
    let ask = r#"echo; echo '```ralph'; echo '{"status":"decision","question":"which?"}'; echo '```'"#;
    // It asks once; a person's answer below the item is in the prompt.
    let agent = format!("if grep -q Resend; then echo x > a; else {ask}; fi");
    Scratch::repo(&[
        ("ralph-loop/PRD-P1.md", "Verify: test -f a\n\n- [ ] R01: Send receipts\n"),
        (
            "ralph-loop/ralph.toml",
            &format!("agent.backend = \"command\"\nagent.command = [\"sh\", \"-c\", '''{agent}''']\n"),
        ),
    ])
}

#[test]
fn a_question_is_answered_in_the_plan() {
    let scratch = asking();
    let first = scratch.ralph(&["run"]);
    assert_eq!(first.code, 10, "{}{}", first.stdout, first.stderr);
    let page = || std::fs::read_to_string(scratch.path().join("ralph-loop/DECISIONS.md")).unwrap();
    let (pending, resolved) = page().split_once("## Resolved").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(pending.contains("D-001") && !resolved.contains("D-001"), "{pending}");

    // As the page says: the answer below the item, then retry, then run.
    let prd = scratch.path().join("ralph-loop/PRD-P1.md");
    let text = std::fs::read_to_string(&prd).unwrap();
    std::fs::write(&prd, format!("{text}  - Resend\n")).unwrap();
    let retry = scratch.ralph(&["retry", "R01"]);
    assert!(retry.code == 0 && retry.stdout.contains("D-001 no longer waits"), "{retry:?}");
    let (pending, resolved) = page().split_once("## Resolved").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(!pending.contains("D-001") && resolved.contains("withdrawn"), "{resolved}");
    let status = scratch.ralph(&["status"]).stdout;
    assert!(status.contains("the plan was edited since") && status.contains("Next: `ralph run` goes on."), "{status}");

    let last = scratch.ralph(&["run"]);
    assert_eq!(last.code, 0, "{}{}", last.stdout, last.stderr);
}

#[test]
fn an_item_opened_by_hand_withdraws_its_question_when_work_begins() {
    let scratch = asking();
    assert_eq!(scratch.ralph(&["run"]).code, 10);
    let prd = scratch.path().join("ralph-loop/PRD-P1.md");
    let text = std::fs::read_to_string(&prd).unwrap();
    std::fs::write(&prd, format!("{}  - Resend\n", text.replace("[?]", "[ ]"))).unwrap();
    assert_eq!(scratch.ralph(&["run"]).code, 0);
    let page = std::fs::read_to_string(scratch.path().join("ralph-loop/DECISIONS.md")).unwrap();
    assert!(page.contains("Nothing waits for you."), "{page}");
}

#[test]
fn the_doctor_tries_the_items_own_verifiers() {
    let own = |command: &str| {
        let prd = format!("Verify: true\n\n- [ ] R01: Greet\n  Verify: {command}\n");
        let settings = "agent.backend = \"command\"\nagent.command = [\"true\"]\n";
        let scratch = Scratch::repo(&[("ralph-loop/PRD-P1.md", &prd), ("ralph-loop/ralph.toml", settings)]);
        scratch.ralph(&["doctor"])
    };
    let mistyped = own("tset -f greeting");
    assert!(mistyped.code == 1 && mistyped.stdout.contains("R01 (line 3)"), "{}", mistyped.stdout);
    // The control: one that fails before the work is as it should be.
    let good = own("test -f greeting");
    assert!(good.code == 0 && good.stdout.contains("1 open item can judge"), "{}", good.stdout);
}

#[test]
fn answers_are_taken_up_later() {
    let scratch = asking();
    assert_eq!(scratch.ralph(&["run"]).code, 10);
    let resume = || scratch.ralph(&["btw", "--resume"]);
    let early = resume();
    assert!(early.code == 0 && early.stdout.contains("D-001") && !early.stderr.contains("resuming"), "{early:?}");
    let answer = scratch.ralph(&["btw", "--answer", "D-001=Resend"]);
    assert!(answer.code == 0 && answer.stdout == "repo:D-001 P1/R01: Resend\n`ralph run` goes on.\n", "{answer:?}");
    assert!(scratch.read("ralph-loop/PRD-P1.md").contains("- [ ] R01"), "nobody said to go on");
    let later = resume();
    assert!(later.code == 0 && later.stderr.contains("resuming repo"), "{later:?}");
    assert!(scratch.read("ralph-loop/PRD-P1.md").contains("- [x] R01"));
    let again = resume();
    assert!(again.code == 0 && !again.stderr.contains("resuming"), "{again:?}");
}

/// The file of `ralph init --claude` tells another program what to call, and what it reads.
#[test]
fn the_command_for_claude_code_names_what_there_is() {
    let scratch = asking();
    assert_eq!(scratch.ralph(&["init", "--claude"]).code, 0);
    let text = scratch.read(".claude/commands/btw.md");
    let (head, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    assert!(head.lines().any(|line| line == "allowed-tools: Bash(ralph btw:*)"), "{head}");
    assert!(head.lines().any(|line| line.starts_with("description: ")), "{head}");

    let mut named = 0;
    let calls = body.split('`').chain(body.lines().map(str::trim)).filter_map(|text| text.strip_prefix("ralph "));
    for call in calls {
        let words: Vec<&str> = call.split_whitespace().collect();
        let help = scratch.ralph(&[words[0], "--help"]);
        assert_eq!(help.code, 0, "`ralph {}` is no command", words[0]);
        for flag in words.iter().filter(|word| word.starts_with("--")) {
            let is_flag = |known: &str| known.split([' ', ',']).any(|word| word == *flag);
            assert!(help.stdout.lines().any(is_flag), "`ralph {}` has no {flag}", words[0]);
            named += 1;
        }
    }
    assert!(named > 2, "only {named} flags were found");

    assert_eq!(scratch.ralph(&["run"]).code, 10);
    let shown = scratch.ralph(&["btw", "--json"]).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    for (name, place) in [
        ("pending", &shown),
        ("notes", &shown),
        ("project", &shown["pending"][0]),
        ("waited_s", &shown["pending"][0]),
        ("root", &shown["pending"][0]),
        ("id", &shown["pending"][0]),
        ("expected", &shown["pending"][0]),
        ("decision", &shown["pending"][0]),
    ] {
        assert!(body.contains(&format!("`{name}")), "{name} is not told of");
        assert!(!place[name].is_null(), "{name}: {shown}");
    }
    // And what it is told to run does what it is told to do.
    let id = shown["pending"][0]["id"].as_str().unwrap();
    let project = shown["pending"][0]["project"].as_str().unwrap();
    let answer = scratch.ralph(&["btw", "--answer", &format!("{project}:{id}=it's Resend")]);
    assert!(answer.code == 0 && answer.stdout.contains("it's Resend"), "{answer:?}");
}

/// Commands of later versions that a message may name, and says so.
const LATER: &[&str] = &["prd"];

#[test]
fn every_command_that_is_named_is_there() {
    let scratch = Scratch::empty();
    let help = scratch.ralph_in(&scratch.home(), &["--help"]).stdout;
    let there: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect();
    assert!(there.contains(&"doctor"), "{help}");
    let mut named = 0;
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders = vec![crates.join("ralph-cli/src"), crates.join("ralph-core/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for rest in text.split("`ralph ").skip(1) {
                let command: String = rest.chars().take_while(char::is_ascii_lowercase).collect();
                let known = there.contains(&command.as_str()) || LATER.contains(&command.as_str());
                assert!(known, "{}: `ralph {command}` is no command", path.display());
                named += 1;
            }
        }
    }
    assert!(named > 30, "only {named} were found");
}

/// Where the tests of a crate are, as `docs/bug-rows.md` names them.
fn folders(krate: &str) -> Vec<String> {
    match krate {
        "" => vec!["ralph-cli/tests/e2e".to_owned(), "ralph-cli/tests".to_owned()],
        krate => ["tests", "tests/main", "src"].map(|folder| format!("ralph-{krate}/{folder}")).into(),
    }
}

#[test]
fn every_test_that_the_page_of_reports_names_is_there() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = std::fs::read_to_string(crates.join("docs/bug-rows.md")).unwrap();
    let (mut named, mut missing) = (0, Vec::new());
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let parts: Vec<&str> = row.split('`').collect();
        // What is in code is at the odd places.
        for index in (1..parts.len()).step_by(2).filter(|index| parts[*index].contains("::")) {
            let before = parts[index - 1].trim_end().rsplit(' ').next().unwrap_or_default();
            let krate = ["core", "process", "agents", "vcs", "verify"].into_iter().find(|name| *name == before);
            let (module, function) = parts[index].rsplit_once("::").unwrap();
            let needle = match function.strip_suffix('…') {
                Some(start) => format!("fn {start}"),
                None => format!("fn {function}("),
            };
            let module = module.replace("::", "/");
            let files = [format!("{module}.rs"), format!("{module}/mod.rs")];
            let is_there = folders(krate.unwrap_or_default()).iter().any(|folder| {
                let holds = |file: &String| {
                    std::fs::read_to_string(crates.join(folder).join(file)).is_ok_and(|text| text.contains(&needle))
                };
                files.iter().any(holds)
            });
            if !is_there {
                missing.push(format!("{} {}", krate.unwrap_or_default(), parts[index]));
            }
            named += 1;
        }
    }
    assert!(missing.is_empty(), "named in docs/bug-rows.md and not there: {missing:#?}");
    assert!(named > 90, "only {named} were found");
}
