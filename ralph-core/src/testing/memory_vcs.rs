//! Version control in memory, stricter than git.

mod reading;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::{Component, Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;

use self::reading::MemoryTree;
use crate::{
    Accepted, AttemptId, Caches, Change, Cx, DiffStat, Digest, EntryKind, Finding, FindingKind, KeepKind, Placed,
    Revision, RunId, Seal, Site, Snapshot, Tip, Tree, Vcs, VcsError,
};

/// Paths with their content.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    File { content: Vec<u8>, program: bool },
    Link(PathBuf),
}

impl Node {
    /// A file's bytes, or where a link leads.
    fn content(&self) -> &[u8] {
        match self {
            Self::File { content, .. } => content,
            Self::Link(to) => to.as_os_str().as_encoded_bytes(),
        }
    }

    fn kind(&self) -> EntryKind {
        match self {
            Self::File { program: false, .. } => EntryKind::File,
            Self::File { program: true, .. } => EntryKind::Executable,
            Self::Link(_) => EntryKind::Link,
        }
    }
}

type Nodes = BTreeMap<String, Node>;

fn nodes(files: Files) -> Nodes {
    files.into_iter().map(|(path, content)| (path, Node::File { content, program: false })).collect()
}

fn contents(nodes: &Nodes) -> Files {
    nodes.iter().map(|(path, node)| (path.clone(), node.content().to_vec())).collect()
}

/// Version control whose revisions are in memory and whose sites are real folders, gone when the last clone is dropped.
///
/// Files and folders whose name begins with `ignored` are ignored, those that begin with `cache` are build caches, and
/// `ralph-loop` is the ledger. Stricter than git: it refuses what the engine should never ask for.
#[derive(Clone, Debug)]
pub struct MemoryVcs(Arc<Store>);

#[derive(Debug)]
struct Store {
    root: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    commits: BTreeMap<Revision, Commit>,
    /// Every revision that the branch has been at, oldest first.
    branch: Vec<Revision>,
    kept: BTreeMap<String, Revision>,
    /// The folder's inode at each site where something was placed.
    placed: BTreeMap<Site, u64>,
}

#[derive(Clone, Debug)]
struct Commit {
    files: Nodes,
    parent: Option<Revision>,
    message: String,
}

impl Drop for Store {
    fn drop(&mut self) {
        // Nothing depends on the folder any more; what cannot be removed is the temporary folder's business.
        let _ = fs::remove_dir_all(&self.root);
    }
}

impl Default for MemoryVcs {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryVcs {
    /// With a branch that holds nothing.
    pub fn new() -> Self {
        Self::with(Files::new())
    }

