//! Bytes into lines, with bounded memory.

/// Cuts a stream of bytes into lines, however it is chopped up on the way.
///
/// A line longer than the cap is skipped up to its end and counted; what follows it is read as ever.
#[derive(Debug)]
pub(crate) struct Lines {
    cap: usize,
    part: Vec<u8>,
    skipping: bool,
    skipped: u64,
}

impl Lines {
    /// Lines of at most `cap` bytes.
    pub(crate) fn new(cap: usize) -> Self {
        Self { cap, part: Vec::new(), skipping: false, skipped: 0 }
    }

    /// How many lines were too long.
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Takes in some bytes and hands out each line that they complete, without its line end.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut line: impl FnMut(&[u8])) {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            let (head, tail) = bytes.split_at(end);
            if self.part.is_empty() && !self.skipping && head.len() <= self.cap {
                // The common case: a whole line in one piece needs no copy.
                line(strip(head));
            } else {
                self.add(head);
                self.end(&mut line);
            }
            bytes = &tail[1..];
        }
        self.add(bytes);
    }

    /// Hands out what follows the last line end, if anything. For the end of the stream.
    pub(crate) fn finish(&mut self, mut line: impl FnMut(&[u8])) {
        if !self.part.is_empty() || self.skipping {
            self.end(&mut line);
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.skipping {
            return;
        }
        if self.part.len() + bytes.len() > self.cap {
            self.skipping = true;
            self.skipped += 1;
            // Freed, not just emptied: the next line of this length may never come.
            self.part = Vec::new();
        } else {
            self.part.extend_from_slice(bytes);
        }
    }

    fn end(&mut self, line: &mut impl FnMut(&[u8])) {
        if !self.skipping {
            line(strip(&self.part));
        }
        self.skipping = false;
        self.part.clear();
    }
}

fn strip(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(cap: usize, chunks: &[&[u8]]) -> (Vec<Vec<u8>>, u64) {
        let (mut lines, mut found) = (Lines::new(cap), Vec::new());
        for chunk in chunks {
            lines.push(chunk, |line| found.push(line.to_vec()));
        }
        lines.finish(|line| found.push(line.to_vec()));
        (found, lines.skipped())
    }

    #[test]
    fn what_follows_a_line_that_is_too_long_is_read() {
        let (found, skipped) = read(4, &[b"ab\n12345", b"6\ncd\r\n", b"12345\nef"]);
        assert_eq!(found, [b"ab", b"cd", b"ef"]);
        assert_eq!(skipped, 2);
    }

    #[test]
    fn an_endless_line_takes_no_memory() {
        let mut lines = Lines::new(1024);
        for _ in 0..1000 {
            lines.push(&[b'x'; 512], |_| panic!("no line ends here"));
            assert!(lines.part.capacity() <= 4096);
        }
        assert_eq!(lines.skipped(), 1);
    }

    proptest! {
        #[test]
        fn the_cuts_do_not_matter(bytes: Vec<u8>, cuts: Vec<prop::sample::Index>) {
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let chunks: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(8, &chunks), read(8, &[&bytes]));
        }
    }
}
