//! Reads a Master Plan, line by line.

use std::mem;

use super::{
    ApprovedBy, PlannedPhase, Signature, check,
    heading::{self, PhaseLine},
    key::{self, Key, Known},
    notes::{self, Note, NoteKind, Problem},
};
use crate::{
    id::PhaseId,
    ledger::prd_markdown::{
        body::Zones,
        keys::said,
        lines::Lines,
        read::decode,
        scan::{self, Scan, Zone, ZoneKind},
    },
};

/// A Master Plan that was read.
///
/// ```
/// # fn main() -> Result<(), Vec<String>> {
/// use ralph_core::ledger::{MasterPlan, Signature};
///
/// let text = "Approved-By: lead, 2026-05-18\n\n\
///             ## Phase P1 — Privacy scrub\n- PRD: ralph-loop/PRD-P1.md\n- **Auto-Gate:** `pnpm build`\n";
/// let plan = MasterPlan::parse(text.as_bytes(), "MASTER-PLAN.md")?;
/// assert_eq!(plan.phases[0].auto_gate.as_deref(), Some("pnpm build"));
/// assert!(matches!(plan.signature, Signature::Signed(_)));
///
/// let slip = text.replace("Auto-Gate", "Auto-Gat");
/// assert!(MasterPlan::parse(slip.as_bytes(), "MASTER-PLAN.md").is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MasterPlan {
    /// What it says about its approval. What is wrong with that is no problem of the plan.
    pub signature: Signature,
    /// The phases in file order; at least one.
    pub phases: Vec<PlannedPhase>,
    /// What a person should know about the file; none of it stops a run.
    pub notes: Vec<Note>,
    /// The text without the signature, with `\n` between its lines: what an approval covers.
    pub(in crate::ledger) text: String,
}

impl MasterPlan {
    /// Reads a plan from the bytes of the file `name`. The error holds every problem on a line, with its place.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self, Vec<String>> {
        let tell = |problem: &Problem| format!("{name}:{}: {}", problem.line, problem.text);
        let (_, text) = decode(bytes).map_err(|problem| vec![tell(&problem)])?;
        let scan = scan::scan(text);
        let lines = Lines::of(text);
        let mut reader = Reader::default();
        reader.walk(text, &scan, &lines);
        reader.end_phase();
        check::plan(&mut reader, &lines);
        notes::invisible(&lines, text, &mut reader.notes);
        if !reader.problems.is_empty() {
            reader.problems.sort_by_key(|problem| problem.line);
            return Err(reader.problems.iter().map(tell).collect());
        }
        reader.notes.sort_by_key(|note| note.line);
        let unsigned = (0..lines.count()).filter(|index| !reader.is_signed(index + 1));
        let unsigned: Vec<_> = unsigned.map(|index| lines.text(index)).collect();
        Ok(Self {
            signature: signature(&reader.signed),
            phases: reader.phases,
            notes: reader.notes,
            text: unsigned.join("\n"),
        })
    }
}

/// What the `Approved-By:` lines come to.
fn signature(signed: &[(usize, String)]) -> Signature {
    match signed {
        [] => Signature::Missing,
        [(line, value)] => match ApprovedBy::read(value, *line) {
            Ok(by) => Signature::Signed(by),
            Err(why) => Signature::Malformed { line: *line, why },
        },
        [(first, _), (second, _), ..] => Signature::Malformed {
            line: *second,
            why: format!("there is another `Approved-By:` in line {first}: keep one of them"),
        },
    }
}

#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) phases: Vec<PlannedPhase>,
    pub(super) problems: Vec<Problem>,
    pub(super) notes: Vec<Note>,
    /// The lines `Approved-By:` with what they say.
    pub(super) signed: Vec<(usize, String)>,
    /// The phase that is being read.
    phase: Option<PlannedPhase>,
    /// Its keys so far, with their lines.
    seen: Vec<(Key, usize)>,
    /// The key that the next line may go on with.
    open: Option<Key>,
    /// Where the last zone that was looked at begins, and whether it has an end.
    pub(super) zone: Option<(usize, bool)>,
}

