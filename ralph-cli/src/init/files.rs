//! The texts of the first settings and the first PRD.

use super::Check;

/// Where Claude Code looks for the command `/btw`, from the repository's root.
pub(crate) const BTW_PATH: &str = ".claude/commands/btw.md";

/// What the command says: show what waits, and write down what the person answers.
pub(crate) const BTW: &str = include_str!("btw.md");

/// Where Claude Code looks for the settings of a repository.
pub(crate) const CLAUDE_SETTINGS_PATH: &str = ".claude/settings.json";

/// The hooks that call `ralph hook`.
pub(crate) const CLAUDE_SETTINGS: &str = include_str!("claude_settings.json");

/// `criteria.md`, all of it in a comment, so that it binds nobody before it is edited.
pub(crate) const CRITERIA: &str = include_str!("criteria.md");

/// `ralph.toml`: what was found, and beside it, commented out, what one may want next.
pub(crate) fn settings(agent: Option<&str>, check: Option<&Check>) -> String {
    format!("{HEAD}\n{}\n{}\n{TAIL}", agent_part(agent), verify_part(check))
}

const HEAD: &str = "\
# Settings of Ralph for this repository. `ralph status --settings` shows every setting with its value and where it
# comes from. What is not set here has its default.
";

fn agent_part(agent: Option<&str>) -> String {
    let which = match agent {
        Some(agent) => format!("backend = \"{agent}\"\n"),
        None => "\
# No agent was found. With one of these on the PATH, write `backend = \"claude\"`, \"codex\", \"gemini\" or
# \"opencode\"; `backend = \"acp\"` takes any that speaks the Agent Client Protocol. Any other program that reads a
# prompt from its standard input, works in the folder in which it is started, and ends, is named so:
# backend = \"command\"
# command = [\"my-agent\", \"--print\"]
"
        .to_owned(),
    };
    format!(
        "\
[agent]
{which}# What a session may do without asking, for nobody is there to ask. \"edits\": change files, and what your own settings
# of the agent allow, such as running the tests. \"all\": anything; only where it can do no harm, as in a container.
permissions = \"edits\"
# model = \"sonnet\"
# timeout = \"45m\"
# env = [\"ANTHROPIC_API_KEY\"]
"
    )
}

fn verify_part(check: Option<&Check>) -> String {
    let (command, setup) = match check {
        None => (
            "# No check was found. Name the command that tells good work from bad by its exit status; without one, every item\n\
             # of the PRD needs a `Verify:` line of its own.\n# command = \"make test\"\n"
                .to_owned(),
            None,
        ),
        Some(check) => {
            (format!("# Found in {}.\ncommand = {}\n", check.from, quoted(&check.command)), check.setup.as_deref())
        }
    };
    let setup = match setup {
        Some(setup) => format!("setup = {}\n", quoted(setup)),
        None => "# setup = \"make deps\"\n".to_owned(),
    };
    format!(
        "\
[verify]
# The only judge: 0 passes, 1 to 125 fails. Runs where the agent worked, then on a clean checkout of its commit.
{command}# Makes a fresh checkout usable, such as by installing dependencies.
{setup}# Tells whether the surroundings are fit for work, before any money is spent.
# env_check = \"pg_isready\"
# timeout = \"15m\"
# What no honest change needs fails the attempt: tests skipped, weakened or deleted, secrets, … (`ralph check --list`).
# \"orphans\" finds new files that no other file names, such as a module that nothing uses; worth trying where your
# files name each other.
# checks = [\"default\", \"orphans\"]
"
    )
}

const TAIL: &str = "\
[budget]
# Few for the first nights: look at what came of ten items before you allow more.
iterations = 10
time = \"8h\"
# cost_usd = 20

[run]
# attempts = 2
# branch = \"ralph/{plan}\"

[review]
# Another session looks at what the verifiers passed, and may veto it. It costs.
# enabled = true
# role = \"critic\"

