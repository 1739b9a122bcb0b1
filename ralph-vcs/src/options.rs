//! What a [`GitVcs`](crate::GitVcs) is told.

use std::{ffi::OsString, path::PathBuf};

/// Folders in which known build tools keep what they can make again. Only what the repository ignores stays; byte
/// code (`__pycache__/`) is never among them, for it can be stale and still be run.
pub const DEFAULT_KEEP: &[&str] = &[
    "target/",
    "node_modules/",
    ".venv/",
    "venv/",
    ".tox/",
    ".nox/",
    ".gradle/",
    ".yarn/cache/",
    ".pnpm-store/",
    ".next/cache/",
    ".turbo/",
    ".parcel-cache/",
    ".bundle/",
    "vendor/bundle/",
    ".stack-work/",
    "dist-newstyle/",
    "elm-stuff/",
    ".dart_tool/",
    ".build/",
    ".zig-cache/",
    ".mypy_cache/",
    ".ruff_cache/",
];

/// Where a [`GitVcs`](crate::GitVcs) works, on what, and within which limits.
///
/// ```
/// let options = ralph_vcs::GitOptions::new("/home/me/site", "ralph/prd-p1", "/home/me/.local/state/ralph/site")
///     .with_keep(["target/", "/web/node_modules/"]);
/// assert_eq!(options.ledger, "ralph-loop");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GitOptions {
    /// A folder of the operator's checkout, or a bare repository.
    pub repository: PathBuf,
    /// The run's branch, such as `ralph/prd-p1`.
    pub branch: String,
    /// The control folder, relative to the repository's root. A candidate's entries there are always its base's.
    pub ledger: String,
    /// Files and folders outside of it that are control too, such as a plan elsewhere; relative to the root, and treated
    /// as the ledger is.
    pub control: Vec<String>,
    /// Where the sites are; outside every checkout, one folder for each repository.
    pub sites: PathBuf,
    /// Folders that stay between placings if they are ignored. As in an ignore file: `name/` anywhere, `/name/` at
    /// the root only; `*` and `?` match within a name.
    pub keep: Vec<String>,
    /// `Name <address>` of the commits' author, instead of the operator's identity.
    pub author: Option<String>,
    /// The git program; without one, the first `git` on the `PATH`.
    pub git: Option<PathBuf>,
    /// The environment that counts as the operator's; without one, the process's own. Of git's own variables only those
    /// that name files of settings are read.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// A snapshot with more changed files is refused.
    pub max_files: usize,
    /// A snapshot with more changed bytes is refused.
    pub max_bytes: u64,
}

impl GitOptions {
    /// The usual settings for `branch` of `repository`, with the sites below `sites`.
    pub fn new(repository: impl Into<PathBuf>, branch: impl Into<String>, sites: impl Into<PathBuf>) -> Self {
        Self {
            repository: repository.into(),
            branch: branch.into(),
            ledger: "ralph-loop".to_owned(),
            control: Vec::new(),
            sites: sites.into(),
            keep: DEFAULT_KEEP.iter().map(|&it| it.to_owned()).collect(),
            author: None,
            git: None,
            environment: None,
            max_files: 20_000,
            max_bytes: 512 << 20,
        }
    }

    /// Another control folder, relative to the repository's root.
    #[must_use]
    pub fn with_ledger(mut self, ledger: impl Into<String>) -> Self {
        self.ledger = ledger.into();
        self
    }

    /// Control files and folders outside the ledger, relative to the repository's root.
    #[must_use]
    pub fn with_control<T: Into<String>>(mut self, control: impl IntoIterator<Item = T>) -> Self {
        self.control = control.into_iter().map(Into::into).collect();
        self
    }

    /// Another list of folders that stay.
    #[must_use]
    pub fn with_keep<T: Into<String>>(mut self, keep: impl IntoIterator<Item = T>) -> Self {
        self.keep = keep.into_iter().map(Into::into).collect();
        self
    }

    /// Another author: `Name <address>`.
    #[must_use]
    pub fn with_author(mut self, author: impl Into<String>) -> Self {
        self.author = Some(author.into());
        self
    }

    /// A certain git program.
    #[must_use]
    pub fn with_git(mut self, program: impl Into<PathBuf>) -> Self {
        self.git = Some(program.into());
        self
    }

    /// Another environment than the process's own.
    #[must_use]
    pub fn with_environment(mut self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.environment = Some(variables.into_iter().collect());
        self
    }

    /// Other limits for one snapshot.
    #[must_use]
    pub fn with_limits(mut self, files: usize, bytes: u64) -> Self {
        self.max_files = files;
        self.max_bytes = bytes;
        self
    }
}
