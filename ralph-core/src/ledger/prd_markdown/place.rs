//! Where a line can be added in a PRD, and with which indent, bullet and line end: the file's own.

use std::{ops::Range, str};

use super::{
    keys,
    lines::Lines,
    read::{Draft, Placed},
};

/// How many places are tried before a person is asked.
const PLACES_MAX: usize = 48;

/// Text to put in at a place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edit {
    at: usize,
    text: String,
}

impl Edit {
    pub(super) fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let at = self.at.min(bytes.len());
        [&bytes[..at], self.text.as_bytes(), &bytes[at..]].concat()
    }
}

/// The places for a nested list item `text` below item `index`, the best first: at the end of what belongs to it, with an
/// empty line after it, further up.
pub(super) fn below<'a>(
    bytes: &'a [u8],
    draft: &'a Draft,
    index: usize,
    text: &'a str,
) -> impl Iterator<Item = Edit> + 'a {
    let page = Page::of(bytes);
    let placed = &draft.items[index];
    let own = page.own(placed);
    let prefixes = page.prefixes(draft, placed);
    let last = own.end.saturating_sub(1);
    let ends =
        prefixes.clone().into_iter().flat_map(move |prefix| [(last, prefix.clone(), false), (last, prefix, true)]);
    let upper = own.rev().skip(1).flat_map(move |line| prefixes.clone().into_iter().map(move |p| (line, p, false)));
    ends.chain(upper)
        .take(PLACES_MAX)
        .map(move |(line, prefix, apart)| page.insert(line, &[format!("{prefix}{text}")], 0, usize::from(apart)))
}

/// The places for new items below the last one.
pub(super) fn after_last(bytes: &[u8], draft: &Draft, rows: &[Vec<String>]) -> Vec<Edit> {
    let page = Page::of(bytes);
    let mut edits = Vec::new();
    let Some(placed) = draft.items.last() else { return edits };
    let loose = draft.items.len() > 1 && page.is_loose(placed);
    let head = Head::of(&page, placed);
    let last = page.own(placed).end.saturating_sub(1);
    for prefix in page.prefixes(draft, placed) {
        // A key stands in the item's own text.
        let lead = &prefix[..prefix.len() - prefix.trim_start().len()];
        for (before, after) in [(loose, false), (loose, true), (true, true)] {
            let mut lines = Vec::new();
            for (number, row) in (1..).zip(rows) {
                if before && number > 1 {
                    lines.push(String::new());
                }
                let mut row = row.iter();
                lines.extend(row.next().map(|title| head.line(number, title)));
                lines.extend(row.map(|line| match line.strip_prefix("- ") {
                    Some(point) => format!("{prefix}{point}"),
                    None => format!("{lead}{line}"),
                }));
            }
            edits.push(page.insert(last, &lines, usize::from(before), usize::from(after)));
        }
    }
    edits
}

/// A file with its lines.
struct Page<'a> {
    skip: usize,
    text: &'a str,
    lines: Lines<'a>,
}

impl<'a> Page<'a> {
    /// Of a file that was read without a problem.
    fn of(bytes: &'a [u8]) -> Self {
        let skip = if bytes.starts_with(&[0xef, 0xbb, 0xbf]) { 3 } else { 0 };
        let text = str::from_utf8(&bytes[skip..]).unwrap_or_default();
        Self { skip, text, lines: Lines::of(text) }
    }

    fn line_of(&self, at: usize) -> usize {
        self.lines.index_of(at.saturating_sub(self.skip))
    }

    /// The lines of an item, empty ones at its end not counted.
    fn own(&self, placed: &Placed) -> Range<usize> {
        let first = self.line_of(placed.inner.start);
        let end = placed.range.end - self.skip;
        let within = (first..self.lines.count()).take_while(|index| self.lines.range(*index).start < end);
        let last = within.filter(|index| !self.lines.text(*index).trim().is_empty()).last();
        first..last.unwrap_or(first) + 1
    }

    /// Whether an empty line stands above an item.
    fn is_loose(&self, placed: &Placed) -> bool {
        let first = self.line_of(placed.inner.start);
        first > 0 && self.lines.text(first - 1).trim().is_empty()
    }

