//! Real plan files, as found in public repositories: what each of them leads to.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use ralph_core::{
    ItemRef, ItemStatus, PlanSource,
    ledger::{MarkdownPrd, NoteKind, Prd},
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
            let marked = runtime.block_on(source.mark(&name, item.status, to, &ralph_core::Cx::new()));
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

#[test]
fn the_unedited_template_is_noticed() {
    let bytes = fs::read(folder().join("22-fix_plan-default-template.md")).unwrap();
    let prd = Prd::parse(&bytes, "case", "P1".into()).unwrap();
    assert_eq!(prd.notes.iter().filter(|note| note.kind == NoteKind::Scaffold).count(), 12);
}
