//! The change, as text for a reviewer.

use ralph_core::{Candidate, Change, Tree, VcsError};
use similar::TextDiff;

use crate::text::harmless;

/// The largest file that is compared, in bytes.
pub(super) const FILE_MAX: usize = 256 << 10;

/// How much of the change is shown, in bytes. The rest is read in the checkout.
const SHOWN_MAX: usize = 96 << 10;

/// The change of each file, one after the other, as far as there is room.
pub(super) async fn of(work: &Candidate) -> Result<String, VcsError> {
    let mut text = String::new();
    for change in work.changes.iter() {
        let path = shown(&change.path);
        let part = of_file(&*work.base_tree, &*work.tree, change, &path).await?;
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

async fn of_file(base: &dyn Tree, tree: &dyn Tree, change: &Change, path: &str) -> Result<String, VcsError> {
    let before = read(base, change.before.is_some(), &change.path).await?;
    let after = read(tree, change.after.is_some(), &change.path).await?;
    let (Some(before), Some(after)) = (before, after) else {
        return Ok(format!("({path}: large, or no text: read it in the checkout)\n"));
    };
    let name = |there: bool, side: &str| if there { format!("{side}/{path}") } else { "/dev/null".to_owned() };
    let diff = TextDiff::from_lines(&before, &after);
    let mut unified = diff.unified_diff();
    unified.header(&name(change.before.is_some(), "a"), &name(change.after.is_some(), "b"));
    let said = unified.to_string();
    // A mode alone, or an empty file.
    Ok(if said.is_empty() { format!("({path}: {:?} is now {:?})\n", change.before, change.after) } else { said })
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
