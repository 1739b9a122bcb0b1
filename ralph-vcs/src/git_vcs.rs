//! [`GitVcs`]: what it knows, and the seam.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ralph_core::{
    Accepted, AttemptId, Caches, Change, Cx, Digest, KeepKind, Placed, Revision, RunId, Seal, Site, Snapshot, Tip,
    Tree, Vcs, VcsError, async_trait,
};
use tokio::sync::OnceCell;

use crate::{
    accept::is_id,
    agent_git::AgentGit,
    changes::RawChange,
    git::{Git, line},
    judge::Ledger,
    keep_list::KeepList,
    options::GitOptions,
    settings::{Identity, Settings},
    site::{SiteState, checkout_around},
};

/// Remembered trees; more would be of no use.
const MOST_TREES: usize = 1000;

/// Git, worked from outside the agent's reach. Made by [`GitVcs::open`].
#[derive(Debug)]
pub struct GitVcs {
    pub(crate) options: GitOptions,
    pub(crate) name: String,
    /// Git as the operator runs it; only for finding out.
    pub(crate) operator: Git,
    /// Git as the engine runs it.
    pub(crate) git: Git,
    pub(crate) version: String,
    /// The root of the operator's checkout; none in a bare repository.
    pub(crate) root: Option<PathBuf>,
    pub(crate) git_dir: PathBuf,
    pub(crate) common_dir: PathBuf,
    pub(crate) sha256: bool,
    pub(crate) reftable: bool,
    pub(crate) settings: Settings,
    pub(crate) passed_on: Vec<(String, OsString)>,
    pub(crate) identity: Identity,
    /// Where filters are looked for.
    pub(crate) search_path: OsString,
    pub(crate) sites: PathBuf,
    pub(crate) keep_list: KeepList,
    pub(crate) ledger: Ledger,
    /// `refs/heads/<branch>`.
    pub(crate) branch_ref: String,
    /// `refs/ralph/branch/<branch>`: where the branch began.
    pub(crate) marker_ref: String,
    pub(crate) agent_git: OnceCell<Arc<AgentGit>>,
    pub(crate) lanes: Mutex<BTreeMap<Site, Arc<tokio::sync::Mutex<SiteState>>>>,
    pub(crate) memory: Mutex<Memory>,
}

/// What saves git calls. All of it can be found out again.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) trees: BTreeMap<Revision, Digest>,
    /// Commits made by this process, and what they are built on.
    pub(crate) bases: BTreeMap<Revision, Revision>,
    pub(crate) pins: BTreeMap<Revision, Arc<str>>,
    /// What the last comparison of two trees gave.
    pub(crate) changes: Option<(Digest, Digest, Arc<[RawChange]>)>,
    /// Where the branch began, until its files were seen to be as its attributes say.
    pub(crate) unseen: Option<Revision>,
}

impl GitVcs {
    /// How many git processes were started so far. For benches and tests.
    pub fn spawns(&self) -> u64 {
        self.git.spawns()
    }

    /// How many of them looked at every file of a site. For benches and tests.
    pub fn scans(&self) -> u64 {
        self.git.scans()
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn remember(&self, revision: &Revision, tree: Digest) {
        let mut memory = self.memory();
        if memory.trees.len() >= MOST_TREES {
            memory.trees.clear();
            memory.bases.clear();
        }
        memory.trees.insert(revision.clone(), tree);
    }

    pub(crate) fn site(&self, site: Site) -> Arc<tokio::sync::Mutex<SiteState>> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(tokio::sync::Mutex::new(SiteState::new(&self.sites, site)));
        lanes.entry(site).or_insert_with(new).clone()
    }

    pub(crate) fn oid_bytes(&self) -> usize {
        if self.sha256 { 32 } else { 20 }
    }

    /// The tree of a commit.
    pub(crate) async fn tree_of(&self, revision: &Revision, cx: &Cx) -> Result<Digest, VcsError> {
        let known = self.memory().trees.get(revision).cloned();
        if let Some(tree) = known {
            return Ok(tree);
        }
        if !is_id(revision) {
            return Err(VcsError::NoRevision(revision.clone()));
        }
        let name = format!("{revision}^{{tree}}");
        let output = self.git.call("rev-parse").args(["--verify", "--quiet", &name]).run(cx).await?;
        match output.code {
            Some(0) => {
                let tree = Digest::new(line(&output.stdout));
                self.remember(revision, tree.clone());
                Ok(tree)
            }
            Some(_) => Err(VcsError::NoRevision(revision.clone())),
            None => Err(output.failed("rev-parse")),
        }
    }

    pub(crate) fn refuse_sites_in_a_checkout(&self) -> Result<(), VcsError> {
        if self.sites.starts_with(&self.common_dir) {
            return Err(VcsError::Refused(format!(
                "the workspaces would lie in the repository itself ({}); choose a folder outside (`run.workspaces`)",
                self.sites.display()
            )));
        }
        match checkout_around(&self.sites) {
            None => Ok(()),
            Some(checkout) => Err(VcsError::Refused(format!(
                "the workspaces ({}) would lie in the checkout {}, where tools that look for a repository find that one; \
                 choose a folder outside (`run.workspaces`)",
                self.sites.display(),
                checkout.display()
            ))),
        }
    }
}

#[async_trait]
impl Vcs for GitVcs {
    fn name(&self) -> &str {
        &self.name
    }

    fn folder(&self, site: Site) -> PathBuf {
        SiteState::new(&self.sites, site).root
    }

    async fn tip(&self, since: Option<&Revision>, cx: &Cx) -> Result<Tip, VcsError> {
        match since {
            None => self.begin(cx).await,
            Some(since) => self.tip_since(since, cx).await,
        }
    }

    async fn place(&self, site: Site, revision: &Revision, caches: Caches, cx: &Cx) -> Result<Placed, VcsError> {
        self.place_at(site, revision, caches, cx).await
    }

    async fn snapshot(&self, site: Site, base: &Revision, seal: &Seal, cx: &Cx) -> Result<Snapshot, VcsError> {
        self.snapshot_of(site, base, seal, cx).await
    }

    async fn tree(&self, revision: &Revision, cx: &Cx) -> Result<Arc<dyn Tree>, VcsError> {
        self.open_tree(revision, cx).await
    }

    async fn changes(&self, base: &Revision, revision: &Revision, cx: &Cx) -> Result<Vec<Change>, VcsError> {
        self.changes_between(base, revision, cx).await
    }

    async fn accept(&self, revision: &Revision, expected: &Revision, cx: &Cx) -> Result<Accepted, VcsError> {
        self.accept_work(revision, expected, cx).await
    }

    async fn keep(
        &self,
        revision: &Revision,
        kind: KeepKind,
        run: &RunId,
        attempt: &AttemptId,
        cx: &Cx,
    ) -> Result<String, VcsError> {
        self.keep_work(revision, kind, run, attempt, cx).await
    }
}
