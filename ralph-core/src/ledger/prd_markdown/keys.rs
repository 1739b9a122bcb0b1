//! Lines of the form `Key: value`.

use crate::tier::Tier;

/// The keys that a PRD knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ledger) enum Key {
    Verify,
    Setup,
    EnvCheck,
    Context,
    Objective,
    Checks,
    Tier,
}

impl Key {
    const ALL: [Self; 7] =
        [Self::Verify, Self::Setup, Self::EnvCheck, Self::Context, Self::Objective, Self::Checks, Self::Tier];

    pub(in crate::ledger) fn name(self) -> &'static str {
        match self {
            Self::Verify => "Verify",
            Self::Setup => "Setup",
            Self::EnvCheck => "Env-Check",
            Self::Context => "Context",
            Self::Objective => "Objective",
            Self::Checks => "Checks",
            Self::Tier => "Tier",
        }
    }

    /// Whether losing it would lose a check.
    pub(super) fn guards(self) -> bool {
        matches!(self, Self::Verify | Self::EnvCheck | Self::Checks)
    }

    /// How many slips of the pen still leave it recognisable.
    fn slips(self) -> usize {
        match self {
            Self::Tier => 0,
            Self::Setup | Self::Checks => 1,
            Self::Verify | Self::EnvCheck | Self::Context | Self::Objective => 2,
        }
    }
}

/// Words of their own that happen to be near a key.
const WORDS: [&str; 8] = ["content", "contents", "contact", "contract", "contrast", "very", "checked", "objection"];

/// A line that looks like a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ledger) struct KeyLine<'a> {
    /// The word before the colon, as written.
    pub(in crate::ledger) word: &'a str,
    /// Which key it is.
    pub(in crate::ledger) key: Known,
    /// What follows the colon, trimmed, without one pair of backticks around all of it.
    pub(in crate::ledger) value: &'a str,
}

/// Whether a word is a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ledger) enum Known {
    /// It is.
    Yes(Key),
    /// It is not, but it is so near that it was meant.
    Near(Key),
    /// It is not.
    No,
}

/// Reads a line, from its start, list bullet and bold included. `None` where it does not begin with `Word:`.
pub(in crate::ledger) fn read(line: &str) -> Option<KeyLine<'_>> {
    let line = bullet(line.trim()).1;
    let (quote, bare) = emphasis(line);
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ' ') || c == '_' && quote.is_empty();
    let end = bare.find(|c: char| !part(c))?;
    let word = bare[..end].trim_end();
    let mut rest = &bare[end..];
    // `**Key**:` and `**Key:**` are the same.
    let mut open = !quote.is_empty();
    if open && let Some(after) = rest.strip_prefix(quote) {
        (rest, open) = (after.trim_start(), false);
    }
    let wide = rest.starts_with('：');
    let mut value = rest.strip_prefix(':').or_else(|| rest.strip_prefix('：'))?;
    if open && let Some(after) = value.strip_prefix(quote) {
        value = after;
    }
    if !word.starts_with(|c: char| c.is_ascii_alphabetic()) || word.len() > 16 {
        return None;
    }
    let key = match known(word) {
        // `Check: that the page loads` is prose; only the names of checks could be lost here.
        Known::Near(Key::Checks) if !names_checks(value) => Known::No,
        // `Tier: gold customers` is prose; no check is lost with a tier.
        Known::Yes(Key::Tier) if value.trim().parse::<Tier>().is_err() => Known::No,
        // A check behind a colon that is not ours would be lost in silence.
        Known::Yes(key) if wide => Known::Near(key),
        known => known,
    };
    Some(KeyLine { word, key, value: unquote(value.trim()) })
}

fn emphasis(line: &str) -> (&'static str, &str) {
    for quote in ["**", "__", "*", "_", "`"] {
        if let Some(bare) = line.strip_prefix(quote) {
            return (quote, bare);
        }
    }
    ("", line)
}

fn known(word: &str) -> Known {
    for key in Key::ALL {
        if word.eq_ignore_ascii_case(key.name()) {
            return Known::Yes(key);
        }
    }
    let lower = word.to_ascii_lowercase();
    if WORDS.contains(&lower.as_str()) || word.bytes().any(|b| b.is_ascii_digit()) {
        return Known::No;
    }
    let near = |key: &Key| {
        let name = key.name().to_ascii_lowercase();
        lower.len().abs_diff(name.len()) <= 2 && strsim::damerau_levenshtein(&lower, &name) <= key.slips()
    };
    Key::ALL.into_iter().find(near).map_or(Known::No, Known::Near)
}

