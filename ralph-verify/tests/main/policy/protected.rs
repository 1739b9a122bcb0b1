//! What is protected, and what is not.

use ralph_core::{EntryKind, Item, Phase, Ruling};
use ralph_verify::policy::{DEFAULT_PROTECTED, Protected};

use super::support::{Files, asked, boundary, item_boundary, judge, phase_boundary};

fn default() -> Protected {
    Protected::new(["default"]).unwrap()
}

fn opens(base: &Files, work: &Files, verify: &str) -> bool {
    match judge(&default(), &boundary(base, work, verify)) {
        Ruling::Open => true,
        Ruling::Ask(_) => false,
        Ruling::Closed(why) => unreachable!("protected paths ask: {why}"),
    }
}

#[test]
fn questions() {
    let base = Files::new().file("scripts/check.sh", "a").file("CLAUDE.md", "a");
    let script = base.clone().file("scripts/check.sh", "exit 0");
    insta::assert_snapshot!(asked(judge(&default(), &boundary(&base, &script, "bash scripts/check.sh"))), @"`scripts/check.sh`, which `bash scripts/check.sh` runs or reads, would be changed. Accept it?");
    let more = script.without("CLAUDE.md").link("AGENTS.md", "x").with(EntryKind::Executable, ".husky/pre-commit", "");
    insta::assert_snapshot!(asked(judge(&default(), &boundary(&base, &more, "bash scripts/check.sh"))), @"
    4 changes of protected paths:
    - .husky/pre-commit (added), which is protected (`**/.husky/**`)
    - AGENTS.md (added as a symbolic link), which is protected (`**/AGENTS.md`)
    - CLAUDE.md (deleted), which is protected (`**/CLAUDE.md`)
    - scripts/check.sh (changed), which `bash scripts/check.sh` runs or reads
    Accept them?
    ");
    insta::assert_snapshot!(asked(judge(&default(), &phase_boundary())), @"The policy `protected` judges the work of an item, and this is none. Go on?");
    insta::assert_snapshot!(Protected::new(["default", "a/[b"]).unwrap_err(), @"policy `protected`: `a/[b` is not a glob: unclosed character class; missing ']'");
}

#[test]
fn questions_are_bounded_however_much_changes() {
    let work = (0..300).fold(Files::new(), |files, n| files.file(format!(".github/{n}{}", "x".repeat(300)), ""));
    let text = asked(judge(&default(), &boundary(&Files::new(), &work, "true")));
    assert!(text.starts_with("300 changes of protected paths:\n") && text.contains(" more\n"), "{text}");
}

#[test]
fn every_default_glob_is_one_and_protects_something() {
    for glob in DEFAULT_PROTECTED {
        let path = glob.replace("**/", "deep/").replace("**", "a/b").replace("y*ml", "yml").replace('*', "x");
        let work = Files::new().file(&path, "a");
        assert!(!opens(&Files::new(), &work, "true"), "{glob}: {path}");
    }
    let innocent =
        ["src/lib.rs", "docs/claude.rs", "github/x", ".gitignore", "src/agents.rs", "Cargo.toml", "deep/.github.md"];
    for path in innocent {
        assert!(opens(&Files::new(), &Files::new().file(path, "a"), "true"), "{path}");
    }
}

#[test]
fn the_users_globs_and_commands_count() {
    let work = Files::new().file("ops/deploy.sh", "a");
    let at = boundary(&Files::new(), &work, "true");
    assert_eq!(judge(&default(), &at), Ruling::Open);
    assert!(matches!(judge(&Protected::new(["ops/**"]).unwrap(), &at), Ruling::Ask(_)));
    assert!(matches!(judge(&default().also(["sh ops/deploy.sh"]), &at), Ruling::Ask(_)));
    // Without the default list only what is named and what commands run.
    let work = Files::new().file("CLAUDE.md", "a");
    assert_eq!(judge(&Protected::new(["ops/**"]).unwrap(), &boundary(&Files::new(), &work, "true")), Ruling::Open);
}

#[test]
fn commands_of_the_phase_count() {
    let fields: [fn(&mut Phase) -> &mut Vec<String>; 4] = [
        |phase| &mut phase.verify,
        |phase| &mut phase.setup,
        |phase| &mut phase.env_check,
        |phase| &mut phase.auto_gate,
    ];
    let work = Files::new().file("x.sh", "a");
    for field in fields {
        let mut phase = Phase::new("P1", [Item::new("R01", "Something")]);
        assert_eq!(judge(&default(), &item_boundary(&Files::new(), &work, phase.clone())), Ruling::Open);
        field(&mut phase).push("cargo test && ./x.sh".to_owned());
        assert!(matches!(judge(&default(), &item_boundary(&Files::new(), &work, phase)), Ruling::Ask(_)));
    }
}

#[test]
fn the_ledgers_copy_asks_nothing() {
    let base = Files::new().file("ralph-loop/PRD-P1.md", "- [ ] R01").file("ralph-loop/verify.sh", "a");
    let work = Files::new().file("ralph-loop/PRD-P1.md", "- [x] R01").file("ralph-loop/CLAUDE.md", "a");
    assert!(opens(&base, &work, "sh ralph-loop/verify.sh"));
    for other in ["Ralph-Loop/PRD-P1.md", "ralph-loop.", "ralph\u{200b}-loop/x"] {
        assert!(!opens(&base, &base.clone().file(other, "a"), "true"), "{other}");
    }
}

/// Files of which a runner reads only a part: `path`, the command, before, a harmless change, and one that is not.
const PARTS: &[(&str, &str, &str, &str, &str)] = &[
    (
        "package.json",
        "npm test",
        r#"{"scripts": {"test": "jest"}, "dependencies": {}}"#,
        r#"{"dependencies": {"a": "1"}, "version": "2", "scripts": {"test": "jest"}}"#,
        r#"{"scripts": {"test": "true"}, "dependencies": {}}"#,
    ),
    (
        "web/package.json",
        "pnpm -C web run check",
        r#"{"name": "a", "scripts": {"check": "x"}}"#,
        r#"{"name": "b", "scripts": {"check": "x"}}"#,
        r#"{"name": "a", "scripts": {"check": "x", "precheck": "y"}}"#,
    ),
    ("package.json", "npm test", "{}", r#"{"name": "a"}"#, r#"{"scripts": "#),
    (
        "pyproject.toml",
        "pytest",
        "[tool.pytest.ini_options]\naddopts = '-q'\n",
        "[project]\nname = 'a'\n[tool.pytest.ini_options]\naddopts = '-q'\n",
        "[tool.pytest.ini_options]\naddopts = '-k nothing'\n",
    ),
    (
        "setup.cfg",
        "pytest",
        "[metadata]\nname = a\n",
        "[metadata]\nname = b\n",
        "[metadata]\nname = a\n[tool:pytest]\naddopts = -x\n",
    ),
    ("tox.ini", "python -m pytest", "[testenv]\na = 1\n", "[testenv]\na = 2\n", "[testenv]\na = 1\n[pytest]\nx = 1\n"),
    (
        "Cargo.toml",
        "cargo test",
        "[package]\nname = 'a'\n",
        "[package]\nname = 'a'\n[dependencies]\nx = '1'\n",
        "[package]\nname = 'a'\n[lib]\ntest = false\n",
    ),
    (
        "composer.json",
        "composer test",
        r#"{"scripts": {"test": "phpunit"}}"#,
        r#"{"scripts": {"test": "phpunit"}, "require": {}}"#,
        r#"{"scripts": {"test": "true"}}"#,
    ),
];

#[test]
fn only_what_a_runner_reads_counts() {
    for (path, verify, before, harmless, harmful) in PARTS {
        let base = Files::new().file(path, before);
        assert!(opens(&base, &base.clone().file(path, harmless), verify), "{verify}: {harmless}");
        for work in [
            base.clone().file(path, harmful),
            base.clone().without(path),
            base.clone().link(path, "elsewhere"),
            base.clone().file(path, [b"\xff".as_slice(), harmless.as_bytes()].concat()),
        ] {
            assert!(!opens(&base, &work, verify), "{verify}: {work:?}");
            assert!(opens(&base, &work, "true"), "only the command protects {path}");
        }
    }
}

#[test]
fn a_build_script_is_one_where_cargo_takes_it_for_one() {
    let base = Files::new().file("Cargo.toml", "[workspace]\n").file("a/Cargo.toml", "[package]\nname = \"a\"\n");
    let named = Files::new().file("Cargo.toml", "[package]\nbuild = \"src/build.rs\"\n");
    let broken = Files::new().file("Cargo.toml", "[package");
    for (base, path, open) in [
        (&base, "build.rs", false),
        (&base, "a/build.rs", false),
        (&base, "a/src/build.rs", true),
        (&base, "a/src/commands/build.rs", true),
        (&base, "src/build.rs", true),
        (&named, "src/build.rs", false),
        (&named, "src/commands/build.rs", true),
        (&broken, "src/build.rs", false),
    ] {
        for (base, work) in [
            (base.clone(), base.clone().file(path, "fn main() {}")),
            (base.clone().file(path, "fn main() {}"), base.clone()),
            (base.clone().file(path, "fn main() {}"), base.clone().link(path, "x")),
        ] {
            assert_eq!(opens(&base, &work, "cargo test"), open, "{path}");
        }
    }
    // One that comes with its manifest.
    let work = base.clone().file("b/Cargo.toml", "[package]\nname = \"b\"\n").file("b/build.rs", "fn main() {}");
    assert!(!opens(&base, &work, "cargo test"));
}

#[test]
fn hooks_of_pytest_count_in_every_folder_and_fixtures_do_not() {
    let fixture = "import pytest\n\n@pytest.fixture\ndef one():\n    return 1\n";
    let hook = format!("{fixture}\ndef pytest_collection_modifyitems(items):\n    items.clear()\n");
    let base = Files::new().file("tests/conftest.py", "");
    for (content, open) in [(fixture, true), (&*hook, false), ("def pytest_", true)] {
        let work = base.clone().file("tests/conftest.py", content);
        assert_eq!(opens(&base, &work, "pytest -q"), open, "{content}");
    }
    let (with, without) = (base.clone().file("tests/conftest.py", &hook), base.clone());
    assert!(!opens(&with, &without, "pytest -q"), "a hook that goes");
    // In the root's, all counts.
    assert!(!opens(&base, &base.clone().file("conftest.py", fixture), "pytest -q"));
    assert!(opens(&base, &base.clone().file("tests/conftest.py", &hook), "make"), "the control: no pytest");
}

#[test]
fn files_that_are_the_work_are_not_protected() {
    let base = Files::new().file("README.md", "a").file("src/lib.rs", "a").file("tests/test_a.py", "a");
    let work = base.clone().file("README.md", "b").file("src/lib.rs", "b").file("tests/test_a.py", "b");
    let work = work.file("web/new.js", "a").link("docs", "src").with(EntryKind::Executable, "run", "a");
    for verify in ["cargo test", "test -f README.md && grep -q b README.md", "pytest tests", "make check", "npm test"] {
        assert!(opens(&base, &work, verify), "{verify}");
    }
    assert!(!opens(&base, &work, "pytest tests/test_a.py"));
}

#[test]
fn a_link_on_the_way_to_something_protected_asks_wherever_it_leads() {
    let base = Files::new().file("src/lib.rs", "a");
    for path in [".cargo", "web/.vscode", ".github", ".claude"] {
        for work in [base.clone().link(path, "nowhere"), base.clone().with(EntryKind::Submodule, path, "1")] {
            assert!(!opens(&base, &work, "true"), "{path}");
        }
    }
    assert!(opens(&base, &base.clone().link("cargo", "nowhere"), "true"));
}

#[test]
fn links_that_run_in_a_circle_or_lead_out_are_survived() {
    let base = Files::new()
        .link("CLAUDE.md", "AGENTS.md")
        .link("AGENTS.md", "CLAUDE.md")
        .link(".claude", ".")
        .link(".mcp.json", "../../out")
        .link("scripts", "scripts");
    assert!(opens(&base, &base.clone().file("src/a.rs", "a"), "sh scripts/x.sh"));
    let base = base.link(".claude/skills", "../skills");
    assert!(!opens(&base, &base.clone().file("skills/a/SKILL.md", "a"), "true"));
}
