//! Work without git: revisions are copies of folders.
//!
//! ```text
//! <state>/trees/<digest>/…        the files of a content
//! <state>/revisions/<id>.json     content, base, message, date
//! <state>/branch                  where the work is: one revision's id
//! <state>/kept/<kind>/<run>/…     names of work that was not accepted
//! ```

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use ralph_core::{
    Accepted, AttemptId, Caches, Change, Cx, EntryKind, KeepKind, Placed, Revision, RunId, Seal, Site, Snapshot, Tip,
    Tree, Vcs, VcsError, async_trait,
};

use crate::{
    changes::content_changes,
    folder_read::{Content, Kind},
    folder_store::{Store, refused},
    git::other,
    judge::Ledger,
    site::{SiteState, checkout_around, resolved},
};

/// Where a [`FolderVcs`] works, on what, and within which limits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FolderOptions {
    /// The folder whose files are the start. It is only read.
    pub source: PathBuf,
    /// Where revisions are kept.
    pub state: PathBuf,
    /// Where the sites are; outside of `source`.
    pub sites: PathBuf,
    /// The control folder, relative to `source`. It is no part of any revision.
    pub ledger: String,
    /// A revision with more files is refused.
    pub max_files: usize,
    /// A revision with more bytes is refused.
    pub max_bytes: u64,
}

impl FolderOptions {
    /// The usual settings for the files in `source`.
    pub fn new(source: impl Into<PathBuf>, state: impl Into<PathBuf>, sites: impl Into<PathBuf>) -> Self {
        Self {
            source: source.into(),
            state: state.into(),
            sites: sites.into(),
            ledger: "ralph-loop".to_owned(),
            max_files: 20_000,
            max_bytes: 512 << 20,
        }
    }
}

/// Version control by copies, for work that is not in git.
///
/// What the laws mean here: *two passes* (L1) holds as it does with git, the second verdict being on a copy of the
/// recorded content in a folder of its own. *The branch is always good* (L2) holds for the file `branch` of the state
/// folder: the operator's own folder is never written, and taking the result over from a site or from
/// `<state>/trees/` is left to the operator. One process at a time may work on a state folder. There is no keep list: each
/// placing is a fresh copy.
#[derive(Debug)]
pub struct FolderVcs {
    inner: Arc<Store>,
    name: String,
}

impl FolderVcs {
    /// Works on copies of `options.source`. Changes nothing yet.
    ///
    /// # Errors
    /// [`VcsError::Refused`] where the source is no folder, the other folders lie in it, or the sites lie in a checkout.
    pub fn open(mut options: FolderOptions) -> Result<Self, VcsError> {
        let source = fs::canonicalize(&options.source).map_err(|error| refused(&options.source, &error.to_string()))?;
        if !source.is_dir() {
            return Err(refused(&source, "it is not a folder"));
        }
        for folder in [&mut options.state, &mut options.sites] {
            *folder = resolved(&std::path::absolute(&folder).unwrap_or_else(|_| folder.clone()));
            if folder.starts_with(&source) {
                return Err(refused(folder, "it lies in the folder that is worked on"));
            }
        }
        if let Some(checkout) = checkout_around(&options.sites) {
            let why = format!(
                "it lies in the checkout {}, where tools that look for a repository find that one; choose a folder \
                 outside, such as one below the system's temporary folder",
                checkout.display()
            );
            return Err(refused(&options.sites, &why));
        }
        options.source = source;
        Ok(Self {
            name: format!("copies of {}", options.source.display()),
            inner: Arc::new(Store { ledger: Ledger::new(&options.ledger, false), options, sites: Mutex::default() }),
        })
    }

    /// Runs `work` where it may block.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, VcsError> + Send + 'static,
    ) -> Result<T, VcsError> {
        let inner = self.inner.clone();
        let task = tokio::task::spawn_blocking(move || work(&inner));
        task.await.map_err(|error| other("working on copies", error))?
    }
}

