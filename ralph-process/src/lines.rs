//! Reads a growing file line by line in bounded memory.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use crate::error::SpawnError;

/// Stands at the end of a line that was too long, in place of the rest.
pub const CUT_MARK: &str = " [line cut]";

const CHUNK: usize = 64 << 10;

/// Follows a file that others write to.
pub(crate) struct Follower {
    path: PathBuf,
    file: File,
    position: u64,
    line: Lines,
    chunk: Box<[u8]>,
}

impl Follower {
    /// Follows the file from `position` on.
    pub(crate) fn new(path: &Path, position: u64, line_bytes: usize) -> Result<Self, SpawnError> {
        let path = path.to_owned();
        match File::open(&path) {
            Ok(file) => Ok(Self { path, file, position, line: Lines::new(line_bytes), chunk: vec![0; CHUNK].into() }),
            Err(source) => Err(SpawnError::Output { path, source }),
        }
    }

    /// Reads one chunk and hands on the lines that ended in it. Whether there was anything to read.
    pub(crate) fn step(&mut self, on_line: &mut impl FnMut(&str)) -> Result<bool, SpawnError> {
        self.read(on_line).map_err(|source| SpawnError::Output { path: self.path.clone(), source })
    }

    fn read(&mut self, on_line: &mut impl FnMut(&str)) -> io::Result<bool> {
        let read = match self.file.read_at(&mut self.chunk, self.position) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            result => result?,
        };
        if read == 0 {
            // A script's `> /dev/stderr` opens the file anew and empties it: go on where it ends now.
            self.position = self.position.min(self.file.metadata()?.len());
            return Ok(false);
        }
        self.position += read as u64;
        self.line.push(&self.chunk[..read], on_line);
        Ok(true)
    }

    /// Hands on a last line without a newline.
    pub(crate) fn finish(&mut self, on_line: &mut impl FnMut(&str)) {
        self.line.finish(on_line);
    }
}

/// Cuts bytes into lines of bounded length.
struct Lines {
    max: usize,
    line: Vec<u8>,
    /// The line was too long and was handed on already; its rest is skipped.
    skipping: bool,
}

impl Lines {
    fn new(max: usize) -> Self {
        Self { max, line: Vec::new(), skipping: false }
    }

    fn push(&mut self, mut bytes: &[u8], on_line: &mut impl FnMut(&str)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.extend(&bytes[..end], on_line);
            if !self.skipping {
                self.emit("", on_line);
            }
            self.skipping = false;
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes, on_line);
    }

    fn extend(&mut self, bytes: &[u8], on_line: &mut impl FnMut(&str)) {
        if self.skipping {
            return;
        }
        let room = self.max - self.line.len();
        if bytes.len() <= room {
            self.line.extend_from_slice(bytes);
        } else {
            self.line.extend_from_slice(&bytes[..room]);
            self.emit(CUT_MARK, on_line);
            self.skipping = true;
        }
    }

    fn emit(&mut self, mark: &str, on_line: &mut impl FnMut(&str)) {
        let bytes = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        let text = String::from_utf8_lossy(bytes);
        if mark.is_empty() {
            on_line(&text);
        } else {
            on_line(&(text + mark));
        }
        self.line.clear();
    }

    fn finish(&mut self, on_line: &mut impl FnMut(&str)) {
        if !self.line.is_empty() {
            self.emit("", on_line);
        }
    }
}

/// The end of a file, at most `max_bytes` of it, from the start of a line where one begins in that part. Bytes that
/// are not UTF-8 are replaced.
///
/// # Errors
/// Those of opening and reading the file.
pub fn tail(path: &Path, max_bytes: u64) -> io::Result<String> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(max_bytes);
    // One byte more, to see whether a line starts right there.
    let from = start.saturating_sub(1);
    let mut bytes = vec![0; usize::try_from(length - from).map_err(io::Error::other)?];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], from + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    let skipped = if start == 0 {
        0
    } else {
        match memchr::memchr(b'\n', &bytes) {
            Some(end) if end + 1 < bytes.len() => end + 1,
            _ => 1.min(bytes.len()),
        }
    };
    Ok(String::from_utf8_lossy(&bytes[skipped..]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(max: usize, chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::new(max);
        let mut seen = Vec::new();
        let mut on_line = |line: &str| seen.push(line.to_owned());
        for chunk in chunks {
            lines.push(chunk, &mut on_line);
        }
        lines.finish(&mut on_line);
        seen
    }

    #[test]
    fn lines_are_put_together_from_chunks() {
        assert_eq!(lines(9, &[b"a", b"b\nc", b"d\r\n\n", b"e"]), ["ab", "cd", "", "e"]);
    }

    #[test]
    fn a_long_line_is_cut_once_and_the_next_one_is_whole() {
        assert_eq!(lines(3, &[b"abcd", b"efg", b"h\nij\n"]), ["abc [line cut]", "ij"]);
        assert_eq!(lines(3, &[b"abc\nabcd"]), ["abc", "abc [line cut]"]);
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced() {
        assert_eq!(lines(9, &[b"a\xff\xfeb\n"]), ["a\u{fffd}\u{fffd}b"]);
    }

    #[test]
    fn the_tail_starts_at_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
        assert_eq!(tail(&path, 100).unwrap(), "one\ntwo\nthree\n");
        assert_eq!(tail(&path, 10).unwrap(), "two\nthree\n");
        assert_eq!(tail(&path, 9).unwrap(), "three\n");
        assert_eq!(tail(&path, 3).unwrap(), "ee\n");
        assert_eq!(tail(&path, 0).unwrap(), "");
        assert!(tail(&folder.path().join("none"), 9).is_err());
    }
}
