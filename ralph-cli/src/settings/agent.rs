//! `[agent]`: who works, and as what.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use ralph_agents::wrap::Prices;
use ralph_core::{Tier, TierRule, Tiering, Usd};
use serde::Deserialize;

use super::{dollars, duration};

#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Agent {
    pub(crate) backend: Option<Backend>,
    pub(crate) command: Vec<String>,
    pub(crate) model: Option<String>,
    pub(crate) permissions: Permissions,
    /// The mode of an agent of the Agent Client Protocol, in its own words.
    pub(crate) mode: Option<String>,
    #[serde(deserialize_with = "duration::deserialize")]
    pub(crate) timeout: Duration,
    #[serde(deserialize_with = "duration::deserialize")]
    pub(crate) idle_timeout: Duration,
    pub(crate) env: Vec<String>,
    pub(crate) require_signal: bool,
    pub(crate) session: Session,
    /// A template of one's own, by its path from the repository's root.
    pub(crate) prompt: Option<PathBuf>,
    pub(crate) tiers: Tiers,
    /// Another agent or model for when this one is out.
    pub(crate) fallback: Option<Other>,
    /// Where each session is recorded.
    pub(crate) record: Option<PathBuf>,
    /// The user's own prices by model; `default` where no model is named.
    pub(crate) prices: BTreeMap<String, ModelPrices>,
    /// What a command of one's own reports in the JSON protocol.
    pub(crate) reports: Vec<Reports>,
    #[serde(deserialize_with = "duration::deserialize")]
    pub(crate) wait_at_most: Duration,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            backend: None,
            command: Vec::new(),
            model: None,
            permissions: Permissions::Edits,
            mode: None,
            timeout: Duration::from_secs(45 * 60),
            idle_timeout: Duration::from_secs(20 * 60),
            env: Vec::new(),
            require_signal: false,
            session: Session::Fresh,
            prompt: None,
            tiers: Tiers::default(),
            fallback: None,
            record: None,
            prices: BTreeMap::new(),
            reports: Vec::new(),
            wait_at_most: Duration::from_secs(6 * 3600),
        }
    }
}

impl Agent {
    /// What only makes sense together.
    pub(super) fn check(&self) -> Result<(), String> {
        let own = self.backend.map(|backend| ("agent", backend, &self.command));
        let other = self.fallback.as_ref().map(|other| ("agent.fallback", other.backend, &other.command));
        for (table, backend, command) in [own, other].into_iter().flatten() {
            needs_command(table, backend, command)?;
        }
        if let Some((model, _)) = self.prices.iter().find(|(_, prices)| prices.input.is_none()) {
            return Err(format!("`agent.prices.{model}` needs `input`, the dollars for a million tokens"));
        }
        Ok(())
    }
}

impl Agent {
    /// The models that may be asked and have no price of the user's, by the names that prices have.
    pub(crate) fn unpriced(&self) -> Vec<String> {
        let usual = self.tiers.standard.as_ref().or(self.model.as_ref());
        let tiers = [&self.tiers.low, &self.tiers.high].into_iter().flatten().map(Some);
        let models = [usual].into_iter().chain(tiers).chain(self.fallback.iter().map(|other| other.model.as_ref()));
        let mut names: Vec<&str> = models.map(|model| model.map_or("default", String::as_str)).collect();
        names.retain(|name| !self.prices.contains_key(*name));
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(|name| format!("`{name}`")).collect()
    }
}

/// What a session begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Session {
    /// Nothing.
    #[default]
    Fresh,
    /// What the one before it left in its context.
    Continue,
}

/// Refuses a backend of `table` that is nothing without a command.
pub(super) fn needs_command(table: &str, backend: Backend, command: &[String]) -> Result<(), String> {
    if backend.program().is_some() || !command.is_empty() {
        return Ok(());
    }
    let needs = if backend == Backend::Scripted { "\"folder\"" } else { "\"program\", \"argument\"" };
    Err(format!("`{table}.backend = \"{}\"` needs `{table}.command = [{needs}]`", backend.name()))
}

/// Another agent: one that takes over, reviews or tidies.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { backend = \"codex\" }")]
pub(crate) struct Other {
    pub(crate) backend: Backend,
    #[serde(default)]
    pub(crate) command: Vec<String>,
    #[serde(default)]
    pub(crate) model: Option<String>,
}