    /// What stands before the text of a point below `placed`, the best guess first: as below this item, as below
    /// another one, as its own indent says.
    fn prefixes(&self, draft: &Draft, placed: &Placed) -> Vec<String> {
        let line = self.line_of(placed.inner.start);
        let start = self.lines.range(line).start;
        let before = self.text.get(start..placed.inner.start - 1 - self.skip).unwrap_or_default();
        let sign = before.trim_end().chars().next_back().filter(|c| matches!(c, '-' | '*' | '+')).unwrap_or('-');
        let lead = &before[..before.len() - before.trim_start().len()];
        let indent = if before[lead.len()..].contains('\t') {
            format!("{lead}\t")
        } else {
            before.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect()
        };
        let same = |other: &&Placed| {
            let first = self.line_of(other.inner.start);
            self.lines.text(first).starts_with(before)
        };
        let own = self.point(placed, sign);
        let other = draft.items.iter().filter(same).find_map(|other| self.point(other, sign));
        let mut all: Vec<String> = own.into_iter().chain(other).collect();
        all.push(format!("{indent}{sign} "));
        all.push(format!("{}{sign} ", before.chars().map(|_| ' ').collect::<String>()));
        all.dedup();
        all
    }

    /// What stands before the text of the first point below an item.
    fn point(&self, placed: &Placed, sign: char) -> Option<String> {
        let (bullet, _) = self.own(placed).skip(1).find_map(|index| {
            let parts = keys::bullet(self.lines.text(index));
            (!parts.0.trim().is_empty()).then_some(parts)
        })?;
        let lead = &bullet[..bullet.len() - bullet.trim_start().len()];
        // The number of an ordered list would have to go on.
        let ordered = bullet.trim_start().starts_with(|c: char| c.is_ascii_digit());
        Some(if ordered { format!("{lead}{sign} ") } else { bullet.to_owned() })
    }

    /// Puts lines after line `index`, with empty ones before and after them.
    fn insert(&self, index: usize, new: &[String], before: usize, after: usize) -> Edit {
        let range = self.lines.range(index);
        let next = (index + 1 < self.lines.count()).then(|| self.lines.range(index + 1).start);
        let end = next.unwrap_or(self.text.len());
        let own = self.text.get(range.end..end).unwrap_or_default();
        let line_end = if own.is_empty() { self.line_end() } else { own };
        let mut text = line_end.repeat(before);
        for line in new {
            text.push_str(line);
            text.push_str(line_end);
        }
        text.push_str(&line_end.repeat(after));
        if own.is_empty() {
            // The last line has no end, and keeps none.
            text.truncate(text.len() - line_end.len());
            text.insert_str(0, line_end);
        }
        Edit { at: end + self.skip, text }
    }

    /// The end of the file's first line.
    fn line_end(&self) -> &'a str {
        let end = self.lines.range(0).end;
        match self.text.get(end..) {
            Some(rest) if rest.starts_with("\r\n") => "\r\n",
            Some(rest) if rest.starts_with('\r') => "\r",
            Some(_) | None => "\n",
        }
    }
}

/// What stands before the box of a new item.
struct Head {
    lead: String,
    /// The number and the sign after it, in an ordered list.
    number: Option<(u64, char)>,
    sign: char,
    gap: String,
    /// What stands between the box and its text.
    inner: String,
}

impl Head {
    /// As the box of `placed` has it.
    fn of(page: &Page<'_>, placed: &Placed) -> Self {
        let start = page.lines.range(page.line_of(placed.inner.start)).start;
        let before = page.text.get(start..placed.inner.start - 1 - page.skip).unwrap_or_default();
        let bare = before.trim_end();
        let sign = bare.chars().next_back().unwrap_or('-');
        let rest = bare.strip_suffix(sign).unwrap_or_default();
        let stem = rest.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: Option<u64> = rest[stem.len()..].parse().ok().filter(|_| matches!(sign, '.' | ')'));
        let lead = if number.is_some() { stem } else { rest };
        let after = page.text.get(placed.inner.end + 1 - page.skip..).unwrap_or_default();
        let inner: String = after.chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
        Self {
            // An outer bullet in the same line is not repeated.
            lead: lead.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect(),
            number: number.map(|number| (number, sign)),
            sign,
            gap: before[bare.len()..].to_owned(),
            inner: if inner.is_empty() { " ".to_owned() } else { inner },
        }
    }

    fn line(&self, number: u64, title: &str) -> String {
        let Self { lead, gap, inner, sign, .. } = self;
        match self.number {
            // Ten digits are no list any more.
            Some((last, sign)) => format!("{lead}{}{sign}{gap}[ ]{inner}{title}", (last + number).min(999_999_999)),
            None => format!("{lead}{sign}{gap}[ ]{inner}{title}"),
        }
    }
}
