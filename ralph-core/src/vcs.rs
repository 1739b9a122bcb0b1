//! The seam to version control: where work is done, kept and accepted.

use std::{
    fmt::{self, Debug},
    path::PathBuf,
    sync::Arc,
    time::SystemTime,
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    cx::Cx,
    error::{BoxError, Retry},
    id::{AttemptId, Digest, Revision, RunId},
};

/// A folder in which something is placed. Each lane has its own, so that what is judged a second time is out of the
/// agents' reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Site {
    /// Where the agent works.
    Work {
        /// Which lane; 0 where there is one.
        lane: u16,
    },
    /// Where candidates are judged.
    Clean {
        /// Which lane; 0 where there is one.
        lane: u16,
    },
    /// Where reviewers look: an agent was there, and what it leaves in build caches must be in no verdict.
    Review {
        /// Which lane; 0 where there is one.
        lane: u16,
    },
}

/// What becomes of ignored files that are known build caches when a site is placed anew. All others always go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caches {
    /// They stay, so that builds are incremental.
    Keep,
    /// They go: after a failed or broken verdict, and where a last word is spoken.
    Drop,
}

/// A revision, standing in a site's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The folder.
    pub folder: PathBuf,
    /// The fingerprint of the revision's content.
    pub tree: Digest,
    /// Whether no build cache of earlier placings is there: `Setup:` has to run.
    pub fresh: bool,
}

/// Everything that a commit is made of besides its content. The same seal on the same content gives the same revision,
/// so that a snapshot can be taken again after a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The run.
    pub run: RunId,
    /// The attempt.
    pub attempt: AttemptId,
    /// The whole message, subject and trailers.
    pub message: String,
    /// The commit's date; comes from the journal.
    pub at: SystemTime,
    /// Whether it is what a clean-up made of the attempt's work, which stays beside it.
    pub cleanup: bool,
}

/// What kind of thing could not become part of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FindingKind {
    /// A repository inside the tree.
    NestedRepository,
    /// A submodule that was added, removed or moved.
    Submodule,
    /// A pipe, socket or device.
    SpecialFile,
    /// A link that leads out of the tree.
    LinkLeavesTree,
    /// A name that git refuses, such as `.git`.
    RefusedName,
    /// A file or folder that could not be read.
    Unreadable,
    /// More bytes or files than the limit.
    TooMuch,
    /// The whole folder is no longer the one that was made.
    FolderReplaced,
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NestedRepository => "a repository inside the workspace",
            Self::Submodule => "a changed submodule",
            Self::SpecialFile => "a pipe, socket or device",
            Self::LinkLeavesTree => "a symbolic link that leaves the workspace",
            Self::RefusedName => "a name that git refuses",
            Self::Unreadable => "not readable",
            Self::TooMuch => "beyond the limit on changed files and bytes of one commit",
            Self::FolderReplaced => "the workspace folder itself was replaced",
        })
    }
}

/// Something in the work that cannot be part of a commit. It fails the attempt and is named to the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// Where, as text for people (bytes that are not UTF-8 are replaced).
    pub path: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.kind)
    }
}

/// How much a snapshot changes against its base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffStat {
    /// Files added, changed or removed.
    pub files: u64,
    /// Lines added, where counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Lines removed, where counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
}

/// What was found in a site after a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// One commit on top of the base with everything that was found; already safe from garbage collection. `None` where
    /// the content equals the base's.
    pub revision: Option<Revision>,
    /// The fingerprint of the content.
    pub tree: Digest,
    /// How much it changes.
    pub stat: DiffStat,
    /// What could not be taken in.
    pub findings: Vec<Finding>,
}

/// Where the run's branch is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tip {
    /// Where it was left.
    At(Revision),
    /// Further on: somebody committed on top.
    Ahead(Revision),
    /// Gone or rewritten. Holds what was found, for people.
    Lost(String),
}

/// What came of moving the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// The branch is at the revision (now, or since an earlier try).
    Landed,
    /// The branch was moved on by somebody else meanwhile.
    Overtaken(Revision),
    /// The branch is gone or rewritten. Holds what was found.
    Lost(String),
}

/// Why work is kept that is not on the branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepKind {
    /// A verdict was against it.
    Rejected,
    /// A person has to decide on it.
    Parked,
    /// Its session was interrupted.
    Interrupted,
}

impl fmt::Display for KeepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rejected => "rejected",
            Self::Parked => "parked",
            Self::Interrupted => "interrupted",
        })
    }
}

