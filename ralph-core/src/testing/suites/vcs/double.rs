//! A small honest `Vcs` that can be told to break one law.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use super::VcsFixture;
use crate::{
    Accepted, AttemptId, Caches, Change, Cx, DiffStat, Digest, EntryKind, Finding, FindingKind, KeepKind, Placed,
    Revision, RunId, Seal, Site, Snapshot, Tip, Tree, Vcs, VcsError, async_trait,
};

/// What the double does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Break {
    Nothing,
    SnapshotMovesTheBranch,
    KeepsTheLastRevisionsFiles,
    LeavesStrangers,
    SkipsWhatIsThere,
    WritesThroughLinks,
    FollowsTheRoot,
    TellsTheSiteForTheContent,
    AlwaysCommits,
    ForgetsModes,
    NeverTheSameId,
    BuildsOnWhatWasPlaced,
    ComparesWithWhatWasPlaced,
    TakesAllLinks,
    ReadsThroughTheRoot,
    KnowsNoSecondAccept,
    IgnoresTheExpectation,
    ForgetsRejectedWork,
    HasOneNameForAll,
    HasOneSite,
    HasOneLane,
    ReadsTooMuch,
    ComparesBytesOnly,
    TellsTheLastStepOnly,
    PlacesAnything,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    File(Vec<u8>, bool),
    Link(PathBuf),
}

type Files = BTreeMap<String, Node>;

#[derive(Clone, Debug)]
struct Commit {
    files: Files,
    base: Option<Revision>,
}

#[derive(Debug)]
struct State {
    commits: BTreeMap<Revision, Commit>,
    branch: Revision,
    /// What stands where, and the folder's inode.
    placed: BTreeMap<PathBuf, (Revision, u64)>,
}

/// Revisions in memory, sites in a temporary folder.
#[derive(Debug)]
struct Double {
    folder: PathBuf,
    wrong: Break,
    state: Mutex<State>,
}

fn tree_of(files: &Files) -> Digest {
    Digest::of(format!("{files:?}").as_bytes())
}

fn kind_of(node: &Node) -> EntryKind {
    match node {
        Node::File(_, false) => EntryKind::File,
        Node::File(_, true) => EntryKind::Executable,
        Node::Link(_) => EntryKind::Link,
    }
}

pub(super) fn fixture(wrong: Break) -> VcsFixture {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::from([("README.md".to_owned(), Node::File(b"hello\n".to_vec(), false))]);
    let start = Revision::new("start");
    let commits = BTreeMap::from([(start.clone(), Commit { files, base: None })]);
    let state = State { commits, branch: start, placed: BTreeMap::new() };
    let double = Double { folder: folder.path().to_owned(), wrong, state: Mutex::new(state) };
    VcsFixture::new(double, folder)
}

impl Double {
    fn is(&self, wrong: Break) -> bool {
        self.wrong == wrong
    }

    fn root(&self, site: Site) -> PathBuf {
        let (name, lane) = match site {
            Site::Clean { lane } if !self.is(Break::HasOneSite) => ("clean", lane),
            Site::Review { lane } if !self.is(Break::HasOneSite) => ("review", lane),
            Site::Work { lane } | Site::Clean { lane } | Site::Review { lane } => ("work", lane),
        };
        let lane = if self.is(Break::HasOneLane) { 0 } else { lane };
        self.folder.join(format!("{lane}-{name}"))
    }

    fn write(&self, root: &Path, files: &Files) {
        for (path, node) in files {
            let to = root.join(path);
            if self.is(Break::SkipsWhatIsThere) && to.exists() {
                continue;
            }
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            match node {
                Node::Link(target) => symlink(target, to).unwrap(),
                Node::File(bytes, program) => {
                    fs::write(&to, bytes).unwrap();
                    let mode = if *program { 0o755 } else { 0o644 };
                    fs::set_permissions(&to, fs::Permissions::from_mode(mode)).unwrap();
                }
            }
        }
    }

    fn clear(&self, root: &Path, last: Option<&Files>) {
        let new = Files::new();
        let last = last.unwrap_or(&new);
        match self.wrong {
            Break::KeepsTheLastRevisionsFiles => {
                remove_all_but(root, |path| last.keys().any(|own| own.starts_with(path)));
            }
            Break::LeavesStrangers => {
                for path in last.keys() {
                    let _ = fs::remove_file(root.join(path));
                    let _ = fs::remove_dir_all(root.join(path));
                }
            }
            Break::SkipsWhatIsThere => remove_all_but(root, |path| path == "README.md"),
            Break::WritesThroughLinks => {
                remove_all_but(root, |path| root.join(path).is_symlink());
            }
            _ => remove_all_but(root, |_| false),
        }
    }
}

