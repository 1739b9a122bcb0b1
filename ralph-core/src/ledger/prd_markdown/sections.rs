//! Which boxes count: the section rule, and the refusal of stories whose boxes are criteria.

use super::{
    id,
    scan::{Heading, Scan},
};

/// A heading that ends in one of these is a section of items.
const LAST_WORDS: [&str; 4] = ["items", "tasks", "requirements", "stories"];

/// Where boxes count.
#[derive(Debug)]
pub(super) struct Counting {
    below: Vec<bool>,
    /// Whether some headings are sections of items, so that only what is below those counts.
    pub(super) by_sections: bool,
}

impl Counting {
    /// Whether a box counts whose last heading is `heading`.
    pub(super) fn counts(&self, heading: Option<usize>) -> bool {
        match heading {
            Some(index) => self.below.get(index).copied().unwrap_or(!self.by_sections),
            None => !self.by_sections,
        }
    }
}

/// Finds out where boxes count.
pub(super) fn counting(scan: &Scan) -> Counting {
    let mut sections: Vec<bool> = scan.headings.iter().map(is_section).collect();
    // The title of the document says what it is; where there are sections below it, they say where the items are.
    let title = scan.headings.first().is_some_and(|heading| heading.level == 1)
        && scan.headings.iter().skip(1).all(|heading| heading.level > 1);
    if title && sections.iter().skip(1).any(|section| *section) {
        sections[0] = false;
    }
    if !sections.contains(&true) {
        return Counting { below: vec![true; sections.len()], by_sections: false };
    }
    let mut within: Option<u8> = None;
    let mut below = Vec::with_capacity(sections.len());
    for (heading, section) in scan.headings.iter().zip(sections) {
        if within.is_none_or(|level| heading.level <= level) {
            within = section.then_some(heading.level);
        }
        below.push(within.is_some());
    }
    Counting { below, by_sections: true }
}

/// Whether a heading says that what is below it are items.
pub(super) fn is_section(heading: &Heading) -> bool {
    let last = heading.text.split_whitespace().last().unwrap_or_default();
    let word = last.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    LAST_WORDS.contains(&word.as_str())
}

/// Whether a heading is a story of its own, such as `US-001: title` or `Story 1.2: title`.
pub(super) fn is_story(heading: &Heading) -> bool {
    let text = heading.text.trim();
    let lower = text.to_lowercase();
    for word in ["user story ", "story "] {
        if let Some(rest) = lower.strip_prefix(word) {
            let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            return digits.len() < rest.len();
        }
    }
    // `M0 — Bootstrap` and `P1: Foundation` are parts of a plan; a story's id has a hyphen or a story's prefix.
    match id::split(text) {
        (Some(written), _) => {
            let letters = written.bytes().take_while(u8::is_ascii_alphabetic).count();
            let (prefix, rest) = written.split_at(letters);
            rest.starts_with('-') || matches!(prefix, "US" | "R" | "FR" | "REQ" | "STORY")
        }
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heading(text: &str) -> Heading {
        Heading { level: 2, text: text.to_owned(), at: 0 }
    }

    #[test]
    fn sections_by_their_last_word() {
        for text in ["Items", "2. Open tasks", "User Stories:", "REQUIREMENTS", "The tasks —"] {
            assert_eq!(is_section(&heading(text)), text != "The tasks —", "{text}");
        }
        for text in ["Task list", "Tasks (old)", "Overview", "Multitasks"] {
            assert!(!is_section(&heading(text)), "{text}");
        }
    }

    #[test]
    fn stories_by_their_id() {
        for text in ["US-001: Fix it", "R01: Fix it", "Story 1.2: Fix it", "User Story 3 - Fix"] {
            assert!(is_story(&heading(text)), "{text}");
        }
        for text in ["M0 — Bootstrap", "Phase 1: Foundation", "Tasks", "1. Setup", "Story time"] {
            assert!(!is_story(&heading(text)), "{text}");
        }
    }
}
