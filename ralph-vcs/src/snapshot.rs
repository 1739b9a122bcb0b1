//! One commit of what is in a site: look, judge, update the private index, write the tree, commit, pin.

use std::{sync::Arc, time::SystemTime};

use ralph_core::{Cx, DiffStat, Digest, Finding, FindingKind, Revision, Seal, Site, Snapshot, VcsError};
use tokio::sync::OwnedMutexGuard;

use crate::{
    GitVcs,
    doubt::doubt,
    git::{line, other},
    index::Index,
    judge::{Findings, Judged, Limits, judge},
    keep::work_ref,
    place::blocking,
    site::{Root, SiteState},
    status::{self, Status},
};

type Guard = OwnedMutexGuard<SiteState>;

/// A listing of changes that is longer than this is not read; nothing is taken in.
const MOST_STATUS: usize = 64 << 20;
/// After so many failures to add files something else is wrong.
const MOST_TRIES: u32 = 200;

impl GitVcs {
    pub(crate) async fn snapshot_of(
        &self,
        site: Site,
        base: &Revision,
        seal: &Seal,
        cx: &Cx,
    ) -> Result<Snapshot, VcsError> {
        let base_tree = self.tree_of(base, cx).await?;
        let mut guard = self.site(site).lock_owned().await;
        match guard.look()? {
            Root::Same => {}
            Root::New | Root::Replaced | Root::Missing => {
                let tree = guard.tree.clone().unwrap_or(base_tree);
                return Ok(nothing(tree, FindingKind::FolderReplaced));
            }
        }
        guard.unlock();
        let index = Index::read(&guard.index, self.oid_bytes())?;
        let (mut guard, index) = blocking("looking at a site", guard, move |guard, _| {
            doubt(&guard.root, &index, &guard.index)?;
            Ok(index)
        })
        .await?;
        let Some(status) = self.status(&guard, cx).await? else {
            let tree = guard.tree.clone().unwrap_or(base_tree);
            return Ok(nothing(tree, FindingKind::TooMuch));
        };
        let (back, mut judged) = self.judge(guard, index, status).await?;
        guard = back;
        let known = guard.tree.take();
        let tree = match known {
            Some(tree) if judged.update.is_empty() && judged.remove.is_empty() => tree,
            _ => {
                self.update_index(&guard, &mut judged, cx).await?;
                self.write_tree(&guard, cx).await?
            }
        };
        let tree = if guard.ledger_of.as_ref() == Some(&base_tree) {
            tree
        } else {
            self.ledger_from_base(&guard, tree, &base_tree, cx).await?
        };
        guard.ledger_of = Some(base_tree.clone());
        guard.tree = Some(tree.clone());
        drop(guard);

        let mut findings = judged.findings.into_list();
        if tree == base_tree {
            return Ok(Snapshot { revision: None, tree, stat: DiffStat::default(), findings });
        }
        let stat = self.stat(&base_tree, &tree, cx).await?;
        // Counted against the base too: several attempts on each other's work must not add up to more than one may.
        let too_much = findings.iter().any(|finding| finding.kind == FindingKind::TooMuch);
        if stat.files > self.options.max_files as u64 && !too_much {
            findings.push(Finding { kind: FindingKind::TooMuch, path: format!("{} changed files in all", stat.files) });
        }
        let revision = self.commit(&tree, base, seal, cx).await?;
        let mut pin = work_ref(&seal.run, &seal.attempt);
        if seal.cleanup {
            // The work that it was made from stays pinned too: it counts if this comes to nothing.
            pin.push_str("-cleanup");
        }
        self.pin(&revision, base, &tree, pin).await?;
        Ok(Snapshot { revision: Some(revision), tree, stat, findings })
    }

    /// What differs from the index; `None` if that is more than anybody would want.
    async fn status(&self, guard: &Guard, cx: &Cx) -> Result<Option<Status>, VcsError> {
        let output = self
            .git
            .call("status")
            .args(["--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=all"])
            .args(["--untracked-files=all", "--ignored=matching"])
            .site(&guard.root, &guard.index)
            .scan()
            .most(MOST_STATUS)
            .run(cx)
            .await?;
        if output.cut {
            return Ok(None);
        }
        if !output.success() {
            return Err(output.failed("status"));
        }
        match status::parse(&output.stdout) {
            Some(status) => Ok(Some(status)),
            None => Err(other("reading git's status", "it has an entry that is not known")),
        }
    }

    async fn judge(&self, guard: Guard, index: Index, status: Status) -> Result<(Guard, Judged), VcsError> {
        let ledger = self.ledger.clone();
        let limits = Limits { files: self.options.max_files, bytes: self.options.max_bytes };
        blocking("judging a site", guard, move |guard, _| judge(&guard.root, &index, &status, &ledger, limits)).await
    }

