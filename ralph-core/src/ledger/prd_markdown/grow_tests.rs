//! Added lines: where they go, that nothing else changes, and that words stay words.

use proptest::{option, prelude::*};

use super::*;
use crate::plan::Item;

const DECISION: &str = "D-007 (lead, 2026-05-18): Resend";

fn parse(text: &str) -> Result<Prd, Vec<String>> {
    Prd::parse(text.as_bytes(), "PRD.md", PhaseId::new("P1"))
}

fn items(text: &str) -> Vec<Item> {
    let prd = parse(text).unwrap_or_else(|problems| panic!("{text:?}: {problems:?}"));
    prd.phase.items.iter().map(|item| item.as_ref().clone()).collect()
}

/// The file after `work`, twice: the second time is nothing.
fn after(text: &str, work: impl Fn(&Path) -> Result<(), PlanError>) -> Result<String, PlanError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("PRD-P1.md");
    fs::write(&path, text).unwrap();
    work(&path)?;
    let once = fs::read_to_string(&path).unwrap();
    work(&path)?;
    assert_eq!(fs::read_to_string(&path).unwrap(), once, "the second time");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    Ok(once)
}

fn noted(text: &str, id: &str, decision: &str) -> String {
    after(text, |path| grow::note(path, &id.into(), decision)).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn proposal(title: &str, criteria: &[&str], verify: Option<&str>) -> Proposal {
    let criteria = criteria.iter().map(|text| (*text).to_owned()).collect();
    Proposal { title: title.to_owned(), criteria, verify: verify.map(str::to_owned) }
}

fn extended(text: &str, proposals: &[Proposal]) -> String {
    after(text, |path| grow::extend(path, proposals, DECISION)).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

#[test]
fn a_decision_goes_to_the_end_of_its_item() {
    for (text, id, expected) in [
        ("- [ ] R1: a\n- [ ] R2: b\n", "R1", "- [ ] R1: a\n  - @\n- [ ] R2: b\n"),
        ("- [ ] R1: a\n- [ ] R2: b\n", "R2", "- [ ] R1: a\n- [ ] R2: b\n  - @\n"),
        ("- [ ] R1: a", "R1", "- [ ] R1: a\n  - @"),
        ("- [ ] R1: a\r\n\r\n# End\r\n", "R1", "- [ ] R1: a\r\n  - @\r\n\r\n# End\r\n"),
        ("- [ ] R1: a\r- [ ] R2: b", "R2", "- [ ] R1: a\r- [ ] R2: b\r  - @"),
        ("\u{feff}---\nx: y\n---\n\n- [ ] R1: a\n\n\n", "R1", "\u{feff}---\nx: y\n---\n\n- [ ] R1: a\n  - @\n\n\n"),
        // The file's own bullet and indent.
        ("* [ ] R1: a\n", "R1", "* [ ] R1: a\n  * @\n"),
        ("* [ ] R1: a\n    - c\n", "R1", "* [ ] R1: a\n    - c\n    - @\n"),
        ("- [ ] R1: a\n\t* c\n- [ ] R2: b\n", "R2", "- [ ] R1: a\n\t* c\n- [ ] R2: b\n\t* @\n"),
        ("-\t[ ]\tR1: a\n", "R1", "-\t[ ]\tR1: a\n\t- @\n"),
        ("12. [ ] R1: a\n    1. c\n", "R1", "12. [ ] R1: a\n    1. c\n    - @\n"),
        ("10) [ ] R1: a\n", "R1", "10) [ ] R1: a\n    - @\n"),
        ("- Part\n  - [ ] R1: a\n  - [x] R2: b\n", "R1", "- Part\n  - [ ] R1: a\n    - @\n  - [x] R2: b\n"),
        ("- - [ ] R1: a\n", "R1", "- - [ ] R1: a\n    - @\n"),
        // All that belongs to it comes first.
        (
            "- [?] R1: a\n  more\nlazy\n  - c\n    - d\n\n  A note.\n  Verify: make\n\n- [ ] R2: b\n",
            "R1",
            "- [?] R1: a\n  more\nlazy\n  - c\n    - d\n\n  A note.\n  Verify: make\n  - @\n\n- [ ] R2: b\n",
        ),
        (
            "- [ ] R1: a\n  ```\n  - [ ] no\n  ```\n- [ ] R2: b\n",
            "R1",
            "- [ ] R1: a\n  ```\n  - [ ] no\n  ```\n  - @\n- [ ] R2: b\n",
        ),
        // A text after it stays outside of it, and an open fence or comment does not swallow it.
        ("- [ ] R1: a\n  ```\n  ```\ntext\n", "R1", "- [ ] R1: a\n  ```\n  ```\n  - @\n\ntext\n"),
        ("- [ ] R1: a\n  ```\n  code\n- [ ] R2: b\n", "R1", "- [ ] R1: a\n  - @\n  ```\n  code\n- [ ] R2: b\n"),
        ("- [ ] R1: a\n  <!--\n- [ ] R2: b\n", "R1", "- [ ] R1: a\n  - @\n  <!--\n- [ ] R2: b\n"),
        (
            "- [ ] R1: a\n- [ ] R9: other\n\n## Notes\n- [ ] x\n",
            "R9",
            "- [ ] R1: a\n- [ ] R9: other\n  - @\n\n## Notes\n- [ ] x\n",
        ),
    ] {
        let new = noted(text, id, DECISION);
        assert_eq!(new, expected.replace('@', &format!("Decision {DECISION}")), "{text:?}");
        let item = items(&new).into_iter().find(|item| item.id.as_str() == id).unwrap();
        assert_eq!(item.decisions, [DECISION], "{text:?}");
    }
}

#[test]
fn a_decision_that_cannot_be_added_is_refused_or_nothing() {
    let text = "- [ ] R1: a\n";
    assert_eq!(noted(text, "R9", DECISION), text, "the item is gone");
    let two = noted(&noted(text, "R1", DECISION), "R1", "D-008 (x, 2026-05-19): b\n- [ ] c");
    assert_eq!(items(&two)[0].decisions, [DECISION, "D-008 (x, 2026-05-19): b - [ ] c"]);
    for decision in ["", "Resend", "D-x: y", "Decision D-007: x"] {
        let error = after(text, |path| grow::note(path, &"R1".into(), decision)).unwrap_err();
        assert!(error.to_string().contains("PRD-P1.md:1: `"), "{error}");
    }
    let error = after("- [ ] R1: a\n- [ ] R1: b\n", |path| grow::note(path, &"R1".into(), DECISION)).unwrap_err();
    assert!(error.to_string().ends_with("PRD-P1.md:2: the id `R1` is taken by the item in line 1"), "{error}");
    // A problem elsewhere does not matter.
    let new = noted("- [ ] R1: a\nVerfy: b\n\n# End\nVerify: lost\n", "R1", DECISION);
    assert!(new.starts_with("- [ ] R1: a\nVerfy: b\n  - Decision D-007"), "{new}");
}

#[test]
fn new_items_go_below_the_last_one_in_its_style() {
    let new = [
        proposal("Add a test", &["it fails without the fix", "Verify: true"], Some("make test")),
        proposal("  ", &[], None),
        proposal("Write\nit <!-- down", &[], None),
    ];
    for (text, expected) in [
        (
            "# PRD\nVerify: make\n\n- [x] R11: a\n- [ ] R2: b\n  - c\n\n# End\n",
            "# PRD\nVerify: make\n\n- [x] R11: a\n- [ ] R2: b\n  - c\n- [ ] R12: 1\n  - 2\n  - 3\n  Verify: make test\n  - @\n- [ ] R13: 4\n  - @\n\n# End\n",
        ),
        (
            "1.\t[ ]\t**US-009** — a\r\n\r\n2.\t[x]\t**US-010** — b",
            "1.\t[ ]\t**US-009** — a\r\n\r\n2.\t[x]\t**US-010** — b\r\n\r\n3.\t[ ]\t**US-011** — 1\r\n\t- 2\r\n\t- 3\r\n\tVerify: make test\r\n\t- @\r\n\r\n4.\t[ ]\t**US-012** — 4\r\n\t- @",
        ),
        (
            "## Tasks\n- Part\n  * [ ] do it\n    * c\n## Notes\n- [ ] no\n",
            "## Tasks\n- Part\n  * [ ] do it\n    * c\n  * [ ] 1\n    * 2\n    * 3\n    Verify: make test\n    * @\n  * [ ] 4\n    * @\n## Notes\n- [ ] no\n",
        ),
        (
            "- [ ] **P1.9: a**\n  ```\n  open\n",
            "- [ ] **P1.9: a**\n  ```\n  open\n- [ ] P1.10: 1\n  - 2\n  - 3\n  Verify: make test\n  - @\n- [ ] P1.11: 4\n  - @\n",
        ),
    ] {
        let expected = expected
            .replace(" 1\r", " Add a test\r")
            .replace(" 1\n", " Add a test\n")
            .replace(" 2\r", " it fails without the fix\r")
            .replace(" 2\n", " it fails without the fix\n")
            .replace(" 3\r", " Verify\\: true\r")
            .replace(" 3\n", " Verify\\: true\n")
            .replace(" 4\r", " Write it \\<!-- down\r")
            .replace(" 4\n", " Write it \\<!-- down\n")
            .replace('@', &format!("Decision {DECISION}"));
        assert_eq!(extended(text, &new), expected);
    }
    assert_eq!(extended("- [ ] R1: a\n", &[]), "- [ ] R1: a\n");
    assert_eq!(extended("- [ ] R1: a\n", &[proposal(" \n", &[], None)]), "- [ ] R1: a\n");
}

#[test]
fn ids_go_on() {
    for (text, id) in [
        ("- [ ] R9: a\n", "R10"),
        ("- [ ] R09: a\n- [x] R03: b\n", "R10"),
        ("- [ ] R99: a\n", "R100"),
        ("- [ ] US-001: a\n- [ ] US-007: b\n- [ ] US-003: c\n", "US-008"),
        ("- [ ] [T12] a\n", "T13"),
        ("- [ ] `R1` a\n", "R2"),
        ("- [ ] R12b: a\n", "R13"),
        ("- [ ] AUTH-1-2: a\n", "AUTH-1-3"),
        ("- [ ] R1: a\n- [ ] no id\n", "R2"),
        ("- [ ] no id\n", "new-one"),
        ("- [ ] no id\n- [ ] new one\n", "new-one-2"),
    ] {
        let last = items(&extended(text, &[proposal("new one", &[], None)])).pop().unwrap();
        assert_eq!((last.id.as_str(), last.title.as_str()), (id, "new one"), "{text:?}");
    }
    // What begins like an id is none.
    let last = items(&extended("- [ ] no id\n", &[proposal("H264: encode", &[], None)])).pop().unwrap();
    assert_eq!((last.id.as_str(), last.title.as_str()), ("R02", "H264: encode"));
}

#[test]
fn a_command_that_is_not_one_line_is_refused() {
    for command in ["make\nrm -rf x", "—", "-", "`make`", "a\u{200b}b"] {
        let items = [proposal("a", &[], Some(command))];
        let error = after("- [ ] R1: a\n", |path| grow::extend(path, &items, DECISION));
        assert!(matches!(&error, Err(PlanError::Invalid(_))), "{command:?}: {error:?}");
    }
    let text = extended("- [ ] R1: a\n", &[proposal("a", &[" "], Some("  x `y` && <!-- z: --> '-'  "))]);
    assert_eq!(items(&text)[1].verify, ["x `y` && <!-- z: --> '-'"]);
    let error = after("# none\n", |path| grow::extend(path, &[proposal("a", &[], None)], DECISION)).unwrap_err();
    assert!(error.to_string().contains("PRD-P1.md:1: no item is recognised"), "{error}");
}

#[cfg(unix)]
#[test]
fn links_and_modes_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.md"), folder.path().join("PRD-P1.md"));
    fs::write(&real, "- [ ] R1: a\n").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o664)).unwrap();
    symlink("real.md", &link).unwrap();
    grow::note(&link, &"R1".into(), DECISION).unwrap();
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o664);
    assert!(fs::symlink_metadata(&link).unwrap().file_type().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), format!("- [ ] R1: a\n  - Decision {DECISION}\n"));
}

