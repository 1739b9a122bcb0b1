//! What is wrong with a plan: phases without a PRD or a gate, values that say nothing, keys where nobody reads them.

use std::collections::HashMap;

use super::{
    PlannedPhase,
    heading::{self, PhaseLine},
    key::{self, Key, Known},
    notes::{Note, NoteKind, Problem},
    read::Reader,
};
use crate::ledger::prd_markdown::{
    lines::Lines,
    scan::{Zone, ZoneKind},
};

/// What people write for "none" and what would be run as a command, or asked as a question.
const NOTHING: [&str; 8] = ["none", "n/a", "na", "nil", "no", "nothing", "tbd", "todo"];

/// The whole plan.
pub(super) fn plan(reader: &mut Reader, lines: &Lines<'_>) {
    let mut ids: HashMap<String, usize> = HashMap::new();
    for phase in &reader.phases {
        // Case does not tell ids apart: they become parts of file and branch names.
        if let Some(first) = ids.insert(phase.id.as_str().to_ascii_lowercase(), phase.line) {
            let text = format!("the id `{}` is taken by the phase in line {first}", phase.id);
            reader.problems.push(Problem::new(phase.line, text));
        }
    }
    if reader.phases.is_empty() {
        let text = format!(
            "no phase is recognised in {} {}: a phase is written `Phase P1 — title`, with `PRD:` and a gate below it",
            lines.count(),
            if lines.count() == 1 { "line" } else { "lines" }
        );
        reader.problems.push(Problem::new(1, text));
    }
}

/// A phase, once all its keys are known.
pub(super) fn phase(reader: &mut Reader, phase: &PlannedPhase, seen: &[(Key, usize)]) {
    // A value that was refused is told where it stands.
    let own = || reader.problems.iter().rev().take_while(|problem| problem.line >= phase.line);
    let told = |key: Key| seen.iter().any(|(k, line)| *k == key && own().any(|problem| problem.line == *line));
    let mut missing = Vec::new();
    if phase.prd.is_empty() && !told(Key::Prd) {
        missing.push(format!("phase {} has no PRD: add `PRD: ralph-loop/PRD-{0}.md` below it", phase.id));
    }
    let ungated = phase.auto_gate.is_none() && phase.manual_gate.is_none();
    if ungated && !told(Key::AutoGate) && !told(Key::ManualGate) {
        missing.push(format!(
            "phase {} has no gate: add `Auto-Gate:` with a command, or `Manual-Gate:` with who approves what",
            phase.id
        ));
    }
    reader.problems.extend(missing.into_iter().map(|text| Problem::new(phase.line, text)));
}

/// A word that comes near a key, with what tells it apart where that is hard to see.
pub(super) fn near(word: &str, key: Key, line: usize) -> Problem {
    let name = key.name();
    if word.eq_ignore_ascii_case(name) {
        return Problem::new(line, format!("the sign after `{name}` only looks like a colon: write `{name}: …`"));
    }
    match word.chars().find(|c| !c.is_ascii()) {
        Some(odd) => Problem::new(
            line,
            format!(
                "`{}:` is not a key, because of U+{:04X}: did you mean `{name}:`?",
                crate::printable(word),
                u32::from(odd)
            ),
        ),
        None => Problem::near(line, word, name),
    }
}

/// What is wrong with a value.
pub(super) fn value(key: Key, value: &str, line: usize) -> Option<Problem> {
    let name = key.name();
    let refused = |text: String| Some(Problem::new(line, text));
    if value.contains(|c: char| c.is_control() && c != '\t') {
        return refused(format!("`{name}:` holds control characters"));
    }
    match key {
        Key::Prd if path(value).is_empty() => refused("`PRD:` names no file".to_owned()),
        Key::Prd | Key::Items | Key::ApprovedBy => None,
        Key::MaxBlockers => match value.parse::<u32>() {
            Ok(1..) => None,
            Ok(0) | Err(_) => refused(format!("`{name}: {value}` is not a number from 1 on")),
        },
        Key::AutoGate | Key::ManualGate | Key::Verify | Key::Setup | Key::EnvCheck => {
            let bare = value.trim_matches(|c: char| !c.is_alphanumeric());
            if bare.is_empty() || NOTHING.contains(&value.to_ascii_lowercase().as_str()) {
                return refused(format!("`{name}: {value}` says nothing: write `—` for none"));
            }
            let unfinished = ["&&", "||", "|", "\\"].iter().any(|end| value.ends_with(end));
            if key.is_command() && unfinished {
                return refused(format!("the command of `{name}:` is not finished: write it in one line"));
            }
            None
        }
    }
}