    /// Makes the index follow the disk in what was judged good.
    async fn update_index(&self, guard: &Guard, judged: &mut Judged, cx: &Cx) -> Result<(), VcsError> {
        let call = || self.git.call("update-index").site(&guard.root, &guard.index);
        // First what goes: a file that became a folder is in the way of what is in the folder.
        if !judged.remove.is_empty() {
            let list = terminated(&judged.remove);
            call().args(["--force-remove", "-z", "--stdin"]).stdin(list).ok(cx).await?;
        }
        if judged.update.is_empty() {
            return Ok(());
        }
        self.add_to_index(guard, judged, cx).await?;
        // Git passes over a name that it refuses, and goes on.
        let index = Index::read(&guard.index, self.oid_bytes())?;
        for path in &judged.update {
            let there = std::fs::symlink_metadata(guard.root.join(os(path))).is_ok();
            if there && !index.has(path) {
                judged.findings.add(FindingKind::RefusedName, path);
            }
        }
        Ok(())
    }

    /// Adds what was judged good. Git gives up at the first file that it cannot store (one whose encoding is not the one
    /// that an attributes file names, one that a filter fails on): such files are found by halving the list.
    async fn add_to_index(&self, guard: &Guard, judged: &mut Judged, cx: &Cx) -> Result<(), VcsError> {
        let mut parts = vec![judged.update.clone()];
        let mut tries = MOST_TRIES;
        while let Some(mut part) = parts.pop() {
            let call = self.git.call("update-index").args(["--add", "--remove", "--replace"]);
            let call = call.args(["-z", "--stdin"]).stdin(terminated(&part));
            let output = call.site(&guard.root, &guard.index).run(cx).await?;
            if output.success() {
                continue;
            }
            tries -= 1;
            if tries == 0 || output.is_the_machines_fault() {
                return Err(output.failed("update-index"));
            }
            if part.len() > 1 {
                let rest = part.split_off(part.len() / 2);
                parts.extend([rest, part]);
            } else if let Some(path) = part.pop() {
                judged.findings.add(FindingKind::Unreadable, &path);
                judged.update.retain(|other| *other != path);
            }
        }
        Ok(())
    }

    async fn write_tree(&self, guard: &Guard, cx: &Cx) -> Result<Digest, VcsError> {
        let call = self.git.call("write-tree").site(&guard.root, &guard.index);
        Ok(Digest::new(line(&call.ok(cx).await?)))
    }

    /// Puts the base's entries of the ledger in the place of the index's. Needed only where something else than the
    /// base was placed: kept work that began on an older tip.
    async fn ledger_from_base(
        &self,
        guard: &Guard,
        tree: Digest,
        base_tree: &Digest,
        cx: &Cx,
    ) -> Result<Digest, VcsError> {
        if self.ledger.paths().is_empty() {
            return Ok(tree);
        }
        let changes = self
            .git
            .call("diff-tree")
            .args(["-r", "-z", "--raw", "--no-renames", "--full-index", "--ignore-submodules=none"])
            .args([tree.as_str(), base_tree.as_str(), "--"])
            .args(self.ledger.paths().iter().map(|path| os(path)))
            .ok(cx)
            .await?;
        // `:mode mode id id letter` and a path, each ended by NUL; index-info wants `mode id TAB path`.
        let mut info = Vec::new();
        let mut fields = changes.split(|byte| *byte == 0);
        while let (Some(meta), Some(path)) = (fields.next(), fields.next()) {
            let parts: Vec<_> = meta.split(|byte| *byte == b' ').collect();
            let (Some(mode), Some(id)) = (parts.get(1), parts.get(3)) else { break };
            info.extend_from_slice(&[mode, &b" "[..], id, b"\t", path, b"\0"].concat());
        }
        if info.is_empty() {
            return Ok(tree);
        }
        let call = self.git.call("update-index").args(["-z", "--index-info"]).stdin(info);
        call.site(&guard.root, &guard.index).ok(cx).await?;
        self.write_tree(guard, cx).await
    }

    pub(crate) async fn commit(
        &self,
        tree: &Digest,
        base: &Revision,
        seal: &Seal,
        cx: &Cx,
    ) -> Result<Revision, VcsError> {
        let seconds = seal.at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |it| it.as_secs());
        let date = format!("@{seconds} +0000");
        let mut message = seal.message.replace('\0', "");
        if !message.ends_with('\n') {
            message.push('\n');
        }
        let call = self
            .git
            .call("commit-tree")
            .args(["-p", base.as_str(), "-F", "-", tree.as_str()])
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .stdin(message);
        Ok(Revision::new(line(&call.ok(cx).await?)))
    }

    /// Makes the commit safe from garbage collection under `name`, and remembers it.
    pub(crate) async fn pin(
        &self,
        revision: &Revision,
        base: &Revision,
        tree: &Digest,
        name: String,
    ) -> Result<(), VcsError> {
        let update = format!("update {name}\0{revision}\0\0");
        let output = self.update_refs(update.into_bytes(), "ralph: snapshot").await?;
        if !output.success() {
            return Err(output.failed("update-ref"));
        }
        self.remember(revision, tree.clone());
        let mut memory = self.memory();
        memory.bases.insert(revision.clone(), base.clone());
        memory.pins.insert(revision.clone(), Arc::from(name.as_str()));
        Ok(())
    }
}

fn nothing(tree: Digest, kind: FindingKind) -> Snapshot {
    let mut findings = Findings::default();
    findings.add(kind, b".");
    Snapshot { revision: None, tree, stat: DiffStat::default(), findings: findings.into_list() }
}

pub(crate) fn terminated<'a>(paths: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(path);
        list.push(0);
    }
    list
}

pub(crate) fn os(path: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(path)
}