fn remove_all_but(root: &Path, stays: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(root).unwrap().flatten() {
        let path = entry.path();
        if stays(&entry.file_name().to_string_lossy()) {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o755));
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
}

fn read_files(root: &Path, prefix: &str, files: &mut Files) {
    for entry in fs::read_dir(root).unwrap().flatten() {
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            files.insert(path, Node::Link(fs::read_link(entry.path()).unwrap()));
        } else if kind.is_dir() {
            read_files(&entry.path(), &format!("{path}/"), files);
        } else {
            let program = entry.metadata().unwrap().mode() & 0o100 != 0;
            files.insert(path, Node::File(fs::read(entry.path()).unwrap(), program));
        }
    }
}

impl State {
    fn is_ancestor(&self, old: &Revision, new: &Revision) -> bool {
        let mut at = Some(new.clone());
        while let Some(revision) = at {
            if revision == *old {
                return true;
            }
            at = self.commits.get(&revision).and_then(|commit| commit.base.clone());
        }
        false
    }
}

#[derive(Debug)]
struct MemoryTree(Files, bool);

#[async_trait]
impl Tree for MemoryTree {
    async fn read(&self, path: &[u8], max: usize) -> Result<Option<Vec<u8>>, VcsError> {
        let bytes = match self.0.get(std::str::from_utf8(path).unwrap()) {
            None => return Ok(None),
            Some(Node::File(bytes, _)) => bytes.clone(),
            Some(Node::Link(target)) => target.to_str().unwrap().as_bytes().to_vec(),
        };
        let max = if self.1 { usize::MAX } else { max };
        Ok(Some(bytes.into_iter().take(max).collect()))
    }

    async fn kind(&self, path: &[u8]) -> Result<Option<EntryKind>, VcsError> {
        Ok(self.0.get(std::str::from_utf8(path).unwrap()).map(|node| match node {
            Node::File(_, true) => EntryKind::Executable,
            Node::File(_, false) => EntryKind::File,
            Node::Link(_) => EntryKind::Link,
        }))
    }

    async fn list(&self, under: &[u8]) -> Result<Vec<Vec<u8>>, VcsError> {
        let under = format!("{}/", std::str::from_utf8(under).unwrap());
        let inside = |path: &&String| under == "/" || path.starts_with(&under);
        Ok(self.0.keys().filter(inside).map(|path| path.as_bytes().to_vec()).collect())
    }
}

#[async_trait]
impl Vcs for Double {
    fn name(&self) -> &str {
        "a double"
    }

    fn folder(&self, site: Site) -> PathBuf {
        self.root(site)
    }

    async fn tip(&self, since: Option<&Revision>, _: &Cx) -> Result<Tip, VcsError> {
        let state = self.state.lock().unwrap();
        let found = state.branch.clone();
        Ok(match since {
            None => Tip::At(found),
            Some(since) if *since == found => Tip::At(found),
            Some(since) if state.is_ancestor(since, &found) => Tip::Ahead(found),
            Some(_) => Tip::Lost(found.to_string()),
        })
    }

    async fn place(&self, site: Site, revision: &Revision, _: Caches, _: &Cx) -> Result<Placed, VcsError> {
        let mut state = self.state.lock().unwrap();
        let files = match state.commits.get(revision) {
            Some(commit) => commit.files.clone(),
            None if self.is(Break::PlacesAnything) => Files::new(),
            None => return Err(VcsError::NoRevision(revision.clone())),
        };
        let root = self.root(site);
        let replaced = fs::symlink_metadata(&root).is_ok_and(|data| !data.is_dir());
        if replaced && !self.is(Break::FollowsTheRoot) {
            fs::remove_file(&root).unwrap();
        }
        fs::create_dir_all(&root).unwrap();
        let last = state.placed.get(&root).map(|(revision, _)| revision.clone());
        let last = last.and_then(|last| state.commits.get(&last)).map(|commit| &commit.files);
        self.clear(&root, last);
        self.write(&root, &files);
        let inode = fs::metadata(&root).unwrap().ino();
        state.placed.insert(root.clone(), (revision.clone(), inode));
        let tree = if self.is(Break::TellsTheSiteForTheContent) {
            Digest::new(root.display().to_string())
        } else {
            tree_of(&files)
        };
        Ok(Placed { folder: root, tree, fresh: true })
    }

