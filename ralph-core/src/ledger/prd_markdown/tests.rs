use std::time::Instant;

use proptest::prelude::*;

use super::*;
use crate::{plan::Item, tier::Tier};

fn parse(text: &str) -> Result<Prd, Vec<String>> {
    Prd::parse(text.as_bytes(), "PRD.md", PhaseId::new("P1"))
}

fn prd(text: &str) -> Prd {
    parse(text).unwrap_or_else(|problems| panic!("{text:?}: {problems:?}"))
}

fn items(text: &str) -> Vec<(String, ItemStatus)> {
    prd(text).phase.items.iter().map(|item| (item.id.to_string(), item.status)).collect()
}

fn item(text: &str) -> Item {
    prd(text).phase.items[0].as_ref().clone()
}

/// The ids and a letter for the status, such as `R01- R02x`.
fn short(text: &str) -> String {
    let letter = |status| match status {
        ItemStatus::Open => '-',
        ItemStatus::Done => 'x',
        ItemStatus::Decision => '?',
        ItemStatus::Blocked => '!',
        ItemStatus::Unknown => '~',
    };
    let items = items(text);
    let names: Vec<_> = items.iter().map(|(id, status)| format!("{id}{}", letter(*status))).collect();
    names.join(" ")
}

#[test]
fn what_is_an_item() {
    for (text, expected) in [
        ("- [ ] R1: a\n- [x] R2: b\n- [X] R3: c\n- [?] R4: d\n- [!] R5: e\n", "R1- R2x R3x R4? R5!"),
        ("* [ ] R1: a\n* [!] R2: b", "R1- R2!"),
        ("+ [ ] R1: a", "R1-"),
        ("1. [ ] R1: a\n2. [?] R2: b", "R1- R2?"),
        ("3) [ ] R1: a", "R1-"),
        // Loose lists, deep indents, tabs.
        ("- [ ] R1: a\n\n- [x] R2: b\n", "R1- R2x"),
        ("-\t[ ]\tR1: a\n", "R1-"),
        ("   - [ ] R1: a\n", "R1-"),
        // Line ends and encoding marks.
        ("- [ ] R1: a\r\n- [x] R2: b\r\n", "R1- R2x"),
        ("- [ ] R1: a\r- [x] R2: b", "R1- R2x"),
        ("- [ ] R1: a\r\r```\r- [ ] no\r```\r", "R1-"),
        ("\u{feff}- [ ] R1: a", "R1-"),
        ("---\nowner: me\n---\n- [ ] R1: a", "R1-"),
        // The outermost box is the item, also below plain list items.
        ("- [ ] R1: a\n  - [ ] R2: b\n    - [x] R3: c\n- [x] R4: d", "R1- R4x"),
        ("- Part\n  - [ ] R1: a\n  - [x] R2: b", "R1- R2x"),
        ("- - [ ] R1: a", "R1-"),
        // Not items: code, comments, quotes, tables, links.
        ("```\n- [ ] no\n```\n- [ ] R1: a", "R1-"),
        ("~~~\n- [ ] no\n~~~\n- [ ] R1: a", "R1-"),
        ("- [ ] R1: a\n  ```\n  - [ ] no\n  ```\n", "R1-"),
        ("    - [ ] no\n\n- [ ] R1: a", "R1-"),
        ("-     [ ] no\n- [ ] R1: a", "R1-"),
        ("<!--\n- [ ] no\n\n- [ ] no\n-->\n- [ ] R1: a", "R1-"),
        ("<details>\n- [ ] no\n\n- [ ] R1: a", "R1-"),
        ("> - [ ] no\n\n- [ ] R1: a", "R1-"),
        ("| [ ] | b |\n|-----|---|\n| [x] | c |\n\n- [ ] R1: a", "R1-"),
        ("- [x](http://a) no\n- [ ] R1: a", "R1-"),
        ("- [1] no\n- [ref] no\n- [ ] R1: a", "R1-"),
        ("[ ] no\n\n- [ ] R1: a", "R1-"),
        ("- text [ ] no\n- [ ] R1: a", "R1-"),
        ("- # [ ] no\n- [ ] R1: a", "R1-"),
        ("- [ ] R1: `<!-- kept -->` a\n- [ ] R2: b", "R1- R2-"),
        // A definition elsewhere does not turn a box into a link.
        ("- [x] R1: a\n- [?] R2: b\n\n[x]: http://a\n[?]: http://b\n", "R1x R2?"),
        // Unknown marks.
        ("- [~] R1: a\n- [-] R2: b\n- [] R3: c\n- [✅] R4: d\n- [ ]R5: e", "R1~ R2~ R3~ R4~ R5~"),
        ("- [ ] ~~R1: a~~\n- [ ] R2: ~~b~~\n- [x] R3: ~~c~~", "~~r1~ R2~ R3x"),
    ] {
        let expected = expected.replace("~~r1~", "r1-a~");
        assert_eq!(short(text), expected, "{text:?}");
    }
}

