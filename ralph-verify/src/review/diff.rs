//! The change, as text for a reviewer.

use std::time::{Duration, Instant};

use ralph_core::{Candidate, Change, EntryKind, Tree, VcsError};
use similar::TextDiff;

use crate::text::harmless;

/// The largest file that is compared, in bytes.
pub(super) const FILE_MAX: usize = 256 << 10;

/// How much of the change is shown, in bytes. The rest is read in the checkout.
const SHOWN_MAX: usize = 96 << 10;

/// How long the whole change is compared. Two long files that have little in common would take hours; what is not
/// compared by then is shown as taken out and put in.
const TIME_MAX: Duration = Duration::from_secs(2);

/// The change of each file, one after the other, as far as there is room.
pub(super) async fn of(work: &Candidate) -> Result<String, VcsError> {
    let mut text = String::new();
    let until = Instant::now() + TIME_MAX;
    for change in work.changes.iter() {
        let path = shown(&change.path);
        let part = of_file(&*work.base_tree, &*work.tree, change, &path, until).await?;
        if text.len() + part.len() > SHOWN_MAX {
            text.push_str(&format!(
                "({path} and what follows is too much to be shown here: read it in the checkout)\n"
            ));
            break;
        }
        text.push_str(&part);
    }
    Ok(text)
}

async fn of_file(
    base: &dyn Tree,
    tree: &dyn Tree,
    change: &Change,
    path: &str,
    until: Instant,
) -> Result<String, VcsError> {
    let before = read(base, change.before.is_some(), &change.path).await?;
    let after = read(tree, change.after.is_some(), &change.path).await?;
    let (Some(before), Some(after)) = (before, after) else {
        return Ok(format!("({path}: large, or no text: read it in the checkout)\n"));
    };
    let name = |there: bool, side: &str| if there { format!("{side}/{path}") } else { "/dev/null".to_owned() };
    let diff = TextDiff::configure().deadline(until).diff_lines(&before, &after);
    let mut unified = diff.unified_diff();
    unified.header(&name(change.before.is_some(), "a"), &name(change.after.is_some(), "b"));
    let said = unified.to_string();
    // A mode alone, or an empty file.
    let (was, is) = (kind(change.before), kind(change.after));
    Ok(if said.is_empty() { format!("({path}: {was} is now {is})\n") } else { said })
}

/// What stands at a path, in a word or two.
fn kind(kind: Option<EntryKind>) -> &'static str {
    match kind {
        None => "nothing",
        Some(EntryKind::File) => "a file",
        Some(EntryKind::Executable) => "an executable",
        Some(EntryKind::Link) => "a symbolic link",
        Some(EntryKind::Submodule) => "a submodule",
    }
}

/// The text at `path`, empty where there is nothing; `None` where it is none.
async fn read(tree: &dyn Tree, there: bool, path: &[u8]) -> Result<Option<String>, VcsError> {
    if !there {
        return Ok(Some(String::new()));
    }
    let content = tree.read(path, FILE_MAX + 1).await?.unwrap_or_default();
    if content.len() > FILE_MAX || content.contains(&0) {
        return Ok(None);
    }
    Ok(Some(harmless(&String::from_utf8_lossy(&content))))
}

/// A path on one line.
pub(super) fn shown(path: &[u8]) -> String {
    harmless(&String::from_utf8_lossy(path)).replace('\n', "\u{fffd}")
}