impl Reader {
    /// Whether a line is a signature. They are in the order of their lines.
    fn is_signed(&self, line: usize) -> bool {
        self.signed.binary_search_by_key(&line, |(line, _)| *line).is_ok()
    }

    fn walk(&mut self, text: &str, scan: &Scan, lines: &Lines<'_>) {
        let mut zones = Zones::new(&scan.zones);
        for index in 0..lines.count() {
            let line = lines.text(index);
            let range = lines.range(index);
            let at = range.start + (line.len() - line.trim_start().len());
            let zone = zones.at(at).filter(|zone| hides(text, line, zone));
            if let Some(zone) = zone {
                self.open = None;
                check::hidden(self, text, line, zone, index + 1);
                continue;
            }
            let comment = |zone: &&Zone| zone.kind == ZoneKind::Comment && zone.range.start > at;
            let from = scan.zones.partition_point(|zone| zone.range.end <= at);
            let later = scan.zones.iter().skip(from).take_while(|zone| zone.range.start < range.end);
            let comment = later.clone().any(|zone| comment(&zone));
            self.line(line, index + 1, comment);
        }
    }

    fn line(&mut self, line: &str, number: usize, comment: bool) {
        let open = self.open.take();
        match heading::read(line) {
            PhaseLine::Begins { id, title } => return self.begin(id, title, line, number),
            PhaseLine::Unclear(why) => {
                let text = format!("it looks like a phase, but {why}: write `Phase P1 — title`");
                self.problems.push(Problem::new(number, text));
                return;
            }
            PhaseLine::Prose => {
                let text = "this line is read as prose; a phase is written `Phase P1 — title`";
                self.notes.push(Note::new(number, NoteKind::Key, text));
                return;
            }
            PhaseLine::No => {}
        }
        if let Some(found) = key::read(line) {
            match found.known {
                Known::Yes(key) if comment => self.problems.push(Problem::new(
                    number,
                    format!("`{}:` has an HTML comment in its line: put the comment on a line of its own", key.name()),
                )),
                Known::Yes(key) => self.key(key, found.value, number),
                Known::Struck(key) => self.problems.push(Problem::new(
                    number,
                    format!("`{}:` is struck through: take the line out, or write it plainly", key.name()),
                )),
                Known::Near(key) => self.problems.push(check::near(found.word, key, number)),
                Known::Gate if self.phase.is_some() => {
                    let either = "Auto-Gate:` or `Manual-Gate";
                    self.problems.push(Problem::near(number, &crate::printable(found.word), either));
                }
                Known::Gate | Known::No => self.word(found.word, number),
            }
            return self.within(line, number);
        }
        if let Some((key, sure)) = key::colonless(line) {
            let name = key.name();
            if sure {
                let text = format!("`{name}` has no colon: write `{name}: …`");
                self.problems.push(Problem::new(number, text));
            } else {
                let text = format!("`{name}` without a colon is read as prose");
                self.notes.push(Note::new(number, NoteKind::Key, text));
            }
            return;
        }
        self.go_on(open, line, number);
        self.within(line, number);
    }

    fn within(&mut self, line: &str, number: usize) {
        if let Some(key) = key::within(line) {
            let text = format!("`{}:` in the middle of a line is not read as a key", key.name());
            self.notes.push(Note::new(number, NoteKind::Key, text));
        }
    }

    /// A word of somebody else's.
    fn word(&mut self, word: &str, number: usize) {
        if word.starts_with(char::is_uppercase) && !word.contains(char::is_whitespace) {
            let text = format!("`{}:` is not a key of ralph and is read as prose", crate::printable(word));
            self.notes.push(Note::new(number, NoteKind::Key, text));
        }
    }

