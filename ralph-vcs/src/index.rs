//! Reads a private index: which paths git has written into a site. Saves a git call for each placing.

use std::ops::Range;

use ralph_core::{Digest, VcsError};

use crate::git::other;

/// The entries of an index file, sorted by path as git sorts them.
#[derive(Debug, Default)]
pub(crate) struct Index {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    /// When the file last changed, as git noted it: seconds and nanoseconds.
    changed: (u32, u32),
    mode: u32,
    oid: Range<usize>,
    path: Range<usize>,
}

const GITLINK: u32 = 0o160_000;
const SYMLINK: u32 = 0o120_000;

impl Index {
    /// Reads `file`; a missing one is an empty index.
    pub(crate) fn read(file: &std::path::Path, oid_bytes: usize) -> Result<Self, VcsError> {
        match std::fs::read(file) {
            Ok(bytes) => Self::parse(bytes, oid_bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(other(format!("reading {}", file.display()), error)),
        }
    }

    fn parse(bytes: Vec<u8>, oid_bytes: usize) -> Result<Self, VcsError> {
        match entries(&bytes, oid_bytes) {
            Some(entries) => Ok(Self { bytes, entries }),
            None => Err(other("reading a private index", "it is not one that git wrote for us")),
        }
    }

    fn path(&self, entry: &Entry) -> &[u8] {
        self.bytes.get(entry.path.clone()).unwrap_or_default()
    }

    fn find(&self, path: &[u8]) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|entry| self.path(entry).cmp(path)).ok()?;
        self.entries.get(at)
    }

    /// Whether `path` is a file or a link of the index.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        self.find(path).is_some_and(|entry| entry.mode != GITLINK)
    }

    /// Whether `path` is a submodule of the index.
    pub(crate) fn is_gitlink(&self, path: &[u8]) -> bool {
        self.find(path).is_some_and(|entry| entry.mode == GITLINK)
    }

    /// Whether anything lies below the folder `path`.
    pub(crate) fn has_below(&self, path: &[u8]) -> bool {
        let folder = [path, b"/"].concat();
        let at = self.entries.partition_point(|entry| self.path(entry) < folder.as_slice());
        self.entries.get(at).is_some_and(|entry| self.path(entry).starts_with(&folder))
    }

    /// The paths of all symbolic links.
    pub(crate) fn symlinks(&self) -> impl Iterator<Item = &[u8]> {
        self.of_mode(SYMLINK)
    }

    fn of_mode(&self, mode: u32) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().filter(move |entry| entry.mode == mode).map(|entry| self.path(entry))
    }

    /// Whether there is an attributes file anywhere.
    pub(crate) fn has_attributes(&self) -> bool {
        self.entries.iter().any(|entry| {
            let path = self.path(entry);
            path == b".gitattributes" || path.ends_with(b"/.gitattributes")
        })
    }

    /// The files that last changed in the second `since` or later, as noted: path, seconds, nanoseconds.
    pub(crate) fn changed_since(&self, since: i64) -> impl Iterator<Item = (&[u8], u32, u32)> {
        let late =
            self.entries.iter().filter(move |entry| entry.mode != GITLINK && i64::from(entry.changed.0) >= since);
        late.map(|entry| (self.path(entry), entry.changed.0, entry.changed.1))
    }

    /// A fingerprint of all ignore files.
    pub(crate) fn ignore_rules(&self) -> Digest {
        let mut rules = Vec::new();
        for entry in &self.entries {
            let path = self.path(entry);
            if path == b".gitignore" || path.ends_with(b"/.gitignore") {
                rules.extend_from_slice(path);
                rules.extend_from_slice(self.bytes.get(entry.oid.clone()).unwrap_or_default());
            }
        }
        Digest::of(&rules)
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(four))
}

/// Versions 2 and 3 of gitformat-index(5): a header of 12 bytes, then entries padded to multiples of 8.
fn entries(bytes: &[u8], oid_bytes: usize) -> Option<Vec<Entry>> {
    const STAT: usize = 40;
    if bytes.get(..4)? != b"DIRC" || !matches!(number(bytes, 4)?, 2 | 3) {
        return None;
    }
    let count = usize::try_from(number(bytes, 8)?).ok()?;
    let mut entries = Vec::with_capacity(count.min(bytes.len() / 62));
    let mut at = 12;
    for _ in 0..count {
        let oid = at + STAT..at + STAT + oid_bytes;
        let flags = u16::from_be_bytes(bytes.get(oid.end..oid.end + 2)?.try_into().ok()?);
        let start = oid.end + if flags & 0x4000 == 0 { 2 } else { 4 };
        let length = bytes.get(start..)?.iter().position(|byte| *byte == 0)?;
        let changed = (number(bytes, at)?, number(bytes, at + 4)?);
        entries.push(Entry { changed, mode: number(bytes, at + 24)?, oid, path: start..start + length });
        at += (start + length - at + 8) & !7;
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_an_error_and_not_a_panic() {
        for bytes in [&b""[..], b"DIRC", b"DIRC\0\0\0\x02\xff\xff\xff\xff", b"DIRC\0\0\0\x04\0\0\0\0"] {
            assert!(Index::parse(bytes.to_vec(), 20).is_err());
        }
        assert!(!Index::parse(b"DIRC\0\0\0\x02\0\0\0\0".to_vec(), 20).unwrap().has(b"a"));
    }
}
