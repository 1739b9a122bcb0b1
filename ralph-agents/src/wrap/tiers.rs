//! A backend for each tier.

use std::sync::Arc;

use ralph_core::{AgentBackend, AgentError, Brief, Capabilities, Cx, SessionReport, Tier, async_trait};

use super::{brief_for, same_name, signed};

/// Chooses a backend by [`Brief::tier`]; where there is none for a tier, it is the standard one.
///
/// It can do what all of them can. [`Brief::resume`] is honoured where it is the same backend as last time.
///
/// ```
/// use ralph_agents::{ClaudeCode, wrap::{Named, Tiers}};
/// use ralph_core::AgentBackend;
///
/// # fn main() -> Result<(), ralph_core::AgentError> {
/// let claude = |model: &str| Named::new(model, ClaudeCode::new().model(model));
/// let agent = Tiers::new(claude("sonnet")).low(claude("haiku"))?.high(claude("opus"))?;
/// assert_eq!(agent.name(), "tiers(haiku, sonnet, opus)");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Tiers {
    name: String,
    low: Option<Arc<dyn AgentBackend>>,
    standard: Arc<dyn AgentBackend>,
    high: Option<Arc<dyn AgentBackend>>,
}

impl Tiers {
    /// `standard` for all tiers.
    pub fn new(standard: impl AgentBackend) -> Self {
        let mut tiers = Self { name: String::new(), low: None, standard: Arc::new(standard), high: None };
        tiers.rename();
        tiers
    }

    /// The same with another backend for low items.
    ///
    /// # Errors
    /// [`AgentError::Refused`] where another tier's backend has its name.
    pub fn low(mut self, backend: impl AgentBackend) -> Result<Self, AgentError> {
        self.low = None;
        self.low = Some(self.checked(backend)?);
        self.rename();
        Ok(self)
    }

    /// The same with another backend for high items.
    ///
    /// # Errors
    /// [`AgentError::Refused`] where another tier's backend has its name.
    pub fn high(mut self, backend: impl AgentBackend) -> Result<Self, AgentError> {
        self.high = None;
        self.high = Some(self.checked(backend)?);
        self.rename();
        Ok(self)
    }

    fn checked(&self, backend: impl AgentBackend) -> Result<Arc<dyn AgentBackend>, AgentError> {
        match self.all().any(|other| other.name() == backend.name()) {
            true => Err(same_name(backend.name())),
            false => Ok(Arc::new(backend)),
        }
    }

    fn rename(&mut self) {
        let names: Vec<&str> = self.all().map(AgentBackend::name).collect();
        self.name = format!("tiers({})", names.join(", "));
    }

    fn all(&self) -> impl Iterator<Item = &Arc<dyn AgentBackend>> {
        self.low.iter().chain([&self.standard]).chain(&self.high)
    }

    fn of(&self, tier: Tier) -> &dyn AgentBackend {
        let own = match tier {
            Tier::Low => self.low.as_ref(),
            Tier::Standard => None,
            Tier::High => self.high.as_ref(),
        };
        &**own.unwrap_or(&self.standard)
    }
}

#[async_trait]
impl AgentBackend for Tiers {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        self.all().map(AgentBackend::capabilities).fold(self.standard.capabilities(), Capabilities::and)
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        let chosen = self.of(brief.tier);
        let report = chosen.run(&brief_for(brief, chosen.name()), cx).await?;
        Ok(signed(report, chosen.name()))
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::{
        AttemptId, ItemRef, Resume, RunId, Usage, agent_fn,
        testing::{ScriptedAgent, turn},
    };

    use super::*;
    use crate::wrap::Named;

    fn brief() -> Brief {
        let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
        Brief::new(std::env::temp_dir(), "", RunId::new("run"), attempt)
    }

    fn says(name: &'static str) -> impl AgentBackend {
        agent_fn(name, move |_| Ok(name.to_owned()))
    }

    #[tokio::test]
    async fn the_tier_chooses_and_the_standard_one_stands_in() {
        let (all, one) = (
            Tiers::new(says("mid")).low(says("small")).unwrap().high(says("big")).unwrap(),
            Tiers::new(says("mid")).low(says("small")).unwrap(),
        );
        for (agent, expected) in [(all, ["small", "mid", "big"]), (one, ["small", "mid", "mid"])] {
            for (tier, expected) in Tier::ALL.into_iter().zip(expected) {
                let mut brief = brief();
                brief.tier = tier;
                let report = agent.run(&brief, &Cx::new()).await.unwrap();
                assert_eq!((report.said.as_str(), report.agent.as_deref()), (expected, Some(expected)));
            }
        }
    }

    #[tokio::test]
    async fn a_session_is_resumed_by_its_own_backend_only() {
        let (small, big) = (ScriptedAgent::new([turn(), turn()]), ScriptedAgent::new([turn()]));
        let agent = Tiers::new(Named::new("small", small.clone())).high(Named::new("big", big.clone())).unwrap();
        let mut brief = brief();
        for (tier, whose) in [(Tier::Standard, "small"), (Tier::High, "small"), (Tier::Low, "big")] {
            brief.tier = tier;
            let before = Usage::unknown();
            brief.resume = Some(Resume { agent: whose.into(), session_id: "s".into(), before });
            agent.run(&brief, &Cx::new()).await.unwrap();
        }
        let resumed = |agent: &ScriptedAgent| -> Vec<bool> {
            agent.briefs().iter().map(|brief| brief.resume.is_some()).collect()
        };
        assert_eq!((resumed(&small), resumed(&big)), (vec![true, false], vec![false]));
    }

    #[test]
    fn they_can_do_what_all_can_and_have_names_of_their_own() {
        let scripted = ScriptedAgent::new([]);
        let agent = Tiers::new(scripted.clone());
        assert_eq!(agent.capabilities(), scripted.capabilities());
        assert_eq!(agent.clone().high(says("big")).unwrap().capabilities(), Capabilities::none());
        assert!(agent.clone().high(scripted).unwrap_err().to_string().contains("`scripted`"));
        let low = agent.low(says("small")).unwrap();
        assert!(low.clone().high(says("small")).is_err());
        // Replacing one is no clash with itself.
        assert_eq!(low.low(says("small")).unwrap().name(), "tiers(small, scripted)");
    }
}
