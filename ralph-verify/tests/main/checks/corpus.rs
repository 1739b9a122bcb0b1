//! Every case of the corpus, for the check whose folder it is in.

use std::{collections::BTreeMap, path::PathBuf};

use ralph_core::{Boundary, Item, Phase};
use ralph_verify::checks::{Check, Found, shipped};

use crate::policy::support::{Files, item_boundary};

/// A value that the corpus leaks in several ways.
const VALUE: (&str, &str) = ("DEPLOY_TOKEN", "correct horse/battery+staple");

#[derive(Debug)]
struct Case {
    name: String,
    before: Files,
    after: Files,
    finds: Vec<String>,
}

fn cases(folder: &str) -> Vec<Case> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/main/checks").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap().replace("@@", "");
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        cases.extend(text.split("=== ").skip(1).map(|text| case(&stem, text)));
    }
    cases
}

fn case(file: &str, text: &str) -> Case {
    let (name, rest) = text.split_once('\n').unwrap();
    let mut case =
        Case { name: format!("{file}/{name}"), before: Files::new(), after: Files::new(), finds: Vec::new() };
    for part in rest.split("--- ").skip(1) {
        let (head, content) = part.split_once('\n').unwrap();
        let put = |files: &mut Files, path: &str| *files = std::mem::take(files).file(path, content);
        match head.split_once(' ') {
            Some(("before", path)) => put(&mut case.before, path),
            Some(("after", path)) => put(&mut case.after, path),
            Some(("both", path)) => {
                put(&mut case.before, path);
                put(&mut case.after, path);
            }
            None if head == "finds" => case.finds = content.lines().map(str::to_owned).collect(),
            _ => unreachable!("{}: `--- {head}` is nothing", case.name),
        }
    }
    case.finds.retain(|line| !line.trim().is_empty());
    case
}

fn look(check: &dyn Check, case: &Case) -> Vec<Found> {
    let at = item_boundary(&case.before, &case.after, Phase::new("P1", [Item::new("R01", "Something")]));
    let Boundary::Item(at) = at else { unreachable!("an item") };
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(check.look(&at)).unwrap()
}

/// Whether a finding is what a line of `finds` says.
fn is_it(found: &Found, line: &str) -> bool {
    let (place, words) = line.split_once(' ').unwrap_or((line, ""));
    let path = String::from_utf8_lossy(&found.path).into_owned();
    let own = found.line.map_or(path.clone(), |at| format!("{path}:{at}"));
    own == place && found.text.contains(words)
}

fn run(name: &str) -> (usize, usize) {
    let all = shipped([(VALUE.0.to_owned(), VALUE.1.to_owned())]);
    let check = all.iter().find(|check| check.name() == name).unwrap();
    let (mut wrong, mut counts) = (Vec::new(), BTreeMap::<bool, usize>::new());
    for case in cases(name) {
        let found = look(&**check, &case);
        *counts.entry(case.finds.is_empty()).or_default() += 1;
        let mut left: Vec<&Found> = found.iter().collect();
        let missed: Vec<&String> = case
            .finds
            .iter()
            .filter(|line| match left.iter().position(|one| is_it(one, line)) {
                Some(at) => {
                    left.remove(at);
                    false
                }
                None => true,
            })
            .collect();
        if !missed.is_empty() || !left.is_empty() {
            wrong.push(format!("{}: not found {missed:?}, found besides {left:?}", case.name));
        }
        assert!(found.iter().all(|one| !format!("{one:?}").contains(VALUE.1)), "{}: a value is shown", case.name);
    }
    assert!(wrong.is_empty(), "{name}: {} wrong:\n{}", wrong.len(), wrong.join("\n"));
    (counts[&false], counts[&true])
}

/// The least that each part of the corpus must have, so that a folder that is not read is seen.
#[test]
fn trivial_tests() {
    let (hostile, honest) = run("trivial-tests");
    assert!(hostile >= 30 && honest >= 15, "{hostile} {honest}");
}

#[test]
fn skipped_tests() {
    let (hostile, honest) = run("skipped-tests");
    assert!(hostile >= 30 && honest >= 10, "{hostile} {honest}");
}

#[test]
fn deleted_tests() {
    let (hostile, honest) = run("deleted-tests");
    assert!(hostile >= 8 && honest >= 6, "{hostile} {honest}");
}

#[test]
fn weakened_tests() {
    let (hostile, honest) = run("weakened-tests");
    assert!(hostile >= 15 && honest >= 10, "{hostile} {honest}");
}

#[test]
fn secrets() {
    let (hostile, honest) = run("secrets");
    assert!(hostile >= 15 && honest >= 8, "{hostile} {honest}");
}

#[test]
fn orphans() {
    let (hostile, honest) = run("orphans");
    assert!(hostile >= 2 && honest >= 5, "{hostile} {honest}");
}