/// Why version control could not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VcsError {
    /// The repository is in a state in which Ralph will not work. Says what and what to do.
    #[error("{0}")]
    Refused(String),
    /// The revision exists but cannot be stood in a folder. The work's fault, where it is a candidate.
    #[error("the revision cannot be checked out: {0}")]
    Unplaceable(String),
    /// The revision is not there.
    #[error("there is no revision {0}")]
    NoRevision(Revision),
    /// The call was cancelled or ran out of time.
    #[error("{0} was ended early")]
    Ended(&'static str),
    /// Anything else.
    #[error("{operation} failed")]
    Other {
        /// What was tried.
        operation: String,
        /// Why it failed.
        #[source]
        source: BoxError,
    },
}

impl VcsError {
    /// `operation`, such as `reading the branch`, failed because of `error`.
    pub fn other(operation: impl Into<String>, error: impl Into<BoxError>) -> Self {
        Self::Other { operation: operation.into(), source: error.into() }
    }

    /// Whether asking again makes sense.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Refused(_) | Self::Unplaceable(_) | Self::NoRevision(_) => Retry::Never,
            Self::Ended(_) | Self::Other { .. } => Retry::Soon,
        }
    }
}

/// The files of a revision, read without a checkout.
///
/// Paths are bytes with `/` between their parts, as git has them.
#[async_trait]
pub trait Tree: Debug + Send + Sync + 'static {
    /// The content of the file at `path`, cut to `max` bytes; `None` where there is no file.
    async fn read(&self, path: &[u8], max: usize) -> Result<Option<Vec<u8>>, VcsError>;

    /// What is at `path`; `None` where nothing is, or a folder. Cheaper than reading it.
    async fn kind(&self, path: &[u8]) -> Result<Option<EntryKind>, VcsError>;

    /// The paths of all files and links below the folder `under` (empty: everywhere), sorted.
    async fn list(&self, under: &[u8]) -> Result<Vec<Vec<u8>>, VcsError>;
}

/// What a path holds in a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A file.
    File,
    /// A file that can be executed.
    Executable,
    /// A symbolic link.
    Link,
    /// A submodule.
    Submodule,
}

/// A path that differs between two revisions. A file that became a folder, or was renamed, is several of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path: bytes with `/` between their parts.
    pub path: Vec<u8>,
    /// What was there; `None`: nothing.
    pub before: Option<EntryKind>,
    /// What is there now; `None`: nothing.
    pub after: Option<EntryKind>,
}

/// Version control as the loop needs it.
///
/// # Contract
/// - A revision is immutable and knows its content. To the engine a site is a plain folder of files and a cache: each
///   attempt is placed from a revision.
/// - `tip(None)` is asked once, when a run begins: it makes sure that the run's branch exists and says where it is.
///   `tip(Some(r))` compares the branch with where the engine believes it to be.
/// - `place` makes the site's folder hold exactly the revision's files, and of earlier ignored files at most the build
///   caches. Nothing is ever written or removed through a link that an agent left there.
/// - `snapshot` makes *one* revision on top of `base` of whatever is in the folder, commits and uncommitted changes
///   alike, without anything of the ledger. Nothing that the agent left there is executed.
/// - `accept` moves the branch from `expected` to `revision`, atomically and durably, or not at all. It is the only
///   way in which the branch moves (law L2).
/// - `keep` gives a revision a name under which a person finds it, for good.
/// - The operator's checkout, index, configuration and other refs are never touched (law L9).
///
/// # Cancellation
/// Dropping a future ends the processes behind it. What was done stays consistent: calling again completes it.
///
/// # Idempotence
/// All of it. `snapshot` with the same seal on the same content gives the same revision; `accept` of a revision that
/// the branch already holds answers [`Accepted::Landed`]; `keep` of a kept revision answers the same name.
///
/// # Errors
/// [`VcsError::Unplaceable`] is a revision's fault; everything else is the repository's or the machine's.
///
/// # Implementing
/// Run `ralph_core::vcs_conformance!` (feature `testing`) on your implementation. The shortest honest one copies
/// folders:
/// ```
/// use ralph_core::{Accepted, Revision};
///
/// /// The heart of every `Vcs`: a compare-and-swap on the branch.
/// fn accept(branch: &mut Revision, revision: &Revision, expected: &Revision) -> Accepted {
///     if branch == revision {
///         return Accepted::Landed; // an earlier try got through
///     }
///     if branch != expected {
///         return Accepted::Overtaken(branch.clone());
///     }
///     *branch = revision.clone();
///     Accepted::Landed
/// }
/// let (a, b) = (Revision::new("a"), Revision::new("b"));
/// let mut branch = a.clone();
/// assert_eq!(accept(&mut branch, &b, &a), Accepted::Landed);
/// assert_eq!(accept(&mut branch, &b, &a), Accepted::Landed);
/// assert_eq!(accept(&mut branch, &a, &a), Accepted::Overtaken(b));
/// ```
#[async_trait]
pub trait Vcs: Debug + Send + Sync + 'static {
    /// What is worked on, for people: `branch ralph/prd-p1`.
    fn name(&self) -> &str;

    /// The folder of `site`; the same as long as the repository and the settings are.
    fn folder(&self, site: Site) -> PathBuf;

    /// Where the branch is, compared with where it was left.
    async fn tip(&self, since: Option<&Revision>, cx: &Cx) -> Result<Tip, VcsError>;

    /// Stands `revision` in `site`.
    async fn place(&self, site: Site, revision: &Revision, caches: Caches, cx: &Cx) -> Result<Placed, VcsError>;

    /// Makes a revision on top of `base` of what is in `site`.
    async fn snapshot(&self, site: Site, base: &Revision, seal: &Seal, cx: &Cx) -> Result<Snapshot, VcsError>;

    /// The files of `revision`.
    async fn tree(&self, revision: &Revision, cx: &Cx) -> Result<Arc<dyn Tree>, VcsError>;

    /// The paths that differ between `base` and `revision`, sorted: content, kind and mode count, renames are two paths.
    async fn changes(&self, base: &Revision, revision: &Revision, cx: &Cx) -> Result<Vec<Change>, VcsError>;

    /// Moves the branch from `expected` to `revision`.
    async fn accept(&self, revision: &Revision, expected: &Revision, cx: &Cx) -> Result<Accepted, VcsError>;

    /// Keeps `revision` for people; answers the name under which it is found.
    async fn keep(
        &self,
        revision: &Revision,
        kind: KeepKind,
        run: &RunId,
        attempt: &AttemptId,
        cx: &Cx,
    ) -> Result<String, VcsError>;
}

