//! Who is at work on the control folder.
//!
//! The lock is the operating system's: it ends with the process that holds it, however that ends, so there is nothing
//! to guess about stale ones. The file's content is for people.

use std::{
    fmt,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
    process, thread,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use super::{
    layout::{Ledger, private_folder},
    time,
};
use crate::id::RunId;

/// Whoever holds a control folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Holder {
    /// Its process; 0 where it is not known.
    pub pid: u32,
    /// When the process started, in the system's own ticks, where it is known: tells reused numbers apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
    /// The machine, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Since when it holds the folder, in milliseconds since the epoch.
    pub since: u64,
    /// The run, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// What it was called with.
    pub command: String,
}

impl Holder {
    /// This process, from `now` on, with what it was called with.
    pub fn this_process(command: impl Into<String>, run: Option<RunId>, now: SystemTime) -> Self {
        Self {
            pid: process::id(),
            started: started(),
            host: host(),
            since: time::millis(now),
            run,
            command: command.into(),
        }
    }

    fn unknown() -> Self {
        Self { pid: 0, started: None, host: None, since: 0, run: None, command: "an unknown program".to_owned() }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.command)?;
        if self.pid != 0 {
            write!(f, " (process {}", self.pid)?;
            if let Some(host) = &self.host {
                write!(f, " on {host}")?;
            }
            write!(f, ", since {})", time::stamp(self.since))?;
        }
        if let Some(run) = &self.run {
            write!(f, ", run {run}")?;
        }
        Ok(())
    }
}

/// Why a control folder could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Somebody else is at work on it.
    #[error("the control folder is held by {0}")]
    Held(Holder),
    /// The lock file could not be reached.
    #[error("the lock could not be {operation}")]
    Io {
        /// `taken` or `read`.
        operation: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// A control folder that is held until this is dropped or the process ends.
#[derive(Debug)]
pub struct LedgerLock {
    file: File,
}

/// Somebody who looks holds the lock for an instant, so a refusal is looked at again this often.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(10);

/// More than any holder writes.
const SIZE_MAX: u64 = 64 << 10;

impl LedgerLock {
    /// Takes the control folder for `holder`.
    pub fn take(ledger: &Ledger, holder: &Holder) -> Result<Self, LockError> {
        let taking = |source| LockError::Io { operation: "taken", source };
        private_folder(&ledger.state()).map_err(taking)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(ledger.lock())
            .map_err(taking)?;
        for attempt in 1.. {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(taking(error)),
                Err(TryLockError::WouldBlock) if attempt < TRIES => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    let holder = identity(&mut file).unwrap_or_else(Holder::unknown);
                    return Err(LockError::Held(holder));
                }
            }
        }
        let mut lock = Self { file };
        lock.write(holder).map_err(taking)?;
        Ok(lock)
    }

    /// Changes what is said of the holder, such as the run once it is known.
    pub fn update(&mut self, holder: &Holder) -> Result<(), LockError> {
        self.write(holder).map_err(|source| LockError::Io { operation: "taken", source })
    }

    fn write(&mut self, holder: &Holder) -> io::Result<()> {
        let mut text = serde_json::to_string(holder)?;
        text.push('\n');
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(text.as_bytes())
    }
}

impl Drop for LedgerLock {
    fn drop(&mut self) {
        // Only for people: the lock itself goes with the file handle.
        let _ = self.file.set_len(0);
    }
}

/// Who holds the control folder now; `None` where nobody does.
pub fn holder(ledger: &Ledger) -> Result<Option<Holder>, LockError> {
    let reading = |source| LockError::Io { operation: "read", source };
    let mut file = match File::open(ledger.lock()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(reading(error)),
    };
    for _ in 0..TRIES {
        match file.try_lock_shared() {
            Ok(()) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(reading(error)),
            Err(TryLockError::WouldBlock) => {}
        }
        if let Some(holder) = identity(&mut file) {
            return Ok(Some(holder));
        }
        // It has the lock and is about to write its name.
        thread::sleep(PAUSE);
    }
    Ok(Some(Holder::unknown()))
}

fn identity(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    Read::by_ref(file).take(SIZE_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// When this process started: field 22 of its `stat`, counted behind the name, which may hold anything.
fn started() -> Option<u64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

fn host() -> Option<String> {
    let read = |path: &str| fs::read_to_string(Path::new(path)).ok();
    let name = read("/proc/sys/kernel/hostname").or_else(|| read("/etc/hostname"))?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> (tempfile::TempDir, Ledger) {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::at(folder.path());
        (folder, ledger)
    }

    #[test]
    fn a_second_one_is_told_who_holds_it() {
        let (_folder, ledger) = ledger();
        assert_eq!(holder(&ledger).unwrap(), None);
        let me = Holder::this_process("ralph run", None, SystemTime::now());
        let mut lock = LedgerLock::take(&ledger, &me).unwrap();
        assert_eq!(holder(&ledger).unwrap().as_ref(), Some(&me));
        let mut known = me.clone();
        known.run = Some(RunId::new("run"));
        lock.update(&known).unwrap();
        match LedgerLock::take(&ledger, &me) {
            Err(LockError::Held(found)) => assert_eq!(found, known),
            other => panic!("{other:?}"),
        }
        drop(lock);
        assert_eq!(holder(&ledger).unwrap(), None);
        assert!(LedgerLock::take(&ledger, &me).is_ok());
    }

    #[test]
    fn what_a_dead_holder_left_does_not_matter() {
        let (_folder, ledger) = ledger();
        ledger.create().unwrap();
        for text in ["{\"pid\":1,\"since\":0,\"command\":\"ralph run\"}", "garbage", "\0\0"] {
            fs::write(ledger.lock(), text).unwrap();
            assert_eq!(holder(&ledger).unwrap(), None);
            let me = Holder::this_process("ralph run", None, SystemTime::now());
            let lock = LedgerLock::take(&ledger, &me).unwrap();
            assert_eq!(holder(&ledger).unwrap(), Some(me));
            drop(lock);
        }
    }

    #[test]
    fn onlookers_do_not_keep_anybody_out() {
        let (_folder, ledger) = ledger();
        ledger.create().unwrap();
        fs::write(ledger.lock(), "").unwrap();
        let looking = File::open(ledger.lock()).unwrap();
        looking.lock_shared().unwrap();
        let release = thread::spawn(move || {
            thread::sleep(PAUSE * 2);
            drop(looking);
        });
        let me = Holder::this_process("ralph run", None, SystemTime::now());
        assert!(LedgerLock::take(&ledger, &me).is_ok());
        release.join().unwrap();
    }

    #[test]
    fn a_holder_reads_well() {
        let mut me = Holder::this_process("ralph run", Some(RunId::new("r")), SystemTime::UNIX_EPOCH);
        (me.pid, me.host) = (7, Some("box".to_owned()));
        assert_eq!(me.to_string(), "`ralph run` (process 7 on box, since 1970-01-01T00:00:00Z), run r");
        if cfg!(target_os = "linux") {
            assert!(me.started.is_some());
        }
    }
}
