//! New dependencies: a corpus of cases, one file for each ecosystem. To add a case, add it to a file:
//!
//! ```text
//! === what it is about
//! --- base package.json            a file of the base
//! {}
//! --- work package.json            a file of the work; what is only in the base was deleted
//! {}
//! --- both web/package.json        a file of both
//! --- link package.json            a link of the work, to the path on the next line
//! --- expect open                  or `ask`, then lines that the question has
//! ```

use ralph_core::{DecisionKind, EntryKind, Ruling};
use ralph_verify::policy::{Action, Dependencies};

use super::support::{Files, asked, boundary, judge, phase_boundary};

struct Case<'a> {
    name: &'a str,
    base: Files,
    work: Files,
    expect: (&'a str, Vec<&'a str>),
}

fn cases(corpus: &str) -> Vec<Case<'_>> {
    corpus.split("\n=== ").skip(1).map(case).collect()
}

fn case(text: &str) -> Case<'_> {
    let (name, rest) = text.split_once('\n').unwrap();
    let mut case = Case { name, base: Files::new(), work: Files::new(), expect: ("", Vec::new()) };
    for part in rest.strip_prefix("--- ").unwrap().split("\n--- ") {
        let (head, content) = part.split_once('\n').unwrap_or((part, ""));
        let (what, path) = head.split_once(' ').unwrap();
        let path = path.trim();
        match what {
            "base" => case.base = case.base.file(path, content),
            "work" => case.work = case.work.file(path, content),
            "both" => (case.base, case.work) = (case.base.file(path, content), case.work.file(path, content)),
            "link" => case.work = case.work.link(path, content.trim()),
            "expect" => case.expect = (path, content.lines().filter(|line| !line.is_empty()).collect()),
            other => unreachable!("{name}: `--- {other}` is no part of a case"),
        }
    }
    case
}

fn check(corpus: &str) {
    let cases = cases(corpus);
    assert!(cases.len() >= 8, "a corpus has new, bump, moved, path, lock, comment and broken cases");
    assert!(cases.iter().any(|case| case.expect.0 == "ask") && cases.iter().any(|case| case.expect.0 == "open"));
    for case in cases {
        let name = case.name;
        assert_ne!(case.base, case.work, "{name}: nothing changes");
        let at = boundary(&case.base, &case.work, "true");
        let ruling = judge(&Dependencies::new(), &at);
        let refused = judge(&Dependencies::new().action(Action::Refuse), &at);
        match case.expect.0 {
            "open" => assert_eq!((ruling, refused), (Ruling::Open, Ruling::Open), "{name}"),
            "ask" => {
                let Ruling::Ask(question) = &ruling else { unreachable!("{name}: {ruling:?}") };
                assert_eq!(question.kind, DecisionKind::Dependency);
                assert!(matches!(refused, Ruling::Closed(_)), "{name}: {refused:?}");
                let text = asked(ruling);
                assert!(!case.expect.1.is_empty(), "{name}: say what the question has");
                for line in case.expect.1 {
                    assert!(text.contains(line), "{name}: {line:?} is not in {text:?}");
                }
            }
            other => unreachable!("{name}: `{other}` is no expectation"),
        }
    }
}

macro_rules! corpora {
    ($($name:ident),* $(,)?) => { $(
        #[test]
        fn $name() {
            check(include_str!(concat!("dependencies/", stringify!($name), ".txt")));
        }
    )* };
}

corpora!(cargo, npm, python, go, ruby, composer, maven, gradle);

#[test]
fn texts() {
    let base = Files::new().file("package.json", "{}");
    let one = base.clone().file("web/package.json", r#"{"dependencies": {"left-pad": "1"}}"#);
    insta::assert_snapshot!(asked(judge(&Dependencies::new(), &boundary(&base, &one, "true"))), @"`left-pad` is a new dependency in web/package.json. Accept it?");
    let Ruling::Closed(reason) = judge(&Dependencies::new().action(Action::Refuse), &boundary(&base, &one, "true"))
    else {
        unreachable!("not refused")
    };
    insta::assert_snapshot!(reason, @"`left-pad` is a new dependency in web/package.json. New dependencies are refused here: take them out again, and do the item without them.");
    let several = one
        .file("Cargo.toml", "[dependencies]\nevil = { git = \"https://me:token@evil.example/x\" }\n")
        .file("go.mod", "require (");
    insta::assert_snapshot!(asked(judge(&Dependencies::new(), &boundary(&base, &several, "true"))), @"
    3 new dependencies:
    - unknown ones in go.mod: the block of 'require' does not end
    - `evil` in Cargo.toml, from evil.example/x
    - `left-pad` in web/package.json
    Accept them?
    ");
    insta::assert_snapshot!(asked(judge(&Dependencies::new(), &phase_boundary())), @"The policy `dependencies` judges the work of an item, and this is none. Go on?");
}

#[test]
fn what_is_large_or_no_file_is_asked_about() {
    let base = Files::new().file("package.json", "{}");
    let large = format!("{{\"x\": \"{}\"}}", "x".repeat(2 << 20));
    let deep = "[".repeat(100_000);
    let xml = format!("<project>{}", "<a>".repeat(300_000));
    let toml = format!("a = {}", "[".repeat(100_000));
    for work in [
        base.clone().file("package.json", large),
        base.clone().file("package.json", deep),
        base.clone().file("pom.xml", xml),
        base.clone().file("Cargo.toml", toml),
        base.clone().file("package.json", b"\xff{}"),
        base.clone().link("package.json", "other.json"),
        base.clone().with(EntryKind::Submodule, "package.json", ""),
        base.clone().with(EntryKind::Submodule, "vendor/thing", ""),
    ] {
        assert!(matches!(judge(&Dependencies::new(), &boundary(&base, &work, "true")), Ruling::Ask(_)));
    }
    // Neither a mode nor a deletion brings anything.
    let mode = base.clone().with(EntryKind::Executable, "package.json", "{}");
    let gone = base.clone().without("package.json");
    let broken = Files::new().file("package.json", "{");
    let broken_mode = boundary(&broken, &broken.clone().with(EntryKind::Executable, "package.json", "{"), "true");
    assert_eq!(judge(&Dependencies::new(), &broken_mode), Ruling::Open);
    for work in [mode, gone] {
        assert_eq!(judge(&Dependencies::new(), &boundary(&base, &work, "true")), Ruling::Open);
    }
}

#[test]
fn many_manifests_at_once_are_not_read_for_ever() {
    let work = (0..400).fold(Files::new(), |files, index| files.file(format!("p{index}/package.json"), "{}"));
    let text = asked(judge(&Dependencies::new(), &boundary(&Files::new(), &work, "true")));
    assert!(text.contains("too many manifests"), "{text}");
}
