//! Other people's text in our files: it stays data whatever it holds.
//!
//! What agents and verifiers print may look like headings, entries or answers, or hold characters that move the cursor
//! or hide text. A line of it is put after words of ours; a block of it is an indented code block, in which nothing
//! has a meaning.

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
    use pulldown_cmark::{Event, Parser, Tag, TagEnd};

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
