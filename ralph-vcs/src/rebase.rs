//! Carrying one commit over to a later tip, without a checkout.
//!
//! Git merges contents only; which side counts at which path is looked at here. Where both sides changed a path in
//! other ways than two texts can be merged, where a file that one side changed is gone or moved on the other, and where
//! git took one file for the renamed other, it is a conflict: a fresh session costs less than a wrong guess.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ralph_core::{Cx, DiffStat, Digest, Rebase, Rebased, Revision, Seal, Snapshot, VcsError, async_trait};
use tempfile::TempDir;

use crate::{
    GitVcs,
    changes::RawChange,
    environment::Environment,
    git::{line, other},
    keep::work_ref,
    rebase_check::{Sides, conflicts, contradictions},
};

/// More paths of a conflict are not told: they are for people and prompts.
const MOST_TOLD: usize = 50;
/// A longer list of conflicts is not read.
const MOST_SAID: usize = 64 << 20;

#[async_trait]
impl Rebase for GitVcs {
    async fn rebase(&self, revision: &Revision, onto: &Revision, seal: &Seal, cx: &Cx) -> Result<Rebased, VcsError> {
        let parent = self.only_parent(revision, cx).await?;
        let (base, work_tree) = (self.tree_of(&parent, cx).await?, self.tree_of(revision, cx).await?);
        let onto_tree = self.tree_of(onto, cx).await?;
        let work = self.raw_changes(&base, &work_tree, cx).await?;
        match self.common(onto, revision, cx).await? {
            Some(common) if common == parent => {}
            // It is there already; what came after it counts.
            Some(common) if common == *revision => return Ok(Rebased::Onto(nothing(onto_tree))),
            Some(_) | None => return Ok(conflict(work.into_iter().map(|it| it.path))),
        }
        let temp = TempDir::new_in(self.temp_folder()).map_err(|error| other("making a temporary folder", error))?;
        let (control, work): (Vec<_>, Vec<_>) = work.into_iter().partition(|it| self.ledger.holds(&it.path));
        // A file where a folder of control files is would take them out.
        let in_the_way = |it: &&RawChange| it.after.is_some() && self.ledger.is_below(&it.path);
        if work.iter().any(|it| in_the_way(&it)) {
            return Ok(conflict(work.iter().filter(in_the_way).map(|it| it.path.clone())));
        }
        let work_commit = if control.is_empty() {
            revision.clone()
        } else {
            self.without_control(&parent, &work_tree, &control, seal, temp.path(), cx).await?
        };
        let tree = match self.merge(onto, &work_commit, temp.path(), cx).await? {
            Merged::Clean(tree) => tree,
            Merged::Conflict(paths) if paths.is_empty() => return Ok(conflict(work.into_iter().map(|it| it.path))),
            Merged::Conflict(paths) => return Ok(conflict(paths)),
        };
        let theirs = self.raw_changes(&base, &onto_tree, cx).await?;
        let result = self.raw_changes(&onto_tree, &tree, cx).await?;
        let Sides { mut wrong, merged } = contradictions(&work, &theirs, &result);
        wrong.extend(self.not_for_merging(&onto_tree, merged, temp.path(), cx).await?);
        wrong.extend(self.leaving_links(&work, &tree, cx).await?);
        if !wrong.is_empty() {
            return Ok(conflict(wrong));
        }
        if tree == onto_tree {
            return Ok(Rebased::Onto(nothing(tree)));
        }
        let stat = self.stat(&onto_tree, &tree, cx).await?;
        let carried = self.commit(&tree, onto, seal, cx).await?;
        // A pin of its own: the work as it was has to stay until this one is taken.
        let pin = format!("{}-on-{}", work_ref(&seal.run, &seal.attempt), onto.short());
        self.pin(&carried, onto, &tree, pin).await?;
        Ok(Rebased::Onto(Snapshot { revision: Some(carried), tree, stat, findings: Vec::new() }))
    }
}

/// What git says of two sides.
enum Merged {
    Clean(Digest),
    Conflict(Vec<Vec<u8>>),
}

fn nothing(tree: Digest) -> Snapshot {
    Snapshot { revision: None, tree, stat: DiffStat::default(), findings: Vec::new() }
}

