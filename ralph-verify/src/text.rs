//! Makes what a command printed fit for people and prompts.

use std::path::Path;

/// How many bytes of the end of the output are evidence.
pub(crate) const TAIL_MAX: usize = 4 << 10;

/// How many characters of a command are shown in a line.
const NAME_MAX: usize = 80;

/// The same text without what a terminal would obey: escape sequences are left out, other control characters and
/// those that turn the direction of text replaced. Newlines and tabs stay; a carriage return is a newline.
pub(crate) fn harmless(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => clean.push(c),
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    clean.push('\n');
                }
            }
            '\u{1b}' => match chars.next_if(|&next| !matches!(next, '\n' | '\r')) {
                Some('[') => skip_control(&mut chars),
                Some(']' | 'P' | '^' | '_' | 'X') => skip_string(&mut chars),
                Some(_) | None => {}
            },
            '\u{9b}' => skip_control(&mut chars),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => clean.push('\u{fffd}'),
            c if c.is_control() => clean.push('\u{fffd}'),
            c => clean.push(c),
        }
    }
    clean
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Skips parameters and the final letter. Ends at anything else, so that nothing can be hidden.
fn skip_control(chars: &mut Chars<'_>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// Skips a string that ends in a bell or in `ESC \`, and at the latest with the line.
fn skip_string(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next_if(|&c| !matches!(c, '\n' | '\r')) {
        if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
            return;
        }
    }
}

/// The end of a file as evidence: harmless, at most `max` bytes, from the start of a line where possible. Empty
/// where the file cannot be read: evidence never decides.
pub(crate) fn tail(path: &Path, max: usize) -> String {
    // More than is kept, since much of it may be colours.
    let raw = ralph_process::tail(path, 4 * TAIL_MAX as u64).unwrap_or_default();
    let text = harmless(&raw);
    let mut from = text.len().saturating_sub(max);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let end = &text[from..];
    match end.find('\n') {
        Some(at) if from > 0 && at + 1 < end.len() => end[at + 1..].to_owned(),
        _ => end.to_owned(),
    }
}

/// A command in one short line.
pub(crate) fn name(command: &str) -> String {
    line(command, NAME_MAX)
}

/// A text in one line of at most so many characters.
pub(crate) fn line(text: &str, max: usize) -> String {
    let line = harmless(text.trim()).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(max) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_go_and_text_stays() {
        assert_eq!(harmless("a\u{1b}[1;31mred\u{1b}[0m b"), "ared b");
        assert_eq!(harmless("\u{1b}]0;title\u{7}x\u{1b}]8;;u\u{1b}\\link"), "xlink");
        assert_eq!(harmless("10%\r20%\r\nend\ttab"), "10%\n20%\nend\ttab");
        assert_eq!(harmless("a\0b\u{8}c\u{7f}\u{202e}d"), "a\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}d");
        assert_eq!(harmless("ä\u{1b}(Bö\u{1b}"), "äBö");
    }

    #[test]
    fn an_open_escape_hides_no_further_line() {
        assert_eq!(harmless("\u{1b}]0;open\nnext"), "\nnext");
        assert_eq!(harmless("\u{1b}[12\nnext\u{1b}\nlast"), "\nnext\nlast");
        assert_eq!(harmless("\u{1b}]0;open\rnext\u{1b}\rlast"), "\nnext\nlast");
    }

    #[test]
    fn the_tail_is_bounded_after_all_replacements() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "\0".repeat(100_000)).unwrap();
        assert!((1..=TAIL_MAX).contains(&tail(&path, TAIL_MAX).len()));
        std::fs::write(&path, "a line\n".repeat(10_000)).unwrap();
        let text = tail(&path, TAIL_MAX);
        assert!(text.len() <= TAIL_MAX && text.starts_with("a line\n"), "{text}");
        assert_eq!(tail(&folder.path().join("none"), TAIL_MAX), "");
    }

    #[test]
    fn a_long_command_is_cut() {
        assert_eq!(name(" a\n b\t c "), "a b c");
        assert_eq!(name(&"é".repeat(100)), "é".repeat(80) + "…");
    }
}
