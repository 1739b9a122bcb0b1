//! The files of a budget: read in bounds, appended durably, replaced in one step, locked.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::fs::OFlags;
use tempfile::NamedTempFile;

/// More than any budget's file has.
const SIZE_MAX: u64 = 4 << 20;

/// How much is said in the log; one that asks again and again does not fill the disk.
const LOG_MAX: u64 = 64 << 10;

/// How long somebody else may hold the lock, which takes moments. A hook must answer before its own time is over.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// What a file holds.
#[derive(Debug)]
pub(super) enum Found {
    Missing,
    Text(String),
    /// It cannot be read: why.
    Unreadable(String),
}

/// `path` with `ending` added to its name.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Reads a file that anybody may have tampered with: never waits, and never reads more than there can be.
pub(super) fn read(path: &Path) -> Found {
    let text = plain(OpenOptions::new().read(true), path).and_then(|file| {
        let mut bytes = Vec::new();
        let length = file.take(SIZE_MAX + 1).read_to_end(&mut bytes)?;
        if length as u64 > SIZE_MAX { Err(io::Error::other("it is too large")) } else { Ok(bytes) }
    });
    match text {
        Ok(bytes) => Found::Text(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Found::Missing,
        Err(error) => Found::Unreadable(error.to_string()),
    }
}

/// Adds to a file with one write, durably.
pub(super) fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut file = plain(OpenOptions::new().append(true).create(true), path)?;
    file.write_all(text.as_bytes())?;
    file.sync_data()
}

/// Replaces the content of a file in one step, so that a crash leaves the old one or the new one. (Which of them does not
/// matter: the grants are durable by then.)
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(folder_of(path))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// A line for people. Nothing depends on it, so that it may fail.
pub(super) fn note(path: &Path, text: &str) {
    if fs::metadata(path).is_ok_and(|log| log.len() > LOG_MAX) {
        return;
    }
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
    // Who cannot write a log can still keep to a budget.
    let _ = plain(OpenOptions::new().append(true).create(true), path)
        .and_then(|mut file| file.write_all(format!("{now} {text}\n").as_bytes()));
}

/// Takes the lock, which goes with the answer.
pub(super) fn lock(path: &Path) -> io::Result<File> {
    let file = plain(OpenOptions::new().write(true).create(true).truncate(false), path)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(io::Error::other("somebody holds its lock")),
        }
    }
}

/// Opens a regular file of the user's alone. What is none, a pipe without a reader for one, would hang the caller.
fn plain(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = options.mode(0o600).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a plain file")) }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the names in the folder of `path` durable.
pub(super) fn sync_folder_of(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_plain_file_does_not_hang_anybody() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(matches!(read(&pipe), Found::Unreadable(_)));
        assert!(append(&pipe, "x").is_err() && lock(&pipe).is_err());
        assert!(matches!(read(folder.path()), Found::Unreadable(_)));
        // The control.
        let file = folder.path().join("file");
        assert!(matches!(read(&file), Found::Missing));
        append(&file, "a\n").unwrap();
        append(&file, "b\n").unwrap();
        assert!(matches!(read(&file), Found::Text(text) if text == "a\nb\n"));
        replace(&file, "c").unwrap();
        assert!(matches!(read(&file), Found::Text(text) if text == "c"));
        drop(lock(&file).unwrap());
    }

    #[test]
    fn the_log_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        for _ in 0..200 {
            note(&log, &"x".repeat(1000));
        }
        let length = fs::metadata(&log).unwrap().len();
        assert!((LOG_MAX..LOG_MAX + 2000).contains(&length), "{length}");
    }
}