[cleanup]
# A session tidies what the verifiers passed; all of it is verified again.
# enabled = true
";

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The first PRD, with `task` as its first item.
pub(crate) fn prd(task: Option<&str>) -> String {
    let first = task.unwrap_or("<what is to be true afterwards, in one line>");
    format!(
        "\
# PRD-P1

<!--
One item for each box, done in this order, each in a session of its own and in one commit. Small ones do best: an item
that you would review in ten minutes. Below an item, indented, stand what must hold when it is done and the command
that tells so. After the box, an item reads like this:

      R01: Reject an empty e-mail address at sign-up
        - `POST /sign-up` with an empty address answers 422 and names the field
        - the other 14 sign-up tests stay as they are
        Verify: npm test -- sign-up

`Verify:` above the first item holds for all of them; so does `verify.command` in ralph.toml.
-->

- [ ] R01: {first}
"
    )
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, time::SystemTime};

    use ralph_core::{
        Decision, DecisionKind, DiffStat, Proposal, Question, RunId,
        ledger::{MarkdownPrd, NoteKind},
    };
    use ralph_verify::checks::Checks;

    use super::*;
    use crate::settings::Settings;

    fn check() -> Check {
        Check {
            command: "make 'test \"x\"' \\".to_owned(),
            setup: Some("npm ci".to_owned()),
            from: "Makefile".to_owned(),
        }
    }

    #[test]
    fn the_settings_load() {
        let loaded: Settings = toml::from_str(&settings(Some("claude"), Some(&check()))).unwrap();
        assert_eq!(loaded.verify.command.as_deref(), Some("make 'test \"x\"' \\"));
        assert_eq!(loaded.verify.setup.as_deref(), Some("npm ci"));
        assert_eq!(loaded.budget().iterations, 10);
        let loaded: Settings = toml::from_str(&settings(None, None)).unwrap();
        assert!(loaded.agent.backend.is_none() && loaded.verify.command.is_none());
    }

    /// What is commented out must be right as well once somebody takes the mark away.
    #[test]
    fn every_key_that_is_proposed_exists() {
        for text in [settings(Some("claude"), Some(&check())), settings(None, None)] {
            let is_key = |line: &&str| line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
            let open: Vec<&str> =
                text.lines().map(|line| line.strip_prefix("# ").filter(is_key).unwrap_or(line)).collect();
            toml::from_str::<Settings>(&open.join("\n")).unwrap();
            assert!(open.len() - open.iter().filter(|line| line.starts_with('#')).count() > 15, "{open:#?}");
            assert!(text.lines().all(|line| line.chars().count() <= 120));
        }
    }

    #[test]
    fn the_checks_that_are_proposed_are_those_that_are_off() {
        let text = settings(Some("claude"), None);
        let line = text.lines().find(|line| line.starts_with("# checks = ")).unwrap();
        let on = |text: &str| {
            let checks = Checks::new(&toml::from_str::<Settings>(text).unwrap().verify.checks, []).unwrap();
            let named = checks.list().into_iter().filter(|check| check.on).map(|check| check.name);
            named.collect::<BTreeSet<String>>()
        };
        let added: Vec<String> = on(&text.replace(line, &line[2..])).difference(&on(&text)).cloned().collect();
        assert_eq!(added, ["orphans"]);
    }

    /// The command reads what `ralph btw --json` prints: every part of a question that it names is there.
    #[test]
    fn the_command_names_what_a_question_has() {
        let mut question = Question::new(DecisionKind::Choice, "Which?").with_options(["a"]).with_recommendation("a");
        question.from_agent = true;
        let mut asked =
            Decision::new("key", RunId::new("run"), "P1", question, SystemTime::UNIX_EPOCH).with_item("R01");
        asked.kept = Some("refs/ralph/parked/x".to_owned());
        asked.stat = Some(DiffStat::default());
        (asked.said, asked.output) = ("said".to_owned(), "output".to_owned());
        asked.proposed = vec![Proposal { title: "title".to_owned(), criteria: Vec::new(), verify: None }];
        let document = serde_json::json!({ "decision": asked });
        let named: BTreeSet<&str> = BTW.split('`').filter(|text| text.starts_with("decision.")).collect();
        assert!(named.len() > 8, "{named:?}");
        for name in named {
            let pointer = format!("/{}", name.replace('.', "/"));
            assert!(document.pointer(&pointer).is_some_and(|found| !found.is_null()), "{name}");
        }
    }

    #[test]
    fn the_hooks_are_those_that_a_run_uses() {
        let program = std::path::Path::new("ralph");
        let of_runs: serde_json::Value = serde_json::from_str(&ralph_agents::spawn::claude_settings(program)).unwrap();
        let mut written: serde_json::Value = serde_json::from_str(CLAUDE_SETTINGS).unwrap();
        let hooks = written["hooks"].as_object_mut().unwrap();
        assert_eq!(hooks.len(), 3);
        // By its name it is found on the PATH of whoever works with the repository.
        let command = &mut hooks["PreToolUse"][0]["hooks"][0]["command"];
        assert_eq!(*command, "ralph hook pre-tool-use || exit 2");
        *command = "'ralph' hook pre-tool-use || exit 2".into();
        assert_eq!(hooks["PreToolUse"], of_runs["hooks"]["PreToolUse"]);
        for (event, command) in [("SessionStart", "ralph hook session-start"), ("Stop", "ralph hook stop || true")] {
            assert_eq!(hooks[event][0]["hooks"][0]["command"], command);
        }
        let timeout = hooks["Stop"][0]["hooks"][0]["timeout"].as_u64().unwrap();
        assert!(timeout > Settings::default().hook.timeout.as_secs(), "it has to answer before it is ended");
    }

    #[test]
    fn the_criteria_bind_nobody_until_they_are_edited() {
        use ralph_core::ledger::Criteria;
        assert_eq!(Criteria::parse(CRITERIA, "criteria.md").unwrap(), Criteria::default());
        let edited = CRITERIA.replace("<!--", "").replace("-->", "");
        let edited = Criteria::parse(&edited, "criteria.md").unwrap();
        for section in [edited.objective, edited.completion, edited.context, edited.verify] {
            assert!(!section.is_empty());
        }
    }

    #[test]
    fn the_plan_is_read_with_its_only_item() {
        for (task, title) in [
            (None, "<what is to be true afterwards, in one line>"),
            (Some("Greet `Ada` by name: \"Hello\""), "Greet `Ada` by name: \"Hello\""),
            (Some("# no heading"), "# no heading"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("PRD-P1.md");
            std::fs::write(&path, prd(task)).unwrap();
            let read = MarkdownPrd::open(&path).read().unwrap();
            let items: Vec<_> = read.phase.items.iter().map(|item| (item.id.as_str(), item.title.as_str())).collect();
            assert_eq!(items, [("R01", title)]);
            let scaffold = read.notes.iter().any(|note| note.kind == NoteKind::Scaffold);
            assert_eq!(scaffold, task.is_none(), "{:?}", read.notes);
        }
    }
}
