//! The checks: what no honest change needs.
//!
//! A [`Check`] looks at what an item's work changes and says what it found. [`Checks`] is the
//! [`Gate`](ralph_core::Gate) made of those that are on: what any of them finds fails the attempt, and the next one is
//! told. Those that ship are [`shipped`]:
//!
//! | name | finds | |
//! | --- | --- | --- |
//! | `trivial-tests` | tests that cannot fail | on |
//! | `skipped-tests` | tests that no longer run | on |
//! | `deleted-tests` | tests that are gone | on |
//! | `weakened-tests` | tests that assert less | on |
//! | `secrets` | keys, tokens and the operator's own values | on |
//! | `orphans` | new files that nothing names | off |
//!
//! They compare two trees and run nothing. Source is parsed (Rust, Python, JavaScript, TypeScript, Go), as far as it parses;
//! what a check cannot see, its documentation says. They find the usual ways of making a red test green without the work,
//! not every way.
//!
//! A check of one's own is a type and one line where the gate is made:
//! ```
//! use ralph_core::{BoxError, ItemBoundary, async_trait};
//! use ralph_verify::checks::{Check, Checks, Found, shipped};
//!
//! /// Nobody commits a merge that was never finished.
//! #[derive(Debug)]
//! struct Markers;
//!
//! #[async_trait]
//! impl Check for Markers {
//!     fn name(&self) -> &str {
//!         "merge-markers"
//!     }
//!     fn about(&self) -> &str {
//!         "lines that git leaves where it could not merge"
//!     }
//!     async fn look(&self, at: &ItemBoundary) -> Result<Vec<Found>, BoxError> {
//!         let mut found = Vec::new();
//!         for change in at.changes.iter() {
//!             let content = at.tree.read(&change.path, 1 << 20).await?.unwrap_or_default();
//!             for (index, line) in content.split(|byte| *byte == b'\n').enumerate() {
//!                 if line.starts_with(b"<<<<<<< ") {
//!                     found.push(Found::new(&change.path, "an unfinished merge").line(index as u32 + 1));
//!                 }
//!             }
//!         }
//!         Ok(found)
//!     }
//! }
//!
//! let mut all = shipped([]);
//! all.push(Box::new(Markers));
//! let gate = Checks::of(all, ["default", "merge-markers", "-secrets"])?;
//! assert!(gate.list().iter().any(|check| check.name == "merge-markers" && check.on));
//! # Ok::<(), ralph_verify::checks::UnknownCheck>(())
//! ```

mod deleted_tests;
mod gate;
mod orphans;
mod secrets;
mod skipped_tests;
mod source;
mod trivial_tests;
mod weakened_tests;
mod work;

use std::fmt::Debug;

use ralph_core::{BoxError, ItemBoundary, async_trait};

pub use self::gate::{Checks, Listed, UnknownCheck};
pub(crate) use self::source::pytest_hooks;

/// Looks at what an item's work changes for one kind of thing.
///
/// # Contract
/// - It reads the two trees and nothing else, and says the same about the same work.
/// - What the base has already is not found again: only what the work brings counts.
/// - What it quotes is an agent's text. [`Checks`] makes it harmless and short; a secret is never quoted.
///
/// # Errors
/// Where a tree cannot be read; the gate is then not open.
#[async_trait]
pub trait Check: Debug + Send + Sync + 'static {
    /// Its name, in small letters with hyphens, as settings and plans write it.
    fn name(&self) -> &str;

    /// What it finds, in one line.
    fn about(&self) -> &str;

    /// Whether it is part of `default`.
    fn by_default(&self) -> bool {
        false
    }

    /// What the next attempt is told to do instead.
    fn instead(&self) -> &str {
        ""
    }

    /// What there is to find.
    async fn look(&self, at: &ItemBoundary) -> Result<Vec<Found>, BoxError>;
}

/// One thing that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// Where: bytes with `/` between their parts.
    pub path: Vec<u8>,
    /// In which line of the work, or of the base where it is gone; from 1.
    pub line: Option<u32>,
    /// What is wrong there.
    pub text: String,
    /// The line itself.
    pub quote: Option<String>,
}

impl Found {
    /// Something in the file at `path`.
    pub fn new(path: impl AsRef<[u8]>, text: impl Into<String>) -> Self {
        Self { path: path.as_ref().to_vec(), line: None, text: text.into(), quote: None }
    }

    /// The same in this line.
    #[must_use]
    pub fn line(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }

    /// The same with the line's words.
    #[must_use]
    pub fn quote(mut self, words: impl Into<String>) -> Self {
        self.quote = Some(words.into());
        self
    }
}

/// The checks that ship, in the order in which they look. To add one is a file and a line here.
///
/// `values` are the names and values of the operator's secrets, for which `secrets` looks word by word; none are told.
pub fn shipped(values: impl IntoIterator<Item = (String, String)>) -> Vec<Box<dyn Check>> {
    vec![
        Box::new(trivial_tests::TrivialTests),
        Box::new(skipped_tests::SkippedTests),
        Box::new(deleted_tests::DeletedTests),
        Box::new(weakened_tests::WeakenedTests),
        Box::new(secrets::Secrets::new(values)),
        Box::new(orphans::Orphans),
    ]
}