/// The files of a recorded content.
#[derive(Debug)]
struct FolderTree {
    folder: PathBuf,
    content: Content,
}

#[async_trait]
impl Tree for FolderTree {
    async fn read(&self, path: &[u8], max: usize) -> Result<Option<Vec<u8>>, VcsError> {
        let mut bytes = match self.content.files.get(path) {
            None => return Ok(None),
            Some(Kind::Link(to)) => to.clone(),
            Some(Kind::File { .. }) => fs::read(self.folder.join(crate::snapshot::os(path)))
                .map_err(|error| other("reading a recorded file", error))?,
        };
        bytes.truncate(max);
        Ok(Some(bytes))
    }

    async fn kind(&self, path: &[u8]) -> Result<Option<EntryKind>, VcsError> {
        Ok(self.content.files.get(path).map(|kind| match kind {
            Kind::Link(_) => EntryKind::Link,
            Kind::File { program: true, .. } => EntryKind::Executable,
            Kind::File { program: false, .. } => EntryKind::File,
        }))
    }

    async fn list(&self, under: &[u8]) -> Result<Vec<Vec<u8>>, VcsError> {
        let under = under.strip_suffix(b"/").unwrap_or(under);
        let inside =
            |path: &&Vec<u8>| under.is_empty() || (path.starts_with(under) && path.get(under.len()) == Some(&b'/'));
        Ok(self.content.files.keys().filter(inside).cloned().collect())
    }
}

#[async_trait]
impl Vcs for FolderVcs {
    fn name(&self) -> &str {
        &self.name
    }

    fn folder(&self, site: Site) -> PathBuf {
        SiteState::new(&self.inner.options.sites, site).root
    }

    async fn tip(&self, since: Option<&Revision>, _: &Cx) -> Result<Tip, VcsError> {
        let since = since.cloned();
        self.run(move |inner| match since {
            None => inner.begin(),
            Some(since) => inner.tip(&since),
        })
        .await
    }

    async fn place(&self, site: Site, revision: &Revision, _: Caches, _: &Cx) -> Result<Placed, VcsError> {
        let revision = revision.clone();
        self.run(move |inner| inner.place(site, &revision)).await
    }

    async fn snapshot(&self, site: Site, base: &Revision, seal: &Seal, _: &Cx) -> Result<Snapshot, VcsError> {
        let (base, seal) = (base.clone(), seal.clone());
        self.run(move |inner| inner.snapshot(site, &base, &seal)).await
    }

    async fn tree(&self, revision: &Revision, _: &Cx) -> Result<Arc<dyn Tree>, VcsError> {
        let revision = revision.clone();
        self.run(move |inner| {
            let tree = inner.commit(&revision)?.tree;
            let content = inner.content(&tree)?;
            Ok(Arc::new(FolderTree { folder: inner.tree_folder(&tree), content }) as Arc<dyn Tree>)
        })
        .await
    }

    async fn changes(&self, base: &Revision, revision: &Revision, _: &Cx) -> Result<Vec<Change>, VcsError> {
        let (base, revision) = (base.clone(), revision.clone());
        self.run(move |inner| {
            let (before, after) = (inner.commit(&base)?.tree, inner.commit(&revision)?.tree);
            if before == after {
                return Ok(Vec::new());
            }
            Ok(content_changes(&inner.content(&before)?, &inner.content(&after)?))
        })
        .await
    }

    async fn accept(&self, revision: &Revision, expected: &Revision, _: &Cx) -> Result<Accepted, VcsError> {
        let (revision, expected) = (revision.clone(), expected.clone());
        self.run(move |inner| inner.accept(&revision, &expected)).await
    }

    async fn keep(
        &self,
        revision: &Revision,
        kind: KeepKind,
        run: &RunId,
        attempt: &AttemptId,
        _: &Cx,
    ) -> Result<String, VcsError> {
        let (revision, run, attempt) = (revision.clone(), run.clone(), attempt.clone());
        self.run(move |inner| inner.keep(&revision, kind, &run, &attempt)).await
    }
}
