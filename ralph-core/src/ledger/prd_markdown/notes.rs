//! What `ralph check` tells about a plan or a PRD: problems that stop a run, and notes that do not.

use std::fmt::Write as _;

/// Something that Ralph must not guess about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ledger) struct Problem {
    pub(in crate::ledger) line: usize,
    pub(in crate::ledger) text: String,
}

impl Problem {
    pub(in crate::ledger) fn new(line: usize, text: impl Into<String>) -> Self {
        Self { line, text: text.into() }
    }

    pub(in crate::ledger) fn near(line: usize, word: &str, key: &str) -> Self {
        Self::new(line, format!("`{word}:` is not a key: did you mean `{key}:`?"))
    }
}

/// Something that a person should know about a plan or a PRD; it does not stop a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// Where, counted from 1.
    pub line: usize,
    /// What it is about.
    pub kind: NoteKind,
    /// One line.
    pub text: String,
}

impl Note {
    pub(in crate::ledger) fn new(line: usize, kind: NoteKind, text: impl Into<String>) -> Self {
        Self { line, kind, text: text.into() }
    }

    pub(in crate::ledger) fn empty_key(line: usize, key: &str) -> Self {
        Self::new(line, NoteKind::Key, format!("`{key}:` says nothing"))
    }
}

/// What a [`Note`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoteKind {
    /// A box that is not an item: in code, outside the item sections, without a bullet.
    NotCounted,
    /// An item whose mark says nothing that Ralph knows. It is never picked and never done.
    Unknown,
    /// An item and the boxes below it say different things.
    Disagrees,
    /// Characters that nobody sees.
    Invisible,
    /// Text that looks like an unedited template.
    Scaffold,
    /// A line that looks like a key, or a key that says nothing.
    Key,
    /// Every item is done, which need not mean that everything is.
    AllDone,
    /// `Items:` of a plan says another number of items than its PRD holds.
    Count,
}

/// A note where every item is ticked, with the other plans that the text names.
pub(in crate::ledger) fn all_done(text: &str, name: &str) -> Note {
    let mut plans: Vec<&str> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || "`()[]<>\"',;".contains(c)) {
        let file = word.trim_matches(['.', ':', '*']).rsplit('/').next().unwrap_or_default();
        let lower = file.to_ascii_lowercase();
        let plan = lower.ends_with(".md") && ["plan", "prd", "task", "todo"].iter().any(|w| lower.contains(w));
        if plan && file != name && !plans.contains(&file) {
            plans.push(file);
        }
    }
    let mut text = "every item is ticked: there is nothing to do here".to_owned();
    if !plans.is_empty() {
        plans.truncate(5);
        text.push_str(&format!("; the text also names {}", plans.join(", ")));
    }
    Note::new(1, NoteKind::AllDone, text)
}

/// Notes on characters that are not seen, one for each line that holds any.
pub(in crate::ledger) fn invisible(lines: &super::lines::Lines<'_>, text: &str, notes: &mut Vec<Note>) {
    if text.bytes().all(|b| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~')) {
        return;
    }
    for index in 0..lines.count() {
        let line = lines.text(index);
        let mut found: Vec<char> = Vec::new();
        let mut before = ' ';
        for c in line.chars() {
            // Joiners are part of words in some scripts and of emoji, never of ASCII.
            let joiner = matches!(c, '\u{200c}' | '\u{200d}') && !before.is_ascii();
            if hidden(c) && !joiner && !found.contains(&c) {
                found.push(c);
            }
            before = c;
        }
        if !found.is_empty() {
            let mut names = String::new();
            for c in found.iter().take(8) {
                // Writing to a string cannot fail.
                let _ = write!(names, " U+{:04X}", u32::from(*c));
            }
            let text = format!("characters that nobody sees:{names}");
            notes.push(Note::new(index + 1, NoteKind::Invisible, text));
        }
    }
}

pub(in crate::ledger) fn hidden(c: char) -> bool {
    matches!(
        c,
        '\u{0}'..='\u{8}'
            | '\u{b}'..='\u{c}'
            | '\u{e}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Items of the templates that other loops write, and of ours. Work that nobody asked for.
const TEMPLATES: [&str; 12] = [
    "set up basic project structure and build system",
    "define core data structures and types",
    "implement basic input/output handling",
    "create test framework and initial tests",
    "add error handling and validation",
    "implement core business logic",
    "add configuration management",
    "create user documentation",
    "performance optimization",
    "extended feature set",
    "integration with external services",
    "advanced error recovery",
];

/// Why a title looks like a template that nobody filled in.
pub(in crate::ledger) fn scaffold(title: &str) -> Option<&'static str> {
    let lower = title.trim().to_lowercase();
    if TEMPLATES.contains(&lower.as_str()) {
        return Some("this item stands in a template: is it work that you want?");
    }
    let holder = lower.starts_with('<') && lower.ends_with('>') || lower.starts_with('{') && lower.ends_with('}');
    let filler = matches!(
        lower.trim_matches(|c: char| !c.is_alphanumeric()),
        "" | "todo" | "tbd" | "title" | "task" | "item" | "description" | "first item" | "example"
    );
    (holder || filler).then_some("this item is a placeholder")
}