#[test]
fn only_sections_of_items_count_where_there_are_any() {
    for (text, expected) in [
        ("# Plan\n- [ ] R1: a\n## Tasks\n- [ ] R2: b\n## Notes\n- [ ] R3: c", "R2-"),
        ("## Open Items\n### High\n- [ ] R1: a\n## Risks\n- [ ] R2: b\n## Done items\n- [x] R3: c", "R1- R3x"),
        ("- [ ] R1: a\n## User Stories\n- [ ] R2: b", "R2-"),
        ("Requirements\n---\n- [ ] R1: a\n\nOther\n---\n- [ ] R2: b", "R1-"),
        // A document's title is no section where there are sections below it.
        ("# My Requirements\n- [ ] R1: a\n## Tasks\n- [ ] R2: b", "R2-"),
        ("# My Requirements\n- [ ] R1: a\n## Other\n- [ ] R2: b", "R1- R2-"),
        ("## Task list\n- [ ] R1: a\n## Tasks (old)\n- [ ] R2: b", "R1- R2-"),
    ] {
        assert_eq!(short(text), expected, "{text:?}");
    }
    let notes = prd("# Plan\n- [ ] R1: a\n## Tasks\n- [ ] R2: b").notes;
    assert_eq!((notes[0].line, notes[0].kind), (2, NoteKind::NotCounted));
}

#[test]
fn ids_are_written_or_made_from_the_text() {
    assert_eq!(short("- [ ] Add it\n- [ ] add it!\n- [x] Add it"), "add-it- add-it-2- add-it-3x");
    assert_eq!(short("- [ ] a\n- [ ] A1: b\n- [ ] a1"), "a- A1- a1-2-");
    // Marks do not change ids.
    assert_eq!(short("- [x] Add it\n- [!] Add it"), "add-itx add-it-2!");
    assert_eq!(item("- [ ] **R01** Do *it* now  \n").title, "Do *it* now");
}

#[test]
fn problems_have_places_and_come_together() {
    let problems = parse(
        "Verfy: a\n\n- [ ] R1: a\n  Verifi: b\n- [ ] R2: b\n- [ ] r1: no id\n- [ ] R1: c\n  Setup: d\n\n# End\nVerify: lost\n",
    )
    .unwrap_err();
    assert_eq!(
        problems,
        [
            "PRD.md:1: `Verfy:` is not a key: did you mean `Verify:`?",
            "PRD.md:4: `Verifi:` is not a key: did you mean `Verify:`?",
            "PRD.md:7: the id `R1` is taken by the item in line 3",
            "PRD.md:8: `Setup:` is a key of the whole PRD, not of one item: put it above the first item",
            "PRD.md:11: `Verify:` below the first item belongs to no item: put it above the first item, or indent it below its item",
        ]
    );
    for (text, expected) in [
        ("- [ ] a\nCheks: -secrets", "PRD.md:2: `Cheks:` is not a key: did you mean `Checks:`?"),
        ("Checks: -secrets\n- [ ] a", "PRD.md:1: `Checks:` is a key of an item: put it below one"),
        ("---\nverify: a\n---\n- [ ] a", "PRD.md:2: `Verify:` in the front matter belongs to no item"),
        ("### US-001: It\n- [ ] a\n- [ ] b", "PRD.md:1: `US-001: It` is a story"),
        ("", "PRD.md:1: no item is recognised: 0 headings"),
        ("# A\ntext", "PRD.md:1: no item is recognised: 1 heading,"),
        (
            "```\n- [ ] a\n```\n> - [ ] b\n",
            "PRD.md:1: no item is recognised: 1 box in a block quote, 1 box in a code block",
        ),
    ] {
        let problems = parse(text).unwrap_err();
        assert!(problems[0].starts_with(expected), "{text:?}: {problems:?}");
    }
    let utf16 = Prd::parse(b"\xff\xfe- [ ]", "a", PhaseId::new("P1")).unwrap_err();
    assert_eq!(utf16, ["a:1: the file is UTF-16: save it as UTF-8"]);
    let latin = Prd::parse(b"- [ ] a\n\xe9", "a", PhaseId::new("P1")).unwrap_err();
    assert_eq!(latin, ["a:2: the file is not UTF-8 from here on: save it as UTF-8"]);
}