/// What came of carrying work over to another base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rebased {
    /// It stands there as one commit.
    Onto(Snapshot),
    /// It contradicts what came meanwhile. Holds the paths, as text for people.
    Conflict(Vec<String>),
}

/// Carries work that stands on an older tip over to the present one. Without this seam such work gets a new session.
///
/// # Contract
/// - One commit on `onto` with what `revision` changes against its own base; nothing is resolved by guessing.
/// - No checkout is touched, no branch is moved, nothing that an agent wrote is executed.
///
/// # Cancellation
/// Dropping the future leaves at most unused objects.
///
/// # Idempotence
/// The same revision, base and seal give the same revision.
///
/// # Errors
/// A conflict is an outcome, not an error.
///
/// # Implementing
/// ```
/// use ralph_core::{Cx, Rebase, Rebased, Revision, Seal, VcsError, async_trait};
///
/// /// Carries nothing over: every such work gets a new session.
/// #[derive(Debug)]
/// struct Never;
///
/// #[async_trait]
/// impl Rebase for Never {
///     async fn rebase(
///         &self,
///         _revision: &Revision,
///         _onto: &Revision,
///         _seal: &Seal,
///         _cx: &Cx,
///     ) -> Result<Rebased, VcsError> {
///         Ok(Rebased::Conflict(vec!["everything".to_owned()]))
///     }
/// }
/// ```
#[async_trait]
pub trait Rebase: Debug + Send + Sync + 'static {
    /// Carries `revision` over to `onto`, which is ahead of the revision's own base.
    async fn rebase(&self, revision: &Revision, onto: &Revision, seal: &Seal, cx: &Cx) -> Result<Rebased, VcsError>;
}

/// Makes the run's branch known elsewhere (`push`).
///
/// # Contract
/// - Pushes the run's branch at `revision`, never by force, and asks nobody for a password.
/// - Bounded in time.
///
/// # Cancellation
/// Dropping the future ends the processes behind it.
///
/// # Idempotence
/// What is there already is a success.
///
/// # Errors
/// Every error is told and tried again at the next accepted item and at the end; none fails the run.
///
/// # Implementing
/// ```
/// use ralph_core::{Cx, Publish, Revision, VcsError, async_trait};
///
/// /// Says it aloud.
/// #[derive(Debug)]
/// struct Aloud;
///
/// #[async_trait]
/// impl Publish for Aloud {
///     async fn publish(&self, revision: &Revision, _cx: &Cx) -> Result<(), VcsError> {
///         println!("the branch is at {revision}");
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait Publish: Debug + Send + Sync + 'static {
    /// Makes the branch known at `revision`.
    async fn publish(&self, revision: &Revision, cx: &Cx) -> Result<(), VcsError>;
}
