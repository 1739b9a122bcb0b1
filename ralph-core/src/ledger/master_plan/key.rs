//! Lines of the form `Key: value` in a Master Plan, and lines that were meant as one.
//!
//! A gate must never be dropped in silence, so a word that comes near a key is told, look-alike letters and characters
//! that nobody sees included.

use unicode_security::confusable_detection::skeleton;

use crate::ledger::prd_markdown::{keys, marks, notes};

/// The keys that a Master Plan knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    ApprovedBy,
    Prd,
    AutoGate,
    ManualGate,
    Items,
    Verify,
    Setup,
    EnvCheck,
    MaxBlockers,
}

impl Key {
    const ALL: [Self; 9] = [
        Self::ApprovedBy,
        Self::Prd,
        Self::AutoGate,
        Self::ManualGate,
        Self::Items,
        Self::Verify,
        Self::Setup,
        Self::EnvCheck,
        Self::MaxBlockers,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ApprovedBy => "Approved-By",
            Self::Prd => "PRD",
            Self::AutoGate => "Auto-Gate",
            Self::ManualGate => "Manual-Gate",
            Self::Items => "Items",
            Self::Verify => "Verify",
            Self::Setup => "Setup",
            Self::EnvCheck => "Env-Check",
            Self::MaxBlockers => "Max-Blockers",
        }
    }

    /// Whether its value is a command.
    pub(super) fn is_command(self) -> bool {
        match self {
            Self::AutoGate | Self::Verify | Self::Setup | Self::EnvCheck => true,
            Self::ApprovedBy | Self::Prd | Self::ManualGate | Self::Items | Self::MaxBlockers => false,
        }
    }

    /// Whether the word is of our making, so that nobody begins a sentence with it.
    fn is_coined(self) -> bool {
        self.name().contains('-')
    }

    /// How many slips of the pen still leave it recognisable.
    fn slips(self) -> usize {
        match self {
            Self::Prd | Self::Items | Self::Setup => 1,
            Self::Verify | Self::AutoGate | Self::EnvCheck => 2,
            Self::ApprovedBy | Self::ManualGate | Self::MaxBlockers => 3,
        }
    }
}

/// Words of their own that happen to be near a key. A phase without its PRD is refused anyway.
const WORDS: [&str; 7] = ["very", "pr", "pro", "prod", "pre", "setups", "step"];

/// What people type, or get from an editor, for a colon.
const COLONS: [char; 8] = [':', '：', '﹕', '︓', '∶', '꞉', 'ː', '։'];

/// Longer than any key with its slips.
const WORD_MAX: usize = 32;

/// A line that begins with `Word:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyLine<'a> {
    /// The word before the colon, as written.
    pub(super) word: &'a str,
    pub(super) known: Known,
    /// What follows the colon, trimmed, without emphasis or backticks around all of it.
    pub(super) value: &'a str,
}

/// Whether a word is a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It is.
    Yes(Key),
    /// It is, but somebody struck it through.
    Struck(Key),
    /// It is not, but it is so near that it was meant.
    Near(Key),
    /// It is not, but it speaks of a gate.
    Gate,
    /// It is not.
    No,
}

/// The text of a line without what Markdown or habit puts in front of it: bullets, boxes, heading marks, emphasis.
pub(super) fn bare(line: &str) -> (&str, &str) {
    let (_, mut inner) = keys::bullet(line);
    if let Some(mark) = marks::read(inner, 0) {
        inner = inner.get(mark.text..).unwrap_or_default();
    }
    inner = inner.trim_start_matches(|c: char| !c.is_alphanumeric());
    line.split_at(line.len() - inner.len())
}

/// Reads a line; `None` where it does not begin with `Word:`.
pub(super) fn read(line: &str) -> Option<KeyLine<'_>> {
    let (before, inner) = bare(line);
    let (at, colon) = inner.char_indices().take(WORD_MAX).find(|(_, c)| COLONS.contains(c))?;
    let quote = ["**", "__", "*", "_", "`"].into_iter().find(|quote| before.ends_with(quote)).unwrap_or_default();
    let mut word = inner[..at].trim_end();
    let mut value = inner[at + colon.len_utf8()..].trim();
    // `**Key**: value`, `**Key:** value`, `**Key: value**`
    if !quote.is_empty() {
        if let Some(inside) = word.strip_suffix(quote) {
            word = inside.trim_end();
        } else if let Some(after) = value.strip_prefix(quote) {
            value = after.trim();
        } else if let Some(inside) = value.strip_suffix(quote) {
            value = inside.trim();
        }
    }
    if !word.starts_with(char::is_alphanumeric) {
        return None;
    }
    let known = match known(word) {
        Known::Yes(key) if colon != ':' => Known::Near(key),
        Known::Yes(key) if before.contains("~~") => Known::Struck(key),
        known => known,
    };
    Some(KeyLine { word, known, value: keys::unquote(value) })
}

