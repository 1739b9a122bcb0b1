//! The file in which a memory outlives its process: a line that names the format, then one for each revision.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read as _, Write as _},
    path::{Path, PathBuf},
};

use ralph_core::Revision;
use serde::{Deserialize, Serialize};

use super::memory::{Commands, Revisions};

/// The format that is written and read.
const VERSION: u32 = 1;

/// A longer file is not read; what would make it longer is left out, the oldest first.
const SIZE_MAX: usize = 1 << 20;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    version: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    revision: Revision,
    commands: Commands,
}

/// What the file holds; nothing where there is none. One that cannot be read is moved aside.
///
/// # Errors
/// What a person should know, in one line.
pub(super) fn read(path: &Path) -> Result<Revisions, String> {
    let why = match content(path) {
        Ok(None) => return Ok(Revisions::new()),
        Ok(Some(text)) => match parse(&text) {
            Ok(revisions) => return Ok(revisions),
            Err(why) => why,
        },
        Err(error) => error.to_string(),
    };
    let aside = sibling(path, "damaged");
    let place = match fs::rename(path, &aside) {
        Ok(()) => format!("it is now {}", aside.display()),
        Err(error) => format!("it could not be moved aside: {error}"),
    };
    Err(format!(
        "{}: {why}; {place}. How many tests ran before is not known, so that the next work is not compared with it",
        path.display()
    ))
}

fn content(path: &Path) -> io::Result<Option<String>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(found) if !found.is_file() => return Err(io::Error::other("it is no plain file")),
        Ok(_) => {}
    }
    let mut text = String::new();
    File::open(path)?.take(SIZE_MAX as u64 + 1).read_to_string(&mut text)?;
    if text.len() > SIZE_MAX { Err(io::Error::other("it is too large")) } else { Ok(Some(text)) }
}

fn parse(text: &str) -> Result<Revisions, String> {
    let mut lines = text.lines();
    let head: Head = serde_json::from_str(lines.next().unwrap_or_default()).map_err(|error| error.to_string())?;
    if head != (Head { version: VERSION }) {
        return Err(format!("its format is {}, and this program reads {VERSION}", head.version));
    }
    let line = |(index, line): (usize, &str)| {
        let line: Line = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", index + 2))?;
        Ok((line.revision, line.commands))
    };
    lines.enumerate().map(line).collect()
}

/// Replaces the file durably, in one step.
///
/// # Errors
/// What a person should know, in one line.
pub(super) fn write(path: &Path, revisions: &Revisions) -> Result<(), String> {
    render(revisions)
        .and_then(|text| replace(path, text.as_bytes()))
        .map_err(|error| format!("{}: how many tests ran could not be kept: {error}", path.display()))
}

/// As many of the last as fit.
fn render(revisions: &Revisions) -> io::Result<String> {
    let head = serde_json::to_string(&Head { version: VERSION })? + "\n";
    let (mut size, mut lines) = (head.len(), Vec::new());
    for (revision, commands) in revisions.iter().rev() {
        let line = Line { revision: revision.clone(), commands: commands.clone() };
        let line = serde_json::to_string(&line)? + "\n";
        size += line.len();
        if size > SIZE_MAX {
            break;
        }
        lines.push(line);
    }
    if lines.is_empty() && !revisions.is_empty() {
        return Err(io::Error::other("it would be too large"));
    }
    Ok(head + &lines.into_iter().rev().collect::<String>())
}

/// Only one process writes here, so that what a killed one left is simply written again.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = sibling(path, "new");
    let mut file = File::create(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

fn sibling(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        evidence::{Counts, Tests, rule::Said},
        runner::Runner,
    };

    fn revisions(count: usize, command: &str) -> Revisions {
        let said = |ran| Said { counts: Counts::from([(Runner::Cargo, Tests::new(ran, 0, 1))]), whole: true };
        (0..count)
            .map(|n| (Revision::new(format!("r{n}")), Commands::from([(command.to_owned(), said(n as u64))])))
            .collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tests.jsonl");
        assert_eq!(read(&path), Ok(Revisions::new()));
        for count in [3, 1, 0] {
            write(&path, &revisions(count, "cargo test\n# \u{1b}[0m")).unwrap();
            assert_eq!(read(&path), Ok(revisions(count, "cargo test\n# \u{1b}[0m")));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    /// A change here makes files of earlier versions unreadable.
    #[test]
    fn the_format() {
        let expected = "{\"version\":1}\n{\"revision\":\"r0\",\"commands\":{\"make\":{\"counts\":{\"cargo\":{\"ran\":0,\
                        \"passed\":0,\"failed\":0,\"ignored\":1,\"announced\":0,\"ended\":0}},\"whole\":true}}}\n";
        assert_eq!(render(&revisions(1, "make")).unwrap(), expected);
    }

    #[test]
    fn the_oldest_is_left_out_where_it_does_not_fit() {
        let long = "x".repeat(SIZE_MAX / 3);
        let text = render(&revisions(5, &long)).unwrap();
        assert!(text.len() <= SIZE_MAX);
        let kept: Vec<String> = parse(&text).unwrap().into_iter().map(|(revision, _)| revision.to_string()).collect();
        assert_eq!(kept, ["r3", "r4"]);
        let error = render(&revisions(1, &"x".repeat(SIZE_MAX))).unwrap_err();
        assert_eq!(error.to_string(), "it would be too large");
    }

    #[test]
    fn what_cannot_be_read_is_moved_aside_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tests.jsonl");
        let good = render(&revisions(2, "make")).unwrap();
        let cut = &good[..good.len() - 9];
        let large = format!("{good}{}", " ".repeat(SIZE_MAX));
        for (text, why) in [
            ("", "EOF while parsing a value"),
            ("{\"version\":2}\n", "its format is 2, and this program reads 1"),
            (cut, "line 3: EOF while parsing"),
            (&large, "it is too large"),
        ] {
            fs::write(&path, text).unwrap();
            let told = read(&path).unwrap_err();
            assert!(told.contains(why) && told.contains("tests.jsonl.damaged"), "{told}");
            assert_eq!(fs::read_to_string(folder.path().join("tests.jsonl.damaged")).unwrap(), text);
            assert_eq!(read(&path), Ok(Revisions::new()), "told once");
        }
    }
}
