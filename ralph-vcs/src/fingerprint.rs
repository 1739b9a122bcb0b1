//! What of the operator's repository must never change by a run, as something to compare.

use std::{collections::BTreeMap, fmt, fs, path::Path};

use ralph_core::{Cx, Digest, VcsError};

use crate::{GitVcs, git::line};

/// The state of the operator's repository, our own refs apart: `HEAD`, index, settings, hooks, refs, stash, worktrees.
///
/// Cheap (two or three git calls and small files), and blind to the checkout's files: those are the operator's to edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint(BTreeMap<String, String>);

/// What is another in the second of two fingerprints. Displays one line for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference(Vec<String>);

impl Fingerprint {
    /// What `after` has changed.
    pub fn difference(&self, after: &Self) -> Difference {
        let mut lines = Vec::new();
        for (part, old) in &self.0 {
            match after.0.get(part) {
                None => lines.push(format!("{part} is gone (was {old})")),
                Some(new) if new != old => lines.push(format!("{part} was {old} and is {new}")),
                Some(_) => {}
            }
        }
        let new = after.0.iter().filter(|(part, _)| !self.0.contains_key(*part));
        lines.extend(new.map(|(part, new)| format!("{part} is new ({new})")));
        Difference(lines)
    }
}

impl Difference {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing changed");
        }
        f.write_str(&self.0.join("\n"))
    }
}

impl GitVcs {
    /// Takes the operator's repository's fingerprint. The branches that runs made and `refs/ralph/` are left out.
    pub async fn fingerprint(&self, cx: &Cx) -> Result<Fingerprint, VcsError> {
        let mut parts = BTreeMap::new();
        self.add_head(&mut parts, cx).await?;
        self.add_refs(&mut parts, cx).await?;
        let mut file = |name: &str, path: &Path| {
            if let Ok(bytes) = fs::read(path) {
                parts.insert(name.to_owned(), Digest::of(&bytes).short().to_owned());
            }
        };
        file("the index", &self.git_dir.join("index"));
        for name in ["config", "config.worktree", "packed-refs.lock", "shallow", "info/exclude", "info/attributes"] {
            file(name, &self.common_dir.join(name));
        }
        file("the stash", &self.common_dir.join("logs/refs/stash"));
        for name in ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge/head-name"] {
            file(name, &self.git_dir.join(name));
        }
        for (what, folder, inner) in [("hook", "hooks", ""), ("worktree", "worktrees", "HEAD")] {
            for entry in fs::read_dir(self.common_dir.join(folder)).into_iter().flatten().flatten() {
                let name = format!("{what} {}", entry.file_name().display());
                file(&name, &entry.path().join(inner));
            }
        }
        Ok(Fingerprint(parts))
    }

    async fn add_head(&self, parts: &mut BTreeMap<String, String>, cx: &Cx) -> Result<(), VcsError> {
        let name = self.operator.call("symbolic-ref").args(["--quiet", "HEAD"]);
        let name = name.folder(&self.options.repository).run(cx).await?;
        let head = if name.success() {
            line(&name.stdout)
        } else {
            self.operator_head(cx).await?.map_or_else(String::new, |head| head.to_string())
        };
        parts.insert("HEAD".to_owned(), head);
        Ok(())
    }

    async fn add_refs(&self, parts: &mut BTreeMap<String, String>, cx: &Cx) -> Result<(), VcsError> {
        let call = self.git.call("for-each-ref").arg("--format=%(objectname) %(refname)");
        let list = call.ok(cx).await?;
        let text = String::from_utf8_lossy(&list);
        let refs: BTreeMap<_, _> =
            text.lines().filter_map(|line| line.split_once(' ')).map(|(id, name)| (name, id)).collect();
        for (name, id) in &refs {
            // A push notes where the branch is at the remote.
            let at_remote = name.strip_prefix("refs/remotes/").and_then(|it| Some(it.split_once('/')?.1));
            let branch = name.strip_prefix("refs/heads/").or(at_remote).unwrap_or_default();
            let ours =
                name.starts_with("refs/ralph/") || refs.contains_key(format!("refs/ralph/branch/{branch}").as_str());
            if !ours {
                parts.insert((*name).to_owned(), (*id).to_owned());
            }
        }
        Ok(())
    }
}
