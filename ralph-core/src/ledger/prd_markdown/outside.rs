//! What stands outside the items: the keys above them, and boxes that do not count.

use std::collections::HashMap;

use super::{
    body::Zones,
    keys::{self, Key, Known},
    lines::Lines,
    notes::{Note, NoteKind, Problem},
    read::Draft,
    scan::{Scan, ZoneKind},
    sections,
};

impl Draft {
    /// Reads the keys above the first item, and refuses those that would be lost elsewhere.
    pub(super) fn outside(&mut self, text: &str, scan: &Scan, lines: &Lines<'_>, outer: &[usize], counted: &[usize]) {
        let first_item = counted.first().map_or(text.len(), |index| scan.boxes[*index].range.start);
        let mut zones = Zones::new(&scan.zones);
        let mut boxes = outer.iter().map(|index| &scan.boxes[*index].range).peekable();
        let mut objective = false;
        let mut next = 0;
        while next < lines.count() {
            let index = next;
            next += 1;
            let line = lines.text(index);
            let at = lines.range(index).start + (line.len() - keys::bullet(line).1.len());
            while boxes.next_if(|range| range.end <= at).is_some() {}
            if let Some(range) = boxes.peek()
                && range.start <= at
            {
                // What is below a box is its own.
                objective = false;
                next = next.max(lines.index_of(range.end));
                continue;
            }
            let zone = zones.at(at).map(|zone| zone.kind);
            if zone.is_some_and(|kind| kind != ZoneKind::FrontMatter) {
                objective = false;
                continue;
            }
            let found = keys::read(line);
            if let Some(found) = found {
                let above = at < first_item && zone.is_none();
                objective = above && self.outer_key(found.key, found.word, found.value, index, above);
                if !above {
                    self.lost_key(found.key, found.word, index, zone.is_some());
                }
            } else if objective && !line.trim().is_empty() && !is_block(line) {
                if let Some(text) = &mut self.phase.objective {
                    text.push(' ');
                    text.push_str(line.trim());
                }
            } else {
                objective = false;
            }
        }
    }

    /// Takes in a key above the first item. Answers whether the next line may go on with it.
    fn outer_key(&mut self, key: Known, word: &str, value: &str, index: usize, above: bool) -> bool {
        let line = index + 1;
        let key = match key {
            Known::Yes(key) => key,
            Known::Near(key) => {
                self.problems.push(Problem::near(line, word, key.name()));
                return false;
            }
            Known::No => {
                if above && word.starts_with(|c: char| c.is_ascii_uppercase()) && !word.contains(' ') {
                    let text = format!("`{word}:` is not a key of ralph and is read as prose");
                    self.notes.push(Note::new(line, NoteKind::Key, text));
                }
                return false;
            }
        };
        let command = keys::said(value).map(str::to_owned);
        if command.is_none() {
            self.notes.push(Note::empty_key(line, key.name()));
        }
        match key {
            Key::Verify => self.phase.verify.extend(command),
            Key::Setup => self.phase.setup.extend(command),
            Key::EnvCheck => self.phase.env_check.extend(command),
            Key::Context => self.phase.context.extend(keys::list(value)),
            Key::Objective => {
                let objective = self.phase.objective.get_or_insert_default();
                if !objective.is_empty() && command.is_some() {
                    objective.push(' ');
                }
                objective.push_str(command.as_deref().unwrap_or_default());
                return true;
            }
            Key::Checks => self.problems.push(Problem::new(line, "`Checks:` is a key of an item: put it below one")),
            Key::Tier => {
                self.notes.push(Note::new(line, NoteKind::Key, "`Tier:` is a key of an item: put it below one"));
            }
        }
        false
    }

    /// A key where it has no meaning: lost checks are refused, the rest is told.
    fn lost_key(&mut self, key: Known, word: &str, index: usize, front_matter: bool) {
        let line = index + 1;
        let place = if front_matter { "in the front matter" } else { "below the first item" };
        match key {
            Known::Yes(key) if key.guards() => self.problems.push(Problem::new(
                line,
                format!(
                    "`{}:` {place} belongs to no item: put it above the first item, or indent it below its item",
                    key.name()
                ),
            )),
            Known::Near(key) if key.guards() => {
                self.problems.push(Problem::near(line, word, key.name()));
            }
            Known::Yes(key) | Known::Near(key) => self.notes.push(Note::new(
                line,
                NoteKind::Key,
                format!("`{word}:` {place} is not read as `{}:`", key.name()),
            )),
            Known::No => {}
        }
    }