#[test]
fn story_headings_with_items_of_their_own_are_no_stories() {
    assert_eq!(short("### US-001: It\n- [ ] R1: a\n"), "R1-");
    assert_eq!(short("### M0 — Bootstrap\n- [ ] a\n"), "a-");
    // Outside the sections that count, criteria do not matter.
    assert_eq!(short("## Notes\n### US-001: It\n- [ ] a\n## Tasks\n- [ ] R1: b"), "R1-");
}

#[test]
fn keys_above_the_first_item() {
    let phase = prd(
        "# PRD-P1 — Privacy scrub\n**Verify:** `pnpm test`\n- Verify: pnpm lint\nSetup: pnpm install\nEnv-Check: pg_isready\nContext: docs/a.md, `src/`\nObjective: No request\nleaves.\n\n```\nVerify: no\n```\n> Verify: no\n<!-- Verify: no -->\n\n- [ ] R1: a\n",
    )
    .phase;
    assert_eq!(phase.title, "Privacy scrub");
    assert_eq!(phase.verify, ["pnpm test", "pnpm lint"]);
    assert_eq!(phase.setup, ["pnpm install"]);
    assert_eq!(phase.env_check, ["pg_isready"]);
    assert_eq!(phase.context, ["docs/a.md", "src/"]);
    assert_eq!(phase.objective.as_deref(), Some("No request leaves."));
    // A box that does not count does not lend its keys to everybody.
    let phase = prd("- [ ] no\n  Verify: no\n# Tasks\n- [ ] R1: a").phase;
    assert!(phase.verify.is_empty());
    let told = prd("Verify: —\nNote: b\n- [ ] R1: a\n\nContext: late");
    let notes: Vec<_> = told.notes.iter().map(|note| (note.line, note.kind)).collect();
    assert_eq!(notes, [(1, NoteKind::Key), (2, NoteKind::Key), (5, NoteKind::Key)]);
}

#[test]
fn what_belongs_to_an_item() {
    let item = item(
        "- [ ] R01: Remove the snippet from\n  every page\n  - no request leaves\n    for a host\n  Verify: pnpm test -- analytics\n  - [x] sub\n    - [ ] sub sub\n  - **Context:** docs/a.md\n  - Checks: -test-evidence\n  Tier: high\n  - Decision D-007 (lead, 2026-05-18): Resend\n\n  A note.\n  ```sh\n  Verify: no\n  ```\n  <!-- hidden -->\n- [ ] R02: other\n",
    );
    assert_eq!(item.title, "Remove the snippet from every page");
    assert_eq!(
        item.criteria,
        ["no request leaves for a host", "[x] sub", "sub sub", "A note.", "  ```sh", "  Verify: no", "  ```"]
    );
    assert_eq!(item.verify, ["pnpm test -- analytics"]);
    assert_eq!(item.context, ["docs/a.md"]);
    assert_eq!(item.checks, ["-test-evidence"]);
    assert_eq!(item.tier, Some(Tier::High));
    assert_eq!(item.decisions, ["D-007 (lead, 2026-05-18): Resend"]);
    assert_eq!(item.line, 1);
}

