//! Ids of items: written ones, and stable ones made from the text.

use std::collections::{HashMap, hash_map::Entry};

use crate::id::Digest;

/// Prefixes that make `R01 do it` an id without any sign after it. Elsewhere `S3 upload` would be one.
const PREFIXES: [&str; 9] = ["R", "T", "US", "FR", "NFR", "REQ", "TASK", "STORY", "ITEM"];

/// How long a generated id may be, in characters.
const SLUG_MAX: usize = 48;

/// Splits `text` into the id that is written at its start, if any, and the title.
///
/// Understood are `R01: t`, `R01 — t`, `R01 - t`, `R01. t`, `R01) t`, `**R01** t`, `**R01:** t`, `**R01: t**`,
/// `[R01] t`, `(R01) t`, `` `R01` t``, and `R01 t` where the prefix is a usual one.
pub(super) fn split(text: &str) -> (Option<&str>, &str) {
    let text = text.trim();
    for (open, close) in [("**", "**"), ("__", "__"), ("[", "]"), ("(", ")"), ("`", "`")] {
        let Some(inside) = text.strip_prefix(open) else { continue };
        let Some(token) = token(inside).or_else(|| number(inside)) else { return (None, text) };
        let rest = &inside[token.len()..];
        // `**R01** t`, `**R01:** t`, `**R01 —** t`
        if let Some((between, after)) = rest.split_once(close)
            && (between.trim().is_empty() || sign(between).is_some_and(str::is_empty))
        {
            return (Some(token), sign(after).unwrap_or(after).trim());
        }
        // `**R01: t**`
        if open.len() == 2
            && let Some(title) = sign(rest)
        {
            let title = title.strip_suffix(close).unwrap_or(title);
            return (Some(token), title.trim());
        }
        return (None, text);
    }
    let Some(token) = token(text) else { return (None, text) };
    let rest = &text[token.len()..];
    match sign(rest) {
        Some(title) => (Some(token), title.trim()),
        None if rest.starts_with([' ', '\t']) && usual(token) => (Some(token), rest.trim()),
        None => (None, text),
    }
}

/// The id at the start of `text`: letters, then digits, then parts joined by `.`, `-` or `_`: `R01`, `US-001`, `P1.2`.
pub(super) fn token(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let run = |from: usize, is: fn(&u8) -> bool| {
        bytes.get(from..).map_or(0, |rest| rest.iter().take_while(|b| is(b)).count())
    };
    let letters = run(0, u8::is_ascii_alphabetic);
    if letters == 0 || letters > 10 || !bytes.first().is_some_and(u8::is_ascii_uppercase) {
        return None;
    }
    let joint = |at: usize| matches!(bytes.get(at), Some(b'-' | b'_' | b'.'));
    let mut at = letters + usize::from(joint(letters));
    let digits = run(at, u8::is_ascii_digit);
    if digits == 0 {
        return None;
    }
    at += digits + run(at + digits, u8::is_ascii_lowercase);
    while joint(at) {
        let part = run(at + 1, u8::is_ascii_alphanumeric);
        if part == 0 {
            break;
        }
        at += 1 + part;
    }
    // `R01é` is a word, not an id.
    let free = text[at..].chars().next().is_none_or(|c| !c.is_alphanumeric());
    (free && at <= 40).then_some(&text[..at])
}

/// `#12`, which counts as an id only in bold or brackets.
fn number(text: &str) -> Option<&str> {
    let digits = text.strip_prefix('#')?.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| &text[..=digits])
}

/// What follows the sign between id and title; `None` where there is no sign.
fn sign(rest: &str) -> Option<&str> {
    if let Some(after) = rest.strip_prefix(['.', ')']) {
        return (after.is_empty() || after.starts_with([' ', '\t'])).then_some(after);
    }
    let spaced = rest.trim_start();
    if let Some(after) = spaced.strip_prefix([':', '—', '–', '：']) {
        return Some(after);
    }
    let after = spaced.strip_prefix('-')?;
    (spaced.len() < rest.len() && (after.is_empty() || after.starts_with(' '))).then_some(after)
}

fn usual(token: &str) -> bool {
    let letters = token.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (prefix, rest) = token.split_at(letters);
    let digits = rest.trim_start_matches(['-', '_', '.']);
    (PREFIXES.contains(&prefix.to_ascii_uppercase().as_str()) && digits.len() >= 2)
        || digits.starts_with('0') && digits.len() >= 2
}

