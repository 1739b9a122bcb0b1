//! Work without git: revisions are copies of folders.
//!
//! ```text
//! <state>/trees/<digest>/…        the files of a content
//! <state>/revisions/<id>.json     content, base, message, date
//! <state>/branch                  where the work is: one revision's id
//! <state>/kept/<kind>/<run>/…     names of work that was not accepted
//! ```

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use ralph_core::{
    Accepted, AttemptId, Caches, Cx, DiffStat, Digest, FindingKind, KeepKind, Placed, Revision,
    RunId, Seal, Site, Snapshot, Tip, Tree, Vcs, VcsError, async_trait, millis,
};
use serde::{Deserialize, Serialize};

use crate::{
    folder_read::{Content, Kind, read_folder, write_folder},
    git::other,
    index::Index,
    judge::Ledger,
    keep::component,
    site::{Root, SiteState, checkout_around, resolved},
    sweep::sweep,
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
    pub fn new(
        source: impl Into<PathBuf>,
        state: impl Into<PathBuf>,
        sites: impl Into<PathBuf>,
    ) -> Self {
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
    inner: Arc<Inner>,
    name: String,
}

#[derive(Debug)]
struct Inner {
    options: FolderOptions,
    ledger: Ledger,
    /// All work is done one after another.
    sites: Mutex<BTreeMap<Site, SiteState>>,
}

/// The record of a revision.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Commit {
    tree: Digest,
    base: Option<Revision>,
    message: String,
    at: u64,
}

impl FolderVcs {
    /// Works on copies of `options.source`. Changes nothing yet.
    ///
    /// # Errors
    /// [`VcsError::Refused`] where the source is no folder, or the other folders lie in it.
    pub fn open(mut options: FolderOptions) -> Result<Self, VcsError> {
        let source = fs::canonicalize(&options.source)
            .map_err(|error| refused(&options.source, &error.to_string()))?;
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
            return Err(refused(
                &options.sites,
                &format!("it lies in the checkout {}", checkout.display()),
            ));
        }
        options.source = source;
        Ok(Self {
            name: format!("copies of {}", options.source.display()),
            inner: Arc::new(Inner {
                ledger: Ledger::new(&options.ledger, false),
                options,
                sites: Mutex::default(),
            }),
        })
    }

    /// Runs `work` where it may block.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, VcsError> + Send + 'static,
    ) -> Result<T, VcsError> {
        let inner = self.inner.clone();
        let task = tokio::task::spawn_blocking(move || work(&inner));
        task.await.map_err(|error| other("working on copies", error))?
    }
}

fn refused(path: &Path, why: &str) -> VcsError {
    VcsError::Refused(format!("{} cannot be used: {why}", path.display()))
}

