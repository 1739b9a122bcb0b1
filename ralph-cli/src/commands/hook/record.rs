//! What hooks remember of a session that a person started.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use ralph_core::{Digest, ledger::Ledger};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::{error::CliError, wire};

/// A session that was not seen for so long is over.
const FORGOTTEN: Duration = Duration::from_secs(30 * 24 * 3600);

/// How long the log of outcomes gets, in bytes, before it is begun anew.
const LOG_MAX: u64 = 256 << 10;

/// One session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Its id, as the agent's program has it.
    pub(super) session: String,
    /// How often in a row it was kept from ending.
    pub(super) blocks: u32,
    /// Whether a spawn budget was made for it.
    pub(super) spawn: bool,
    /// The fingerprint of the criteria file when it began, where there was one.
    pub(super) criteria: Option<Digest>,
}

/// What is remembered of `session`. What cannot be read is not remembered: nobody is kept for it.
pub(super) fn read(ledger: &Ledger, session: &str) -> Option<Record> {
    let text = fs::read_to_string(file(ledger, session, "json")).ok()?;
    serde_json::from_str(&text).ok().filter(|record: &Record| record.session == session)
}

/// Remembers it, durably and in one step.
pub(super) fn write(ledger: &Ledger, record: &Record) -> io::Result<()> {
    let folder = ledger.hooks();
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let mut file = NamedTempFile::new_in(&folder)?;
    file.write_all(format!("{}\n", serde_json::to_string(record)?).as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(self::file(ledger, &record.session, "json")).map(drop).map_err(|error| error.error)
}

/// A file of the session's, by its ending.
pub(super) fn file(ledger: &Ledger, session: &str, ending: &str) -> PathBuf {
    ledger.hooks().join(format!("{}.{ending}", name(session)))
}

/// The state of the spawn budget of a session that no run started.
pub(super) fn spawn_state(session: &str) -> Result<PathBuf, CliError> {
    Ok(spawn_folder()?.join(format!("{}.json", name(session))))
}

fn spawn_folder() -> Result<PathBuf, CliError> {
    Ok(wire::state_folder()?.join("spawn").join("sessions"))
}

/// The id as a name of a file: itself where it can be one.
pub(super) fn name(session: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if (1..=100).contains(&session.len()) && session.bytes().all(plain) {
        session.to_owned()
    } else {
        format!("id-{}", Digest::of(session.as_bytes()))
    }
}

/// The fingerprint of the criteria file as it is now.
pub(super) fn criteria(ledger: &Ledger) -> Option<Digest> {
    fs::read(ledger.criteria()).ok().map(|bytes| Digest::of(&bytes))
}

/// Adds a line to the log of outcomes. Nothing depends on it.
pub(super) fn log(ledger: &Ledger, session: &str, outcome: &str) {
    let path = ledger.hooks().join("log");
    if fs::metadata(&path).is_ok_and(|log| log.len() > LOG_MAX) {
        let _ = fs::rename(&path, path.with_extension("old"));
    }
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
    let line = format!("{now} {} {}\n", name(session), outcome.split_whitespace().collect::<Vec<_>>().join(" "));
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}

/// Forgets sessions that are long over, here and among the spawn budgets. What cannot be removed is in nobody's way.
pub(super) fn sweep(ledger: Option<&Ledger>) {
    let folders = [ledger.map(Ledger::hooks), spawn_folder().ok()];
    for folder in folders.into_iter().flatten() {
        forget(&folder, SystemTime::now());
    }
}

fn forget(folder: &Path, now: SystemTime) {
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_old = |found: fs::Metadata| {
            let age = found.modified().ok().and_then(|written| now.duration_since(written).ok());
            found.is_file() && age.is_some_and(|age| age > FORGOTTEN)
        };
        if file.metadata().is_ok_and(is_old) {
            let _ = fs::remove_file(file.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_lead_elsewhere() {
        assert_eq!(name("1806371d-fdb4-4ed2-8108-b655274c03f7"), "1806371d-fdb4-4ed2-8108-b655274c03f7");
        for odd in ["", "../x", "a/b", ".", "a.b", "ä", "a b", "x\n", &"x".repeat(101)] {
            let name = name(odd);
            assert!(name.starts_with("id-") && name.len() == 67, "{odd:?}: {name}");
        }
    }

    #[test]
    fn only_what_is_old_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old.json"), folder.path().join("new.json"));
        for path in [&old, &new] {
            fs::write(path, "").unwrap();
        }
        let then = SystemTime::now() - FORGOTTEN - Duration::from_secs(60);
        fs::File::options().write(true).open(&old).unwrap().set_modified(then).unwrap();
        forget(folder.path(), SystemTime::now());
        assert!(!old.exists() && new.exists());
    }
}
