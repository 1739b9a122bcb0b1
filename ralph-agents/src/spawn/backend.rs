//! A budget for each session of a backend.

use std::{fs, path::PathBuf, sync::Arc};

use ralph_core::{AgentBackend, AgentError, Brief, Capabilities, Cx, SessionReport, async_trait};

use super::{budget::SpawnBudget, tally::Limits};

/// A backend whose sessions get a spawn budget: each session its own, for all agents below it.
///
/// The session is told where it is by [`Brief::vars`]; `ralph hook pre-tool-use` enforces it inside Claude Code. The files
/// are in a folder of their own, and gone when the session has ended: by then nothing of it is alive.
///
/// ```
/// use std::sync::Arc;
/// use ralph_agents::{CommandAgent, spawn::{Limits, SpawnBudgeted}};
/// use ralph_core::{AgentBackend, AttemptId, Brief, Cx, ItemRef, RunId};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let (workspace, budgets) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
/// let agent = CommandAgent::new("sh").args(["-c", "echo $RALPH_SPAWN_ID at $RALPH_SPAWN_DEPTH"]);
/// let agent = SpawnBudgeted::new(Arc::new(agent), budgets.path(), Limits::default());
/// let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
/// let brief = Brief::new(workspace.path(), "", RunId::new("run"), attempt);
/// assert_eq!(agent.run(&brief, &Cx::new()).await.unwrap().said, "root at 0\n");
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct SpawnBudgeted {
    inner: Arc<dyn AgentBackend>,
    folder: PathBuf,
    limits: Limits,
}

impl SpawnBudgeted {
    /// `inner`, with budgets of these `limits` below `folder`, an absolute path outside of every workspace.
    pub fn new(inner: Arc<dyn AgentBackend>, folder: impl Into<PathBuf>, limits: Limits) -> Self {
        Self { inner, folder: folder.into(), limits }
    }
}

#[async_trait]
impl AgentBackend for SpawnBudgeted {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        fs::create_dir_all(&self.folder).map_err(AgentError::other)?;
        let (folder, workspace) = (fs::canonicalize(&self.folder), fs::canonicalize(&brief.workspace));
        let folder = folder.map_err(AgentError::other)?;
        if workspace.is_ok_and(|workspace| folder.starts_with(workspace)) {
            return Err(AgentError::Refused {
                detail: format!("the spawn budgets would be in the workspace, in {}", folder.display()),
                advice: "keep them where no session works".to_owned(),
            });
        }
        // Private, and gone with this call, however it ends.
        let files = tempfile::Builder::new().prefix("session-").tempdir_in(&folder).map_err(AgentError::other)?;
        let budget = SpawnBudget::create(files.path().join("state.json"), self.limits).map_err(AgentError::other)?;
        let mut brief = brief.clone();
        brief.vars.extend(budget.root_env());
        let report = self.inner.run(&brief, cx).await;
        let standing = budget.standing();
        if standing.spent > 0 {
            cx.live(&format!("[spawn budget: {} of {} agents]", standing.spent, standing.limits.total));
        }
        report
    }
}
