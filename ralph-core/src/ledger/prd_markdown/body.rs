//! What stands below an item: criteria, notes, keys, decisions.

use std::{iter::Peekable, ops::Range, slice::Iter};

use super::{
    keys::{self, Key, Known},
    lines::Lines,
    literal, marks,
    notes::{Note, NoteKind, Problem},
    scan::{Zone, ZoneKind},
};
use crate::tier::Tier;

/// What is read of one item beyond its mark and id.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// The first paragraph on one line, with the id.
    pub(super) title: String,
    pub(super) criteria: Vec<String>,
    pub(super) verify: Vec<String>,
    pub(super) context: Vec<String>,
    pub(super) checks: Vec<String>,
    pub(super) tier: Option<Tier>,
    pub(super) decisions: Vec<String>,
    /// The numbers of the lines that hold them, counted from 0.
    pub(super) decided: Vec<usize>,
}

/// Looks up the zone of a place. Places must come in ascending order.
pub(in crate::ledger) struct Zones<'a>(Peekable<Iter<'a, Zone>>);

impl<'a> Zones<'a> {
    pub(in crate::ledger) fn new(zones: &'a [Zone]) -> Self {
        Self(zones.iter().peekable())
    }

    pub(in crate::ledger) fn at(&mut self, place: usize) -> Option<&'a Zone> {
        while self.0.next_if(|zone| zone.range.end <= place).is_some() {}
        self.0.peek().copied().filter(|zone| zone.range.start <= place)
    }
}

/// Reads the lines of the item `range`, whose text begins at byte `from`.
pub(super) fn read(
    text: &str,
    lines: &Lines<'_>,
    zones: &mut Zones<'_>,
    range: &Range<usize>,
    from: usize,
    problems: &mut Vec<Problem>,
    notes: &mut Vec<Note>,
) -> Body {
    let mut reader = Reader { body: Body::default(), state: State::Title, problems, notes };
    let first = lines.index_of(from);
    let own = text.get(from..lines.range(first).end.max(from)).unwrap_or_default();
    reader.body.title.push_str(own.trim());
    reader.broken(own);
    for index in first + 1..lines.count() {
        let line = lines.range(index);
        if line.start >= range.end {
            break;
        }
        let content = lines.text(index);
        let at = line.start + (content.len() - keys::bullet(content).1.len());
        match zones.at(at).map(|zone| zone.kind) {
            Some(ZoneKind::Comment) => {}
            Some(ZoneKind::Code) => reader.verbatim(content),
            Some(ZoneKind::Html | ZoneKind::Quote | ZoneKind::Table | ZoneKind::FrontMatter) => {
                reader.verbatim(content.trim());
            }
            None => {
                let known = reader.body.decisions.len();
                reader.line(content, index + 1);
                if reader.body.decisions.len() > known {
                    reader.body.decided.push(index);
                }
            }
        }
    }
    reader.body
}

/// What the next line would be the continuation of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Title,
    Criterion,
    Nothing,
}

struct Reader<'a> {
    body: Body,
    state: State,
    problems: &'a mut Vec<Problem>,
    notes: &'a mut Vec<Note>,
}

impl Reader<'_> {
    fn line(&mut self, line: &str, number: usize) {
        let bare = line.trim();
        if bare.is_empty() {
            self.state = State::Nothing;
            return;
        }
        if let Some(found) = keys::read(line) {
            match found.key {
                Known::Yes(key) => {
                    self.state = State::Nothing;
                    return self.key(key, found.value, number);
                }
                Known::Near(key) => {
                    self.problems.push(Problem::near(number, found.word, key.name()));
                    return;
                }
                Known::No => {}
            }
        }
        let (bullet, rest) = keys::bullet(line);
        if !bullet.trim().is_empty() {
            return self.point(rest);
        }
        match self.state {
            State::Title => {
                self.body.title.push(' ');
                self.body.title.push_str(bare);
            }
            State::Criterion => {
                if let Some(last) = self.body.criteria.last_mut() {
                    last.push(' ');
                    last.push_str(bare);
                }
            }
            State::Nothing => {
                self.body.criteria.push(bare.to_owned());
                self.state = State::Criterion;
            }
        }
        self.broken(line);
    }

    /// A hard line break ends what is being read.
    fn broken(&mut self, line: &str) {
        if line.ends_with("  ") || line.ends_with('\\') {
            self.state = State::Nothing;
        }
    }

    /// A nested list item.
    fn point(&mut self, rest: &str) {
        let rest = rest.trim();
        self.state = State::Criterion;
        if let Some(decision) = decision(rest) {
            self.body.decisions.push(literal::read(decision));
            self.state = State::Nothing;
        } else if let Some(mark) = marks::read(rest, 0) {
            let said = rest.get(mark.text..).unwrap_or_default();
            let open = rest.get(mark.inner).is_some_and(|inner| inner.trim().is_empty());
            self.body.criteria.push(if open { said } else { rest }.to_owned());
        } else if !rest.is_empty() {
            self.body.criteria.push(rest.to_owned());
        }
    }

    fn verbatim(&mut self, line: &str) {
        self.state = State::Nothing;
        if !line.trim().is_empty() {
            self.body.criteria.push(line.trim_end().to_owned());
        }
    }

    fn key(&mut self, key: Key, value: &str, number: usize) {
        match key {
            Key::Verify => match keys::said(value) {
                Some(command) => self.body.verify.push(command.to_owned()),
                None => self.notes.push(Note::empty_key(number, key.name())),
            },
            Key::Context => self.body.context.extend(keys::list(value)),
            Key::Checks => self.body.checks.extend(keys::list(value)),
            Key::Tier => self.body.tier = value.parse().ok(),
            Key::Setup | Key::EnvCheck => self.problems.push(Problem::new(
                number,
                format!("`{0}:` is a key of the whole PRD, not of one item: put it above the first item", key.name()),
            )),
            Key::Objective => {
                self.body.criteria.push(format!("Objective: {value}"));
                self.notes.push(Note::new(
                    number,
                    NoteKind::Key,
                    "`Objective:` is a key of the whole PRD; here it is read as a note of the item",
                ));
            }
        }
    }
}

/// `Decision D-007 (lead, 2026-05-18): Resend` without its first word.
pub(super) fn decision(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("Decision ")?;
    let digits = rest.strip_prefix("D-")?;
    digits.starts_with(|c: char| c.is_ascii_digit()).then_some(rest)
}
