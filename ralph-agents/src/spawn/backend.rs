//! A budget for each session of a backend.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use ralph_core::{AgentBackend, AgentError, Brief, Capabilities, Cx, SessionReport, async_trait};

use super::{budget::SpawnBudget, tally::Limits};

/// How the folder of a budget begins.
const PREFIX: &str = "session-";

/// Locked for as long as the session goes on: the end of this program unlocks it, whatever it dies of.
const ALIVE: &str = "alive";

/// From when on a folder is looked at: one that is being made has no lock yet.
const GROWN: Duration = Duration::from_secs(60);

/// A backend whose sessions get a spawn budget: each session its own, for all agents below it.
///
/// The session is told where it is by [`Brief::vars`]; `ralph hook pre-tool-use` enforces it inside Claude Code. The files
/// are in a folder of their own, and gone when the session has ended: by then nothing of it is alive. What a crash leaves
/// there is named by [`left_behind`].
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
        let files = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&folder).map_err(AgentError::other)?;
        let alive = File::create(files.path().join(ALIVE)).map_err(AgentError::other)?;
        alive.try_lock().map_err(AgentError::other)?;
        let budget = SpawnBudget::create(files.path().join("state.json"), self.limits).map_err(AgentError::other)?;
        let mut brief = brief.clone();
        brief.vars.extend(budget.root_env());
        let report = self.inner.run(&brief, cx).await;
        let standing = budget.standing();
        if standing.spent > 0 {
            cx.live(&format!("[spawn budget: {} of {} agents]", standing.spent, standing.limits.total));
        }
        drop(alive);
        report
    }
}

/// The budgets below `folder` that outlived their sessions, as a crash of the program leaves them: nobody holds their
/// lock. One that is younger than a minute, or cannot be looked at, is not among them.
///
/// ```
/// use std::time::SystemTime;
/// use ralph_agents::spawn::left_behind;
/// let folder = tempfile::tempdir().unwrap();
/// assert!(left_behind(folder.path(), SystemTime::now()).unwrap().is_empty());
/// ```
///
/// # Errors
/// Where the folder cannot be read. One that is not there has none.
pub fn left_behind(folder: &Path, now: SystemTime) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut left = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_left(&entry, now) {
            left.push(entry.path());
        }
    }
    left.sort();
    Ok(left)
}

fn is_left(entry: &fs::DirEntry, now: SystemTime) -> bool {
    // Of the folder itself, and not of what a link leads to.
    let Ok(meta) = entry.metadata() else { return false };
    let age = meta.modified().ok().and_then(|made| now.duration_since(made).ok());
    if !meta.is_dir() || age.is_none_or(|age| age < GROWN) {
        return false;
    }
    match File::open(entry.path().join(ALIVE)) {
        Ok(alive) => alive.try_lock().is_ok(),
        // It died before it could lock anything.
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}
