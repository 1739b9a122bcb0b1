//! Puts an item together from its parts, and a phase from its items.

use std::{collections::HashMap, ops::Range, str, sync::Arc};

use super::{
    body::{self, Zones},
    id::{self, Taken},
    lines::Lines,
    notes::{self, Note, NoteKind, Problem},
    outside,
    scan::{self, Boxed, Scan},
    sections,
};
use crate::{
    id::{Digest, ItemId, PhaseId},
    plan::{Item, ItemStatus, Phase},
};

/// A PRD that was read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prd {
    /// What is to be done.
    pub phase: Phase,
    /// What a person should know about the file; none of it stops a run.
    pub notes: Vec<Note>,
}

impl Prd {
    /// Reads a PRD from the bytes of the file `name`. The error holds every problem on a line, with its place.
    pub fn parse(bytes: &[u8], name: &str, phase: PhaseId) -> Result<Self, Vec<String>> {
        let draft = Draft::read(bytes).map_err(|problem| vec![format!("{name}:{}: {}", problem.line, problem.text)])?;
        if !draft.problems.is_empty() {
            let line = |problem: &Problem| format!("{name}:{}: {}", problem.line, problem.text);
            return Err(draft.problems.iter().map(line).collect());
        }
        let mut draft = draft;
        if draft.items.iter().all(|placed| placed.item.status == ItemStatus::Done) {
            let file = name.rsplit('/').next().unwrap_or(name);
            let text = str::from_utf8(bytes).unwrap_or_default();
            draft.notes.insert(0, notes::all_done(text, file));
        }
        let mut found = draft.phase;
        found.id = phase;
        if found.title.is_empty() {
            found.title = found.id.to_string();
        }
        found.items = draft.items.into_iter().map(|placed| Arc::new(placed.item)).collect();
        Ok(Self { phase: found, notes: draft.notes })
    }
}

/// An item with the place of its mark.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) item: Item,
    /// Where in the file the bytes between the brackets are.
    pub(super) inner: Range<usize>,
    /// Where in the file the whole item is, with what is nested below it.
    pub(super) range: Range<usize>,
    /// Whether its id is written there.
    pub(super) written: bool,
}

/// Everything that could be read, whatever else is wrong with the file.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) phase: Phase,
    pub(super) items: Vec<Placed>,
    pub(super) problems: Vec<Problem>,
    pub(super) notes: Vec<Note>,
}

impl Draft {
    /// Reads a file. The error is for what is no text.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Problem> {
        let (skip, text) = decode(bytes)?;
        let scan = scan::scan(text);
        let lines = Lines::of(text);
        let mut draft = Self::default();
        let counting = sections::counting(&scan);
        let outer: Vec<usize> = (0..scan.boxes.len()).filter(|index| scan.boxes[*index].owner.is_none()).collect();
        let counted: Vec<usize> =
            outer.iter().copied().filter(|index| counting.counts(scan.boxes[*index].heading)).collect();

