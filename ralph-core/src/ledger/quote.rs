//! Other people's text in our files: it stays data whatever it holds.
//!
//! What agents and verifiers print may look like headings, entries or answers, or hold characters that move the cursor
//! or hide text. A line of it is put after words of ours, or is a code span; a block of it is an indented code block. In
//! both kinds of code nothing has a meaning.

use std::fmt::Write as _;

use crate::text::harmless;

/// `text` on one line, at most `max` characters, harmless behind other words in a line of Markdown.
pub(super) fn line(text: &str, max: usize) -> String {
    let mut out = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        if length > 0 {
            out.push(' ');
            length += 1;
        }
        for c in word.chars() {
            if length >= max {
                out.push('…');
                return out;
            }
            length += 1;
            match c {
                // Neither a tag nor a comment, which could swallow what follows.
                '<' => out.push_str("\\<"),
                // No image, which a viewer would fetch.
                '[' if out.ends_with('!') => out.push_str("\\["),
                c => harmless(c, &mut out),
            }
        }
    }
    out
}

/// `text` on one line as a code span, at most `max` characters: not even a link in it is one.
pub(super) fn code(text: &str, max: usize) -> String {
    let mut out = String::new();
    let words = text.split_whitespace().enumerate();
    let chars = words.flat_map(|(index, word)| (index > 0).then_some(' ').into_iter().chain(word.chars()));
    for (length, c) in chars.enumerate() {
        if length >= max {
            out.push('…');
            break;
        }
        harmless(c, &mut out);
    }
    if out.is_empty() {
        return "(nothing)".to_owned();
    }
    // Only a run of backticks as long as the one before it ends a span.
    let longest = out.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let space = if out.starts_with('`') || out.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{out}{space}{fence}")
}

/// A name, such as an item's id: as it is where that is plain, else as a code span.
pub(super) fn name(text: &str, max: usize) -> String {
    let plain = is_word(text) && !text.contains('_') && text.chars().count() <= max;
    if plain { text.to_owned() } else { code(text, max) }
}

/// Whether `text` is one word to a shell, and no option: people copy commands.
pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

/// `text` as an indented code block of at most `lines` lines, the last ones, each at most `max` characters long. Ends
/// in a newline; empty for nothing.
pub(super) fn block(text: &str, lines: usize, max: usize) -> String {
    let all: Vec<&str> = text.trim_end().lines().collect();
    let mut out = String::new();
    if all.len() > lines {
        let _ = writeln!(out, "    … ({} lines before)", all.len() - lines);
    }
    for content in all.iter().skip(all.len().saturating_sub(lines)) {
        out.push_str("    ");
        for (count, c) in content.chars().enumerate() {
            if count >= max {
                out.push('…');
                break;
            }
            harmless(c, &mut out);
        }
        // A blank line would be kept by Markdown too; the spaces would only be noise.
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

    use super::*;

    #[test]
    fn lines() {
        for (text, expected) in [
            ("plain", "plain"),
            ("two\n# lines\r\n", "two # lines"),
            ("a\u{1b}[31mred\u{202e}", "a\\u{1b}[31mred\\u{202e}"),
            ("<!-- gone", "\\<!-- gone"),
            ("![x](http://a)", "!\\[x](http://a)"),
            ("", ""),
        ] {
            assert_eq!(line(text, 100), expected);
        }
        assert_eq!(line("abcdef", 3), "abc…");
    }

    #[test]
    fn spans() {
        for (text, expected) in [
            ("plain", "`plain`"),
            ("two\n# lines\r\n", "`two # lines`"),
            ("a `b` c", "``a `b` c``"),
            ("``", "``` `` ```"),
            ("`a", "`` `a ``"),
            ("[x](http://a) <b>", "`[x](http://a) <b>`"),
            ("a\u{1b}[31m\u{202e}", "`a\\u{1b}[31m\\u{202e}`"),
            (" \n", "(nothing)"),
            ("", "(nothing)"),
        ] {
            assert_eq!(code(text, 100), expected);
        }
        assert_eq!(code("abcdef", 3), "`abc…`");
        assert_eq!(code("a b", 2), "`a …`");
        assert_eq!(
            (name("R-03", 9), name("R_3 x", 9), name("-rf", 9)),
            ("R-03".into(), "`R_3 x`".into(), "`-rf`".into())
        );
        assert_eq!(name("R0123456789", 3), "`R01…`");
    }

    #[test]
    fn blocks() {
        assert_eq!(block("# a\n\n- b\n", 9, 9), "    # a\n\n    - b\n");
        assert_eq!(block("a\nb\nc", 2, 9), "    … (1 lines before)\n    b\n    c\n");
        assert_eq!(block("abcdef", 2, 3), "    abc…\n");
        assert_eq!(block("\n \n", 2, 3), "");
    }

    proptest! {
        #[test]
        fn a_line_is_one_line(text in "(\\PC|[\\n\\r\\u{85}\\u{2028}\\u{b}\\u{c}<!#-]){0,60}") {
            let line = line(&text, 50);
            prop_assert_eq!(format!("x{line}").lines().count(), 1);
            prop_assert!(!line.chars().any(char::is_control));
        }

        /// Whatever is in a span, it is one span and nothing else.
        #[test]
        fn a_span_is_code(text in "([-#>`~*_|\\[\\]()&\\\\ a<!\\t]|`{1,4}|\\n|\\r|\\PC){1,40}", max in 1_usize..50) {
            let page = format!("- x: {}\n", code(&text, max));
            let (mut spans, mut outside) = (0, String::new());
            for event in Parser::new_ext(&page, Options::all()) {
                match event {
                    Event::Code(_) => spans += 1,
                    Event::Text(words) => outside.push_str(&words),
                    Event::Start(Tag::List(_) | Tag::Item) | Event::End(TagEnd::List(_) | TagEnd::Item) => {}
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            let (expected, nothing) = if text.trim().is_empty() { (0, "(nothing)") } else { (1, "") };
            prop_assert_eq!((spans, outside), (expected, format!("x: {nothing}")));
        }

        /// Whatever is in a block, the page around it keeps its shape.
        #[test]
        fn a_block_is_code(text in "([-#>`~*|\\[\\]() a<!\\t]|\\n|\\r|\\PC){0,80}") {
            let page = format!("before\n\n{}\nafter\n", block(&text, 20, 60));
            let (mut code, mut outside) = (0, String::new());
            for event in Parser::new(&page) {
                match event {
                    Event::Start(Tag::CodeBlock(_)) => code += 1,
                    Event::End(TagEnd::CodeBlock) => code -= 1,
                    Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) => {}
                    Event::Text(words) if code == 0 => outside.push_str(&words),
                    other if code == 0 => prop_assert!(false, "{:?}", other),
                    _ => {}
                }
            }
            prop_assert_eq!(outside, "beforeafter");
        }
    }
}