/// An id made from a title: its words in lower case, joined by `-`. Cut ones end in a fingerprint of the whole.
pub(super) fn slug(title: &str) -> String {
    let mut slug = String::new();
    let mut length = 0;
    let mut cut = false;
    for word in title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let word = word.to_lowercase();
        let chars = word.chars().count();
        if length + chars + 1 > SLUG_MAX {
            cut = true;
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&word);
        length += chars + 1;
    }
    if cut || slug.is_empty() {
        let print = Digest::of(title.trim().as_bytes());
        let print = print.as_str().get(..6).unwrap_or_default();
        return if slug.is_empty() { format!("item-{print}") } else { format!("{slug}-{print}") };
    }
    slug
}

/// The ids of one PRD. Case does not tell ids apart, since file systems may not either.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// The line of each, 0 for made ones.
    ids: HashMap<String, usize>,
    repeats: HashMap<String, u32>,
}

impl Taken {
    pub(super) fn with_capacity(items: usize) -> Self {
        Self { ids: HashMap::with_capacity(items), ..Self::default() }
    }

    /// Takes a written id; answers the line that has it already.
    pub(super) fn written(&mut self, id: &str, line: usize) -> Option<usize> {
        match self.ids.entry(id.to_ascii_lowercase()) {
            Entry::Occupied(taken) => Some(*taken.get()),
            Entry::Vacant(free) => {
                free.insert(line);
                None
            }
        }
    }

    /// Takes the first of `slug`, `slug-2`, `slug-3`, … that is free.
    pub(super) fn made(&mut self, slug: String) -> String {
        if self.free(&slug) {
            return slug;
        }
        let mut repeats = self.repeats.get(&slug).copied().unwrap_or(1);
        loop {
            repeats += 1;
            let next = format!("{slug}-{repeats}");
            if self.free(&next) {
                self.repeats.insert(slug, repeats);
                return next;
            }
        }
    }

    fn free(&mut self, id: &str) -> bool {
        self.ids.insert(id.to_lowercase(), 0).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_forms() {
        for (text, id, title) in [
            ("R01: do it", "R01", "do it"),
            ("R01 : do it", "R01", "do it"),
            ("**R01** do it", "R01", "do it"),
            ("**R01**: do it", "R01", "do it"),
            ("**R01:** do it", "R01", "do it"),
            ("**R01 —** do it", "R01", "do it"),
            ("**R01: do it**", "R01", "do it"),
            ("__R01__ — do it", "R01", "do it"),
            ("[R01] do it", "R01", "do it"),
            ("[R01]: do it", "R01", "do it"),
            ("(R01) do it", "R01", "do it"),
            ("`R01` do it", "R01", "do it"),
            ("R01 — do it", "R01", "do it"),
            ("R01 – do it", "R01", "do it"),
            ("R01 - do it", "R01", "do it"),
            ("R01. do it", "R01", "do it"),
            ("R01) do it", "R01", "do it"),
            ("US-001: do it", "US-001", "do it"),
            ("P1.2: do it", "P1.2", "do it"),
            ("**P1.2** do it", "P1.2", "do it"),
            ("**#12** do it", "#12", "do it"),
            ("T001 [P] [US1] do it", "T001", "[P] [US1] do it"),
            ("R12b: do it", "R12b", "do it"),
            ("AUTH-1-2: do it", "AUTH-1-2", "do it"),
            ("R01:", "R01", ""),
        ] {
            assert_eq!(split(text), (Some(id), title), "{text}");
        }
        for text in [
            "do it",
            "S3 upload",
            "UTF-8 decoding",
            "H264 encoder",
            "v2: do it",
            "**Bold** text",
            "**R01 does** it",
            "[P] do it",
            "R01-: x",
            "1. do it",
            "#12 do it",
            "Note: R01",
            "R01é: x",
            "",
            "**",
        ] {
            assert_eq!(split(text), (None, text), "{text}");
        }
    }

    #[test]
    fn slugs() {
        for (title, id) in [
            ("Remove the snippet!", "remove-the-snippet"),
            ("Настроить пакет", "настроить-пакет"),
            ("a/b `c` ../d", "a-b-c-d"),
            ("…", "item-5a4f50"),
        ] {
            let made = slug(title);
            if id.starts_with("item-") {
                assert!(made.starts_with("item-") && made.len() == 11, "{made}");
            } else {
                assert_eq!(made, id);
            }
        }
        let (a, b) = (slug(&format!("{}a", "word ".repeat(20))), slug(&"word ".repeat(21)));
        assert_ne!(a, b, "long texts differ by their fingerprint");
        assert!(a.len() < 60);
    }

    #[test]
    fn repeats_are_numbered() {
        let mut taken = Taken::default();
        assert_eq!((taken.written("A-2", 7), taken.written("a-2", 8)), (None, Some(7)));
        let ids: Vec<_> = (0..3).map(|_| taken.made("a".into())).collect();
        assert_eq!(ids, ["a", "a-3", "a-4"]);
    }
}
