//! The revisions of a [`FolderVcs`](crate::FolderVcs): recording, placing, moving the branch. All of it may block.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use ralph_core::{
    Accepted, AttemptId, DiffStat, Digest, FindingKind, KeepKind, Placed, Revision, RunId, Seal, Site, Snapshot, Tip,
    VcsError, millis,
};
use serde::{Deserialize, Serialize};

use crate::{
    FolderOptions,
    folder_read::{Content, read_folder, write_folder},
    git::other,
    index::Index,
    judge::Ledger,
    keep::component,
    site::{Root, SiteState},
    sweep::sweep,
};

/// Where revisions are kept, and the sites.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) options: FolderOptions,
    pub(crate) ledger: Ledger,
    /// All work is done one after another.
    pub(crate) sites: Mutex<BTreeMap<Site, SiteState>>,
}

/// The record of a revision.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Commit {
    pub(crate) tree: Digest,
    base: Option<Revision>,
    message: String,
    at: u64,
}

pub(crate) fn refused(path: &Path, why: &str) -> VcsError {
    VcsError::Refused(format!("{} cannot be used: {why}", path.display()))
}

impl Store {
    fn branch(&self) -> Result<Option<Revision>, VcsError> {
        match fs::read_to_string(self.options.state.join("branch")) {
            Ok(text) => Ok(Some(Revision::new(text.trim()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(other("reading the branch", error)),
        }
    }

    pub(crate) fn commit(&self, revision: &Revision) -> Result<Commit, VcsError> {
        let missing = || VcsError::NoRevision(revision.clone());
        let name = revision.as_str();
        if name.len() != 64 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(missing());
        }
        let path = self.options.state.join("revisions").join(format!("{name}.json"));
        let bytes = fs::read(path).map_err(|_| missing())?;
        serde_json::from_slice(&bytes).map_err(|error| other("reading a revision", error))
    }

    pub(crate) fn content(&self, tree: &Digest) -> Result<Content, VcsError> {
        let folder = self.tree_folder(tree);
        let nothing = Ledger::new("", false);
        let read = read_folder(&folder, &nothing, usize::MAX, u64::MAX);
        let (content, _) = read.map_err(|error| other(format!("reading {}", folder.display()), error))?;
        if content.digest() == *tree {
            return Ok(content);
        }
        let why = "its files are not the ones that were recorded";
        Err(other(format!("reading {}", folder.display()), why))
    }

    pub(crate) fn tree_folder(&self, tree: &Digest) -> PathBuf {
        self.options.state.join("trees").join(tree.as_str())
    }

    /// Records a content and a revision of it. The same ones again change nothing.
    fn record(&self, content: &Content, from: &Path, commit: &Commit) -> Result<Revision, VcsError> {
        let fail = |error| other("recording a revision", error);
        let (trees, folder) = (self.options.state.join("trees"), self.tree_folder(&commit.tree));
        if !folder.exists() {
            let part = trees.join("part");
            let _ = fs::remove_dir_all(&part);
            fs::create_dir_all(&part).map_err(fail)?;
            write_folder(content, from, &part, true).map_err(fail)?;
            fs::rename(&part, &folder).map_err(fail)?;
        }
        let bytes = serde_json::to_vec(commit).map_err(|error| other("recording a revision", error))?;
        let revision = Revision::new(Digest::of(&bytes).as_str());
        write_whole(&self.options.state.join("revisions").join(format!("{revision}.json")), &bytes).map_err(fail)?;
        Ok(revision)
    }

    pub(crate) fn begin(&self) -> Result<Tip, VcsError> {
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
        let commit = Commit { tree: content.digest(), base: None, message: "start".to_owned(), at: 0 };
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

    pub(crate) fn tip(&self, since: &Revision) -> Result<Tip, VcsError> {
        Ok(match self.branch()? {
            None => Tip::Lost("the branch is gone".to_owned()),
            Some(found) if found == *since => Tip::At(found),
            Some(found) if self.is_ancestor(since, &found) => Tip::Ahead(found),
            Some(found) => Tip::Lost(format!("the branch is at {found}")),
        })
    }

    pub(crate) fn place(&self, site: Site, revision: &Revision) -> Result<Placed, VcsError> {
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

    pub(crate) fn snapshot(&self, site: Site, base: &Revision, seal: &Seal) -> Result<Snapshot, VcsError> {
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
        let files = self.content(&base_tree)?.changed_paths(&content).len() as u64;
        let stat = DiffStat { files, ..DiffStat::default() };
        let commit =
            Commit { tree: tree.clone(), base: Some(base.clone()), message: seal.message.clone(), at: millis(seal.at) };
        let revision = self.record(&content, &state.root, &commit)?;
        Ok(Snapshot { revision: Some(revision), tree, stat, findings })
    }

    pub(crate) fn accept(&self, revision: &Revision, expected: &Revision) -> Result<Accepted, VcsError> {
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

    pub(crate) fn keep(
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