#[test]
fn the_digest_is_about_everything_but_the_mark_and_decisions() {
    let digest = |text: &str| item(text).digest;
    let base = digest("- [ ] R1: a\n  - c\n");
    for same in [
        "- [x] R1: a\n  - c\n",
        "* [!] R1: a\n  - c",
        "- [ ] R1: a\r\n  - c\r\n\r\n",
        "- [X] R1: a\r  - c",
        "- [ ] R1: a\n  - c\n  - Decision D-007 (lead, 2026-05-18): b\n",
        "- [ ] R1: a\n\n  - Decision D-007 (a): b\n  - Decision D-008 (a): b\n  - c\n",
    ] {
        assert_eq!(digest(same), base, "{same:?}");
    }
    for other in [
        "- [ ] R1: b\n  - c\n",
        "- [ ] R2: a\n  - c\n",
        "- [ ] R1: a\n  - d\n",
        "- [ ] R1: a\n",
        "- [ ] R1: a\n  - c\n  Verify: x",
        "- [ ] R1: a\n  - c\n  - Decision: b",
    ] {
        assert_ne!(digest(other), base, "{other:?}");
    }
}

#[test]
fn notes_for_people() {
    for (text, line, kind) in [
        ("- [~] a", 1, NoteKind::Unknown),
        ("- [ ] ~~a~~", 1, NoteKind::Unknown),
        ("- [x] a\n- [ ]", 2, NoteKind::Unknown),
        ("- [ ] a\n\n> - [ ] b", 3, NoteKind::NotCounted),
        ("- [ ] a\n\n[ ] b", 3, NoteKind::NotCounted),
        ("- [ ] a\n\n\\- [ ] b", 3, NoteKind::NotCounted),
        ("- [ ] a\n- \\[ ] b", 2, NoteKind::NotCounted),
        ("- [ ] a\n  - [x] b", 1, NoteKind::Disagrees),
        ("- [x] a\n  - [ ] b\n- [ ] c", 1, NoteKind::Disagrees),
        ("- [x] a\n", 1, NoteKind::AllDone),
        ("- [ ] a\u{ad}b", 1, NoteKind::Invisible),
        ("- [ ] TODO", 1, NoteKind::Scaffold),
        ("- [ ] <what to do>", 1, NoteKind::Scaffold),
    ] {
        let notes = prd(text).notes;
        assert_eq!(notes.iter().map(|n| (n.line, n.kind)).collect::<Vec<_>>(), [(line, kind)], "{text:?}");
    }
    let hidden = prd("- [ ] a\n  b\u{200b}\u{2066}\u{e0041}\u{200b}c").notes;
    assert_eq!(hidden[0].text, "characters that nobody sees: U+200B U+2066 U+E0041");
    let done = prd("- [X] a\n\nGo on with [it](docs/fix_plan_2.md), not `PRD.md` or README.md.").notes;
    assert!(done[0].text.ends_with("here; the text also names fix_plan_2.md"), "{done:?}");
    // Joiners inside words and emoji are seen.
    assert!(prd("- [ ] 👩\u{200d}💻 می\u{200c}خواهم").notes.is_empty());
}

#[test]
fn phases_are_named_after_the_file() {
    for (path, phase) in [
        ("ralph-loop/PRD-P1.md", "P1"),
        ("prd-x.md", "x"),
        ("PRD.md", "PRD"),
        ("PRD-.md", "PRD-"),
        ("fix_plan.md", "fix_plan"),
    ] {
        assert_eq!(MarkdownPrd::open(path).phase().as_str(), phase);
    }
}

fn written(text: &str, id: &str, from: ItemStatus, to: ItemStatus) -> (Marked, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("PRD-P1.md");
    fs::write(&path, text).unwrap();
    let marked = mark::mark(&path, &id.into(), from, to).unwrap();
    (marked, fs::read_to_string(&path).unwrap())
}

