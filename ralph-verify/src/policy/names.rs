//! Paths as they are compared and as they are shown.

use ralph_core::printable;
use unicode_normalization::UnicodeNormalization as _;

/// How long a path or a name is shown, in characters.
const SHOWN: usize = 120;

/// The form in which paths are compared: two paths that some file system takes for the same one are the same here.
///
/// Case, normalisation and what nobody sees (HFS+ ignores it) do not count, nor do dots and spaces at the end of a part
/// and what follows a colon (Windows drops both). Letters of other alphabets that only look alike stay what they are: no
/// file system mixes them up.
pub(crate) fn fold(path: &[u8]) -> String {
    let path = fold_text(&String::from_utf8_lossy(path)).replace('\\', "/");
    let parts = path.split('/').map(|part| {
        let end = part.char_indices().skip(1).find(|(_, c)| *c == ':').map_or(part.len(), |(at, _)| at);
        let trimmed = part[..end].trim_end_matches(['.', ' ']);
        if trimmed.is_empty() { part } else { trimmed }
    });
    parts.collect::<Vec<_>>().join("/")
}

/// The same for text that is no path, such as a glob.
pub(super) fn fold_text(text: &str) -> String {
    if text.is_ascii() && !text.contains(|c: char| c.is_control()) {
        return text.to_ascii_lowercase();
    }
    let seen = text.nfkd().filter(|c| !is_ignorable(*c));
    // Upper case first: it is where `ß` and `ss` meet.
    seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfkc().collect()
}

/// Whether a file system may leave `c` out of comparisons, or a reader cannot see it.
fn is_ignorable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fff8}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Every folder of a path, outermost first, without the path itself.
pub(super) fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// `path` read from the folder `from` (empty: the root), without `.` and `..`; `None` where it leaves the root.
pub(super) fn join(from: &str, path: &str) -> Option<String> {
    if path.starts_with(['/', '~']) || path.get(1..3).is_some_and(|drive| drive == ":\\" || drive == ":/") {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Whether `path` is `folder` or lies in it.
pub(super) fn inside(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The folder of a path; empty for the root.
pub(super) fn parent(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..at])
}

/// An agent's path or name as people may see it: on one line, bounded, harmless, and unable to end a code span.
pub(crate) fn show(text: &[u8]) -> String {
    show_text(&String::from_utf8_lossy(text))
}

/// The same for text.
pub(crate) fn show_text(text: &str) -> String {
    let whole = printable(text).replace('`', "\\u{60}");
    let length = whole.chars().count();
    if length <= SHOWN {
        return whole;
    }
    // The end of a path says more than its middle.
    let half = SHOWN / 2;
    let start: String = whole.chars().take(half).collect();
    let end: String = whole.chars().skip(length - half).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_file_system_takes_for_the_same() {
        for (variant, path) in [
            (".GitHub/Workflows/CI.yml", ".github/workflows/ci.yml"),
            ("CLAUDE.md", "claude.md"),
            ("CLA\u{200c}UDE.md", "claude.md"),
            ("CLAUDE.md. .", "claude.md"),
            ("CLAUDE.md::$DATA", "claude.md"),
            (".claude /settings.json", ".claude/settings.json"),
            ("\u{ff23}LAUDE.md", "claude.md"),
            ("ma\u{212a}efile", "makefile"),
            ("te\u{17f}t.sh", "test.sh"),
            ("stra\u{df}e", "strasse"),
            ("cafe\u{301}", "caf\u{e9}"),
            ("CAFE\u{301}", "caf\u{e9}"),
            (".github\\workflows\\ci.yml", ".github/workflows/ci.yml"),
        ] {
            assert_eq!(fold(variant.as_bytes()), fold(path.as_bytes()), "{variant:?}");
        }
        for (one, other) in [("a", "b"), ("claude.md", "claude.mdx"), ("a/b", "ab"), ("\u{410}GENTS.md", "agents.md")] {
            assert_ne!(fold(one.as_bytes()), fold(other.as_bytes()));
        }
    }

    #[test]
    fn paths_that_stay_inside() {
        for (from, path, expected) in [
            ("", "./a/b", Some("a/b")),
            ("web", "../scripts/x.sh", Some("scripts/x.sh")),
            ("web", "../../x", None),
            ("", "/etc/passwd", None),
            ("a", "~/x", None),
            ("a", "C:\\x", None),
            ("a/b", "", Some("a/b")),
        ] {
            assert_eq!(join(from, path).as_deref(), expected, "{from} {path}");
        }
    }

    proptest! {
        #[test]
        fn folding_twice_is_folding_once(path in "[a-zA-Z./ :\\\\\u{e9}\u{301}\u{df}\u{130}\u{200b}\u{1f600}\u{3a3}]{0,20}") {
            let once = fold(path.as_bytes());
            prop_assert_eq!(fold(once.as_bytes()), once);
        }

        #[test]
        fn what_is_shown_is_one_short_harmless_line(text in "(\\PC|[\\n\\r`\\u{202e}\\u{1b}]){0,300}") {
            let shown = show_text(&text);
            prop_assert!(!shown.contains(|c: char| c.is_control() || c == '`'));
            prop_assert!(shown.chars().count() <= SHOWN + 1);
        }
    }
}
