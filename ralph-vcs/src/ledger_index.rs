//! After a commit that was not made by way of the operator's index: its entries follow, so that the commit does not
//! look like a staged reversal of itself. Only entries that the operator had left alone.

use std::collections::BTreeSet;

use ralph_core::{Cx, Revision, VcsError};

use crate::{
    changes::{RawChange, parse},
    git::{Call, Git, Output, line, other},
    ledger_commit::Checkout,
};

/// Lists about a handful of files are short.
const MOST_OUTPUT: usize = 4 << 20;

impl Checkout {
    /// Completes what a crash left after an earlier commit: its files' entries in the operator's index.
    pub(crate) async fn mend(&self, cx: &Cx) -> Result<(), VcsError> {
        let call = self.call("rev-parse").args(["--verify", "--quiet", "--end-of-options", &self.pending]);
        let output = call.run(cx).await?;
        if !output.success() {
            return Ok(());
        }
        let old = Revision::new(line(&output.stdout));
        let parents = self.call("rev-list").args(["--max-count=1", "--parents", self.head.as_str(), "--"]);
        let parents = line(&parents.ok(cx).await?);
        // Where the operator has committed since, their index is theirs.
        if parents.split(' ').skip(1).eq([old.as_str()]) {
            let changes = self.changes(old.as_str(), self.head.as_str(), &[&self.ledger], cx).await?;
            return self.follow(&old, &changes, cx).await;
        }
        self.settle(&old).await
    }

    /// Gives the operator's index the entries of `changes` at those paths where it still has the ones of `old`.
    pub(crate) async fn follow(&self, old: &Revision, changes: &[RawChange], cx: &Cx) -> Result<(), VcsError> {
        let staged = self.staged(old, changes, cx).await?;
        let mut info = Vec::new();
        for change in changes.iter().filter(|it| !staged.contains(&it.path)) {
            let Some(entry) = &change.after else { continue };
            let line = format!("{} {}\t", entry.mode(), entry.id);
            info.extend_from_slice(&[line.as_bytes(), &change.path, b"\0"].concat());
        }
        if !info.is_empty() {
            let root = self.root.clone();
            let output = undisturbed(&self.plain, move |git| {
                git.call("update-index").args(["-z", "--index-info"]).stdin(info).folder(&root)
            })
            .await?;
            if !output.success() {
                return Err(output.failed("update-index"));
            }
        }
        self.settle(old).await
    }

    /// Those of the paths at which the operator's index is not as in `old`: something else is staged there.
    async fn staged(&self, old: &Revision, changes: &[RawChange], cx: &Cx) -> Result<BTreeSet<Vec<u8>>, VcsError> {
        let call = self.plain.call("diff-index").args(["--cached", "--raw", "-z", "--no-renames", "--no-abbrev"]);
        let paths = changes.iter().map(|it| crate::snapshot::os(&it.path));
        let call = call.args(["--ita-invisible-in-index", old.as_str(), "--"]).args(paths);
        let list = call.folder(&self.root).most(MOST_OUTPUT).ok(cx).await?;
        let changes = parse(&list).ok_or_else(|| other("reading git's list of what is staged", "it is not known"))?;
        Ok(changes.into_iter().map(|it| it.path).collect())
    }

    /// Nothing is left to be done after the commit on `old`.
    async fn settle(&self, old: &Revision) -> Result<(), VcsError> {
        let lines = format!("delete {}\0{old}\0", self.pending);
        let output = self.update_refs(&["--no-deref"], lines).await?;
        if output.success() { Ok(()) } else { Err(output.failed("update-ref")) }
    }

    /// Runs one batch of ref changes.
    pub(crate) async fn update_refs(&self, options: &[&str], lines: String) -> Result<Output, VcsError> {
        let (root, identity) = (self.root.clone(), self.identity.variables());
        let options: Vec<_> = options.iter().map(|&it| it.to_owned()).collect();
        undisturbed(&self.git, move |git| {
            let call = git.call("update-ref").args(options).args(["-z", "--stdin"]).stdin(lines).folder(&root);
            identity.into_iter().fold(call, |call, (name, value)| call.env(name, value))
        })
        .await
    }
}

/// Runs what `make` makes to its end, even if nobody waits for it any more: a git that is killed leaves locks in the
/// operator's repository.
async fn undisturbed(
    git: &Git,
    make: impl for<'a> FnOnce(&'a Git) -> Call<'a> + Send + 'static,
) -> Result<Output, VcsError> {
    let git = git.clone();
    let task = tokio::spawn(async move { make(&git).run_through().await });
    task.await.map_err(|error| other("running git", error))?
}