impl Inner {
    fn branch(&self) -> Result<Option<Revision>, VcsError> {
        match fs::read_to_string(self.options.state.join("branch")) {
            Ok(text) => Ok(Some(Revision::new(text.trim()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(other("reading the branch", error)),
        }
    }

    fn commit(&self, revision: &Revision) -> Result<Commit, VcsError> {
        let missing = || VcsError::NoRevision(revision.clone());
        let name = revision.as_str();
        if name.len() != 64 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(missing());
        }
        let path = self.options.state.join("revisions").join(format!("{name}.json"));
        let bytes = fs::read(path).map_err(|_| missing())?;
        serde_json::from_slice(&bytes).map_err(|error| other("reading a revision", error))
    }

    fn content(&self, tree: &Digest) -> Result<Content, VcsError> {
        let folder = self.tree_folder(tree);
        let nothing = Ledger::new("", false);
        let read = read_folder(&folder, &nothing, usize::MAX, u64::MAX);
        let (content, _) =
            read.map_err(|error| other(format!("reading {}", folder.display()), error))?;
        if content.digest() == *tree {
            return Ok(content);
        }
        let why = "its files are not the ones that were recorded";
        Err(other(format!("reading {}", folder.display()), why))
    }

    fn tree_folder(&self, tree: &Digest) -> PathBuf {
        self.options.state.join("trees").join(tree.as_str())
    }

    /// Records a content and a revision of it. The same ones again change nothing.
    fn record(
        &self,
        content: &Content,
        from: &Path,
        commit: &Commit,
    ) -> Result<Revision, VcsError> {
        let fail = |error| other("recording a revision", error);
        let (trees, folder) = (self.options.state.join("trees"), self.tree_folder(&commit.tree));
        if !folder.exists() {
            let part = trees.join("part");
            let _ = fs::remove_dir_all(&part);
            fs::create_dir_all(&part).map_err(fail)?;
            write_folder(content, from, &part, true).map_err(fail)?;
            fs::rename(&part, &folder).map_err(fail)?;
        }
        let bytes =
            serde_json::to_vec(commit).map_err(|error| other("recording a revision", error))?;
        let revision = Revision::new(Digest::of(&bytes).as_str());
        write_whole(&self.options.state.join("revisions").join(format!("{revision}.json")), &bytes)
            .map_err(fail)?;
        Ok(revision)
    }

    fn begin(&self) -> Result<Tip, VcsError> {
        if let Some(tip) = self.branch()? {
            return Ok(Tip::At(tip));
        }
        let limits = (self.options.max_files, self.options.max_bytes);
        let source = &self.options.source;
        let (content, findings) = read_folder(source, &self.ledger, limits.0, limits.1)
            .map_err(|error| other(format!("reading {}", source.display()), error))?;
        if let Some(finding) = findings.first() {
            return Err(refused(source, &format!("it holds what no revision can hold: {finding}")));
        }
        let commit =
            Commit { tree: content.digest(), base: None, message: "start".to_owned(), at: 0 };
        let start = self.record(&content, source, &commit)?;
        self.write_branch(&start)?;
        Ok(Tip::At(start))
    }

    fn write_branch(&self, revision: &Revision) -> Result<(), VcsError> {
        write_whole(&self.options.state.join("branch"), revision.as_str().as_bytes())
            .map_err(|error| other("moving the branch", error))
    }

    /// Whether `old` is `new` or one of those that it is built on.
    fn is_ancestor(&self, old: &Revision, new: &Revision) -> bool {
        let mut at = Some(new.clone());
        while let Some(revision) = at {
            if revision == *old {
                return true;
            }
            at = self.commit(&revision).ok().and_then(|commit| commit.base);
        }
        false
    }

    fn tip(&self, since: &Revision) -> Result<Tip, VcsError> {
        Ok(match self.branch()? {
            None => Tip::Lost("the branch is gone".to_owned()),
            Some(found) if found == *since => Tip::At(found),
            Some(found) if self.is_ancestor(since, &found) => Tip::Ahead(found),
            Some(found) => Tip::Lost(format!("the branch is at {found}")),
        })
    }

    fn place(&self, site: Site, revision: &Revision) -> Result<Placed, VcsError> {
        let tree = self.commit(revision)?.tree;
        let content = self.content(&tree)?;
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || SiteState::new(&self.options.sites, site);
        let state = sites.entry(site).or_insert_with(new);
        state.make(&self.options.sites, &self.options.source)?;
        state.tree = None;
        let fail = |error| other("placing a revision", error);
        sweep(&state.root, &Index::default(), None, &false.into()).map_err(fail)?;
        write_folder(&content, &self.tree_folder(&tree), &state.root, false).map_err(fail)?;
        state.tree = Some(tree.clone());
        Ok(Placed { folder: state.root.clone(), tree, fresh: true })
    }

    fn snapshot(&self, site: Site, base: &Revision, seal: &Seal) -> Result<Snapshot, VcsError> {
        let base_tree = self.commit(base)?.tree;
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || SiteState::new(&self.options.sites, site);
        let state = sites.entry(site).or_insert_with(new);
        if state.look()? != Root::Same {
            let kind = FindingKind::FolderReplaced;
            let finding = ralph_core::Finding { kind, path: ".".to_owned() };
            let tree = state.tree.clone().unwrap_or(base_tree);
            let stat = DiffStat::default();
            return Ok(Snapshot { revision: None, tree, stat, findings: vec![finding] });
        }
        let (max_files, max_bytes) = (self.options.max_files, self.options.max_bytes);
        let (content, findings) = read_folder(&state.root, &self.ledger, max_files, max_bytes)
            .map_err(|error| other("looking at a site", error))?;
        let tree = content.digest();
        if tree == base_tree {
            return Ok(Snapshot { revision: None, tree, stat: DiffStat::default(), findings });
        }
        let files = self.content(&base_tree)?.differences(&content);
        let stat = DiffStat { files, ..DiffStat::default() };
        let commit = Commit {
            tree: tree.clone(),
            base: Some(base.clone()),
            message: seal.message.clone(),
            at: millis(seal.at),
        };
        let revision = self.record(&content, &state.root, &commit)?;
        Ok(Snapshot { revision: Some(revision), tree, stat, findings })
    }

    fn accept(&self, revision: &Revision, expected: &Revision) -> Result<Accepted, VcsError> {
        let base = self.commit(revision)?.base;
        // Two accepts of this process come one after the other.
        let _one = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(found) = self.branch()? else {
            return Ok(Accepted::Lost("the branch is gone".to_owned()));
        };
        if self.is_ancestor(revision, &found) {
            return Ok(Accepted::Landed);
        }
        if found != *expected {
            return Ok(if self.is_ancestor(expected, &found) {
                Accepted::Overtaken(found)
            } else {
                Accepted::Lost(format!("the branch is at {found}"))
            });
        }
        if base.as_ref() != Some(expected) {
            return Err(VcsError::Refused(format!(
                "{} is not built on {}: the branch only moves forward",
                revision.short(),
                expected.short()
            )));
        }
        self.write_branch(revision)?;
        Ok(Accepted::Landed)
    }

    fn keep(
        &self,
        revision: &Revision,
        kind: KeepKind,
        run: &RunId,
        attempt: &AttemptId,
    ) -> Result<String, VcsError> {
        self.commit(revision)?;
        let item = &attempt.item;
        let parts = [run.as_str(), item.phase.as_str(), item.item.as_str()].map(component);
        let name = format!("kept/{kind}/{}/{}", parts.join("/"), attempt.number);
        for name in [name.clone(), format!("{name}-{}", revision.short())] {
            let path = self.options.state.join(&name);
            match fs::read_to_string(&path) {
                Ok(found) if found == revision.as_str() => return Ok(name),
                // Other work under the same name is never thrown away for it.
                Ok(_) => {}
                Err(_) => {
                    let written = write_whole(&path, revision.as_str().as_bytes());
                    written.map_err(|error| other("keeping work", error))?;
                    return Ok(name);
                }
            }
        }
        Err(other("keeping work", "its name and the next are taken by other work"))
    }
}

/// Writes a file so that it is there whole and for good, or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let mut file = fs::File::create(&part)?;
    io::Write::write_all(&mut file, bytes)?;
    file.sync_all()?;
    fs::rename(&part, path)?;
    fs::File::open(folder)?.sync_all()
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

    async fn list(&self, under: &[u8]) -> Result<Vec<Vec<u8>>, VcsError> {
        let under = under.strip_suffix(b"/").unwrap_or(under);
        let inside = |path: &&Vec<u8>| {
            under.is_empty() || (path.starts_with(under) && path.get(under.len()) == Some(&b'/'))
        };
        Ok(self.content.files.keys().filter(inside).cloned().collect())
    }
}

#[async_trait]
impl Vcs for FolderVcs {
    fn name(&self) -> &str {
        &self.name
    }

    async fn tip(&self, since: Option<&Revision>, _: &Cx) -> Result<Tip, VcsError> {
        let since = since.cloned();
        self.run(move |inner| match since {
            None => inner.begin(),
            Some(since) => inner.tip(&since),
        })
        .await
    }

    async fn place(
        &self,
        site: Site,
        revision: &Revision,
        _: Caches,
        _: &Cx,
    ) -> Result<Placed, VcsError> {
        let revision = revision.clone();
        self.run(move |inner| inner.place(site, &revision)).await
    }

    async fn snapshot(
        &self,
        site: Site,
        base: &Revision,
        seal: &Seal,
        _: &Cx,
    ) -> Result<Snapshot, VcsError> {
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

    async fn accept(
        &self,
        revision: &Revision,
        expected: &Revision,
        _: &Cx,
    ) -> Result<Accepted, VcsError> {
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