/// A line that begins with the name of a key and has no colon after it. The second part says whether another sign
/// stands there, so that it was meant as a key for sure.
pub(super) fn colonless(line: &str) -> Option<(Key, bool)> {
    let (before, inner) = bare(line);
    let word = first_word(inner);
    let key = match known(word) {
        Known::Yes(key) | Known::Near(key) if key.is_coined() && word.contains(is_dash) => key,
        Known::Yes(_) | Known::Near(_) | Known::Struck(_) | Known::Gate | Known::No => {
            // `Auto-Gatemake`
            let begins = |key: &Key| {
                let start = word.get(..key.name().len());
                key.is_coined() && start.is_some_and(|start| start.eq_ignore_ascii_case(key.name()))
            };
            return Key::ALL.into_iter().find(begins).map(|key| (key, false));
        }
    };
    let rest = inner[word.len()..].trim_start_matches(|c: char| c.is_whitespace() || "*_`".contains(c));
    // A row of a table says something about keys.
    let meant = !before.contains('|') && rest.starts_with(|c: char| is_dash(c) || "=;>".contains(c));
    Some((key, meant))
}

/// The word at the start of a text, of what keys are made of.
fn first_word(text: &str) -> &str {
    let part = |c: char| {
        let joins = is_dash(c) && !matches!(c, '—' | '–' | '―');
        c.is_alphanumeric() || joins || c == '_' || notes::hidden(c)
    };
    let end = text.find(|c| !part(c)).unwrap_or(text.len());
    text[..end].trim_end_matches(|c: char| !c.is_alphanumeric())
}

/// A key of our making in the middle of a line, where it is not read.
pub(super) fn within(line: &str) -> Option<Key> {
    let lower = bare(line).1.to_ascii_lowercase();
    [Key::AutoGate, Key::ManualGate, Key::ApprovedBy].into_iter().find(|key| {
        let name = key.name().to_ascii_lowercase();
        lower.match_indices(&name).any(|(at, _)| {
            let after = lower[at + name.len()..].trim_start_matches([' ', '*', '_']);
            // One in backticks is talked about.
            at > 0 && !lower[..at].ends_with('`') && after.starts_with(COLONS)
        })
    })
}

fn known(word: &str) -> Known {
    if let Some(key) = Key::ALL.into_iter().find(|key| word.eq_ignore_ascii_case(key.name())) {
        return Known::Yes(key);
    }
    if let Some(key) = near(word) {
        return Known::Near(key);
    }
    // `Manual-Gate (lead): …`
    let first = first_word(word);
    if first.len() < word.len()
        && let Known::Yes(key) | Known::Near(key) = known(first)
        && key.is_coined()
    {
        return Known::Near(key);
    }
    let part = |part: &str| part.eq_ignore_ascii_case("gate") || part.eq_ignore_ascii_case("gates");
    let one_word = !word.contains(char::is_whitespace);
    if one_word && word.split(|c: char| !c.is_alphanumeric()).any(part) { Known::Gate } else { Known::No }
}

/// The key that a word comes near to.
pub(super) fn near(word: &str) -> Option<Key> {
    let plain = fold(word);
    if WORDS.contains(&word.to_lowercase().as_str()) || plain.is_empty() {
        return None;
    }
    let looks: String = skeleton(&plain).collect::<String>().to_lowercase();
    let distance = |key: &Key| {
        let name = key.name().to_lowercase();
        let alike: String = skeleton(&name).collect();
        let slips = strsim::damerau_levenshtein(&plain, &name);
        slips.min(strsim::damerau_levenshtein(&looks, &alike))
    };
    let nearest = Key::ALL.into_iter().min_by_key(distance)?;
    (distance(&nearest) <= nearest.slips()).then_some(nearest)
}

/// In lower case, without what nobody sees, with one sign for everything that joins words.
fn fold(word: &str) -> String {
    let seen = word.chars().filter(|c| !notes::hidden(*c));
    let joined = seen.map(|c| if is_dash(c) || c.is_whitespace() || c == '_' { '-' } else { c });
    joined.flat_map(char::to_lowercase).collect()
}