    /// What a gate says may go on in the next line; a command may not.
    fn go_on(&mut self, open: Option<Key>, line: &str, number: usize) {
        let Some(key) = open else { return };
        let (before, _) = key::bare(line);
        let bare = line.trim();
        if bare.is_empty() || before.contains(['#', '-', '*', '+', '>', '|', '=']) && !bare.starts_with(['|', '&']) {
            return;
        }
        if key.is_command() {
            if bare.starts_with(['|', '&', ';', '<', '>']) || bare.starts_with("\\") {
                let text = format!("the command of `{}:` goes on here: write it in one line", key.name());
                self.problems.push(Problem::new(number, text));
            }
            return;
        }
        if let Some(gate) = self.phase.as_mut().and_then(|phase| phase.manual_gate.as_mut()) {
            gate.push(' ');
            gate.push_str(bare);
            self.open = Some(key);
        }
    }

    fn begin(&mut self, id: &str, title: &str, line: &str, number: usize) {
        self.end_phase();
        let id = PhaseId::new(id);
        let title = if title.is_empty() { id.to_string() } else { title.to_owned() };
        self.phase = Some(PlannedPhase { id, title, line: number, ..PlannedPhase::default() });
        self.within(line, number);
    }

    pub(super) fn end_phase(&mut self) {
        let seen = mem::take(&mut self.seen);
        if let Some(phase) = self.phase.take() {
            check::phase(self, &phase, &seen);
            self.phases.push(phase);
        }
    }

    fn key(&mut self, key: Key, value: &str, number: usize) {
        let name = key.name();
        // A hard line break at the end of a line is no part of what it says.
        let value = if key.is_command() { value } else { value.strip_suffix('\\').unwrap_or(value).trim_end() };
        if key == Key::ApprovedBy {
            self.signed.push((number, value.to_owned()));
            return;
        }
        let Some(phase) = &mut self.phase else {
            let text = format!("`{name}:` is a key of a phase and stands above the first one: put it below its phase");
            return self.problems.push(Problem::new(number, text));
        };
        if let Some((_, first)) = self.seen.iter().find(|(seen, _)| *seen == key) {
            let text = format!("phase {} has `{name}:` in line {first} already: keep one of them", phase.id);
            return self.problems.push(Problem::new(number, text));
        }
        self.seen.push((key, number));
        if value.is_empty() {
            self.notes.push(Note::empty_key(number, name));
        }
        let Some(value) = said(value) else { return };
        if let Some(problem) = check::value(key, value, number) {
            return self.problems.push(problem);
        }
        let text = Some(value.to_owned());
        match key {
            Key::ApprovedBy => {}
            Key::Prd => {
                phase.prd = check::path(value).to_owned();
                phase.prd_line = number;
            }
            Key::AutoGate => phase.auto_gate = text,
            Key::ManualGate => phase.manual_gate = text,
            Key::Verify => phase.verify = text,
            Key::Setup => phase.setup = text,
            Key::EnvCheck => phase.env_check = text,
            Key::MaxBlockers => phase.max_blockers = value.parse().ok(),
            Key::Items => match check::count(value) {
                Some(count) => phase.items = Some((count, number)),
                None => {
                    let text = "`Items:` is no number, so it is not compared with the PRD";
                    self.notes.push(Note::new(number, NoteKind::Count, text));
                }
            },
        }
        self.open = Some(key).filter(|key| key.is_command() || *key == Key::ManualGate);
    }
}

/// Whether a line is hidden in a zone. Markdown takes more for one than people mean: an indented line for code, the line
/// after a quote for its end, and neither may swallow a gate.
fn hides(text: &str, line: &str, zone: &Zone) -> bool {
    match zone.kind {
        ZoneKind::Code => {
            let first = text.get(zone.range.clone()).unwrap_or_default().trim_start();
            first.starts_with("```") || first.starts_with("~~~")
        }
        ZoneKind::Quote => {
            let (before, _) = crate::ledger::prd_markdown::keys::bullet(line);
            before.contains('>') || line[before.len()..].starts_with('>')
        }
        ZoneKind::Table => false,
        ZoneKind::Comment | ZoneKind::Html | ZoneKind::FrontMatter => true,
    }
}
