//! Other people's text, made harmless.

use std::fmt::Write as _;

/// `text` on one line, safe for a terminal: control characters, direction marks and what nobody sees become their code
/// points.
///
/// ```
/// assert_eq!(ralph_core::printable("a\u{1b}[31m b\nc"), "a\\u{1b}[31m b\\u{a}c");
/// ```
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        harmless(c, &mut out);
    }
    out
}

/// Whether `c` turns the direction of text around, or is not seen at all.
pub(crate) fn is_deceptive(c: char) -> bool {
    matches!(
        c,
        '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Adds `c`, or its code point where it does something or cannot be seen.
pub(crate) fn harmless(c: char, out: &mut String) {
    match c {
        '\t' => out.push_str("    "),
        c if c.is_control() || is_deceptive(c) => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
        c => out.push(c),
    }
}
