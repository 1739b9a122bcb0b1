//! A patch on a terminal: coloured, and nothing in it that the terminal would obey.

use ralph_core::printable;

const BOLD: &str = "\x1b[1m";
const CYAN: &str = "\x1b[36m";
const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const RESET: &str = "\x1b[0m";

/// Colours a patch. Lengths of hunks are counted, so that a removed line `-- x` is not taken for a file's name.
pub(crate) fn paint_patch(patch: &str) -> String {
    let mut out = String::with_capacity(patch.len() * 2);
    let (mut old, mut new) = (0_u64, 0_u64);
    for line in patch.lines() {
        let inside = old > 0 || new > 0;
        let colour = match line.bytes().next() {
            Some(b'\\') => "",
            Some(b'+') if inside => {
                new = new.saturating_sub(1);
                GREEN
            }
            Some(b'-') if inside => {
                old = old.saturating_sub(1);
                RED
            }
            _ if inside => {
                (old, new) = (old.saturating_sub(1), new.saturating_sub(1));
                ""
            }
            _ => match lengths(line) {
                Some(lengths) => {
                    (old, new) = lengths;
                    CYAN
                }
                None => BOLD,
            },
        };
        add(&mut out, colour, line);
    }
    out
}

/// Colours the bars of a diffstat.
pub(crate) fn paint_stat(stat: &str) -> String {
    let mut out = String::with_capacity(stat.len() * 2);
    for line in stat.lines() {
        let text = line.trim_end_matches(['+', '-']);
        let bar = &line[text.len()..];
        if bar.is_empty() || !text.contains('|') {
            add(&mut out, "", line);
            continue;
        }
        let split = bar.find('-').unwrap_or(bar.len());
        out.push_str(&printable(text));
        out.push_str(&format!("{GREEN}{}{RED}{}{RESET}\n", &bar[..split], &bar[split..]));
    }
    out
}

fn add(out: &mut String, colour: &str, line: &str) {
    let text = printable(line);
    match colour {
        "" => out.push_str(&text),
        colour => out.push_str(&format!("{colour}{text}{RESET}")),
    }
    out.push('\n');
}

/// How many old and new lines follow `@@ -1,2 +3,4 @@`.
fn lengths(line: &str) -> Option<(u64, u64)> {
    let (old, new) = line.strip_prefix("@@ -")?.split_once(" @@")?.0.split_once(" +")?;
    let length = |range: &str| range.split_once(',').map_or(Some(1), |(_, length)| length.parse().ok());
    Some((length(old)?, length(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str) -> String {
        let codes = [(BOLD, "<b>"), (CYAN, "<c>"), (GREEN, "<g>"), (RED, "<r>"), (RESET, "</>")];
        codes.iter().fold(text.to_owned(), |text, (code, mark)| text.replace(code, mark))
    }

    #[test]
    fn contents_are_never_taken_for_headers_and_never_obeyed() {
        let patch = "diff --git a/q.sql b/q.sql\n--- a/q.sql\n+++ b/q.sql\n@@ -1,3 +1,2 @@ top\n-- old\n--- x\n+new \u{1b}[2J\n same\n\\ No newline at end of file\ndiff --git a/b b/b\n";
        assert_eq!(
            marked(&paint_patch(patch)),
            "<b>diff --git a/q.sql b/q.sql</>\n<b>--- a/q.sql</>\n<b>+++ b/q.sql</>\n<c>@@ -1,3 +1,2 @@ top</>\n\
             <r>-- old</>\n<r>--- x</>\n<g>+new \\u{1b}[2J</>\n same\n\\ No newline at end of file\n\
             <b>diff --git a/b b/b</>\n"
        );
    }

    #[test]
    fn lengths_of_hunks() {
        for (line, expected) in [
            ("@@ -1 +1 @@", Some((1, 1))),
            ("@@ -0,0 +1,12 @@ fn x() {", Some((0, 12))),
            ("@@@ -1 -1 +1 @@@", None),
            ("index 1..2", None),
        ] {
            assert_eq!(lengths(line), expected, "{line}");
        }
    }

    #[test]
    fn bars() {
        let stat = " a--+ | 3 ++-\n b | Bin 0 -> 4 bytes\n 2 files changed, 2 insertions(+), 1 deletion(-)\n";
        assert_eq!(
            marked(&paint_stat(stat)),
            " a--+ | 3 <g>++<r>-</>\n b | Bin 0 -> 4 bytes\n 2 files changed, 2 insertions(+), 1 deletion(-)\n"
        );
    }
}
