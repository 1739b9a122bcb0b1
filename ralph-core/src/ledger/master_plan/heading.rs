//! The line that begins a phase: `Phase P1 — title`, as a plain line or a heading.

use super::key::{self, is_dash};

/// What a line says about a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhaseLine<'a> {
    /// A phase begins here.
    Begins { id: &'a str, title: &'a str },
    /// It was meant as one, and says why it is none.
    Unclear(&'static str),
    /// It may be prose or may have been meant as one.
    Prose,
    /// Something else.
    No,
}

/// How long an id may be: it becomes part of a branch's name.
const ID_MAX: usize = 40;

pub(super) fn read(line: &str) -> PhaseLine<'_> {
    let (before, inner) = key::bare(line);
    let heading = before.contains('#');
    let Some((word, rest)) = inner.split_once([' ', '\t', '\u{a0}']) else { return PhaseLine::No };
    let exact = word.eq_ignore_ascii_case("phase");
    let rest = rest.trim();
    let rest = ["**", "__", "*", "_"].into_iter().find_map(|quote| unclosed(before, rest, quote)).unwrap_or(rest);
    let free = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'));
    let end = rest.find(free).unwrap_or(rest.len());
    // `P1.` and `P1-` end in a sign, not in an id.
    let id = rest[..end].trim_end_matches(['-', '.', '_']);
    let after = &rest[id.len()..];
    let title = title(after);
    let numbered = id.bytes().any(|byte| byte.is_ascii_digit());
    if !exact {
        let meant = numbered && (heading || title.is_some()) && is_near(word);
        return if meant { PhaseLine::Unclear("the word before the id is not `Phase`") } else { PhaseLine::No };
    }
    if id.is_empty() || id.len() > ID_MAX || id.contains("..") || !id.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        let unclear = heading || rest.contains(['—', '–', ':']);
        let why = "an id is made of letters, digits, `-`, `.` and `_`, such as `P1`, and is at most 40 long";
        return if unclear { PhaseLine::Unclear(why) } else { PhaseLine::No };
    }
    match title {
        Some(title) => PhaseLine::Begins { id, title },
        None if after.is_empty() => PhaseLine::Begins { id, title: "" },
        // `## Phase 1 (Foundation)`
        None if heading && numbered && after.starts_with([' ', '(', '\t']) => {
            PhaseLine::Begins { id, title: after.trim() }
        }
        None if after.starts_with([' ', '\t', ',', '.', '\'', '’', '(', ';', ')', '/']) => PhaseLine::Prose,
        None if numbered || heading => PhaseLine::Unclear("the sign after the id is none of `—`, `–`, `-`, `:`"),
        None => PhaseLine::Prose,
    }
}

/// The text without the emphasis around all of it.
fn unclosed<'a>(before: &str, rest: &'a str, quote: &str) -> Option<&'a str> {
    if !before.ends_with(quote) {
        return None;
    }
    rest.strip_suffix(quote).map(str::trim)
}

/// What follows the sign after the id; `None` where there is no sign.
fn title(after: &str) -> Option<&str> {
    let mut spaced = after.trim_start();
    // `**Phase P1** — title`, `**Phase P1:** title`
    spaced = spaced.trim_start_matches(['*', '_', '`']).trim_start();
    let sign = spaced.chars().next()?;
    if !matches!(sign, '—' | '–' | '-' | ':') {
        return None;
    }
    // `P1 -v` and `P1--` are no signs.
    let rest = &spaced[sign.len_utf8()..];
    let rest = rest.trim_start_matches(['*', '_', '`']);
    if sign == '-' && !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    Some(rest.trim())
}

fn is_near(word: &str) -> bool {
    let lower = word.trim_end_matches(|c: char| is_dash(c) || c == ':').to_lowercase();
    let plain: String = lower.chars().filter(|c| !super::notes::hidden(*c)).collect();
    let looks: String = unicode_security::confusable_detection::skeleton(&plain).collect();
    [plain, looks].iter().any(|word| strsim::damerau_levenshtein(word, "phase") <= 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_phase_line() {
        for line in [
            "Phase P1 — Privacy scrub",
            "Phase P1 – Privacy scrub",
            "Phase P1 - Privacy scrub",
            "Phase P1: Privacy scrub",
            "Phase P1 : Privacy scrub",
            "Phase P1—Privacy scrub",
            "phase\tP1 — Privacy scrub  ",
            "# Phase P1 — Privacy scrub",
            "###### PHASE P1: Privacy scrub",
            "**Phase P1 — Privacy scrub**",
            "**Phase P1** — Privacy scrub",
            "**Phase P1:** Privacy scrub",
            "## **Phase P1 — Privacy scrub**",
            "- Phase P1 — Privacy scrub",
            "## Phase P1 Privacy scrub",
        ] {
            let expected = PhaseLine::Begins { id: "P1", title: "Privacy scrub" };
            assert_eq!(read(line), expected, "{line}");
        }
        for (line, id, title) in [
            ("### Phase 0 — Complete (current state)", "0", "Complete (current state)"),
            ("## Phase 1 (Foundation)", "1", "(Foundation)"),
            ("Phase P1-b.2 - It", "P1-b.2", "It"),
            ("Phase P1", "P1", ""),
            ("Phase privacy — It", "privacy", "It"),
            ("Phase P1 —", "P1", ""),
        ] {
            assert_eq!(read(line), PhaseLine::Begins { id, title }, "{line}");
        }
    }

    #[test]
    fn what_is_no_phase_line() {
        for line in ["Phase P1 is about privacy", "Phase P1, the first", "phase by phase"] {
            assert_eq!(read(line), PhaseLine::Prose, "{line}");
        }
        for line in ["Phase", "Phases", "A phase P1 — it", "", "Phrase P1 is good", "Milestone 1 — it", "Phase — it"]
        {
            let found = read(line);
            assert!(!matches!(found, PhaseLine::Begins { .. } | PhaseLine::Prose), "{line}: {found:?}");
        }
        for line in [
            "Phaze P1 — it",
            "Phases P1: it",
            "## Phas P1",
            "Ph\u{430}se P1 — it",
            "Phase P1\u{2015}it",
            "Phase \u{420}1 — it",
            "## Phase",
        ] {
            let unclear = matches!(read(line), PhaseLine::Unclear(_));
            assert_eq!(unclear, line != "## Phase", "{line}");
        }
    }
}