/// The signs that look like a hyphen or a dash.
pub(super) fn is_dash(c: char) -> bool {
    matches!(
        c,
        '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{2043}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' | '\u{30fc}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_key() {
        for line in [
            "Auto-Gate: make",
            "  Auto-Gate:   make  ",
            "\tAuto-Gate:\tmake",
            "- Auto-Gate: make",
            "* auto-gate: make",
            "1. AUTO-GATE: make",
            "• Auto-Gate: make",
            "- [ ] Auto-Gate: make",
            "**Auto-Gate:** make",
            "**Auto-Gate**: make",
            "**Auto-Gate: make**",
            "- **Auto-Gate:** `make`",
            "__Auto-Gate__ : make",
            "_Auto-Gate_: make",
            "`Auto-Gate: make`",
            "### Auto-Gate: make",
            "\u{200b}Auto-Gate: make",
            "Auto-Gate:make",
        ] {
            let found = read(line).unwrap();
            assert_eq!((found.known, found.value), (Known::Yes(Key::AutoGate), "make"), "{line}");
        }
        assert_eq!(read("Auto-Gate: a `b` && c `d`").unwrap().value, "a `b` && c `d`");
    }

    #[test]
    fn slips_of_the_pen() {
        for (line, key) in [
            ("Manual-Gat: a", Key::ManualGate),
            ("Manualgate: a", Key::ManualGate),
            ("Manual Gate: a", Key::ManualGate),
            ("Manual_Gate: a", Key::ManualGate),
            ("Manual\u{2011}Gate: a", Key::ManualGate),
            ("Manual—Gate: a", Key::ManualGate),
            ("Manual-Gate (lead): a", Key::ManualGate),
            ("**Manual-Gates:** a", Key::ManualGate),
            ("Auto-Gate： make", Key::AutoGate),
            ("Auto-Gate2: make", Key::AutoGate),
            ("Auto\u{200b}-Gate: make", Key::AutoGate),
            ("\u{0410}uto-G\u{0430}t\u{0435}: make", Key::AutoGate),
            ("Ａｕｔｏ－Ｇａｔｅ: make", Key::AutoGate),
            ("\u{1d400}uto-Gate: make", Key::AutoGate),
            ("Aproved-By: a", Key::ApprovedBy),
            ("Approved: a", Key::ApprovedBy),
            ("Approved by: a", Key::ApprovedBy),
            ("PRDs: a", Key::Prd),
            ("Item: a", Key::Items),
            ("Itms: a", Key::Items),
            ("Set-up: a", Key::Setup),
            ("EnvCheck: a", Key::EnvCheck),
            ("Max Blocker: 3", Key::MaxBlockers),
        ] {
            assert_eq!(read(line).unwrap().known, Known::Near(key), "{line}");
        }
        for line in ["Gate: a", "Release-Gate: a", "Gates: a"] {
            assert_eq!(read(line).unwrap().known, Known::Gate, "{line}");
        }
        for line in ["Note: a", "Goal: a", "https://a", "PR: a", "Prod: a", "Цель: a", "The gate: a", "Title: a"] {
            assert_eq!(read(line).unwrap().known, Known::No, "{line}");
        }
        for line in ["no key", "", "- ", ": a", "a sentence that is much longer than a key: a"] {
            assert_eq!(read(line), None, "{line}");
        }
        assert_eq!(read("~~Auto-Gate: make~~").unwrap().known, Known::Struck(Key::AutoGate));
    }

    #[test]
    fn keys_that_are_not_read() {
        assert_eq!(colonless("Manual-Gate — lead approves"), Some((Key::ManualGate, true)));
        assert_eq!(colonless("- **Auto-Gate** = make"), Some((Key::AutoGate, true)));
        assert_eq!(colonless("Auto-Gate; make"), Some((Key::AutoGate, true)));
        assert_eq!(colonless("Auto-Gate make"), Some((Key::AutoGate, false)));
        assert_eq!(colonless("| Auto-Gate | a command |"), Some((Key::AutoGate, false)));
        assert_eq!(colonless("Auto-Gate, which runs"), Some((Key::AutoGate, false)));
        assert_eq!((colonless("Verify — it"), colonless("Automatic gates"), colonless("")), (None, None, None));
        assert_eq!(within("Phase P1 — a Auto-Gate: make"), Some(Key::AutoGate));
        assert_eq!((within("Auto-Gate: make"), within("write `Auto-Gate: make` below")), (None, None));
    }
}
