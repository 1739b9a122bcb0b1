//! Where lines begin and end in a text, whatever their ends are.

use std::ops::Range;

/// The lines of a text. `\n`, `\r\n` and a lone `\r` end a line, as they do for Markdown.
#[derive(Debug)]
pub(in crate::ledger) struct Lines<'a> {
    text: &'a str,
    /// Each line without its end.
    ranges: Vec<Range<usize>>,
}

impl<'a> Lines<'a> {
    pub(in crate::ledger) fn of(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let mut ranges = Vec::with_capacity(bytes.len() / 32 + 1);
        let mut start = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let end = match byte {
                b'\n' if at > start && bytes[at - 1] == b'\r' => at - 1,
                b'\n' => at,
                b'\r' if bytes.get(at + 1) != Some(&b'\n') => at,
                _ => continue,
            };
            ranges.push(start..end);
            start = at + 1;
        }
        if start < bytes.len() || ranges.is_empty() {
            ranges.push(start..bytes.len());
        }
        Self { text, ranges }
    }

    pub(in crate::ledger) fn count(&self) -> usize {
        self.ranges.len()
    }

    /// The index (from 0) of the line that holds byte `at`.
    pub(in crate::ledger) fn index_of(&self, at: usize) -> usize {
        self.ranges.partition_point(|range| range.start <= at).saturating_sub(1)
    }

    /// The number (from 1) of the line that holds byte `at`.
    pub(in crate::ledger) fn number_of(&self, at: usize) -> usize {
        self.index_of(at) + 1
    }

    /// The bytes of line `index` without its end.
    pub(in crate::ledger) fn range(&self, index: usize) -> Range<usize> {
        self.ranges.get(index).cloned().unwrap_or(self.text.len()..self.text.len())
    }

    /// Line `index` without its end.
    pub(in crate::ledger) fn text(&self, index: usize) -> &'a str {
        self.text.get(self.range(index)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_end() {
        let lines = Lines::of("a\nb\r\nc\rd\n\r\n");
        assert_eq!((0..lines.count()).map(|i| lines.text(i)).collect::<Vec<_>>(), ["a", "b", "c", "d", ""]);
        assert_eq!(lines.number_of(5), 3);
        assert_eq!((Lines::of("").count(), Lines::of("a\n").count()), (1, 1));
    }
}
