//! What stands in the brackets at the start of a list item.

use std::ops::Range;

use crate::plan::ItemStatus;

/// A checkbox as it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ledger) struct Mark {
    /// What it says.
    pub(in crate::ledger) status: ItemStatus,
    /// The bytes between the brackets.
    pub(in crate::ledger) inner: Range<usize>,
    /// Where the text after it begins.
    pub(in crate::ledger) text: usize,
    /// Set where the status is unknown: why.
    pub(in crate::ledger) unknown: Option<&'static str>,
}

/// Words in brackets that are meant as a state and are none of ours.
const WORDS: [&str; 12] =
    ["todo", "done", "wip", "doing", "pending", "blocked", "skip", "skipped", "n/a", "ok", "yes", "no"];

/// Longer than any state that anybody writes into a box.
const INNER_MAX: usize = 40;

/// Reads the checkbox that begins at byte `at`; `None` where what stands there is something else: a link, a label such
/// as `[R01]`, a citation such as `[1]`.
///
/// What looks like a box and is none of ours is a box with an unknown status: guessing could lose work or claim it.
pub(in crate::ledger) fn read(text: &str, at: usize) -> Option<Mark> {
    let rest = text.get(at..)?.strip_prefix('[')?;
    let line = rest.split(['\n', '\r']).next().unwrap_or(rest);
    let close = line.char_indices().take(INNER_MAX).find(|(_, c)| *c == ']')?.0;
    let inner = &line[..close];
    let after = line[close + 1..].chars().next();
    if matches!(after, Some('(' | '[' | ':')) {
        return None;
    }
    let apart = after.is_none_or(|c| c == ' ' || c == '\t');
    let known = match inner {
        " " | "\t" => Some(ItemStatus::Open),
        "x" | "X" => Some(ItemStatus::Done),
        "?" => Some(ItemStatus::Decision),
        "!" => Some(ItemStatus::Blocked),
        _ => None,
    };
    let (status, unknown) = match known {
        Some(status) if apart => (status, None),
        Some(_) => (ItemStatus::Unknown, Some("no space after the box")),
        None if looks_like_a_state(inner, apart) => (ItemStatus::Unknown, Some("a mark that ralph does not know")),
        None => return None,
    };
    let start = at + 1;
    let tail = &line[close + 1..];
    let text = start + close + 1 + (tail.len() - tail.trim_start_matches([' ', '\t']).len());
    Some(Mark { status, inner: start..start + close, text, unknown })
}

fn looks_like_a_state(inner: &str, apart: bool) -> bool {
    let bare = inner.trim();
    if matches!(bare, "" | "x" | "X" | "?" | "!") {
        return true;
    }
    if !apart {
        return false;
    }
    let mut chars = bare.chars();
    let single = chars.next().is_some_and(|c| !c.is_ascii_digit()) && chars.next().is_none();
    let symbols = bare.chars().all(|c| !c.is_alphanumeric()) && bare.chars().count() <= 8;
    single || symbols || WORDS.contains(&bare.to_lowercase().as_str())
}

/// The byte that stands for `status` in a box; `None` for what Ralph never writes.
pub(super) fn byte_of(status: ItemStatus) -> Option<u8> {
    match status {
        ItemStatus::Open => Some(b' '),
        ItemStatus::Done => Some(b'x'),
        ItemStatus::Decision => Some(b'?'),
        ItemStatus::Blocked => Some(b'!'),
        ItemStatus::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states() {
        for (text, status) in [
            ("[ ] a", Some(ItemStatus::Open)),
            ("[\t] a", Some(ItemStatus::Open)),
            ("[x] a", Some(ItemStatus::Done)),
            ("[X] a", Some(ItemStatus::Done)),
            ("[?] a", Some(ItemStatus::Decision)),
            ("[!] a", Some(ItemStatus::Blocked)),
            ("[ ]", Some(ItemStatus::Open)),
            ("[ ]\tb", Some(ItemStatus::Open)),
            ("[~] a", Some(ItemStatus::Unknown)),
            ("[-] a", Some(ItemStatus::Unknown)),
            ("[] a", Some(ItemStatus::Unknown)),
            ("[]a", Some(ItemStatus::Unknown)),
            ("[ x ] a", Some(ItemStatus::Unknown)),
            ("[✅] a", Some(ItemStatus::Unknown)),
            ("[✔\u{fe0f}] a", Some(ItemStatus::Unknown)),
            ("[\u{a0}] a", Some(ItemStatus::Unknown)),
            ("[o] a", Some(ItemStatus::Unknown)),
            ("[WIP] a", Some(ItemStatus::Unknown)),
            ("[ ]a", Some(ItemStatus::Unknown)),
            ("[x](y) a", None),
            ("[x][y] a", None),
            ("[x]: y", None),
            ("[1] a", None),
            ("[R01] a", None),
            ("[UI] a", None),
            ("[link text] a", None),
            ("[ ", None),
            ("[\n] a", None),
            ("x", None),
        ] {
            assert_eq!(read(text, 0).map(|mark| mark.status), status, "{text}");
        }
        assert_eq!(read("- [ ]   a", 2).map(|mark| (mark.inner, mark.text)), Some((3..4, 8)));
    }
}
