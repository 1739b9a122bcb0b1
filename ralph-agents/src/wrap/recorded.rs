//! Each session as a file.

use std::{path::PathBuf, sync::Arc};

use ralph_core::{AgentBackend, AgentError, Brief, Capabilities, Cx, SessionEnd, SessionReport, async_trait};

use super::{
    cassette::Cassette,
    changes::{Change, Scope, Seen},
};

/// Records each session of the inner backend as a cassette, which [`Replay`](super::Replay) plays again: for tests of
/// what is built on agents, without an agent.
///
/// A cassette is one JSON file in a folder, `0001.json` and so on, in the order in which the sessions end. It holds the
/// prompt, the tier, the report, and what the session changed in the workspace, which is looked at before and after,
/// every file of it. `.git` is left out, and so is what [`Recorded::leave_out`] names.
///
/// **Prompt, final message and contents are recorded as they are, secrets included.** Read a cassette before you share
/// it.
///
/// A session that cannot be recorded (more than 16 MiB of changes, names that are no text) is [`SessionEnd::Unusable`],
/// with its usage: what is missing in a recording should not be found out later. A workspace that cannot be looked at is
/// [`AgentError::Refused`], before anything is spent. What came to no session, and a session whose future was dropped, is
/// not recorded.
///
/// ```
/// use ralph_agents::wrap::{Recorded, Replay};
/// use ralph_core::{AgentBackend, AttemptId, Brief, Cx, ItemRef, RunId, agent_fn};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (work, again, tapes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
/// let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
/// let mut brief = Brief::new(work.path(), "Add a greeting.", RunId::new("run"), attempt);
/// let greeter = agent_fn("greeter", |brief| {
///     std::fs::write(brief.workspace.join("greeting"), "hello\n")?;
///     Ok("done".to_owned())
/// });
/// Recorded::new(greeter, tapes.path()).run(&brief, &Cx::new()).await.unwrap();
///
/// let replay = Replay::open(tapes.path()).unwrap();
/// brief.workspace = again.path().to_owned();
/// let report = replay.run(&brief, &Cx::new()).await.unwrap();
/// assert_eq!(report.said, "done");
/// assert_eq!(std::fs::read_to_string(again.path().join("greeting")).unwrap(), "hello\n");
/// replay.assert_played();
/// # });
/// ```
///
/// # The format
///
/// `ralph_cassette` is its version, `agent` and `can` are name and capabilities of the backend (`cost`, `tokens`, `resume`,
/// `cost_limit`, `structured`). Fields that are not known are passed over.
///
/// ```json
/// {
///   "ralph_cassette": 1, "agent": "claude", "can": ["cost", "tokens"], "tier": "standard", "prompt": "Do it.\n",
///   "report": {
///     "end": {"kind": "finished"}, "usage": {"cost": "0.25"}, "said": "done", "session_id": "s-1", "compactions": 0, "denied": 0
///   },
///   "changes": [
///     {"delete": {"path": "old"}},
///     {"folder": {"path": "src"}},
///     {"write": {"path": "src/a", "mode": "644", "content": {"text": "hello\n"}}},
///     {"write": {"path": "src/b", "mode": "755", "content": {"hex": "00ff"}}},
///     {"link": {"path": "src/c", "target": "a"}}
///   ]
/// }
/// ```
///
/// `kind` is an end in snake case: `finished`, `failed` with `why`, `limit` with `which`, `cancelled`, `unusable` with
/// `why`, `unavailable` with `trouble`, `detail` and `until`, in milliseconds since the Unix epoch. Besides, a report has
/// `structured` and `agent`, where there are such. Changes are done again in their order; a `mode` is octal, and content
/// that is no UTF-8 is in hexadecimal digits.
#[derive(Clone, Debug)]
pub struct Recorded {
    inner: Arc<dyn AgentBackend>,
    folder: PathBuf,
    scope: Scope,
}