    /// Notes the boxes that are not items.
    pub(super) fn uncounted(&mut self, scan: &Scan, lines: &Lines<'_>, counting: &sections::Counting, outer: &[usize]) {
        for index in outer {
            let found = &scan.boxes[*index];
            if !counting.counts(found.heading) {
                let line = lines.number_of(found.mark.inner.start);
                let text = "a box outside the sections of items does not count";
                self.notes.push(Note::new(line, NoteKind::NotCounted, text));
            }
        }
        let mut zones = Zones::new(&scan.zones);
        let mut boxes = scan.boxes.iter().map(|found| found.mark.inner.start - 1).peekable();
        for index in 0..lines.count() {
            let range = lines.range(index);
            // Byte by byte: most lines hold none, and are short.
            let line = lines.text(index).as_bytes();
            let Some(at) = line.iter().position(|byte| *byte == b'[') else { continue };
            let at = range.start + at;
            let mut real = false;
            while boxes.next_if(|place| *place < range.end).is_some() {
                real = true;
            }
            if real {
                continue;
            }
            let zone = zones.at(at).map(|zone| zone.kind);
            if has_box(lines.text(index), zone == Some(ZoneKind::Table)) {
                let place = zone.map_or("not at the start of a list item", ZoneKind::place);
                let text = format!("a box {place} does not count");
                self.notes.push(Note::new(index + 1, NoteKind::NotCounted, text));
            }
        }
    }
}

/// Whether a line that is no item shows a box: at its start, or anywhere in a table.
fn has_box(line: &str, anywhere: bool) -> bool {
    const BOXES: [&str; 6] = ["[ ]", "[x]", "[X]", "[?]", "[!]", "[~]"];
    if anywhere {
        return BOXES.iter().any(|text| line.contains(text));
    }
    let start =
        line.trim_start_matches(|c: char| c.is_whitespace() || c.is_ascii_digit() || "-*+>.)\\_~•–—·‣◦`".contains(c));
    BOXES.iter().any(|text| start.starts_with(text) && !start[text.len()..].starts_with(['(', '[', ':']))
}

/// A line that ends a paragraph: a heading, a list item, a fence, a rule.
fn is_block(line: &str) -> bool {
    let bare = line.trim_start();
    !keys::bullet(line).0.trim().is_empty()
        || bare.starts_with(['#', '>', '|'])
        || bare.starts_with("```")
        || bare.starts_with("---")
        || bare.starts_with("===")
}

/// What a file without items holds instead.
pub(super) fn seen(scan: &Scan, lines: &Lines<'_>, counting: &sections::Counting, notes: &[Note]) -> String {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for note in notes.iter().filter(|note| note.kind == NoteKind::NotCounted) {
        *places.entry(note.text.as_str()).or_default() += 1;
    }
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_unstable();
    let mut seen: Vec<String> = places
        .into_iter()
        .map(|(text, count)| {
            let place = text.trim_start_matches("a box ").trim_end_matches(" does not count");
            format!("{count} {} {place}", if count == 1 { "box" } else { "boxes" })
        })
        .collect();
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    seen.push(format!(
        "{}, {} without a box, {}",
        counted(scan.headings.len(), "heading"),
        counted(scan.list_items - scan.boxes.len(), "list item"),
        counted(lines.count(), "line")
    ));
    let mut advice = "items are written `- [ ] R01: what to do`".to_owned();
    if counting.by_sections {
        let names = scan.headings.iter().filter(|heading| sections::is_section(heading));
        let names: Vec<_> = names.take(3).map(|heading| format!("`{}`", heading.text.trim())).collect();
        advice.push_str(&format!(" and are looked for only below {}", names.join(", ")));
    }
    format!("{}; {advice}", seen.join(", "))
}