#[test]
fn a_mark_is_one_byte() {
    let text = "\u{feff}# A\r\n\r\n-\t[ ]\tR1: a  \r\n  - [ ] R2: b\n\n* [?] R3: c\r\n- [X] R4: d\n```\n- [ ] R1: a\n```\n- [ ] R5: é";
    for (id, from, to, before, after) in [
        ("R1", ItemStatus::Open, ItemStatus::Done, "[ ]\tR1", "[x]\tR1"),
        ("R3", ItemStatus::Decision, ItemStatus::Open, "[?] R3", "[ ] R3"),
        ("R4", ItemStatus::Done, ItemStatus::Blocked, "[X] R4", "[!] R4"),
        ("R5", ItemStatus::Open, ItemStatus::Decision, "[ ] R5", "[?] R5"),
    ] {
        let (marked, now) = written(text, id, from, to);
        assert_eq!((marked, now), (Marked::Written, text.replacen(before, after, 1)), "{id}");
    }
}

#[test]
fn a_mark_is_a_compare_and_set() {
    let text = "- [x] R1: a\n- [ ] R2: b\n- [~] R3: c\n- [ ] ~~R4: d~~\nVerfy: typo\n";
    for (id, from, to, expected) in [
        ("R1", ItemStatus::Open, ItemStatus::Done, Marked::AlreadySo),
        ("R1", ItemStatus::Open, ItemStatus::Blocked, Marked::Refused(Some(ItemStatus::Done))),
        ("R9", ItemStatus::Open, ItemStatus::Done, Marked::Refused(None)),
        ("R3", ItemStatus::Unknown, ItemStatus::Done, Marked::Refused(Some(ItemStatus::Unknown))),
        ("r4-d", ItemStatus::Open, ItemStatus::Done, Marked::Refused(Some(ItemStatus::Unknown))),
    ] {
        // An unknown mark of one byte is not ours to change either: only a person knows what it meant.
        let (marked, now) = written(text, id, from, to);
        assert_eq!((marked, now.as_str()), (expected, text), "{id}");
    }
    // A problem elsewhere does not keep finished work from being marked.
    assert_eq!(written(text, "R2", ItemStatus::Open, ItemStatus::Done).0, Marked::Written);
    let error = mark::mark(Path::new("/nonexistent"), &"R1".into(), ItemStatus::Open, ItemStatus::Done);
    assert!(matches!(error, Err(PlanError::Io { operation: "written", .. })));
}

#[cfg(unix)]
#[test]
fn a_mark_goes_through_links_and_keeps_the_mode() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.md"), folder.path().join("PRD-P1.md"));
    fs::write(&real, "- [ ] R1: a\n").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o664)).unwrap();
    symlink("real.md", &link).unwrap();
    let before = fs::metadata(&real).unwrap();
    mark::mark(&link, &"R1".into(), ItemStatus::Open, ItemStatus::Done).unwrap();
    let after = fs::metadata(&real).unwrap();
    assert_eq!((before.ino(), before.mode()), (after.ino(), after.mode()));
    assert!(fs::symlink_metadata(&link).unwrap().file_type().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "- [x] R1: a\n");
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused_and_not_read() {
    // A pipe would be waited for without end.
    let error = MarkdownPrd::open("/dev/null").read().unwrap_err();
    assert!(matches!(&error, PlanError::Invalid(why) if why[0].contains("no file")), "{error:?}");
}

/// Prints how long a large PRD takes; run with `--release --nocapture` for numbers that mean something.
#[test]
fn ten_thousand_items() {
    let mut text = String::from("# PRD\nVerify: cargo test\n\n");
    for index in 0..10_000 {
        text.push_str(&format!(
            "- [ ] R{index:05}: Do the thing number {index}\n  - it holds\n  Verify: make t{index}\n"
        ));
    }
    let best = |work: &dyn Fn()| {
        let time = |_| {
            let began = Instant::now();
            work();
            began.elapsed()
        };
        (0..8).map(time).min().unwrap()
    };
    let walk = best(&|| drop(scan::scan(&text)));
    let all = best(&|| drop(prd(&text)));
    println!("10,000 items, {} bytes: {all:?}, of which the Markdown parser {walk:?}", text.len());
    let prd = prd(&text);
    assert_eq!(prd.phase.items.len(), 10_000);
    assert!(prd.notes.is_empty());
}

