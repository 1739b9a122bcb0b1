//! One walk over the Markdown: which list items carry a box, under which heading, and what is not prose.

use std::{borrow::Cow, ops::Range};

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::marks::{self, Mark};

/// What the walk found.
#[derive(Debug, Default)]
pub(in crate::ledger) struct Scan {
    /// The list items with a box, in file order, nested ones too.
    pub(in crate::ledger) boxes: Vec<Boxed>,
    /// The headings outside lists and quotes, in file order.
    pub(in crate::ledger) headings: Vec<Heading>,
    /// The outermost stretches in which nothing is read, in file order.
    pub(in crate::ledger) zones: Vec<Zone>,
    /// How many list items there are, with or without a box.
    pub(in crate::ledger) list_items: usize,
}

/// A list item with a box.
#[derive(Debug)]
pub(in crate::ledger) struct Boxed {
    /// The whole list item, nested lists included.
    pub(in crate::ledger) range: Range<usize>,
    pub(in crate::ledger) mark: Mark,
    /// The index of the outermost box that this one is nested in.
    pub(in crate::ledger) owner: Option<usize>,
    /// The index of the last heading above it.
    pub(in crate::ledger) heading: Option<usize>,
}

/// A heading.
#[derive(Debug)]
pub(in crate::ledger) struct Heading {
    pub(in crate::ledger) level: u8,
    pub(in crate::ledger) text: String,
    pub(in crate::ledger) at: usize,
}

/// A stretch of the file that is not read for items and keys.
#[derive(Clone, Debug)]
pub(in crate::ledger) struct Zone {
    pub(in crate::ledger) range: Range<usize>,
    pub(in crate::ledger) kind: ZoneKind,
}

/// Why a stretch is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ledger) enum ZoneKind {
    Code,
    Comment,
    Html,
    Quote,
    Table,
    FrontMatter,
}

impl ZoneKind {
    /// Where a box in it stands, for people.
    pub(in crate::ledger) fn place(self) -> &'static str {
        match self {
            Self::Code => "in a code block",
            Self::Comment => "in an HTML comment",
            Self::Html => "in an HTML block",
            Self::Quote => "in a block quote",
            Self::Table => "in a table",
            Self::FrontMatter => "in the front matter",
        }
    }
}

pub(in crate::ledger) fn scan(text: &str) -> Scan {
    // Task lists are not enabled: the parser knows two of our marks only, and a box is plain text to it without them.
    let options = Options::ENABLE_TABLES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let text = unix(text);
    let mut walk = Walk::default();
    for (event, range) in Parser::new_ext(&text, options).into_offset_iter() {
        walk.step(&text, &event, range);
    }
    walk.found
}

/// The text with a newline for each lone carriage return: the parser takes it for the end of some lines and not of a
/// fence. Every place stays the same.
fn unix(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let lone = |at: &usize| bytes[*at] == b'\r' && bytes.get(at + 1) != Some(&b'\n');
    if !bytes.contains(&b'\r') || !(0..bytes.len()).any(|at| lone(&at)) {
        return Cow::Borrowed(text);
    }
    let with = |(at, c): (usize, char)| if c == '\r' && lone(&at) { '\n' } else { c };
    Cow::Owned(text.char_indices().map(with).collect())
}

#[derive(Default)]
struct Walk {
    found: Scan,
    /// The open list items: the outermost box that holds each, if any.
    items: Vec<Option<usize>>,
    /// A list item has just begun: its range.
    pending: Option<Range<usize>>,
    /// How many zones are open around the place.
    zones: u32,
    /// The heading that is being read.
    heading: Option<Heading>,
}

impl Walk {
    fn step(&mut self, text: &str, event: &Event<'_>, range: Range<usize>) {
        if let Some(item) = self.pending.take() {
            self.first_in_item(text, event, &range, item);
        }
        match event {
            Event::Start(tag) => self.start(text, tag, range),
            Event::End(end) => self.end(*end),
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut self.heading {
                    heading.text.push_str(words);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut self.heading {
                    heading.text.push(' ');
                }
            }
            Event::InlineHtml(html) if html.starts_with("<!--") && self.zones == 0 && self.heading.is_none() => {
                self.found.zones.push(Zone { range, kind: ZoneKind::Comment });
            }
            _ => {}
        }
    }

    /// The box of a list item is the first thing in it, or there is none.
    fn first_in_item(&mut self, text: &str, event: &Event<'_>, first: &Range<usize>, item: Range<usize>) {
        let owner = self.items.iter().rev().nth(1).copied().flatten();
        let inline = match event {
            Event::Start(tag) => matches!(
                tag,
                Tag::Paragraph
                    | Tag::Link { .. }
                    | Tag::Emphasis
                    | Tag::Strong
                    | Tag::Strikethrough
                    | Tag::Image { .. }
            ),
            Event::Text(_) => true,
            _ => false,
        };
        // The parser leaves the backslash of an escape out of the text.
        let escaped = text.get(..first.start).is_some_and(|before| before.ends_with('\\'));
        let mark = if inline && !escaped && self.zones == 0 { marks::read(text, first.start) } else { None };
        let mut holder = owner;
        if let Some(mark) = mark {
            let heading = self.found.headings.len().checked_sub(1);
            holder = owner.or(Some(self.found.boxes.len()));
            self.found.boxes.push(Boxed { range: item, mark, owner, heading });
        }
        if let Some(own) = self.items.last_mut() {
            *own = holder;
        }
    }

    fn start(&mut self, text: &str, tag: &Tag<'_>, range: Range<usize>) {
        let kind = match tag {
            Tag::Item => {
                self.found.list_items += 1;
                self.items.push(None);
                self.pending = Some(range);
                return;
            }
            Tag::Heading { level, .. } if self.items.is_empty() && self.zones == 0 => {
                self.heading = Some(Heading { level: depth(*level), text: String::new(), at: range.start });
                return;
            }
            _ => match zone_of(tag) {
                Some(kind) => kind,
                None => return,
            },
        };
        if self.zones == 0 {
            let comment = text.get(range.clone()).unwrap_or_default().trim_start();
            let kind = match kind {
                ZoneKind::Html if comment.starts_with("<!--") => ZoneKind::Comment,
                _ => kind,
            };
            self.found.zones.push(Zone { range, kind });
        }
        self.zones += 1;
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Item => {
                self.items.pop();
            }
            TagEnd::Heading(_) => self.found.headings.extend(self.heading.take()),
            TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::BlockQuote(_)
            | TagEnd::Table
            | TagEnd::MetadataBlock(_) => self.zones = self.zones.saturating_sub(1),
            _ => {}
        }
    }
}

fn zone_of(tag: &Tag<'_>) -> Option<ZoneKind> {
    match tag {
        Tag::CodeBlock(_) => Some(ZoneKind::Code),
        Tag::HtmlBlock => Some(ZoneKind::Html),
        Tag::BlockQuote(_) => Some(ZoneKind::Quote),
        Tag::Table(_) => Some(ZoneKind::Table),
        Tag::MetadataBlock(_) => Some(ZoneKind::FrontMatter),
        _ => None,
    }
}

fn depth(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