fn conflict(paths: impl IntoIterator<Item = Vec<u8>>) -> Rebased {
    let mut paths: Vec<_> = paths.into_iter().collect();
    paths.sort();
    paths.dedup();
    Rebased::Conflict(paths.iter().take(MOST_TOLD).map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

impl GitVcs {
    /// The commit that `revision` stands on; work is one commit.
    async fn only_parent(&self, revision: &Revision, cx: &Cx) -> Result<Revision, VcsError> {
        self.require(revision, cx).await?;
        let known = self.memory().bases.get(revision).cloned();
        if let Some(base) = known {
            return Ok(base);
        }
        let call = self.git.call("rev-list").args(["--max-count=1", "--parents", revision.as_str(), "--"]);
        let said = line(&call.ok(cx).await?);
        let parents: Vec<_> = said.split(' ').skip(1).collect();
        match parents.as_slice() {
            [parent] => Ok(Revision::new(*parent)),
            _ => Err(VcsError::Refused(format!(
                "{} is not one commit on top of another ({} parents): it cannot be carried over",
                revision.short(),
                parents.len()
            ))),
        }
    }

    /// The newest commit that both are built on.
    async fn common(&self, one: &Revision, two: &Revision, cx: &Cx) -> Result<Option<Revision>, VcsError> {
        let output = self.git.call("merge-base").args([one.as_str(), two.as_str()]).run(cx).await?;
        match output.code {
            Some(0) => Ok(Some(Revision::new(line(&output.stdout)))),
            Some(1) => Ok(None),
            _ => Err(output.failed("merge-base")),
        }
    }

    /// A commit of the work in which `control` is as it was before. Only work that we did not make needs it.
    async fn without_control(
        &self,
        parent: &Revision,
        tree: &Digest,
        control: &[RawChange],
        seal: &Seal,
        temp: &Path,
        cx: &Cx,
    ) -> Result<Revision, VcsError> {
        let index = temp.join("work.index");
        let call = |verb| self.git.call(verb).env("GIT_INDEX_FILE", &index);
        call("read-tree").arg(tree.as_str()).ok(cx).await?;
        let mut info = Vec::new();
        for change in control {
            let entry = match &change.before {
                Some(entry) => format!("{} {}", entry.mode(), entry.id),
                None => format!("0 {}", "0".repeat(2 * self.oid_bytes())),
            };
            info.extend_from_slice(&[entry.as_bytes(), b"\t", &change.path, b"\0"].concat());
        }
        call("update-index").args(["--replace", "-z", "--index-info"]).stdin(info).ok(cx).await?;
        let tree = Digest::new(line(&call("write-tree").ok(cx).await?));
        self.commit(&tree, parent, seal, cx).await
    }

    /// Lets git merge in a repository of its own that only borrows the objects: there are no settings, drivers,
    /// attributes, hooks or recorded resolutions of anybody's.
    async fn merge(&self, onto: &Revision, work: &Revision, temp: &Path, cx: &Cx) -> Result<Merged, VcsError> {
        let folder = temp.join("merge.git");
        self.write_bare(&folder).map_err(|error| other("making a repository to merge in", error))?;
        let output = self
            .git
            .call("merge-tree")
            .args(["--write-tree", "-z", "--name-only", "--messages", onto.as_str(), work.as_str()])
            .env("GIT_DIR", &folder)
            .env("GIT_OBJECT_DIRECTORY", self.common_dir.join("objects"))
            .most(MOST_SAID)
            .run(cx)
            .await?;
        match output.code {
            Some(0) => {
                let tree = output.stdout.split(|byte| *byte == 0).next().unwrap_or_default();
                Ok(Merged::Clean(Digest::new(line(tree))))
            }
            Some(1) => Ok(Merged::Conflict(conflicts(&output.stdout, [onto, work]))),
            _ => Err(output.failed("merge-tree")),
        }
    }

    fn write_bare(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir(folder)?;
        fs::create_dir(folder.join("refs"))?;
        let format = if self.sha256 { "1\n[extensions]\n\tobjectFormat = sha256\n" } else { "0\n" };
        fs::write(folder.join("config"), format!("[core]\n\tbare = true\n\trepositoryFormatVersion = {format}"))?;
        match fs::copy(self.common_dir.join("shallow"), folder.join("shallow")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::write(folder.join("HEAD"), "ref: refs/heads/none\n")
    }

    /// Those of the paths that git merged line by line although the attributes say that they are no text to be merged:
    /// `binary`, `-merge`, a driver of the operator's (it is never run, for an agent could have chosen its files), or
    /// `union`, which takes both sides. The tip's attributes count, and not those of the work.
    async fn not_for_merging(
        &self,
        onto: &Digest,
        merged: Vec<Vec<u8>>,
        temp: &Path,
        cx: &Cx,
    ) -> Result<Vec<Vec<u8>>, VcsError> {
        if merged.is_empty() {
            return Ok(merged);
        }
        let index = temp.join("onto.index");
        let call = |verb| self.git.call(verb).env("GIT_INDEX_FILE", &index);
        call("read-tree").arg(onto.as_str()).ok(cx).await?;
        let list: Vec<u8> = merged.iter().flat_map(|path| [path.as_slice(), b"\0"].concat()).collect();
        let call = call("check-attr").args(["--cached", "-z", "--stdin", "merge"]).stdin(list);
        let said = call.ok(cx).await?;
        // Path, attribute and value, each ended by NUL.
        let mut fields = said.split(|byte| *byte == 0);
        let mut odd = Vec::new();
        while let (Some(path), Some(_), Some(value)) = (fields.next(), fields.next(), fields.next()) {
            if !matches!(value, b"unspecified" | b"set" | b"text") {
                odd.push(path.to_vec());
            }
        }
        Ok(odd)
    }

    fn temp_folder(&self) -> PathBuf {
        let environment = Environment::new(self.options.environment.as_deref());
        let given = environment.get("TMPDIR").map(PathBuf::from).filter(|folder| folder.is_absolute());
        given.unwrap_or_else(std::env::temp_dir)
    }
}