/// A line of a random PRD.
pub(super) fn line() -> impl Strategy<Value = String> {
    let mark = prop_oneof!["\\[[ x?!]\\]", "\\[[~X-]\\]", Just("[]".to_owned())];
    let bullet = prop_oneof![Just("- "), Just("* "), Just("1. "), Just("+\t")];
    let indent = prop_oneof![Just(""), Just(""), Just("  "), Just("    "), Just("\t")];
    prop_oneof![
        5 => (indent, bullet, mark, "[a-zA-Z :*~`]{0,12}").prop_map(|(i, b, m, t)| format!("{i}{b}{m} {t}")),
        1 => "[-#>`~| a-z:<!]{0,12}",
        1 => Just("```".to_owned()),
        1 => Just(String::new()),
        1 => Just("## Tasks".to_owned()),
        1 => Just("  Verify: make".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Marking any item of any PRD changes one byte, that item, and nothing else.
    #[test]
    fn marks_round_trip(
        lines in prop::collection::vec(line(), 1..24),
        crlf: bool,
        pick: prop::sample::Index,
        to in prop::sample::select(vec![ItemStatus::Open, ItemStatus::Done, ItemStatus::Decision, ItemStatus::Blocked]),
    ) {
        let text = lines.join(if crlf { "\r\n" } else { "\n" });
        let Ok(before) = parse(&text) else { return Ok(()) };
        let chosen = pick.get(&before.phase.items).clone();
        let (marked, now) = written(&text, chosen.id.as_str(), chosen.status, to);
        let changed: Vec<_> = (0..text.len()).filter(|at| text.as_bytes()[*at] != now.as_bytes()[*at]).collect();
        prop_assert_eq!(text.len(), now.len());
        if chosen.status == to {
            prop_assert_eq!((marked, changed.len()), (Marked::AlreadySo, 0));
        } else if chosen.status == ItemStatus::Unknown {
            prop_assert_eq!((marked, changed.len()), (Marked::Refused(Some(ItemStatus::Unknown)), 0));
        } else {
            prop_assert_eq!((marked, changed.len()), (Marked::Written, 1));
            let after = prd(&now);
            for (old, new) in before.phase.items.iter().zip(&after.phase.items) {
                let mut expected = old.as_ref().clone();
                if old.id == chosen.id && new.status != ItemStatus::Unknown {
                    expected.status = to;
                } else if old.id == chosen.id {
                    // Opening what is struck through or empty leaves it unknown.
                    prop_assert_eq!(to, ItemStatus::Open);
                    expected.status = ItemStatus::Unknown;
                }
                prop_assert_eq!(&expected, new.as_ref());
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(\\PC|[\\n\\r\\t\\[\\] x*>`#|:-]){0,300}") {
        if let Err(problems) = parse(&text) {
            prop_assert!(!problems.is_empty());
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        let _ = Prd::parse(&bytes, "a", PhaseId::new("P1"));
    }
}

/// Texts made to be slow: 64 KiB each, done in a bounded time.
#[test]
fn hostile_texts_take_a_bounded_time() {
    for unit in [
        "- [ ] ",
        "> ",
        "- ",
        "[",
        "`",
        "*",
        "<!-- ",
        "| a ",
        "- [ ] a\n",
        "\t- [ ] a\n",
        "[ ](",
        "~~",
        "-\n",
        "1. [x] `",
    ] {
        let text = unit.repeat((64 << 10) / unit.len());
        let began = Instant::now();
        let _ = parse(&text);
        let took = began.elapsed();
        assert!(took.as_secs() < 5, "{unit:?} takes {took:?}");
    }
    // Nesting as deep as it gets.
    let deep: String = (0..350).map(|depth| format!("{}- [ ] a\n", " ".repeat(depth))).collect();
    let _ = parse(&deep);
}
