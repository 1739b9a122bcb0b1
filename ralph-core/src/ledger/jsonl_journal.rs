//! The record of a run in a file of JSON lines.
//!
//! The first line says which format the file has; every other line is one record. Each line ends in a checksum over
//! the rest of it: `{"seq":1,"at":0,"fact":{…},"crc":"9ae0daaf"}`. The frame of the first line stays as it is in all
//! formats to come, so that a file of a later version is recognised.

use std::{
    fmt::Write as _,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    layout::{is_run_name, private_folder},
    replace,
};
use crate::{
    id::RunId,
    journal::{Journal, JournalError, JournalWriter, Opened, Record},
};

/// The format that is written.
const FORMAT: u32 = 1;

/// The longest journal that is read: about a million times a usual record.
const SIZE_MAX: u64 = 1 << 30;

/// What is before the checksum at the end of a line.
const MARK: &str = ",\"crc\":\"";

/// Journals of runs in a folder: `<folder>/<run>/journal.jsonl`.
///
/// One writer holds a journal, by a lock that the system lets go of when the process ends, however it ends.
#[derive(Clone, Debug)]
pub struct JsonlJournal {
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    run: RunId,
}

impl JsonlJournal {
    /// Keeps journals below `folder`, usually [`Ledger::runs_folder`](super::Ledger::runs_folder).
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The file of a run.
    pub fn path(&self, run: &RunId) -> PathBuf {
        self.folder.join(run.as_str()).join("journal.jsonl")
    }

    /// Reads what is recorded of `run` without holding it: for whoever looks on while it is being written. A torn end
    /// is left out. A run without a journal is an error.
    pub fn read(&self, run: &RunId) -> Result<Vec<Record>, JournalError> {
        let path = self.checked(run)?;
        let mut file = File::open(&path).map_err(|error| failed("opened", &path, &error))?;
        let bytes = contents(&mut file).map_err(|error| failed("read", &path, &error))?;
        Ok(parse(&bytes, &path)?.records)
    }

    fn checked(&self, run: &RunId) -> Result<PathBuf, JournalError> {
        let path = self.path(run);
        if is_run_name(run.as_str()) {
            return Ok(path);
        }
        let error = io::Error::other(format!("`{run}` is no name of a run"));
        Err(failed("opened", &path, &error))
    }

    fn open_file(&self, run: &RunId) -> Result<Opened, JournalError> {
        let path = self.checked(run)?;
        let opening = |error| failed("opened", &path, &error);
        if let Some(folder) = path.parent() {
            private_folder(folder).map_err(opening)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(opening)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(JournalError::Held(format!("another process ({})", path.display())));
            }
            Err(TryLockError::Error(error)) => return Err(opening(error)),
        }
        let bytes = contents(&mut file).map_err(|error| failed("read", &path, &error))?;
        let found = parse(&bytes, &path)?;
        let writing = |error| failed("written", &path, &error);
        let mut repaired = None;
        if found.whole < bytes.len() {
            let cut = bytes.len() - found.whole;
            repaired = Some(format!(
                "{}: the last {cut} bytes were a record that was never finished; they are cut",
                path.display()
            ));
            file.set_len(found.whole as u64).map_err(writing)?;
            file.sync_all().map_err(writing)?;
        }
        if found.whole == 0 {
            let line = frame(&Header { format: FORMAT, run: run.clone() }).map_err(writing)?;
            file.write_all(line.as_bytes()).map_err(writing)?;
            file.sync_all().map_err(writing)?;
            replace::sync_folder_of(&path).map_err(writing)?;
        }
        let last = found.records.last().map_or(0, |record| record.seq);
        let writer = JsonlWriter { file, path, last, broken: false };
        let mut opened = Opened::new(found.records, Box::new(writer));
        opened.repaired = repaired;
        Ok(opened)
    }
}

#[async_trait]
impl Journal for JsonlJournal {
    async fn open(&self, run: &RunId) -> Result<Opened, JournalError> {
        self.open_file(run)
    }
}

/// Appends to one journal, and holds it.
#[derive(Debug)]
struct JsonlWriter {
    file: File,
    path: PathBuf,
    last: u64,
    broken: bool,
}

