//! Other people's words as text in a PRD: they stay words whatever they hold.

use super::{
    body,
    keys::{self, Known},
    notes::hidden,
};
use crate::text::harmless;

/// `text` on one line, with what moves the cursor or is not seen as code points.
pub(super) fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        for c in word.chars() {
            if hidden(c) {
                out.extend(c.escape_unicode());
            } else {
                harmless(c, &mut out);
            }
        }
    }
    out
}

/// One line as Markdown that means just that line where it would open a tag, a comment or an image. [`read`] turns it
/// back.
pub(super) fn write(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 8);
    let mut chars = line.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let escapes = c == '\\' && chars.peek().is_some_and(char::is_ascii_punctuation);
        if escapes || c == '<' || c == '[' && before == '!' {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

/// What [`write`] was given.
pub(super) fn read(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let next = if c == '\\' { chars.next_if(|next| matches!(next, '\\' | '<' | '[')) } else { None };
        out.push(next.unwrap_or(c));
    }
    out
}

/// One line as the title of an item.
pub(super) fn title(line: &str) -> String {
    let text = write(line);
    // An item that is struck through is none.
    if text.starts_with("~~") { format!("\\{text}") } else { text }
}

/// One line as the whole text of a nested list item: no list, box, heading, quote, fence, rule, table,
/// key or decision.
pub(super) fn criterion(line: &str) -> String {
    let mut text = write(line);
    let first = text.chars().next().unwrap_or_default();
    let rule = text.chars().all(|c| c == first || c == ' ');
    // With its bullet, it could rule off a table whose head is the line above.
    let table = text.chars().all(|c| matches!(c, '|' | ':' | '-' | ' '));
    let (bullet, _) = keys::bullet(&text);
    if bullet.starts_with(|c: char| c.is_ascii_digit()) {
        let sign = bullet.trim_end().len() - 1;
        text.insert(sign, '\\');
    } else if !bullet.is_empty()
        || matches!(first, '#' | '>' | '[' | '~' | '`')
        || table
        || rule && matches!(first, '-' | '*' | '_' | '=' | '+')
    {
        text.insert(0, '\\');
    }
    if body::decision(&text).is_some() {
        text = text.replacen("D-", "D\\-", 1);
    }
    // `**Verify:**` and `**Verify**:` each have a colon of their own.
    while let Some(found) = keys::read(&text)
        && found.key != Known::No
        && let Some(at) = text.find([':', '：'])
    {
        let wide = text[at..].starts_with('：');
        text.replace_range(at..at + if wide { '：'.len_utf8() } else { 1 }, "\\:");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_stay_words() {
        for (text, expected) in [
            ("it holds", "it holds"),
            ("a <!-- b", "a \\<!-- b"),
            ("a\\<b \\d", "a\\\\\\<b \\d"),
            ("see ![x](http://a) and [y](z)", "see !\\[x](http://a) and [y](z)"),
            ("[x] done", "\\[x] done"),
            ("- [ ] more", "\\- [ ] more"),
            ("12. more", "12\\. more"),
            ("# Head", "\\# Head"),
            ("> quote", "\\> quote"),
            ("```", "\\```"),
            ("***", "\\***"),
            ("| -", "\\| -"),
            ("_ _ _", "\\_ _ _"),
            ("**bold** stays", "**bold** stays"),
            ("Verify: true", "Verify\\: true"),
            ("**Verify:** true", "**Verify\\:** true"),
            ("**Verify**: true", "**Verify**\\: true"),
            ("Verfy： true", "Verfy\\: true"),
            ("checks: -secrets", "checks\\: -secrets"),
            ("Note: this", "Note: this"),
            ("Decision D-001 (lead, 2026-05-18): yes", "Decision D\\-001 (lead, 2026-05-18): yes"),
        ] {
            assert_eq!(criterion(text), expected, "{text}");
        }
        assert_eq!(title("~~no~~"), "\\~~no~~");
        assert_eq!(one_line(" a\n\tb\u{1b}[0m\r\nc\u{202e} "), "a b\\u{1b}[0m c\\u{202e}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(text in "([\\\\<!\\[\\]a*-]|\\PC){0,40}") {
            prop_assert_eq!(read(&write(&text)), text);
        }
    }
}