/// Whether a value is a short list of names such as `-test-evidence`.
fn names_checks(value: &str) -> bool {
    let mut names = value.split([',', ' ']).filter(|name| !name.is_empty()).take(5);
    let named = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'-' | b'+'));
    value.contains(['-', '+']) && names.all(named)
}

/// Splits a line into its list bullet with the blanks around it, and the rest.
pub(in crate::ledger) fn bullet(line: &str) -> (&str, &str) {
    let inner = line.trim_start();
    let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
    let sign = match digits {
        0 => inner.starts_with(['-', '*', '+']),
        1..=9 => inner[digits..].starts_with(['.', ')']),
        _ => false,
    };
    let after = &inner[if sign { digits + 1 } else { 0 }..];
    if !sign || !(after.is_empty() || after.starts_with([' ', '\t'])) {
        return line.split_at(line.len() - inner.len());
    }
    line.split_at(line.len() - after.trim_start().len())
}

/// Without the pair of backticks around all of it, if there is one.
pub(in crate::ledger) fn unquote(value: &str) -> &str {
    match value.strip_prefix('`').and_then(|inner| inner.strip_suffix('`')) {
        Some(inner) if !inner.contains('`') => inner.trim(),
        _ => value,
    }
}

/// What a value says; `None` for nothing, `-` and `—`.
pub(in crate::ledger) fn said(value: &str) -> Option<&str> {
    (!matches!(value, "" | "-" | "—" | "–")).then_some(value)
}

/// The parts of a value with commas.
pub(super) fn list(value: &str) -> impl Iterator<Item = String> {
    said(value)
        .into_iter()
        .flat_map(|value| value.split(','))
        .map(|part| unquote(part.trim()).to_owned())
        .filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_key() {
        for line in [
            "Verify: cargo test",
            "  Verify:   cargo test  ",
            "- Verify: cargo test",
            "* Verify: cargo test",
            "1. Verify: cargo test",
            "**Verify:** cargo test",
            "**Verify**: cargo test",
            "- **Verify:** `cargo test`",
            "__Verify__: cargo test",
            "verify: cargo test",
            "VERIFY : `cargo test`",
            "Verify:cargo test",
        ] {
            let found = read(line).unwrap();
            assert_eq!((found.key, found.value), (Known::Yes(Key::Verify), "cargo test"), "{line}");
        }
        // What a command holds is left alone.
        assert_eq!(read("Verify: a `b` && c `d`").unwrap().value, "a `b` && c `d`");
        assert_eq!(read("Verify: **/x.sh").unwrap().value, "**/x.sh");
    }

    #[test]
    fn slips_of_the_pen() {
        for (line, key) in [
            ("Verfy: a", Key::Verify),
            ("Verifiy: a", Key::Verify),
            ("Vreify: a", Key::Verify),
            ("**Verfy:** a", Key::Verify),
            ("Verify： a", Key::Verify),
            ("Set-up: a", Key::Setup),
            ("Env Check: a", Key::EnvCheck),
            ("EnvCheck: a", Key::EnvCheck),
            ("Contxt: a", Key::Context),
            ("Objectives: a", Key::Objective),
            ("Check: -secrets", Key::Checks),
            ("Tier： high", Key::Tier),
        ] {
            assert_eq!(read(line).unwrap().key, Known::Near(key), "{line}");
        }
        for line in [
            "Content: a",
            "Contact: a",
            "Note: a",
            "Verification: a",
            "http://a",
            "Very: a",
            "Check: the page",
            "Tier: gold customers",
            "Tiers: high",
            "Context7: a",
        ] {
            assert_eq!(read(line).unwrap().key, Known::No, "{line}");
        }
        for line in ["no key", "", "- ", ": a", "1: a", "a sentence that is long: a", "é: a"] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn values() {
        assert_eq!((said("—"), said("-"), said(""), said("a")), (None, None, None, Some("a")));
        assert_eq!(list("a/b, `c`,, d").collect::<Vec<_>>(), ["a/b", "c", "d"]);
        assert_eq!(list("-").count(), 0);
        assert_eq!(list("-test-evidence").collect::<Vec<_>>(), ["-test-evidence"]);
    }

    #[test]
    fn bullets() {
        for (line, rest) in [("- a", "a"), ("  12) a", "a"), ("-a", "-a"), ("  a", "a"), ("**a**", "**a**"), ("-", "")]
        {
            assert_eq!(bullet(line).1, rest, "{line}");
        }
    }
}
