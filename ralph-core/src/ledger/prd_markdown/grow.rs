//! Adding to a PRD: a decision below its item, or new items below the last one.
//!
//! Every byte that is there stays. Where a line can go is found by trying: what comes out is read again, and only a file
//! that says what it said, and what was to be added, is written.

use std::{fs, io, path::Path, str};

use super::{
    SIZE_MAX, body, id,
    keys::{self, Key, Known},
    lines::Lines,
    literal,
    notes::{self, NoteKind},
    place,
    read::{Draft, Placed},
    read_bounded,
};
use crate::{
    id::ItemId,
    ledger::replace,
    plan::{Item, ItemStatus, PlanError, Proposal},
};

/// How often to begin again when a person saves the file meanwhile.
const TRIES: u32 = 5;

/// Adds `decision` to what is said about `item` in the file at `path`; nothing where it is said already, or the item is
/// gone.
pub(super) fn note(path: &Path, item: &ItemId, decision: &str) -> Result<(), PlanError> {
    let decision = literal::one_line(decision);
    rewrite(path, |bytes| with_note(bytes, item, &decision))
}

/// Adds `items` below the last item of the file at `path`, each with `decision`; nothing where an item has it already.
pub(super) fn extend(path: &Path, items: &[Proposal], decision: &str) -> Result<(), PlanError> {
    let decision = literal::one_line(decision);
    rewrite(path, |bytes| with_items(bytes, items, &decision))
}

/// Why a file could not be changed: the line and what is wrong.
type Refusal = (usize, String);

/// Replaces the file by what `change` makes of it; `None` is nothing.
fn rewrite(path: &Path, change: impl Fn(&[u8]) -> Result<Option<Vec<u8>>, Refusal>) -> Result<(), PlanError> {
    let failed = |error: io::Error| PlanError::Io {
        operation: "written",
        source: format!("{}: {error}", path.display()).into(),
    };
    for _ in 0..TRIES {
        let bytes = read_bounded(path)?;
        let changed = change(&bytes)
            .map_err(|(line, text)| PlanError::Invalid(vec![format!("{}:{line}: {text}", path.display())]))?;
        let Some(new) = changed else { return Ok(()) };
        if new.len() as u64 > SIZE_MAX {
            return Err(failed(io::Error::other(format!("it would be larger than {} MiB", SIZE_MAX >> 20))));
        }
        // The last look before the write.
        if fs::read(path).map_err(failed)? == bytes {
            return replace::replace(path, &new).map_err(failed);
        }
    }
    Err(failed(io::Error::other("the file changes all the time")))
}

fn with_note(bytes: &[u8], item: &ItemId, decision: &str) -> Result<Option<Vec<u8>>, Refusal> {
    let draft = Draft::read(bytes).map_err(|problem| (problem.line, problem.text))?;
    let mut found = (0..draft.items.len()).filter(|index| draft.items[*index].item.id == *item);
    let Some(index) = found.next() else { return Ok(None) };
    if let Some(second) = found.next() {
        let (first, second) = (draft.items[index].item.line, draft.items[second].item.line);
        return Err((second, format!("the id `{item}` is taken by the item in line {first}")));
    }
    let placed = &draft.items[index];
    let line = placed.item.line;
    if placed.item.decisions.iter().any(|known| known == decision) {
        return Ok(None);
    }
    let text = decision_line(decision).ok_or_else(|| (line, no_decision(decision)))?;
    let mut expected: Vec<Item> = draft.items.iter().map(|placed| placed.item.clone()).collect();
    expected[index].decisions.push(decision.to_owned());
    for edit in place::below(bytes, &draft, index, &text) {
        let new = edit.apply(bytes);
        if Draft::read(&new).is_ok_and(|after| says(&after, &draft, &expected)) {
            return Ok(Some(new));
        }
    }
    let text = format!("a line about the item `{item}` cannot be added here: add `- {text}` below it by hand");
    Err((line, text))
}

fn with_items(bytes: &[u8], proposals: &[Proposal], decision: &str) -> Result<Option<Vec<u8>>, Refusal> {
    let draft = Draft::read(bytes).map_err(|problem| (problem.line, problem.text))?;
    let Some(last) = draft.items.last() else {
        return Err((1, "no item is recognised, so none can be added below the last one".to_owned()));
    };
    let known = |placed: &Placed| placed.item.decisions.iter().any(|known| known == decision);
    if draft.items.iter().any(known) {
        return Ok(None);
    }
    let line = last.item.line;
    let said = decision_line(decision).ok_or_else(|| (line, no_decision(decision)))?;
    let mut style = Style::of(bytes, &draft);
    let mut rows = Vec::new();
    let mut expected: Vec<Item> = draft.items.iter().map(|placed| placed.item.clone()).collect();
    for proposal in proposals {
        let title = literal::one_line(&proposal.title);
        if title.is_empty() {
            continue;
        }
        let (row, item) = style.row(&title, proposal, &said, decision).map_err(|text| (line, text))?;
        rows.push(row);
        expected.push(item);
    }
    if rows.is_empty() {
        return Ok(None);
    }
    for edit in place::after_last(bytes, &draft, &rows) {
        let new = edit.apply(bytes);
        if Draft::read(&new).is_ok_and(|after| says(&after, &draft, &expected)) {
            return Ok(Some(new));
        }
    }
    Err((line, "items cannot be added below this one: add the approved ones by hand".to_owned()))
}

/// The line of a decision without its bullet; `None` where it would not be read as one.
fn decision_line(decision: &str) -> Option<String> {
    let line = format!("Decision {}", literal::write(decision));
    let read = body::decision(&line).map(literal::read);
    let key = keys::read(&line).is_some_and(|found| found.key != Known::No);
    (read.as_deref() == Some(decision) && !key).then_some(line)
}

