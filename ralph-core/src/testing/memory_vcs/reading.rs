//! What is read of a [`MemoryVcs`], and how work is carried over in one.

use std::collections::BTreeSet;

use super::{MemoryVcs, Node, Nodes};
use crate::{Cx, EntryKind, Rebase, Rebased, Revision, Seal, Tree, VcsError, async_trait};

/// On whole files: a path that both sides changed, and not to the same, is a conflict.
#[async_trait]
impl Rebase for MemoryVcs {
    async fn rebase(&self, revision: &Revision, onto: &Revision, seal: &Seal, _cx: &Cx) -> Result<Rebased, VcsError> {
        let missing = |revision: &Revision| VcsError::NoRevision(revision.clone());
        let parent = self.lock().commits.get(revision).and_then(|commit| commit.parent.clone());
        let parent = parent.ok_or_else(|| missing(revision))?;
        let [base, work, mut files] =
            [&parent, revision, onto].map(|revision| self.nodes_of(revision).unwrap_or_default());
        let onto_files = self.nodes_of(onto).ok_or_else(|| missing(onto))?;
        let mut conflicts = Vec::new();
        let same_line = self.is_built_on(onto, &parent);
        for path in base.keys().chain(work.keys()).collect::<BTreeSet<_>>() {
            let (before, wanted, found) = (base.get(path), work.get(path), onto_files.get(path));
            if wanted == before || (wanted == found && same_line) {
                continue;
            }
            if found != before || !same_line {
                conflicts.push(path.clone());
                continue;
            }
            match wanted {
                Some(node) => files.insert(path.clone(), node.clone()),
                None => files.remove(path),
            };
        }
        let in_a_file = |path: &&String| path.match_indices('/').any(|(at, _)| files.contains_key(&path[..at]));
        conflicts.extend(files.keys().filter(in_a_file).cloned());
        if !conflicts.is_empty() {
            return Ok(Rebased::Conflict(conflicts));
        }
        Ok(Rebased::Onto(self.seal(&onto_files, files, Vec::new(), onto, seal)))
    }
}

#[derive(Debug)]
pub(super) struct MemoryTree(pub(super) Nodes);

#[async_trait]
impl Tree for MemoryTree {
    async fn read(&self, path: &[u8], max: usize) -> Result<Option<Vec<u8>>, VcsError> {
        let content = self.0.get(String::from_utf8_lossy(path).as_ref()).map(Node::content);
        Ok(content.map(|content| content[..content.len().min(max)].to_vec()))
    }

    async fn kind(&self, path: &[u8]) -> Result<Option<EntryKind>, VcsError> {
        Ok(self.0.get(String::from_utf8_lossy(path).as_ref()).map(Node::kind))
    }

    async fn list(&self, under: &[u8]) -> Result<Vec<Vec<u8>>, VcsError> {
        let under = String::from_utf8_lossy(under);
        let below = |path: &&String| under.is_empty() || path.starts_with(&format!("{under}/"));
        Ok(self.0.keys().filter(below).map(|path| path.clone().into_bytes()).collect())
    }
}