    async fn snapshot(&self, site: Site, base: &Revision, seal: &Seal, _: &Cx) -> Result<Snapshot, VcsError> {
        let mut state = self.state.lock().unwrap();
        let root = self.root(site);
        let (placed, inode) = state.placed.get(&root).cloned().unwrap();
        let old = state.commits.get(base).unwrap().files.clone();
        let same = fs::symlink_metadata(&root).is_ok_and(|data| data.is_dir() && data.ino() == inode);
        let mut findings = Vec::new();
        let mut files = Files::new();
        if same || self.is(Break::ReadsThroughTheRoot) {
            read_files(&root, "", &mut files);
        } else {
            findings.push(Finding { kind: FindingKind::FolderReplaced, path: ".".to_owned() });
            files.clone_from(&old);
        }
        files.retain(|path, node| {
            let leaves = match node {
                Node::Link(to) => to.is_absolute() || to.starts_with(".."),
                Node::File(_, program) => {
                    *program &= !self.is(Break::ForgetsModes);
                    false
                }
            };
            if leaves && !self.is(Break::TakesAllLinks) {
                let kind = FindingKind::LinkLeavesTree;
                findings.push(Finding { kind, path: path.clone() });
                return false;
            }
            true
        });
        let against = match self.wrong {
            Break::ComparesWithWhatWasPlaced => state.commits.get(&placed).unwrap().files.clone(),
            _ => old.clone(),
        };
        let tree = tree_of(&files);
        if files == against && !self.is(Break::AlwaysCommits) {
            return Ok(Snapshot { revision: None, tree, stat: DiffStat::default(), findings });
        }
        let all: std::collections::BTreeSet<_> = old.keys().chain(files.keys()).collect();
        let changed = all.iter().filter(|path| old.get(**path) != files.get(**path)).count();
        let base = if self.is(Break::BuildsOnWhatWasPlaced) { placed } else { base.clone() };
        let mut id = format!("{tree} {base} {}", seal.message);
        if self.is(Break::NeverTheSameId) {
            id.push_str(&state.commits.len().to_string());
        }
        let revision = Revision::new(Digest::of(id.as_bytes()).as_str());
        state.commits.insert(revision.clone(), Commit { files, base: Some(base) });
        if self.is(Break::SnapshotMovesTheBranch) {
            state.branch = revision.clone();
        }
        let stat = DiffStat { files: changed as u64, ..DiffStat::default() };
        Ok(Snapshot { revision: Some(revision), tree, stat, findings })
    }

    async fn tree(&self, revision: &Revision, _: &Cx) -> Result<Arc<dyn Tree>, VcsError> {
        let state = self.state.lock().unwrap();
        let commit = state.commits.get(revision);
        let commit = commit.ok_or_else(|| VcsError::NoRevision(revision.clone()))?;
        Ok(Arc::new(MemoryTree(commit.files.clone(), self.is(Break::ReadsTooMuch))))
    }

    async fn changes(&self, base: &Revision, revision: &Revision, _: &Cx) -> Result<Vec<Change>, VcsError> {
        let state = self.state.lock().unwrap();
        let find = |revision: &Revision| {
            let found = state.commits.get(revision);
            found.ok_or_else(|| VcsError::NoRevision(revision.clone()))
        };
        let (before, after) = (find(base)?, find(revision)?);
        let before = match &after.base {
            Some(last) if self.is(Break::TellsTheLastStepOnly) => find(last)?,
            _ => before,
        };
        let differs = |path: &&String| match (before.files.get(*path), after.files.get(*path)) {
            (Some(Node::File(old, _)), Some(Node::File(new, _))) if self.is(Break::ComparesBytesOnly) => old != new,
            (old, new) => old != new,
        };
        let paths: std::collections::BTreeSet<_> = before.files.keys().chain(after.files.keys()).collect();
        let change = |path: &String| Change {
            path: path.clone().into_bytes(),
            before: before.files.get(path).map(kind_of),
            after: after.files.get(path).map(kind_of),
        };
        Ok(paths.into_iter().filter(differs).map(change).collect())
    }

    async fn accept(&self, revision: &Revision, expected: &Revision, _: &Cx) -> Result<Accepted, VcsError> {
        let mut state = self.state.lock().unwrap();
        let found = state.branch.clone();
        if state.is_ancestor(revision, &found) && !self.is(Break::KnowsNoSecondAccept) {
            return Ok(Accepted::Landed);
        }
        if found != *expected && !self.is(Break::IgnoresTheExpectation) {
            return Ok(Accepted::Overtaken(found));
        }
        let base = state.commits.get(revision).and_then(|commit| commit.base.clone());
        if base.as_ref() != Some(expected) {
            return Err(VcsError::Refused("not built on what was expected".to_owned()));
        }
        state.branch = revision.clone();
        Ok(Accepted::Landed)
    }

    async fn keep(
        &self,
        revision: &Revision,
        kind: KeepKind,
        run: &RunId,
        attempt: &AttemptId,
        _: &Cx,
    ) -> Result<String, VcsError> {
        if self.is(Break::ForgetsRejectedWork) {
            self.state.lock().unwrap().commits.remove(revision);
        }
        if self.is(Break::HasOneNameForAll) {
            return Ok("kept".to_owned());
        }
        Ok(format!("{kind}/{run}/{attempt}"))
    }
}