/// Dollars for a million tokens of each kind.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table such as { input = 3, output = 15 }")]
pub(crate) struct ModelPrices {
    #[serde(deserialize_with = "dollars")]
    input: Option<Usd>,
    #[serde(deserialize_with = "dollars")]
    output: Option<Usd>,
    #[serde(deserialize_with = "dollars")]
    cache_read: Option<Usd>,
    #[serde(deserialize_with = "dollars")]
    cache_write: Option<Usd>,
}

impl ModelPrices {
    /// What is not named costs what input costs: too much is better than nothing.
    pub(crate) fn of_engine(self) -> Prices {
        let input = self.input.unwrap_or_default();
        Prices {
            input,
            output: self.output.unwrap_or(input),
            cache_read: self.cache_read.unwrap_or(input),
            cache_write: self.cache_write.unwrap_or(input),
        }
    }
}

/// What an agent in any language may report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reports {
    Cost,
    Tokens,
    Resume,
}

/// Models by how strong they are, and which items get which.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Tiers {
    pub(crate) low: Option<String>,
    pub(crate) standard: Option<String>,
    pub(crate) high: Option<String>,
    pub(crate) low_words: Vec<String>,
    pub(crate) high_words: Vec<String>,
    pub(crate) by_size: bool,
    pub(crate) step_up: bool,
}

impl Tiers {
    /// Which items get which, in the engine's words. What may be dangerous comes before what is easy.
    pub(crate) fn tiering(&self) -> Tiering {
        let rules = [(Tier::High, &self.high_words), (Tier::Low, &self.low_words)];
        Tiering {
            rules: rules.into_iter().map(|(tier, words)| TierRule::new(tier, words)).collect(),
            by_size: self.by_size,
            step_up: self.step_up,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Backend {
    Claude,
    Codex,
    Gemini,
    OpenCode,
    Acp,
    Command,
    Scripted,
}

impl Backend {
    /// As it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
            Self::Acp => "acp",
            Self::Command => "command",
            Self::Scripted => "scripted",
        }
    }

    /// Its program where the settings name none; `None` where they have to.
    pub(crate) fn program(self) -> Option<&'static str> {
        match self {
            Self::Claude | Self::Codex | Self::Gemini | Self::OpenCode => Some(self.name()),
            Self::Acp | Self::Command | Self::Scripted => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Permissions {
    Edits,
    All,
}

#[cfg(test)]
mod tests {
    use ralph_core::Tokens;

    use super::*;

    fn agent(text: &str) -> Result<Agent, String> {
        let agent: Agent = toml::from_str(text).map_err(|error| error.to_string())?;
        agent.check().map(|()| agent)
    }

    #[test]
    fn prices_are_exact_and_never_too_low() {
        let agent = agent("prices.\"gpt-x\" = { input = 1.25, output = \"10\", cache_read = 0.125 }").unwrap();
        let prices = agent.prices["gpt-x"].of_engine();
        let tokens = Tokens { input: 1_000_000, output: 100_000, cache_read: 2_000_000, cache_write: 1_000_000 };
        // 1.25 + 1 + 0.25, and what is written to the cache as what is read.
        assert_eq!(prices.estimate(tokens).micros(), 3_750_000);
    }

    #[test]
    fn who_has_no_price_is_named() {
        let models = "model = \"m\"\ntiers = { low = \"s\", high = \"b\" }\nfallback = { backend = \"codex\" }\n";
        let agent = agent(&format!("{models}prices = {{ m = {{ input = 1 }}, b = {{ input = 2 }} }}")).unwrap();
        assert_eq!(agent.unpriced(), ["`default`", "`s`"]);
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for (text, words) in [
            ("prices.x = { output = 3 }", "agent.prices.x"),
            ("prices.x = { inptu = 3 }", "inptu"),
            ("fallback = { backend = \"command\" }", "agent.fallback.command"),
            ("fallback = { model = \"x\" }", "backend"),
            ("fallback = \"claude\"", "a table such as { backend"),
            ("prices.x = 3", "a table such as { input"),
            ("reports = [\"costs\"]", "costs"),
            ("session = \"old\"", "old"),
        ] {
            let error = agent(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        agent("fallback = { backend = \"claude\", model = \"haiku\" }\nsession = \"continue\"").unwrap();
    }
}
