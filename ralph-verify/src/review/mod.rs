//! A reviewer made of an agent.

mod diff;
mod prompt;

use std::sync::Arc;

use ralph_core::{
    AgentBackend, AgentError, Brief, Candidate, Capabilities, Cx, Opinion, Review, Reviewer, SessionEnd, Tier,
    async_trait,
};

use crate::policy::{DEFAULT_DATABASE, DEFAULT_SECURITY, PolicyError, globs::Globs, names::fold};

/// From how many changed files on a review is thorough.
const MANY_FILES: usize = 21;

/// Paths whose change deserves a thorough review, unless somebody says otherwise, besides those that concern security and
/// databases: what holds a system together, and what other programs build on.
pub const DEFAULT_ARCHITECTURE: &[&str] =
    &["**/architecture*", "**/adr/**", "**/api/**", "**/*.proto", "**/openapi.*", "**/Dockerfile", "**/*.tf"];

/// From which side a reviewer looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Whether the work is right and belongs where it stands.
    #[default]
    Architect,
    /// Where it breaks.
    Critic,
}

impl Role {
    /// Its name, as settings have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Architect => "architect",
            Self::Critic => "critic",
        }
    }
}

/// Reviews by a fresh session of an agent.
///
/// The session stands in the clean checkout of the commit. It is told the item, its criteria, the changed files and the
/// change itself, and answers as [`Opinion::read`] says. It gets the strongest model ([`Tier::High`]) where more than 20
/// files change, or a path that [`AgentReviewer::thorough`] names; the usual one otherwise, and never a smaller one.
///
/// A reviewer is a model: what it reads may mislead it. It can only veto.
///
/// ```
/// use ralph_core::testing::{ScriptedAgent, turn};
/// use ralph_verify::{AgentReviewer, Role};
///
/// let says = r#"{"verdict": "approve", "criteria": [{"number": 1, "met": true, "evidence": "src/lib.rs:3"}]}"#;
/// let reviewer = AgentReviewer::new(ScriptedAgent::new([turn().signals(says)])).role(Role::Critic);
/// assert_eq!(ralph_core::Reviewer::name(&reviewer), "critic (scripted)");
/// ```
#[derive(Clone, Debug)]
pub struct AgentReviewer {
    agent: Arc<dyn AgentBackend>,
    role: Role,
    name: String,
    thorough: Option<Globs>,
}

impl AgentReviewer {
    /// An architect, thorough where many files change.
    pub fn new(agent: impl AgentBackend) -> Self {
        let agent: Arc<dyn AgentBackend> = Arc::new(agent);
        let name = format!("{} ({})", Role::Architect.name(), agent.name());
        Self { agent, role: Role::Architect, name, thorough: None }
    }

    /// The same in this role.
    #[must_use]
    pub fn role(mut self, role: Role) -> Self {
        self.role = role;
        self.name = format!("{} ({})", role.name(), self.agent.name());
        self
    }

    /// The same, thorough where one of these paths changes as well. `default` stands for [`DEFAULT_SECURITY`],
    /// [`DEFAULT_DATABASE`] and [`DEFAULT_ARCHITECTURE`].
    ///
    /// # Errors
    /// A glob that does not parse, named.
    pub fn thorough<G: AsRef<str>>(mut self, globs: impl IntoIterator<Item = G>) -> Result<Self, PolicyError> {
        let mut all: Vec<String> = Vec::new();
        for glob in globs {
            match glob.as_ref().trim() {
                "default" => all.extend(default_paths().map(str::to_owned)),
                glob => all.push(glob.to_owned()),
            }
        }
        self.thorough = Some(Globs::new("review", all)?);
        Ok(self)
    }

    /// How strong a model the change deserves.
    fn tier(&self, work: &Candidate) -> Tier {
        let named = |globs: &Globs| work.changes.iter().any(|change| globs.name(&fold(&change.path)));
        let thorough = work.changes.len() >= MANY_FILES || self.thorough.as_ref().is_some_and(named);
        if thorough { Tier::High } else { Tier::Standard }
    }
}

fn default_paths() -> impl Iterator<Item = &'static str> {
    DEFAULT_SECURITY.iter().chain(DEFAULT_DATABASE).chain(DEFAULT_ARCHITECTURE).copied()
}

#[async_trait]
impl Reviewer for AgentReviewer {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        self.agent.capabilities()
    }

    async fn review(&self, work: &Candidate, cx: &Cx) -> Result<Review, AgentError> {
        let diff = diff::of(work).await.map_err(AgentError::other)?;
        let prompt = prompt::render(self.role, work, &diff);
        let mut brief = Brief::new(&work.folder, prompt, work.run.clone(), work.attempt.clone());
        brief.log.clone_from(&work.log);
        brief.time_limit = work.time_limit;
        brief.cost_limit = work.cost_limit;
        brief.tier = self.tier(work);
        brief.vars.push(("RALPH_ROLE".to_owned(), "review".to_owned()));
        if self.agent.capabilities().structured {
            brief.schema = Some(Opinion::SCHEMA.to_owned());
        }
        let report = self.agent.run(&brief, cx).await?;
        let mut review = match Opinion::read(&report.said, report.structured.as_deref(), &work.criteria()) {
            Ok(opinion) if report.end == SessionEnd::Finished => Review::new(opinion),
            Ok(_) => Review::none(report.end, "its session did not end by itself"),
            Err(why) => Review::none(report.end, why),
        };
        review.usage = report.usage;
        Ok(review)
    }
}

#[cfg(test)]
mod tests;
