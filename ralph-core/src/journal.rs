//! The seam to the record of a run.

use std::fmt::Debug;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    error::{BoxError, Retry},
    id::RunId,
    machine::Fact,
};

/// A fact with its place and time in the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// 1 for the first, without gaps.
    pub seq: u64,
    /// When it was written, in milliseconds since the Unix epoch.
    pub at: u64,
    /// What happened.
    pub fact: Fact,
}

/// An opened record: what it holds, and the only way to add to it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Opened {
    /// What is recorded, from the first.
    pub records: Vec<Record>,
    /// The only writer.
    pub writer: Box<dyn JournalWriter>,
    /// What had to be put right (a torn last line), for people.
    pub repaired: Option<String>,
}

impl Opened {
    /// An opened record in which nothing had to be put right.
    pub fn new(records: Vec<Record>, writer: Box<dyn JournalWriter>) -> Self {
        Self { records, writer, repaired: None }
    }
}

/// Why the record could not be opened or added to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Somebody else is writing it.
    #[error("the run is held by {0}")]
    Held(String),
    /// A record in the middle is damaged. Nothing is guessed: the run stops.
    #[error("{place}: record {seq} at byte {offset} is damaged: {why}")]
    Damaged {
        /// Which journal.
        place: String,
        /// The number that the record should have.
        seq: u64,
        /// Where it begins, in bytes.
        offset: u64,
        /// What is wrong with it.
        why: String,
    },
    /// It was written by a later version.
    #[error("{place} has format {found}, and this version reads up to {known}: use a newer ralph")]
    Newer {
        /// Which journal.
        place: String,
        /// The format found.
        found: u32,
        /// The newest format that this version knows.
        known: u32,
    },
    /// It could not be read or written.
    #[error("the journal could not be {operation}")]
    Io {
        /// `opened`, `read` or `written`.
        operation: &'static str,
        /// Why.
        #[source]
        source: BoxError,
    },
}

impl JournalError {
    /// Whether asking again makes sense.
    pub fn retry(&self) -> Retry {
        Retry::Never
    }
}

/// Where the local host keeps the record of a run. Host-side: an embedder on another host does not need it, and it may
/// change in minor versions.
///
/// # Contract
/// - `open` returns everything that was recorded for `run`, and the *only* writer: a second one is refused with
///   [`JournalError::Held`] until the first is dropped. An unknown run is an empty record.
/// - A record that was torn by a crash at the end is cut; damage anywhere else is an error, never skipped.
///
/// # Cancellation
/// Dropping the future of `open` leaves the record as it was and held by nobody.
///
/// # Idempotence
/// Opening changes nothing but a torn end.
///
/// # Errors
/// See [`JournalError`].
///
/// # Implementing
/// Run `ralph_core::journal_conformance!` (feature `testing`) on your implementation.
/// ```
/// use ralph_core::{Journal, MemoryJournal, RunId};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let journal = MemoryJournal::new();
/// let first = journal.open(&RunId::new("run")).await.unwrap();
/// assert!(journal.open(&RunId::new("run")).await.is_err(), "one writer at a time");
/// drop(first);
/// assert!(journal.open(&RunId::new("run")).await.is_ok());
/// # });
/// ```
#[async_trait]
pub trait Journal: Debug + Send + Sync + 'static {
    /// Opens the record of `run`.
    async fn open(&self, run: &RunId) -> Result<Opened, JournalError>;
}

/// The only writer of a record. Dropping it lets go of the record.
#[async_trait]
pub trait JournalWriter: Debug + Send {
    /// Adds `record`. `Ok` means that it is durable (law L5). After an error nothing more may be appended: the state on
    /// disk is unknown until the record is opened again.
    async fn append(&mut self, record: &Record) -> Result<(), JournalError>;
}
