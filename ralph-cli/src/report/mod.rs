//! What people and machines are shown.

mod attempts;
mod baseline;
mod events;
mod lines;
mod overview;
mod patch;
mod progress;

pub(crate) use attempts::{Glyph, attempts};
pub(crate) use baseline::BaselineTeller;
pub(crate) use events::Events;
pub(crate) use lines::{Names, awaited, line, waits};
pub(crate) use overview::{Known, Overview};
pub(crate) use patch::{paint_patch, paint_stat};
pub(crate) use progress::Progress;

/// The version of everything that is printed as JSON.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// `count` things: `1 item`, `3 items`.
pub(crate) fn count(count: impl Into<u64>, thing: &str) -> String {
    match count.into() {
        1 => format!("1 {thing}"),
        many => format!("{many} {thing}s"),
    }
}

/// Breaks `text` between words into lines of at most `width` characters, a longer word apart. Its own indent stays; the
/// lines after the first begin with `indent`.
pub(crate) fn wrap(text: &str, width: usize, indent: &str) -> Vec<String> {
    let body = text.trim_start();
    let mut lines = Vec::new();
    let mut line = text[..text.len() - body.len()].to_owned();
    let mut empty = true;
    for word in body.split_whitespace() {
        let len = line.chars().count() + usize::from(!empty) + word.chars().count();
        if !empty && len > width {
            lines.push(std::mem::replace(&mut line, indent.to_owned()));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kept_whole() {
        for (text, width, indent, lines) in [
            ("one two  three four", 9, "", ["one two", "three", "four"].as_slice()),
            ("extraordinary x", 4, "", &["extraordinary", "x"]),
            ("  deep words here", 12, "    ", &["  deep words", "    here"]),
            ("", 4, "  ", &[""]),
        ] {
            assert_eq!(wrap(text, width, indent), lines, "{text:?}");
        }
    }
}