        draft.title(&scan);
        draft.items(text, skip, &scan, &lines, &counted);
        draft.outside(text, &scan, &lines, &outer, &counted);
        draft.uncounted(&scan, &lines, &counting, &outer);
        notes::invisible(&lines, text, &mut draft.notes);
        if counted.is_empty() {
            let seen = outside::seen(&scan, &lines, &counting, &draft.notes);
            draft.problems.push(Problem::new(1, format!("no item is recognised: {seen}")));
        }
        draft.problems.sort_by_key(|problem| problem.line);
        draft.notes.sort_by_key(|note| note.line);
        Ok(draft)
    }

    fn title(&mut self, scan: &Scan) {
        let Some(first) = scan.headings.iter().find(|heading| heading.level == 1) else { return };
        // `# PRD-P1 — Privacy scrub` is about privacy.
        let text = first.text.trim();
        let title = text.split_once(['—', '–', ':']).filter(|(name, _)| {
            let name = name.trim();
            name.starts_with("PRD") && !name.contains(' ')
        });
        self.phase.title = title.map_or(text, |(_, title)| title.trim()).to_owned();
    }

    /// Reads the counted boxes as items.
    fn items(&mut self, text: &str, skip: usize, scan: &Scan, lines: &Lines<'_>, counted: &[usize]) {
        let mut zones = Zones::new(&scan.zones);
        self.items.reserve(counted.len());
        let mut ids: Vec<bool> = Vec::with_capacity(counted.len());
        for index in counted {
            let found = &scan.boxes[*index];
            let line = lines.number_of(found.mark.inner.start);
            let body =
                body::read(text, lines, &mut zones, &found.range, found.mark.text, &mut self.problems, &mut self.notes);
            let (written, title) = id::split(&body.title);
            let struck = title.starts_with("~~") || body.title.starts_with("~~");
            ids.push(written.is_some());
            // Not `Item::new`, which would make a fingerprint of its own.
            let mut item = Item {
                id: ItemId::new(written.unwrap_or_default()),
                title: title.to_owned(),
                status: found.mark.status,
                criteria: body.criteria,
                verify: body.verify,
                context: body.context,
                checks: body.checks,
                tier: body.tier,
                digest: digest(text, lines, found, &body.decided),
                decisions: body.decisions,
                line,
            };
            self.judge(&mut item, struck, text, found);
            let inner = found.mark.inner.start + skip..found.mark.inner.end + skip;
            let range = found.range.start + skip..found.range.end + skip;
            self.items.push(Placed { item, inner, range, written: written.is_some() });
        }
        self.stories(scan, lines, counted, &ids);
        self.name(&ids);
        self.disagreements(scan, counted);
    }

    /// Says where an item's status is not what its mark says.
    fn judge(&mut self, item: &mut Item, struck: bool, text: &str, found: &Boxed) {
        let why = match found.mark.unknown {
            Some(why) => {
                let inner = text.get(found.mark.inner.clone()).unwrap_or_default();
                Some(format!("`[{}]`: {why}", inner.escape_debug()))
            }
            None if item.status == ItemStatus::Open && struck => Some("an open item that is struck through".to_owned()),
            None if item.status == ItemStatus::Open && item.title.is_empty() => Some("an item without text".to_owned()),
            None => None,
        };
        if let Some(why) = why {
            item.status = ItemStatus::Unknown;
            let text = format!("{why}; it is never picked and never done");
            self.notes.push(Note::new(item.line, NoteKind::Unknown, text));
        } else if let Some(hint) = notes::scaffold(&item.title)
            && item.status == ItemStatus::Open
        {
            self.notes.push(Note::new(item.line, NoteKind::Scaffold, hint));
        }
    }

    /// Refuses boxes that are the criteria of a story.
    fn stories(&mut self, scan: &Scan, lines: &Lines<'_>, counted: &[usize], written: &[bool]) {
        let mut stories: Vec<usize> = Vec::new();
        for (index, written) in counted.iter().zip(written) {
            let Some(heading) = scan.boxes[*index].heading else { continue };
            if !written && !stories.contains(&heading) && scan.headings.get(heading).is_some_and(sections::is_story) {
                stories.push(heading);
            }
        }
        let Some(first) = stories.first().and_then(|index| scan.headings.get(*index)) else {
            return;
        };
        self.problems.push(Problem::new(
            lines.number_of(first.at),
            format!(
                "`{}` is a story and the boxes below it are its criteria, not items ({} such {}): \
                 make each story one checkbox item with its criteria below it (`ralph prd import`, in a later version, does it)",
                first.text.trim(),
                stories.len(),
                if stories.len() == 1 { "heading" } else { "headings" }
            ),
        ));
    }

    /// Gives every item its id. Written ones come first, so that no made one can take theirs.
    fn name(&mut self, written: &[bool]) {
        let mut taken = Taken::with_capacity(written.len());
        for (placed, _) in self.items.iter().zip(written).filter(|(_, written)| **written) {
            let item = &placed.item;
            if let Some(first) = taken.written(item.id.as_str(), item.line) {
                self.problems.push(Problem::new(
                    item.line,
                    format!("the id `{}` is taken by the item in line {first}", item.id),
                ));
            }
        }
        for (placed, _) in self.items.iter_mut().zip(written).filter(|(_, written)| !**written) {
            let id = taken.made(id::slug(&placed.item.title));
            placed.item.id = ItemId::new(id);
        }
    }

    /// Notes where an item and the boxes below it say different things.
    fn disagreements(&mut self, scan: &Scan, counted: &[usize]) {
        let mut below: HashMap<usize, (usize, usize)> = HashMap::new();
        for nested in &scan.boxes {
            if let Some(owner) = nested.owner {
                let (all, done) = below.entry(owner).or_default();
                *all += 1;
                *done += usize::from(nested.mark.status == ItemStatus::Done);
            }
        }
        for (index, placed) in counted.iter().zip(&self.items) {
            let Some((all, done)) = below.get(index) else { continue };
            let text = match placed.item.status {
                ItemStatus::Open if all == done => {
                    "every box below it is ticked, but the item is open and will be worked on"
                }
                ItemStatus::Done if done < all => "the item is ticked, so the open boxes below it are never worked on",
                _ => continue,
            };
            self.notes.push(Note::new(placed.item.line, NoteKind::Disagrees, text));
        }
    }
}

/// Everything that is said about an item, apart from its mark and what was decided about it. The number of an ordered
/// list and empty lines are no part of it.
fn digest(text: &str, lines: &Lines<'_>, found: &Boxed, decided: &[usize]) -> Digest {
    let (from, end) = (found.mark.inner.end, found.range.end);
    let mut said = String::with_capacity(end.saturating_sub(from));
    for index in lines.index_of(from)..lines.count() {
        let line = lines.range(index);
        if line.start >= end {
            break;
        }
        let own = text.get(line.start.max(from)..line.end.min(end)).unwrap_or_default();
        if !own.trim().is_empty() && !decided.contains(&index) {
            said.push_str(own);
            said.push('\n');
        }
    }
    Digest::of(said.trim().as_bytes())
}

/// The text of a file, and how many bytes at its start are an encoding mark.
pub(in crate::ledger) fn decode(bytes: &[u8]) -> Result<(usize, &str), Problem> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Problem::new(1, "the file is UTF-16: save it as UTF-8"));
    }
    let skip = if bytes.starts_with(&[0xef, 0xbb, 0xbf]) { 3 } else { 0 };
    match str::from_utf8(&bytes[skip..]) {
        Ok(text) => Ok((skip, text)),
        Err(error) => {
            let good = &bytes[..skip + error.valid_up_to()];
            let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
            Err(Problem::new(line, "the file is not UTF-8 from here on: save it as UTF-8"))
        }
    }
}
