//! Appending to a log that people edit, so that a crash writes no entry twice and loses none.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

/// How much of a log's end is searched for an entry.
const SEARCH_MAX: u64 = 4 << 20;

/// Appends `entry`, which ends in a newline, unless it is in the file at or after `position`, and answers where it
/// ends. What a crash left of it is completed. A new file gets `heading` first.
///
/// `position` is where the last entry ended. It is no longer right where a person edited the file; then the end of the
/// file is what matters.
pub(super) fn append(path: &Path, heading: &str, entry: &str, position: u64) -> io::Result<u64> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    let length = file.metadata()?.len();
    let from = if position > length { 0 } else { position };
    let from = from.max(length.saturating_sub(SEARCH_MAX));
    let tail = read_from(&mut file, from)?;

    if let Some(end) = find_lines(&tail, entry.as_bytes()) {
        // The crash may have come before the entry was durable.
        file.sync_data()?;
        return Ok(from + end as u64);
    }
    let entry = entry.as_bytes();
    let mut bytes = Vec::new();
    if from == 0 && tail.len() < heading.len() && heading.as_bytes().starts_with(&tail) {
        bytes.extend_from_slice(&heading.as_bytes()[tail.len()..]);
        bytes.extend_from_slice(entry);
    } else if let Some(rest) = torn(&tail, entry) {
        bytes.extend_from_slice(rest);
    } else {
        if length > 0 && last_byte(&mut file, length)? != b'\n' {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(entry);
    }
    file.write_all(&bytes)?;
    file.sync_data()?;
    Ok(length + bytes.len() as u64)
}

/// What is missing of an entry that was torn at the end of the file.
fn torn<'a>(tail: &[u8], entry: &'a [u8]) -> Option<&'a [u8]> {
    let longest = tail.len().min(entry.len().saturating_sub(1));
    let length = (1..=longest).rev().find(|length| {
        let start = tail.len() - length;
        let at_line_start = start == 0 || tail[start - 1] == b'\n';
        at_line_start && tail[start..] == entry[..*length]
    })?;
    Some(&entry[length..])
}

/// Where `entry` ends in `tail`, where it stands there as whole lines.
fn find_lines(tail: &[u8], entry: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(rest) = tail.get(at..).filter(|rest| rest.len() >= entry.len()) {
        if rest.starts_with(entry) {
            return Some(at + entry.len());
        }
        at += rest.iter().position(|byte| *byte == b'\n')? + 1;
    }
    None
}

fn read_from(file: &mut File, from: u64) -> io::Result<Vec<u8>> {
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    Read::by_ref(file).take(SEARCH_MAX).read_to_end(&mut tail)?;
    Ok(tail)
}

fn last_byte(file: &mut File, length: u64) -> io::Result<u8> {
    let mut byte = [0];
    file.seek(SeekFrom::Start(length - 1))?;
    file.read_exact(&mut byte)?;
    Ok(byte[0])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_torn_entry_is_completed_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOG.md");
        let (heading, entry) = ("# Log\n\n", "- one — é\n  more\n");
        let whole = format!("{heading}{entry}");
        for cut in 0..=whole.len() {
            fs::write(&path, &whole.as_bytes()[..cut]).unwrap();
            for _ in 0..2 {
                let end = append(&path, heading, entry, 0).unwrap();
                assert_eq!(fs::read_to_string(&path).unwrap(), whole, "cut at {cut}");
                assert_eq!(end, whole.len() as u64);
            }
        }
    }

    #[test]
    fn what_people_wrote_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOG.md");
        fs::write(&path, "mine, without an end").unwrap();
        let end = append(&path, "# Log\n", "- one\n", 0).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine, without an end\n- one\n");
        // The same entry again, after the first: it is another one.
        append(&path, "# Log\n", "- one\n", end).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine, without an end\n- one\n- one\n");
        // Somebody shortened the file: its end is what matters.
        fs::write(&path, "- one\n").unwrap();
        append(&path, "# Log\n", "- one\n", 1_000).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "- one\n");
        // Part of a line is not the line.
        append(&path, "# Log\n", "one\n", 0).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "- one\none\n");
    }
}