/// The path in `path`, `` `path` ``, `<path>` and `[words](path)`.
pub(super) fn path(value: &str) -> &str {
    let mut path = value;
    if let Some(link) = value.strip_prefix('[').and_then(|inner| inner.strip_suffix(')'))
        && let Some((_, target)) = link.rsplit_once("](")
    {
        path = target;
    }
    for (open, close) in [('`', '`'), ('<', '>'), ('"', '"')] {
        path = path.strip_prefix(open).and_then(|inner| inner.strip_suffix(close)).unwrap_or(path).trim();
    }
    path
}

/// The number in `12` and `12 items`.
pub(super) fn count(value: &str) -> Option<usize> {
    let (number, rest) = value.split_at(value.bytes().take_while(u8::is_ascii_digit).count());
    let words = rest.is_empty() || rest.starts_with([' ', '\t', ',', ';', '(']);
    number.parse().ok().filter(|_| words)
}

/// A line that is not read. What looks like a key there is told, and refused where nobody could have meant to hide it.
pub(super) fn hidden(reader: &mut Reader, text: &str, line: &str, zone: &Zone, number: usize) {
    // What follows the end of a comment is swallowed with it.
    let tail = line.rsplit_once("-->").filter(|_| zone.kind == ZoneKind::Comment).and_then(|(_, tail)| meant(tail));
    let swallowed = tail.is_some();
    let Some(found) = tail.or_else(|| meant(line)) else { return };
    let closed = match reader.zone {
        Some((start, closed)) if start == zone.range.start => closed,
        Some(_) | None => is_closed(text.get(zone.range.clone()).unwrap_or_default(), zone.kind),
    };
    reader.zone = Some((zone.range.start, closed));
    let problem = match zone.kind {
        ZoneKind::FrontMatter => Some("the front matter: put it below"),
        ZoneKind::Html => Some("an HTML block: put an empty line before it"),
        ZoneKind::Comment if swallowed => Some("the line that ends a comment: put it on a line of its own"),
        ZoneKind::Comment if !closed => Some("a comment that is never closed: end it with `-->`"),
        ZoneKind::Code if !closed => Some("a code block that is never closed: end it with its fence"),
        ZoneKind::Comment | ZoneKind::Code | ZoneKind::Quote | ZoneKind::Table => None,
    };
    let what = if found.starts_with("a ") { found.to_owned() } else { format!("`{found}:`") };
    match problem {
        Some(place) => reader.problems.push(Problem::new(number, format!("{what} is lost in {place}"))),
        None => {
            let text = format!("{what} {} is not read", zone.kind.place());
            reader.notes.push(Note::new(number, NoteKind::Key, text));
        }
    }
}

/// What a line would be if it were read.
fn meant(line: &str) -> Option<&'static str> {
    match (heading::read(line), key::read(line).map(|found| found.known)) {
        (PhaseLine::Begins { .. } | PhaseLine::Unclear(_), _) => Some("a phase"),
        (_, Some(Known::Yes(key) | Known::Near(key))) => Some(key.name()),
        (_, Some(Known::Gate)) => Some("a gate"),
        (_, Some(Known::Struck(_) | Known::No) | None) => None,
    }
}

/// Whether a zone has an end of its own, and not just that of the file or the list around it.
fn is_closed(zone: &str, kind: ZoneKind) -> bool {
    match kind {
        ZoneKind::Comment => zone.contains("-->"),
        ZoneKind::Code => {
            let lines = Lines::of(zone.trim_end());
            let (first, last) = (lines.text(0).trim(), lines.text(lines.count() - 1).trim());
            let sign = if first.starts_with('~') { '~' } else { '`' };
            let length = first.chars().take_while(|c| *c == sign).count();
            lines.count() > 1 && last.chars().count() >= length && last.chars().all(|c| c == sign)
        }
        ZoneKind::Html | ZoneKind::Quote | ZoneKind::Table | ZoneKind::FrontMatter => true,
    }
}
