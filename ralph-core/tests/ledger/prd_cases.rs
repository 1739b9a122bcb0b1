//! Real plan files, as found in public repositories: what each of them leads to.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use ralph_core::{
    Cx, ItemRef, ItemStatus, PlanSource, Proposal,
    ledger::{MarkdownPrd, MasterPlan, NoteKind, Prd},
};

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/prd"))
}

fn outcome(name: &str) -> String {
    let bytes = fs::read(folder().join(name)).unwrap();
    let mut text = String::new();
    match Prd::parse(&bytes, name, "P1".into()) {
        Err(problems) => {
            writeln!(text, "refused").unwrap();
            for problem in problems {
                writeln!(text, "{problem}").unwrap();
            }
        }
        Ok(prd) => {
            let mut counts = BTreeMap::new();
            for item in &prd.phase.items {
                *counts.entry(item.status.to_string()).or_insert(0) += 1;
            }
            writeln!(text, "{}: {} items {counts:?}", prd.phase.title, prd.phase.items.len()).unwrap();
            for item in &prd.phase.items {
                let title: String = item.title.chars().take(60).collect();
                writeln!(
                    text,
                    "{:4} {:8} {} | {title} | {} criteria",
                    item.line,
                    item.status,
                    item.id,
                    item.criteria.len()
                )
                .unwrap();
                for command in &item.verify {
                    writeln!(text, "     Verify: {command}").unwrap();
                }
            }
            for command in &prd.phase.verify {
                writeln!(text, "Verify: {command}").unwrap();
            }
            let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
            for note in &prd.notes {
                let count = kinds.entry(format!("{:?}", note.kind)).or_default();
                *count += 1;
                if *count <= 8 {
                    writeln!(text, "{name}:{}: {:?}: {}", note.line, note.kind, note.text).unwrap();
                }
            }
            writeln!(text, "notes {kinds:?}").unwrap();
        }
    }
    text
}

#[test]
fn every_markdown_case_has_its_outcome() {
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".md") && name != "README.md")
        .collect();
    names.sort();
    assert_eq!(names.len(), 18, "{names:?}");
    for name in names {
        insta::with_settings!({ snapshot_suffix => name.trim_end_matches(".md"), omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("case", outcome(&name));
        });
    }
}

/// Every item of every accepted case can be marked; one byte changes, and nothing else that is read does.
#[test]
fn marking_changes_one_byte_in_every_case() {
    let scratch = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let Ok(prd) = Prd::parse(&bytes, "case", "P1".into()) else { continue };
        let copy = scratch.path().join(path.file_name().unwrap());
        for index in [0, prd.phase.items.len() / 2, prd.phase.items.len() - 1] {
            let item = &prd.phase.items[index];
            if item.status == ItemStatus::Unknown {
                continue;
            }
            let to = if item.status == ItemStatus::Blocked { ItemStatus::Done } else { ItemStatus::Blocked };
            fs::write(&copy, &bytes).unwrap();
            let source = MarkdownPrd::open(&copy).with_phase("P1");
            let name = ItemRef { phase: "P1".into(), item: item.id.clone() };
            let marked = runtime.block_on(source.mark(&name, item.status, to, &Cx::new()));
            assert_eq!(marked.unwrap(), ralph_core::Marked::Written, "{name}");
            let after = fs::read(&copy).unwrap();
            let changed = bytes.iter().zip(&after).filter(|(a, b)| a != b).count();
            assert_eq!((changed, after.len()), (1, bytes.len()));
            let again = Prd::parse(&after, "case", "P1".into()).unwrap();
            for (before, now) in prd.phase.items.iter().zip(&again.phase.items) {
                let mut expected = before.as_ref().clone();
                if expected.id == item.id {
                    expected.status = to;
                }
                assert_eq!(&expected, now.as_ref());
            }
        }
    }
}

/// Every accepted case takes a decision on any item, and new items: lines are added in one place, and nothing else that is
/// read changes.
#[test]
fn decisions_and_items_are_added_to_every_case() {
    const DECISION: &str = "D-007 (lead, 2026-05-18): use <b> or `c`";
    let scratch = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let proposal = Proposal { title: "One more".to_owned(), criteria: vec!["it holds".to_owned()], verify: None };
    let mut seen = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let Ok(prd) = Prd::parse(&bytes, "case", "P1".into()) else { continue };
        seen += 1;
        let copy = scratch.path().join(path.file_name().unwrap());
        let source = MarkdownPrd::open(&copy).with_phase("P1");
        let items = |bytes: &[u8]| Prd::parse(bytes, "case", "P1".into()).unwrap().phase.items;
        for index in [0, prd.phase.items.len() / 2, prd.phase.items.len() - 1] {
            fs::write(&copy, &bytes).unwrap();
            let name = ItemRef { phase: "P1".into(), item: prd.phase.items[index].id.clone() };
            runtime.block_on(source.note(&name, DECISION, &Cx::new())).unwrap();
            let after = fs::read(&copy).unwrap();
            assert_eq!(added(&bytes, &after).matches("Decision").count(), 1);
            for (before, now) in prd.phase.items.iter().zip(items(&after)) {
                let mut expected = before.as_ref().clone();
                if expected.id == name.item {
                    expected.decisions.push(DECISION.to_owned());
                }
                expected.line = now.line;
                assert_eq!(expected, *now, "{}", path.display());
            }
        }
        fs::write(&copy, &bytes).unwrap();
        runtime.block_on(source.extend(&"P1".into(), std::slice::from_ref(&proposal), DECISION, &Cx::new())).unwrap();
        let after = fs::read(&copy).unwrap();
        assert_eq!(added(&bytes, &after).matches("One more").count(), 1);
        let last = items(&after).pop().unwrap();
        assert_eq!((last.title.as_str(), &last.criteria[..]), ("One more", &["it holds".to_owned()][..]));
    }
    assert!(seen >= 10, "{seen}");
}

/// What stands in `after` and not in `before`, which is one piece.
fn added(before: &[u8], after: &[u8]) -> String {
    let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let rest = before.len() - same;
    let end = after.len() - rest;
    assert_eq!(after[end..], before[same..], "one piece was added");
    String::from_utf8_lossy(&after[same..end]).into_owned()
}

/// What other projects call a master plan has none of our keys: it is refused, with a place.
#[test]
fn master_plans_of_other_projects_are_refused() {
    for name in ["36-master-plan-milestones.md", "37-master-plan-all-done.md"] {
        let bytes = fs::read(folder().join(name)).unwrap();
        let problems = MasterPlan::parse(&bytes, name).unwrap_err();
        assert!(problems.iter().all(|problem| problem.starts_with(name)), "{problems:?}");
        assert!(problems.iter().any(|problem| problem.contains("no phase") || problem.contains("has no gate")));
    }
}

#[test]
fn the_unedited_template_is_noticed() {
    let bytes = fs::read(folder().join("22-fix_plan-default-template.md")).unwrap();
    let prd = Prd::parse(&bytes, "case", "P1".into()).unwrap();
    assert_eq!(prd.notes.iter().filter(|note| note.kind == NoteKind::Scaffold).count(), 12);
}
