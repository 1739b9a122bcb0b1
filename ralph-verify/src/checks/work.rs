//! What an item's work changes, read as source.

use ralph_core::{BoxError, Change, EntryKind, ItemBoundary, Tree};

use super::source::{self, LARGEST, Lang, Source, Test};
use crate::policy::is_ledger;

/// How many bytes of source are looked at on each side.
const MOST: usize = 32 * 1024 * 1024;

/// How many steps parsing may take on each side. Ordinary source takes one for some 100 bytes.
const STEPS: usize = 500_000;

/// What is left to look at.
#[derive(Debug)]
struct Room {
    bytes: usize,
    steps: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { bytes: MOST, steps: STEPS }
    }
}

/// Folders of code that is somebody else's.
const FOREIGN: &[&str] = &["node_modules", "vendor", "third_party", "site-packages", ".venv", "venv", "target", "dist"];

/// A file of one of the two trees.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) source: Source,
}

/// The changed files of both trees, those that are source.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) before: Vec<File>,
    pub(super) after: Vec<File>,
    /// Files of the work that are too large to look at.
    pub(super) unread: Vec<String>,
}

impl Work {
    pub(super) async fn read(at: &ItemBoundary) -> Result<Self, BoxError> {
        let mut work = Self::default();
        let (mut before, mut after) = (Room::default(), Room::default());
        for change in at.changes.iter() {
            let Some((path, lang)) = of_interest(change) else { continue };
            if let Some(text) = text(&*at.base_tree, change, change.before, &mut before).await?
                && let Some(source) = source::read(lang, &path, &text, &mut before.steps)
            {
                work.before.push(File { path: path.clone(), source });
            }
            if !is_file(change.after) {
                continue;
            }
            let read = match text(&*at.tree, change, change.after, &mut after).await? {
                Some(text) => source::read(lang, &path, &text, &mut after.steps),
                None => None,
            };
            match read {
                Some(source) => work.after.push(File { path, source }),
                None => work.unread.push(path),
            }
        }
        Ok(work)
    }

    /// The tests before, and where each is now: its place in the work.
    pub(super) fn pairs(&self) -> Vec<Pair<'_>> {
        let (before, after) = (tests(&self.before), tests(&self.after));
        let mut pairs: Vec<Option<usize>> = vec![None; before.len()];
        let mut taken = vec![false; after.len()];
        type Alike = fn((&str, &Test), (&str, &Test)) -> bool;
        // From what is surely the same test to what is probably.
        let alike: [Alike; 5] = [
            |old, new| old.0 == new.0 && old.1.name == new.1.name && old.1.body == new.1.body,
            |old, new| old.0 == new.0 && old.1.name == new.1.name,
            |old, new| old.1.body == new.1.body && !old.1.body.is_empty(),
            |old, new| old.1.own() == new.1.own(),
            |old, new| likeness(&old.1.body, &new.1.body),
        ];
        for alike in alike {
            for (index, old) in before.iter().enumerate() {
                if pairs[index].is_some() {
                    continue;
                }
                if let Some(at) = (0..after.len()).find(|at| !taken[*at] && alike(*old, after[*at])) {
                    (pairs[index], taken[at]) = (Some(at), true);
                }
            }
        }
        let now = |at: Option<usize>| at.map(|at| after[at]);
        before.iter().zip(pairs).map(|((path, test), at)| Pair { path, test, now: now(at) }).collect()
    }

    /// The test files that could not be looked at, by their path or by what they were.
    pub(super) fn unread_tests(&self) -> impl Iterator<Item = &str> {
        let had = |path: &str| self.base(path).is_some_and(|base| !base.source.tests.is_empty());
        self.unread.iter().map(String::as_str).filter(move |path| source::is_test_path(path) || had(path))
    }

    /// The file of the base at `path`.
    pub(super) fn base(&self, path: &str) -> Option<&File> {
        self.before.iter().find(|file| file.path == path)
    }

    /// The tests of the base that `test` may have been.
    pub(super) fn earlier<'a>(&'a self, test: &'a Test) -> impl Iterator<Item = &'a Test> {
        let all = self.before.iter().flat_map(|file| &file.source.tests);
        all.filter(move |old| old.name == test.name || !old.body.is_empty() && old.body == test.body)
    }
}

fn tests(files: &[File]) -> Vec<(&str, &Test)> {
    files.iter().flat_map(|file| file.source.tests.iter().map(|test| (file.path.as_str(), test))).collect()
}

/// A test before, and what became of it.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    pub(super) path: &'a str,
    pub(super) test: &'a Test,
    pub(super) now: Option<(&'a str, &'a Test)>,
}

/// Whether one body may have come from the other: half of the longer one's lines are in both.
fn likeness(one: &[String], other: &[String]) -> bool {
    let mut rest: Vec<&String> = other.iter().collect();
    let mut both = 0;
    for line in one {
        if let Some(at) = rest.iter().position(|left| *left == line) {
            rest.swap_remove(at);
            both += 1;
        }
    }
    both > 0 && both * 2 >= one.len().max(other.len())
}

pub(super) fn is_file(kind: Option<EntryKind>) -> bool {
    matches!(kind, Some(EntryKind::File | EntryKind::Executable))
}

fn of_interest(change: &Change) -> Option<(String, Lang)> {
    let path = String::from_utf8_lossy(&change.path).into_owned();
    let foreign = path.split('/').any(|part| FOREIGN.contains(&part));
    let lang = Lang::of(&path)?;
    (!foreign && !is_ledger(&change.path)).then_some((path, lang))
}

async fn text(
    tree: &dyn Tree,
    change: &Change,
    kind: Option<EntryKind>,
    left: &mut Room,
) -> Result<Option<String>, BoxError> {
    if !is_file(kind) {
        return Ok(None);
    }
    let Some(content) = tree.read(&change.path, LARGEST + 1).await? else { return Ok(None) };
    if content.len() > LARGEST || content.len() > left.bytes {
        return Ok(None);
    }
    left.bytes -= content.len();
    Ok(Some(String::from_utf8_lossy(&content).into_owned()))
}
