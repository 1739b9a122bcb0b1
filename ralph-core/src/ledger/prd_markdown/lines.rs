//! Where lines begin and end in a text, whatever their ends are.

use std::ops::Range;

/// The lines of a text. `\n`, `\r\n` and a lone `\r` end a line, as they do for Markdown.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            let ends = *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1).is_none_or(|b| *b != b'\n'));
            if ends && at + 1 < bytes.len() {
                starts.push(at + 1);
            }
        }
        Self { text, starts }
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len()
    }

    /// The index (from 0) of the line that holds byte `at`.
    pub(super) fn index_of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// The number (from 1) of the line that holds byte `at`.
    pub(super) fn number_of(&self, at: usize) -> usize {
        self.index_of(at) + 1
    }

    /// The bytes of line `index` without its end.
    pub(super) fn range(&self, index: usize) -> Range<usize> {
        let start = self.starts.get(index).copied().unwrap_or(self.text.len());
        let end = self.starts.get(index + 1).copied().unwrap_or(self.text.len());
        let line = self.text.get(start..end).unwrap_or_default();
        start..start + line.trim_end_matches(['\n', '\r']).len()
    }

    /// Line `index` without its end.
    pub(super) fn text(&self, index: usize) -> &'a str {
        self.text.get(self.range(index)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_end() {
        let lines = Lines::of("a\nb\r\nc\rd");
        assert_eq!(lines.count(), 4);
        assert_eq!((0..4).map(|i| lines.text(i)).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
        assert_eq!(lines.number_of(5), 3);
        assert_eq!(Lines::of("").count(), 1);
        assert_eq!(Lines::of("a\n").count(), 1);
    }
}