fn no_decision(decision: &str) -> String {
    format!("`{decision}` is no decision: it begins like `D-007 (lead, 2026-05-18): …`")
}

/// Whether `after` says what `before` said, with `items` as its items.
fn says(after: &Draft, before: &Draft, items: &[Item]) -> bool {
    let told = |draft: &Draft| {
        let problems = draft.problems.iter().map(|problem| plain(&problem.text));
        // New words may look like a template's, or show a box that is none.
        let notes = draft.notes.iter().filter(|n| !matches!(n.kind, NoteKind::Scaffold | NoteKind::NotCounted));
        let notes = notes.map(|note| format!("{:?} {}", note.kind, plain(&note.text)));
        problems.chain(notes).collect::<Vec<_>>()
    };
    let same = told(after) == told(before) && after.phase == before.phase && after.items.len() == items.len();
    let old = before.items.len();
    same && after.items.iter().zip(items).enumerate().all(|(index, (placed, expected))| {
        let mut found = placed.item.clone();
        found.line = expected.line;
        if index >= old {
            found.digest = expected.digest.clone();
        }
        // One that is made from the text.
        if expected.id.as_str().is_empty() {
            found.id = expected.id.clone();
        }
        found == *expected
    })
}

/// A text without its numbers: those of lines change where lines are added.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// How a file writes its ids, and which one is next.
struct Style {
    /// What stands before the number, such as `R` or `US-`.
    stem: String,
    width: usize,
    last: u64,
    /// What stands before and after the id, such as `**` and `:** `.
    around: (String, String),
    /// Whether the file's items have written ids.
    written: bool,
}

impl Style {
    fn of(bytes: &[u8], draft: &Draft) -> Self {
        let mut style = Self {
            stem: "R".to_owned(),
            width: 2,
            last: draft.items.len() as u64,
            around: (String::new(), ": ".to_owned()),
            written: false,
        };
        let numbered = draft.items.iter().rev().filter(|placed| placed.written);
        let model = numbered.filter_map(|placed| Some((placed, number(placed.item.id.as_str())?))).next();
        if let Some((placed, (stem, digits))) = model {
            (style.stem, style.width, style.written) = (stem.to_owned(), digits.len(), true);
            style.last = 0;
            if let Some(around) = around(bytes, placed) {
                style.around = around;
            }
        }
        for placed in &draft.items {
            if let Some((stem, digits)) = number(placed.item.id.as_str())
                && stem.eq_ignore_ascii_case(&style.stem)
            {
                style.last = style.last.max(digits.parse().unwrap_or_default());
            }
        }
        style
    }

    /// A new item: its lines without indent, and what it is read as.
    fn row(
        &mut self,
        title: &str,
        proposal: &Proposal,
        said: &str,
        decision: &str,
    ) -> Result<(Vec<String>, Item), String> {
        let title = literal::title(title);
        let mut first = title.clone();
        let mut item = Item::new("", title.as_str());
        // Without an id of its own, a title that begins like one would be taken for it.
        if self.written || id::split(&title).0.is_some() {
            self.last = self.last.saturating_add(1);
            let new = format!("{}{:0width$}", self.stem, self.last, width = self.width);
            let styled = format!("{}{new}{}{title}", self.around.0, self.around.1);
            let fits = id::split(&styled) == (Some(new.as_str()), title.as_str());
            first = if fits { styled } else { format!("{new}: {title}") };
            item.id = ItemId::new(new);
        }
        let mut lines = vec![first];
        for criterion in proposal.criteria.iter().map(|text| literal::one_line(text)) {
            if criterion.is_empty() {
                continue;
            }
            let criterion = literal::criterion(&criterion);
            lines.push(format!("- {criterion}"));
            item.criteria.push(criterion);
        }
        let command = proposal.verify.as_deref().map(str::trim).filter(|command| !command.is_empty());
        if let Some(command) = command {
            let line = format!("Verify: {command}");
            if !is_line(command) || !reads_as(&line, command) {
                let command = crate::printable(command);
                return Err(format!(
                    "the command `{command}` of the approved item `{title}` cannot be written in one line: add the item by hand"
                ));
            }
            lines.push(line);
            item.verify.push(command.to_owned());
        }
        lines.push(format!("- {said}"));
        item.decisions.push(decision.to_owned());
        item.status = ItemStatus::Open;
        Ok((lines, item))
    }
}

/// Whether a text is one line in which everything is seen.
fn is_line(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() || notes::hidden(c))
}

fn reads_as(line: &str, command: &str) -> bool {
    let found = keys::read(line);
    found.is_some_and(|found| found.key == Known::Yes(Key::Verify) && keys::said(found.value) == Some(command))
}

/// Splits an id into what stands before its last number and the number: `US-001` is `US-` and `001`.
fn number(id: &str) -> Option<(&str, &str)> {
    let id = id.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let stem = id.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &id[stem.len()..];
    // `#12` counts as an id only in signs that may not be there.
    let fit = (1..=18).contains(&digits.len()) && stem.starts_with(|c: char| c.is_ascii_alphabetic());
    fit.then_some((stem, digits))
}

/// What stands around the id of an item.
fn around(bytes: &[u8], placed: &Placed) -> Option<(String, String)> {
    let text = str::from_utf8(bytes.get(placed.inner.end + 1..placed.range.end)?).ok()?;
    let first = Lines::of(text).text(0).trim();
    let (written, title) = id::split(first);
    let head = first.strip_suffix(title).filter(|_| !title.is_empty())?;
    let (before, after) = head.split_once(written?)?;
    Some((before.to_owned(), after.to_owned()))
}
