//! A backend under another name.

use std::sync::Arc;

use ralph_core::{AgentBackend, AgentError, Brief, Capabilities, Cx, SessionReport, async_trait};

/// A backend under another name, to tell two of one kind apart.
///
/// ```
/// use ralph_agents::{ClaudeCode, wrap::Named};
/// use ralph_core::AgentBackend;
/// let fast = Named::new("haiku", ClaudeCode::new().model("haiku"));
/// assert_eq!(fast.name(), "haiku");
/// ```
#[derive(Clone, Debug)]
pub struct Named {
    name: String,
    inner: Arc<dyn AgentBackend>,
}

impl Named {
    /// `inner`, called `name`.
    pub fn new(name: impl Into<String>, inner: impl AgentBackend) -> Self {
        Self { name: name.into(), inner: Arc::new(inner) }
    }
}

#[async_trait]
impl AgentBackend for Named {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        let mut own = brief.clone();
        if let Some(resume) = own.resume.as_mut().filter(|resume| resume.agent == self.name) {
            self.inner.name().clone_into(&mut resume.agent);
        }
        self.inner.run(&own, cx).await
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::{
        AttemptId, ItemRef, Resume, RunId, Usage,
        testing::{ScriptedAgent, turn},
    };

    use super::*;

    #[tokio::test]
    async fn the_inner_one_finds_its_own_name_in_what_it_resumes() {
        let scripted = ScriptedAgent::new([turn(), turn()]);
        let agent = Named::new("fast", scripted.clone());
        let folder = tempfile::tempdir().unwrap();
        let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
        let mut brief = Brief::new(folder.path(), "", RunId::new("run"), attempt);
        for name in ["fast", "other"] {
            let before = Usage::unknown();
            brief.resume = Some(Resume { agent: name.into(), session_id: "s".into(), before });
            agent.run(&brief, &Cx::new()).await.unwrap();
        }
        let told: Vec<_> = scripted.briefs().into_iter().map(|brief| brief.resume.unwrap().agent).collect();
        assert_eq!(told, ["scripted", "other"]);
        assert_eq!((agent.name(), agent.capabilities()), ("fast", scripted.capabilities()));
    }
}
