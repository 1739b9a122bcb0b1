//! New files that nothing names.

use memchr::memmem;
use ralph_core::{BoxError, ItemBoundary, async_trait};

use super::{Check, Found, source::is_test_path, work::is_file};
use crate::policy::is_ledger;

/// How many files are searched for names, and how much of each, in bytes.
const FILES: usize = 20_000;
const LARGEST: usize = 256 * 1024;

/// Files that tools find by themselves.
const FOUND_BY_TOOLS: &[&str] = &[
    "main",
    "mod",
    "lib",
    "index",
    "build",
    "setup",
    "conftest",
    "__init__",
    "__main__",
    "manage",
    "makefile",
    "dockerfile",
    "justfile",
    "license",
    "readme",
    "changelog",
    "package",
    "cargo",
    "pyproject",
    "requirements",
    "go",
];

/// Folders in which tools find files by themselves.
const FOLDERS: &[&str] =
    &["bin", "examples", "benches", "migrations", "docs", "tests", "test", "__tests__", "fixtures", "snapshots"];

/// Files that the work adds and that nothing in it names: no other file has the name, or the name without its end, as a
/// word. Tests, documents, dot files and what tools find by themselves (`main`, `index`, `bin/`, `migrations/`, …) need
/// nobody to name them. Of each file the first 256 KiB are searched.
#[derive(Debug)]
pub(super) struct Orphans;

#[async_trait]
impl Check for Orphans {
    fn name(&self) -> &str {
        "orphans"
    }

    fn about(&self) -> &str {
        "new files that no other file names"
    }

    fn instead(&self) -> &str {
        "Use the new files where they are needed, or leave them out."
    }

    async fn look(&self, at: &ItemBoundary) -> Result<Vec<Found>, BoxError> {
        let added = at.changes.iter().filter(|change| change.before.is_none() && is_file(change.after));
        let mut open: Vec<(&[u8], String)> =
            added.filter_map(|change| Some((change.path.as_slice(), wanted(&change.path)?))).collect();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        for path in at.tree.list(b"").await?.into_iter().filter(|path| !is_ledger(path)).take(FILES) {
            let content = at.tree.read(&path, LARGEST).await?.unwrap_or_default();
            open.retain(|(own, stem)| *own == path.as_slice() || !names(&content, stem.as_bytes()));
            if open.is_empty() {
                break;
            }
        }
        let found = |(path, stem): (&[u8], String)| Found::new(path, format!("no other file names `{stem}`"));
        Ok(open.into_iter().map(found).collect())
    }
}

/// The word by which a file would be named; `None` where nobody needs to.
fn wanted(path: &[u8]) -> Option<String> {
    let path = String::from_utf8_lossy(path).into_owned();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let stem = name.split('.').next().unwrap_or_default();
    let lower = stem.to_ascii_lowercase();
    let document = [".md", ".txt", ".rst", ".adoc", ".lock", ".sum"].iter().any(|end| name.ends_with(end));
    let found = name.starts_with('.')
        || document
        || FOUND_BY_TOOLS.contains(&lower.as_str())
        || folders.split('/').any(|part| FOLDERS.contains(&part) || part.starts_with('.'))
        || is_test_path(&path)
        || is_ledger(path.as_bytes());
    (!found && !stem.is_empty()).then(|| stem.to_owned())
}

/// Whether `word` stands in `content` as a word.
fn names(content: &[u8], word: &[u8]) -> bool {
    let part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    memmem::find_iter(content, word).any(|at| {
        !part(at.checked_sub(1).and_then(|before| content.get(before))) && !part(content.get(at + word.len()))
    })
}
