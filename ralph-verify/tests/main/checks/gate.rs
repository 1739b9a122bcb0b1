//! The gate that the checks are.

use std::sync::Arc;

use ralph_core::{Boundary, BoxError, Cx, Gate, GateError, Item, ItemBoundary, Phase, Ruling, async_trait};
use ralph_verify::checks::{Check, Checks, Found, shipped};

use crate::policy::support::{Files, asked, item_boundary, judge, phase_boundary};

fn boundary(after: &Files, checks: &[&str]) -> Boundary {
    let mut item = Item::new("R01", "Something");
    item.checks = checks.iter().map(|&entry| entry.to_owned()).collect();
    item_boundary(&Files::new(), after, Phase::new("P1", [item]))
}

fn trivial() -> Files {
    Files::new().file("tests/test_a.py", "def test_a():\n    assert True\n")
}

fn default() -> Checks {
    Checks::new(["default"], []).unwrap()
}

fn on(checks: &Checks) -> String {
    let on = checks.list().into_iter().filter(|check| check.on).map(|check| check.name);
    on.collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_found_fails_the_attempt() {
    let Ruling::Closed(why) = judge(&default(), &boundary(&trivial(), &[])) else { unreachable!("open") };
    insta::assert_snapshot!(why, @"
    The checks found what no honest change needs: trivial-tests (1). A test must be able to fail: assert what the code does, or leave the test out.

    trivial-tests: tests/test_a.py:2: test_a asserts only what always holds: `assert True`
    ");
    assert_eq!(judge(&default(), &boundary(&Files::new(), &[])), Ruling::Open);
    insta::assert_snapshot!(asked(judge(&default(), &phase_boundary())), @"The policy `checks` judges the work of an item, and this is none. Go on?");
}

#[test]
fn an_item_takes_a_check_out_and_in() {
    for (item, open) in [
        (&[][..], false),
        (&["-trivial-tests"], true),
        (&["-secrets", "-test-evidence"], false),
        (&["-default"], true),
        (&["-default", "+trivial-tests"], false),
    ] {
        assert_eq!(judge(&default(), &boundary(&trivial(), item)) == Ruling::Open, open, "{item:?}");
    }
    let orphan = Files::new().file("src/a.rs", "fn a() {}");
    assert_eq!(judge(&default(), &boundary(&orphan, &[])), Ruling::Open);
    assert!(matches!(judge(&default(), &boundary(&orphan, &["+orphans"])), Ruling::Closed(_)));
}

#[test]
fn which_are_on() {
    let all = "trivial-tests skipped-tests deleted-tests weakened-tests secrets";
    for (settings, expected) in [
        (&["default"][..], all.to_owned()),
        (&["default", "orphans"], format!("{all} orphans")),
        (&["+orphans"], format!("{all} orphans")),
        (&["-secrets"], all.replace(" secrets", "")),
        (&["secrets"], "secrets".to_owned()),
        (&[], String::new()),
    ] {
        assert_eq!(on(&Checks::new(settings, []).unwrap()), expected, "{settings:?}");
    }
}

#[test]
fn an_unknown_name_is_an_error_and_never_open() {
    let error = |name: &str| Checks::new(["default", name], []).unwrap_err().to_string();
    insta::assert_snapshot!(error("-trivial-test"), @"no check is named `trivial-test`: did you mean `trivial-tests`?");
    insta::assert_snapshot!(error("everything"), @"no check is named `everything`; there are trivial-tests, skipped-tests, deleted-tests, weakened-tests, secrets, orphans, test-evidence, require-red, default");
    insta::assert_snapshot!(error("-protected"), @"no check is named `protected`: `protected` is a policy: see `policy.protected`");
    let own = |name: &str| vec![name.to_owned()];
    assert!(default().validate(&own("-secrets")).is_ok() && default().validate(&own("-test-evidence")).is_ok());
    insta::assert_snapshot!(default().validate(&own("-secret")).unwrap_err(), @"no check is named `secret`: did you mean `secrets`?");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let at = boundary(&Files::new(), &["-secret"]);
    let ruling = runtime.block_on(default().judge(&at, &Cx::new()));
    assert!(matches!(ruling, Err(GateError::Broken(_))), "{ruling:?}");
}

#[test]
fn however_much_is_found_the_text_is_bounded_and_harmless() {
    let evil = "def test_\u{202e}x():\n    assert True # \u{1b}[31m`\n";
    let work = (0..200).fold(Files::new(), |files, n| {
        files.file(
            format!("tests/test_{n}`\n\u{1b}[2J{}.py", "y".repeat(500)),
            evil.replace("test_", &format!("test_{n}")),
        )
    });
    let Ruling::Closed(why) = judge(&default(), &boundary(&work, &[])) else { unreachable!("open") };
    assert!(why.lines().count() == 23 && why.ends_with("\nand 180 more"), "{why}");
    assert!(why.len() < 12_000 && !why.contains(['\u{1b}', '\u{202e}']), "{why}");
}

#[test]
fn a_test_file_that_is_too_large_to_look_at_is_found_and_other_files_are_not() {
    let long = format!("x = 1\n{}", "# filler\n".repeat(80_000));
    let work = Files::new().file("tests/test_a.py", &long).file("src/data.py", &long);
    let Ruling::Closed(why) = judge(&default(), &boundary(&work, &[])) else { unreachable!("open") };
    assert!(why.contains("tests/test_a.py: a test file that is too large") && !why.contains("data.py"), "{why}");
}

/// Files that would take a parser to its limits are not parsed, and the others as far as they parse.
#[test]
fn hostile_files_are_survived() {
    let deep = format!("def test_a():\n    assert {}1{}\n", "(".repeat(60_000), ")".repeat(60_000));
    let unclosed = "fn a() { (".repeat(20_000);
    let broken = "def test_a():\n    assert True\n\ndef )( broken:\n  @@@\n";
    let work = Files::new()
        .file("tests/test_deep.py", deep)
        .file("src/a.rs", unclosed)
        .file("a.test.ts", "describe('x', () => {".repeat(10_000))
        .file("a_test.go", [0xff, 0xfe, 0, 1, b'{'].repeat(1000))
        .file("tests/test_broken.py", broken);
    let Ruling::Closed(why) = judge(&default(), &boundary(&work, &[])) else { unreachable!("open") };
    assert!(why.contains("tests/test_broken.py:2"), "{why}");
    assert!(why.contains("tests/test_deep.py: a test file that is too large"), "{why}");
    assert!(why.contains("a.test.ts: a test file that is too large"), "{why}");
}

/// One of its own, beside those that ship.
#[derive(Debug)]
struct Own;

#[async_trait]
impl Check for Own {
    fn name(&self) -> &str {
        "own"
    }
    fn about(&self) -> &str {
        "everything"
    }
    async fn look(&self, at: &ItemBoundary) -> Result<Vec<Found>, BoxError> {
        if at.changes.is_empty() {
            return Err("nothing to look at".into());
        }
        Ok(at.changes.iter().map(|change| Found::new(&change.path, "no")).collect())
    }
}

#[test]
fn a_check_that_cannot_look_is_not_open() {
    let mut all = shipped([]);
    all.push(Box::new(Own));
    let checks = Arc::new(Checks::of(all, ["own"]).unwrap());
    let ruling = judge(&*checks, &boundary(&Files::new().file("a", "b"), &[]));
    assert!(matches!(&ruling, Ruling::Closed(why) if why.contains("own: a: no")), "{ruling:?}");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert!(runtime.block_on(checks.judge(&boundary(&Files::new(), &[]), &Cx::new())).is_err());
}

mod laws {
    use ralph_core::testing::{Files, suites::gate::GateFixture};

    use super::default;

    ralph_core::gate_conformance!(async || {
        let files = |path: &str, text: &str| Files::from([(path.to_owned(), text.as_bytes().to_vec())]);
        GateFixture::item(default())
            .opens(files("tests/test_a.py", "def test_a():\n    assert add(1, 2) == 3\n"))
            .closes(files("tests/test_a.py", "def test_a():\n    assert True\n"))
    });
}