/// Words that try to be more.
fn hostile() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("<!--"),
        Just("-->"),
        Just("```"),
        Just("~~~"),
        Just("- [ ] R2:"),
        Just("[x]"),
        Just("# H"),
        Just("Verify:"),
        Just("**Checks:**"),
        Just("Setup："),
        Just("\n"),
        Just("\r\n  "),
        Just("|"),
        Just("---"),
        Just("R1:"),
        Just("<div>"),
        Just("Decision D-1 (a): b"),
        Just("~~"),
        Just("`"),
        Just("1."),
        Just("\\"),
        Just("![a](b)"),
        Just("a"),
        Just("*"),
        Just("[^1]: x"),
        Just("&lt;"),
        Just("$x$"),
    ];
    prop_oneof![
        3 => prop::collection::vec(word, 0..6).prop_map(|words| words.join(" ")),
        1 => "\\PC{0,20}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Whatever a decision says and wherever its item is: one more decision, and nothing else.
    #[test]
    fn a_decision_changes_one_item(
        lines in prop::collection::vec(tests::line(), 1..24),
        crlf: bool,
        pick: prop::sample::Index,
        words in hostile(),
    ) {
        let text = lines.join(if crlf { "\r\n" } else { "\n" });
        let Ok(before) = parse(&text) else { return Ok(()) };
        let chosen = pick.get(&before.phase.items).id.clone();
        let decision = format!("D-007 (lead, 2026-05-18): {words}");
        let new = match after(&text, |path| grow::note(path, &chosen, &decision)) {
            Ok(new) => new,
            Err(error) => {
                prop_assert!(false, "{}\n{}", error, text);
                return Ok(());
            }
        };
        let now = parse(&new).unwrap();
        prop_assert_eq!(before.phase.items.len(), now.phase.items.len());
        for (old, new) in before.phase.items.iter().zip(&now.phase.items) {
            let mut expected = old.as_ref().clone();
            expected.line = new.line;
            if old.id == chosen {
                expected.decisions.push(literal::one_line(&decision));
            }
            prop_assert_eq!(&expected, new.as_ref(), "{}", text);
        }
        // Without the one line, and an empty one where that was needed, it is the same file.
        let added = new.len() - text.len();
        let cut = (0..=text.len()).any(|at| {
            text.is_char_boundary(at) && new.is_char_boundary(at + added) && new[..at] == text[..at] && new[at + added..] == text[at..]
        });
        prop_assert!(cut, "{:?}\n{:?}", text, new);
    }

    /// Whatever an agent proposes: its items are items, open, and nothing else changes.
    #[test]
    fn proposals_become_items_and_nothing_else(
        lines in prop::collection::vec(tests::line(), 1..16),
        crlf: bool,
        proposals in prop::collection::vec(
            (hostile(), prop::collection::vec(hostile(), 0..3), option::of("[a-z]{1,8}( [a-z<!|&:-]{1,6}){0,2}")), 1..3
        ),
    ) {
        let text = lines.join(if crlf { "\r\n" } else { "\n" });
        let Ok(before) = parse(&text) else { return Ok(()) };
        let proposals: Vec<_> = proposals
            .into_iter()
            .map(|(title, criteria, verify)| Proposal { title, criteria, verify })
            .collect();
        let new = match after(&text, |path| grow::extend(path, &proposals, DECISION)) {
            Ok(new) => new,
            Err(error) => {
                prop_assert!(false, "{}\n{}\n{:?}", error, text, proposals);
                return Ok(());
            }
        };
        let now = parse(&new).unwrap();
        let (old, added) = now.phase.items.split_at(before.phase.items.len());
        for (old, new) in before.phase.items.iter().zip(old) {
            let mut expected = old.as_ref().clone();
            expected.line = new.line;
            prop_assert_eq!(&expected, new.as_ref());
        }
        let real: Vec<_> = proposals.iter().filter(|proposal| !literal::one_line(&proposal.title).is_empty()).collect();
        prop_assert_eq!(added.len(), real.len());
        for (item, proposal) in added.iter().zip(real) {
            prop_assert_eq!(item.verify.iter().collect::<Vec<_>>(), proposal.verify.iter().collect::<Vec<_>>());
            prop_assert_eq!((item.status, &item.decisions[..]), (ItemStatus::Open, &[DECISION.to_owned()][..]));
            let criteria = proposal.criteria.iter().filter(|text| !literal::one_line(text).is_empty());
            prop_assert_eq!(item.criteria.len(), criteria.count());
            prop_assert!(item.checks.is_empty() && item.context.is_empty());
        }
    }
}
