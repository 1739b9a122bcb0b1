//! Standing a revision in a site: check the folder, sweep it, let git write the files, give the agent a `.git`.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ralph_core::{Caches, Cx, Digest, Placed, Revision, Site, VcsError};
use tokio::sync::OwnedMutexGuard;

use crate::{
    GitVcs,
    agent_git::AgentGit,
    doubt::doubt,
    git::{Output, other},
    index::Index,
    site::SiteState,
    sweep::{remove_paths, sweep},
};

type Guard = OwnedMutexGuard<SiteState>;

impl GitVcs {
    pub(crate) async fn place_at(
        &self,
        site: Site,
        revision: &Revision,
        caches: Caches,
        cx: &Cx,
    ) -> Result<Placed, VcsError> {
        self.refuse_sites_in_a_checkout()?;
        let agent_git = self.agent_git(revision, cx).await?;
        let tree = self.tree_of(revision, cx).await?;
        let mut guard = self.site(site).lock_owned().await;
        guard.make(&self.sites, &self.common_dir)?;
        guard.unlock();

        let keep = matches!(caches, Caches::Keep).then(|| self.keep_list.clone());
        let oid_bytes = self.oid_bytes();
        // An index that cannot be read is only a note of what is there: without it everything is a stranger.
        let index = match Index::read(&guard.index, oid_bytes) {
            Ok(index) => index,
            Err(_) => {
                guard.forget()?;
                Index::default()
            }
        };
        guard.tree = None;
        guard.ledger_of = None;
        let (back, kept) = blocking("sweeping a site", guard, move |guard, stop| {
            let kept = sweep(&guard.root, &index, keep.as_ref(), stop)?;
            doubt(&guard.root, &index, &guard.index)?;
            Ok(kept)
        })
        .await?;
        let mut guard = back;
        self.read_tree(&mut guard, revision, cx).await?;
        self.refuse_unclean(&guard, site, revision, cx).await?;
        let kept = self.settle_caches(&mut guard, revision, kept, cx).await?;
        let at = revision.clone();
        let (mut guard, ()) = blocking("writing the agent's .git", guard, move |guard, _| {
            agent_git.write(&guard.root, &guard.index, &at)
        })
        .await?;
        guard.tree = Some(tree.clone());
        guard.ledger_of = Some(tree.clone());
        Ok(Placed { folder: guard.root.clone(), tree, fresh: kept == 0 })
    }

    async fn read_tree(&self, guard: &mut Guard, revision: &Revision, cx: &Cx) -> Result<(), VcsError> {
        let call = self.git.call("read-tree").args(["--reset", "-u", revision.as_str()]);
        let output = call.site(&guard.root, &guard.index).scan().run(cx).await?;
        if output.success() {
            return Ok(());
        }
        // Half of it may be written: the next placing trusts nothing.
        guard.forget()?;
        Err(unplaceable(&output))
    }

    /// Removes of the `kept` folders what may not stay after all, and answers how many are left: what the revision
    /// itself has files in, and what it does not ignore (the next snapshot would take it in).
    async fn settle_caches(
        &self,
        guard: &mut Guard,
        revision: &Revision,
        kept: Vec<Vec<u8>>,
        cx: &Cx,
    ) -> Result<usize, VcsError> {
        if kept.is_empty() {
            return Ok(0);
        }
        let clear = |guard: &Guard, paths: &[Vec<u8>]| {
            remove_paths(&guard.root, paths).map_err(|error| other("removing a cache", error))
        };
        let index = Index::read(&guard.index, self.oid_bytes())?;
        let (own, kept): (Vec<_>, Vec<_>) = kept.into_iter().partition(|path| index.has_below(path) || index.has(path));
        if !own.is_empty() {
            clear(guard, &own)?;
            self.read_tree(guard, revision, cx).await?;
        }
        let rules = index.ignore_rules();
        let key = Digest::of(&[rules.as_str().as_bytes(), &kept.join(&0)].concat());
        let ignored = match &guard.ignored {
            Some((known, ignored)) if *known == key => ignored.clone(),
            _ => {
                let ignored = self.which_are_ignored(guard, &kept, cx).await?;
                guard.ignored = Some((key, ignored.clone()));
                ignored
            }
        };
        let (stay, go): (Vec<_>, Vec<_>) = kept.into_iter().partition(|path| ignored.contains(path));
        clear(guard, &go)?;
        Ok(stay.len())
    }

    async fn which_are_ignored(&self, guard: &Guard, paths: &[Vec<u8>], cx: &Cx) -> Result<Vec<Vec<u8>>, VcsError> {
        // This command knows no literal paths; after `./` nothing is magic.
        let list: Vec<u8> = paths.iter().flat_map(|path| [&b"./"[..], path, b"\0"].concat()).collect();
        let output = self
            .git
            .call("check-ignore")
            .args(["-z", "--stdin"])
            .env("GIT_LITERAL_PATHSPECS", "0")
            .site(&guard.root, &guard.index)
            .stdin(list)
            .run(cx)
            .await?;
        if !matches!(output.code, Some(0 | 1)) {
            return Err(output.failed("check-ignore"));
        }
        let paths = output.stdout.split(|byte| *byte == 0);
        Ok(paths.map(|path| path.strip_prefix(b"./").unwrap_or(path).to_vec()).collect())
    }

    async fn agent_git(&self, revision: &Revision, cx: &Cx) -> Result<Arc<AgentGit>, VcsError> {
        let make = async || {
            let refs = self
                .git
                .call("for-each-ref")
                .args(["--count=5000", "--format=%(objectname) %(refname)"])
                // Another branch may hold the answer.
                .arg(format!("--merged={revision}"))
                .args(["refs/heads/", "refs/tags/", "refs/remotes/"])
                .ok(cx)
                .await?;
            Ok(Arc::new(AgentGit {
                common_dir: self.common_dir.clone(),
                branch: self.options.branch.clone(),
                sha256: self.sha256,
                identity: self.identity.clone(),
                settings: self.passed_on.clone(),
                refs,
            }))
        };
        self.agent_git.get_or_try_init(make).await.cloned()
    }
}

/// A checkout fails because of the revision (a filter that fails, an object that is missing), or of the machine.
fn unplaceable(output: &Output) -> VcsError {
    if output.is_the_machines_fault() { output.failed("read-tree") } else { VcsError::Unplaceable(output.said()) }
}

/// Does file work on a thread of its own, with the site's guard: the site is not let go before the work has ended, even
/// if nobody waits any more.
pub(crate) async fn blocking<T: Send + 'static>(
    what: &'static str,
    guard: Guard,
    work: impl FnOnce(&Guard, &AtomicBool) -> std::io::Result<T> + Send + 'static,
) -> Result<(Guard, T), VcsError> {
    struct StopOnDrop(Arc<AtomicBool>);
    impl Drop for StopOnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stop = StopOnDrop(Arc::default());
    let flag = stop.0.clone();
    let task = tokio::task::spawn_blocking(move || {
        let result = work(&guard, &flag);
        (guard, result)
    });
    let (guard, result) = task.await.map_err(|error| other(what, error))?;
    Ok((guard, result.map_err(|error| other(what, error))?))
}