impl JsonlWriter {
    fn write(&mut self, record: &Record) -> io::Result<()> {
        if record.seq != self.last + 1 {
            let text = format!("record {} cannot follow record {}", record.seq, self.last);
            return Err(io::Error::other(text));
        }
        if self.is_gone()? {
            let text = "the file was removed while the run is on: what is written to it would be lost";
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
        let line = frame(record)?;
        // One call for the whole line: what a crash leaves of it is a prefix.
        let written = self.file.write(line.as_bytes())?;
        if written < line.len() {
            return Err(io::Error::from(io::ErrorKind::WriteZero));
        }
        self.file.sync_data()?;
        self.last = record.seq;
        Ok(())
    }

    /// Whether the file has no name any more. An open file takes what is written to it all the same.
    fn is_gone(&self) -> io::Result<bool> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            Ok(self.file.metadata()?.nlink() == 0)
        }
        #[cfg(not(unix))]
        Ok(!self.path.exists())
    }
}

#[async_trait]
impl JournalWriter for JsonlWriter {
    async fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        if self.broken {
            let error = io::Error::other("an earlier record could not be written; open it again");
            return Err(failed("written", &self.path, &error));
        }
        self.write(record).map_err(|error| {
            self.broken = true;
            failed("written", &self.path, &error)
        })
    }
}

/// A line: `value` as JSON with the checksum as its last field.
fn frame(value: &impl Serialize) -> io::Result<String> {
    let mut line = serde_json::to_string(value)?;
    line.pop();
    let crc = crc32fast::hash(line.as_bytes());
    // Writing to a string cannot fail.
    let _ = writeln!(line, "{MARK}{crc:08x}\"}}");
    Ok(line)
}

/// The JSON in a line whose checksum is right.
fn unframe(line: &[u8]) -> Result<String, &'static str> {
    const FRAME: &str = "it has no checksum";
    let text = str::from_utf8(line).map_err(|_| "it is not text")?;
    let body = text.strip_suffix("\"}").ok_or(FRAME)?;
    let (body, crc) = body.len().checked_sub(8).and_then(|at| body.split_at_checked(at)).ok_or(FRAME)?;
    let body = body.strip_suffix(MARK).ok_or(FRAME)?;
    if format!("{:08x}", crc32fast::hash(body.as_bytes())) != crc {
        return Err("its checksum is wrong");
    }
    Ok(format!("{body}}}"))
}

struct Parsed {
    records: Vec<Record>,
    /// How many bytes are whole lines.
    whole: usize,
}

fn parse(bytes: &[u8], path: &Path) -> Result<Parsed, JournalError> {
    let mut found = Parsed { records: Vec::new(), whole: 0 };
    let damaged = |seq: u64, offset: usize, why: String| JournalError::Damaged {
        place: path.display().to_string(),
        seq,
        offset: offset as u64,
        why,
    };
    for (seq, line) in (0_u64..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let offset = found.whole;
        let Some(content) = line.strip_suffix(b"\n") else { break };
        let body = match unframe(content) {
            Ok(body) => body,
            // A file system may keep the length of the last write and lose its content.
            Err(_) if offset + line.len() == bytes.len() && content.contains(&0) => break,
            Err(why) => return Err(damaged(seq, offset, why.to_owned())),
        };
        if seq == 0 {
            let header: Header = serde_json::from_str(&body)
                .map_err(|error| damaged(seq, offset, format!("it is no header: {error}")))?;
            if header.format > FORMAT {
                let place = path.display().to_string();
                return Err(JournalError::Newer { place, found: header.format, known: FORMAT });
            }
        } else {
            let record: Record = serde_json::from_str(&body)
                .map_err(|error| damaged(seq, offset, format!("it is no record: {error}")))?;
            if record.seq != seq {
                return Err(damaged(seq, offset, format!("it is record {}", record.seq)));
            }
            found.records.push(record);
        }
        found.whole += line.len();
    }
    Ok(found)
}

fn contents(file: &mut File) -> io::Result<Vec<u8>> {
    if file.metadata()?.len() > SIZE_MAX {
        return Err(io::Error::other(format!("larger than {} MiB", SIZE_MAX >> 20)));
    }
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    Read::by_ref(file).take(SIZE_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn failed(operation: &'static str, path: &Path, error: &io::Error) -> JournalError {
    JournalError::Io { operation, source: format!("{}: {error}", path.display()).into() }
}