    /// With a branch that holds `files`.
    pub fn with(files: Files) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("ralph-memory-vcs-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::SeqCst));
        let commit = Commit { files: nodes(files), parent: None, message: "start".to_owned() };
        let start = id(&commit);
        let inner = Inner {
            commits: BTreeMap::from([(start.clone(), commit)]),
            branch: vec![start],
            kept: BTreeMap::new(),
            placed: BTreeMap::new(),
        };
        Self(Arc::new(Store { root: std::env::temp_dir().join(name), inner: Mutex::new(inner) }))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every revision that the branch has been at, oldest first.
    pub fn branch(&self) -> Vec<Revision> {
        self.lock().branch.clone()
    }

    /// The files at the tip.
    pub fn files(&self) -> Files {
        let inner = self.lock();
        inner
            .branch
            .last()
            .and_then(|tip| inner.commits.get(tip))
            .map(|commit| contents(&commit.files))
            .unwrap_or_default()
    }

    /// The files of a revision.
    pub fn files_of(&self, revision: &Revision) -> Option<Files> {
        self.nodes_of(revision).as_ref().map(contents)
    }

    fn nodes_of(&self, revision: &Revision) -> Option<Nodes> {
        self.lock().commits.get(revision).map(|commit| commit.files.clone())
    }

    /// The message of a revision.
    pub fn message(&self, revision: &Revision) -> Option<String> {
        self.lock().commits.get(revision).map(|commit| commit.message.clone())
    }

    /// What is kept aside, by name.
    pub fn kept(&self) -> BTreeMap<String, Revision> {
        self.lock().kept.clone()
    }

    /// Commits `files` on top of the branch, as a person would.
    pub fn commit_by_hand(&self, files: Files) -> Revision {
        let mut inner = self.lock();
        let commit =
            Commit { files: nodes(files), parent: inner.branch.last().cloned(), message: "by hand".to_owned() };
        let revision = id(&commit);
        inner.commits.insert(revision.clone(), commit);
        inner.branch.push(revision.clone());
        revision
    }

    /// For saboteurs: the branch holds `files` for a moment.
    pub(super) fn hold_for_a_moment(&self, files: Files) {
        let mut inner = self.lock();
        let commit =
            Commit { files: nodes(files), parent: inner.branch.last().cloned(), message: "sneaked in".to_owned() };
        let revision = id(&commit);
        inner.commits.insert(revision.clone(), commit);
        let at = inner.branch.len() - 1;
        inner.branch.insert(at.max(1), revision);
    }

    /// Moves the branch to somewhere else, as a person should not.
    pub fn rewrite_by_hand(&self, files: Files) {
        let mut inner = self.lock();
        let commit = Commit { files: nodes(files), parent: None, message: "rewritten".to_owned() };
        let revision = id(&commit);
        inner.commits.insert(revision.clone(), commit);
        inner.branch = vec![revision];
    }

    fn seal(&self, base_files: &Nodes, files: Nodes, findings: Vec<Finding>, base: &Revision, seal: &Seal) -> Snapshot {
        let tree = tree_digest(&files);
        let changed = |path: &String| files.get(path) != base_files.get(path);
        let paths: BTreeSet<&String> = files.keys().chain(base_files.keys()).collect();
        let stat =
            DiffStat { files: paths.into_iter().filter(|path| changed(path)).count() as u64, ..DiffStat::default() };
        let revision = (files != *base_files).then(|| {
            let commit = Commit { files, parent: Some(base.clone()), message: seal.message.clone() };
            let revision = id(&commit);
            self.lock().commits.insert(revision.clone(), commit);
            revision
        });
        Snapshot { revision, tree, stat, findings }
    }

    fn is_built_on(&self, revision: &Revision, base: &Revision) -> bool {
        let inner = self.lock();
        let parent = |at: &&Revision| inner.commits.get(*at).and_then(|commit| commit.parent.as_ref());
        std::iter::successors(Some(revision), parent).any(|at| at == base)
    }

    /// For saboteurs: a snapshot with the agent's copy of the ledger.
    pub(super) async fn snapshot_with_ledger(
        &self,
        site: Site,
        base: &Revision,
        seal: &Seal,
        copy: Vec<u8>,
        cx: &Cx,
    ) -> Result<Snapshot, VcsError> {
        let honest = self.snapshot(site, base, seal, cx).await?;
        let (Some(mut files), Some(base_files)) =
            (honest.revision.as_ref().and_then(|revision| self.nodes_of(revision)), self.nodes_of(base))
        else {
            return Ok(honest);
        };
        files.insert("ralph-loop/PRD.md".to_owned(), Node::File { content: copy, program: false });
        Ok(self.seal(&base_files, files, honest.findings, base, seal))
    }
}

fn id(commit: &Commit) -> Revision {
    let mut bytes = tree_digest(&commit.files).as_str().as_bytes().to_vec();
    bytes.extend(commit.parent.iter().flat_map(|parent| parent.as_str().bytes()));
    bytes.extend(commit.message.bytes());
    Revision::new(Digest::of(&bytes).short())
}

fn tree_digest(files: &Nodes) -> Digest {
    Digest::of(format!("{files:?}").as_bytes())
}

fn failed(operation: &str, source: io::Error) -> VcsError {
    VcsError::Other { operation: operation.to_owned(), source: source.into() }
}

/// Reads a folder: its files, and what cannot be one.
fn read_folder(root: &Path, at: &Path, files: &mut Nodes, findings: &mut Vec<Finding>) -> io::Result<()> {
    for entry in fs::read_dir(at)? {
        let entry = entry?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        if name.starts_with("ignored") || name.starts_with("cache") || name == ".git" || relative == "ralph-loop" {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_dir() {
            read_folder(root, &path, files, findings)?;
        } else if kind.is_file() {
            let program = fs::metadata(&path)?.permissions().mode() & 0o100 != 0;
            files.insert(relative, Node::File { content: fs::read(&path)?, program });
        } else if kind.is_symlink() {
            let to = fs::read_link(&path)?;
            let depth = Path::new(&relative).components().count() - 1;
            if leaves(&to, depth) {
                findings.push(Finding { kind: FindingKind::LinkLeavesTree, path: relative });
            } else {
                files.insert(relative, Node::Link(to));
            }
        } else {
            findings.push(Finding { kind: FindingKind::SpecialFile, path: relative });
        }
    }
    Ok(())
}

/// Whether a link in a folder `depth` levels below the root leads out.
fn leaves(to: &Path, depth: usize) -> bool {
    let mut level = depth;
    for part in to.components() {
        match part {
            Component::Normal(_) => level += 1,
            Component::CurDir => {}
            Component::ParentDir if level > 0 => level -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

fn stand(folder: &Path, files: &Nodes) -> io::Result<()> {
    for (path, node) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        match node {
            Node::Link(to) => symlink(to, &path)?,
            Node::File { content, program } => {
                fs::write(&path, content)?;
                if *program {
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
                }
            }
        }
    }
    Ok(())
}

/// The inode of the folder itself; `None` where it is none.
fn inode(folder: &Path) -> Option<u64> {
    fs::symlink_metadata(folder).ok().filter(|found| found.is_dir()).map(|found| found.ino())
}

/// Empties a folder but for build caches, where they may stay; whether there are none left.
fn empty(folder: &Path, caches: Caches) -> io::Result<bool> {
    // What an agent put in the folder's place is taken away, and nothing is done through it.
    if inode(folder).is_none() && fs::symlink_metadata(folder).is_ok() {
        fs::remove_file(folder)?;
    }
    fs::create_dir_all(folder)?;
    let mut fresh = true;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if caches == Caches::Keep && entry.file_name().to_string_lossy().starts_with("cache") {
            fresh = false;
        } else if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(fresh)
}

#[async_trait]
impl Vcs for MemoryVcs {
    fn name(&self) -> &str {
        "memory"
    }

    fn folder(&self, site: Site) -> PathBuf {
        let (kind, lane) = match site {
            Site::Work { lane } => ("work", lane),
            Site::Clean { lane } => ("clean", lane),
            Site::Review { lane } => ("review", lane),
        };
        self.0.root.join(format!("{kind}-{lane}"))
    }

    async fn tip(&self, since: Option<&Revision>, _cx: &Cx) -> Result<Tip, VcsError> {
        let inner = self.lock();
        let Some(tip) = inner.branch.last().cloned() else { return Ok(Tip::Lost("the branch is gone".to_owned())) };
        Ok(match since {
            None => Tip::At(tip),
            Some(since) if *since == tip => Tip::At(tip),
            Some(since) if inner.branch.contains(since) => Tip::Ahead(tip),
            Some(since) => Tip::Lost(format!("the branch no longer holds {since}")),
        })
    }

    async fn place(&self, site: Site, revision: &Revision, caches: Caches, _cx: &Cx) -> Result<Placed, VcsError> {
        let files = self.nodes_of(revision).ok_or_else(|| VcsError::NoRevision(revision.clone()))?;
        let folder = self.folder(site);
        let fresh = empty(&folder, caches).map_err(|error| failed("emptying the site", error))?;
        stand(&folder, &files).map_err(|error| failed("filling the site", error))?;
        let inode = inode(&folder).ok_or_else(|| failed("filling the site", io::Error::other("it is gone")))?;
        self.lock().placed.insert(site, inode);
        Ok(Placed { folder, tree: tree_digest(&files), fresh })
    }

    async fn snapshot(&self, site: Site, base: &Revision, seal: &Seal, _cx: &Cx) -> Result<Snapshot, VcsError> {
        let base_files = self.nodes_of(base).ok_or_else(|| VcsError::NoRevision(base.clone()))?;
        let Some(placed) = self.lock().placed.get(&site).copied() else {
            return Err(VcsError::Refused("a snapshot of a site in which nothing was placed".to_owned()));
        };
        let (folder, mut files, mut findings) = (self.folder(site), Nodes::new(), Vec::new());
        if inode(&folder) == Some(placed) {
            read_folder(&folder, &folder, &mut files, &mut findings)
                .map_err(|error| failed("reading the site", error))?;
        } else {
            findings.push(Finding { kind: FindingKind::FolderReplaced, path: ".".to_owned() });
            files.clone_from(&base_files);
        }
        // The ledger is the operator's: a candidate has the base's.
        files.extend(
            base_files
                .iter()
                .filter(|(path, _)| path.starts_with("ralph-loop/"))
                .map(|(path, content)| (path.clone(), content.clone())),
        );
        Ok(self.seal(&base_files, files, findings, base, seal))
    }

    async fn tree(&self, revision: &Revision, _cx: &Cx) -> Result<Arc<dyn Tree>, VcsError> {
        let files = self.nodes_of(revision).ok_or_else(|| VcsError::NoRevision(revision.clone()))?;
        Ok(Arc::new(MemoryTree(files)))
    }

    async fn changes(&self, base: &Revision, revision: &Revision, _cx: &Cx) -> Result<Vec<Change>, VcsError> {
        let find = |revision: &Revision| self.nodes_of(revision).ok_or_else(|| VcsError::NoRevision(revision.clone()));
        let (before, after) = (find(base)?, find(revision)?);
        let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let differs = |path: &&String| before.get(*path) != after.get(*path);
        let change = |path: &String| Change {
            path: path.clone().into_bytes(),
            before: before.get(path).map(Node::kind),
            after: after.get(path).map(Node::kind),
        };
        Ok(paths.into_iter().filter(differs).map(change).collect())
    }

    async fn accept(&self, revision: &Revision, expected: &Revision, _cx: &Cx) -> Result<Accepted, VcsError> {
        let mut inner = self.lock();
        let Some(tip) = inner.branch.last().cloned() else {
            return Ok(Accepted::Lost("the branch is gone".to_owned()));
        };
        if inner.branch.contains(revision) {
            return Ok(Accepted::Landed);
        }
        if tip != *expected {
            let ahead = inner.branch.contains(expected);
            return Ok(if ahead { Accepted::Overtaken(tip) } else { Accepted::Lost(format!("found {tip}")) });
        }
        let parent = inner.commits.get(revision).and_then(|commit| commit.parent.clone());
        if parent.as_ref() != Some(expected) {
            return Err(VcsError::Refused(format!("{revision} does not stand on {expected}")));
        }
        inner.branch.push(revision.clone());
        Ok(Accepted::Landed)
    }

    async fn keep(
        &self,
        revision: &Revision,
        kind: KeepKind,
        run: &RunId,
        attempt: &AttemptId,
        _cx: &Cx,
    ) -> Result<String, VcsError> {
        let mut inner = self.lock();
        if !inner.commits.contains_key(revision) {
            return Err(VcsError::NoRevision(revision.clone()));
        }
        let name = format!("{kind}/{run}/{}/{}", attempt.item, attempt.number);
        match inner.kept.get(&name) {
            Some(known) if known != revision => {
                Err(VcsError::Refused(format!("{name} is taken by {known}, and {revision} would replace it")))
            }
            _ => {
                inner.kept.insert(name.clone(), revision.clone());
                Ok(name)
            }
        }
    }
}