impl Recorded {
    /// Records into `folder`, behind the cassettes that are there. It should not be in the workspace.
    pub fn new(inner: impl AgentBackend, folder: impl Into<PathBuf>) -> Self {
        let scope = Scope { leave_out: Vec::new(), bytes_max: 16 << 20 };
        Self { inner: Arc::new(inner), folder: folder.into(), scope }
    }

    /// The same without files and folders of these names, wherever they are: `target`, `node_modules`.
    #[must_use]
    pub fn leave_out(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scope.leave_out.extend(names.into_iter().map(Into::into));
        self
    }

    /// The same with another bound for what a session may change, in bytes of the changed files together.
    #[must_use]
    pub fn bytes_at_most(mut self, bytes: u64) -> Self {
        self.scope.bytes_max = bytes;
        self
    }

    /// Reading a whole workspace takes a while: others go on meanwhile.
    async fn aside<T: Send + 'static>(
        &self,
        brief: &Brief,
        look: impl FnOnce(&Scope, PathBuf) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let (scope, workspace) = (self.scope.clone(), brief.workspace.clone());
        let task = tokio::task::spawn_blocking(move || look(&scope, workspace));
        task.await.unwrap_or_else(|error| Err(error.to_string()))
    }

    async fn record(&self, brief: &Brief, report: &SessionReport, before: Seen) -> Result<(), String> {
        let changes: Vec<Change> = self.aside(brief, move |scope, folder| scope.changes(&folder, &before)).await?;
        let agent = (self.inner.name(), self.inner.capabilities());
        let cassette = Cassette::new(agent, (brief.tier, &brief.prompt), report, changes)?;
        cassette.save(&self.folder).map_err(|error| format!("{}: {error}", self.folder.display()))?;
        Ok(())
    }
}

#[async_trait]
impl AgentBackend for Recorded {
    /// That of the inner one.
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        let before = self.aside(brief, |scope, folder| scope.look(&folder)).await;
        let before = before.map_err(|detail| AgentError::Refused {
            detail: format!("the session could not be recorded: {detail}"),
            advice: "leave it out, or do not record".into(),
        })?;
        let mut report = self.inner.run(brief, cx).await?;
        if let Err(why) = self.record(brief, &report, before).await {
            report.end = SessionEnd::Unusable(format!("the session could not be recorded: {why}; leave it out"));
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ralph_core::{
        AttemptId, ItemRef, RunId,
        testing::{ScriptedAgent, turn},
    };

    use super::*;

    #[tokio::test]
    async fn what_cannot_be_recorded_is_told_and_paid() {
        let (work, tapes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
        let mut brief = Brief::new(work.path(), "", RunId::new("run"), attempt);
        let large = || turn().writes("target/out", vec![0; 101]).costs("0.10");
        let agent = Recorded::new(ScriptedAgent::new([large()]), tapes.path()).bytes_at_most(100);
        let report = agent.run(&brief, &Cx::new()).await.unwrap();
        assert!(matches!(&report.end, SessionEnd::Unusable(why) if why.contains("target/out")), "{:?}", report.end);
        assert_eq!(report.usage.cost, Some("0.10".parse().unwrap()));
        assert_eq!(fs::read_dir(tapes.path()).unwrap().count(), 0);
        // The controls: left out, or within its bound.
        fs::remove_dir_all(work.path().join("target")).unwrap();
        let inner = ScriptedAgent::new([large(), large()]);
        let agent = Recorded::new(inner.clone(), tapes.path());
        for agent in [agent.clone().leave_out(["target"]).bytes_at_most(100), agent.clone()] {
            assert_eq!(agent.run(&brief, &Cx::new()).await.unwrap().end, SessionEnd::Finished);
        }
        assert_eq!(fs::read_dir(tapes.path()).unwrap().count(), 2);
        // Nothing is spent where it is clear before.
        brief.workspace = work.path().join("nowhere");
        let error = agent.run(&brief, &Cx::new()).await.unwrap_err();
        assert!(matches!(error, AgentError::Refused { .. }), "{error:?}");
        assert_eq!(inner.briefs().len(), 2);
    }
}
