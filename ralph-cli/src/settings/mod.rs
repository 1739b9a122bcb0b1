//! Settings: what there is, and where each value comes from.
//!
//! `layers` puts them together: flags, then the environment, then the project's file, then the user's, then defaults.

mod agent;
mod duration;
mod hooks;
mod layers;
mod review;

use std::time::Duration;

use ralph_core::{Budget, Usd, machine::RetryFrom};
use serde::{Deserialize, Deserializer, Serialize};

pub(crate) use agent::{Agent, Backend, Other, Permissions, Reports, Session, Tiers};
pub(crate) use duration::{parse as parse_duration, show as show_duration};
pub(crate) use hooks::{Hook, Spawn};
pub(crate) use layers::{Loaded, Value, load};
pub(crate) use review::{Cleanup, Review, Role};

/// Every key with its default as people write it, for showing. A test compares it with the code.
pub(super) const DEFAULTS: &[(&str, &str)] = &[
    ("agent.backend", "(unset)"),
    ("agent.command", "[]"),
    ("agent.env", "[]"),
    ("agent.fallback", "(unset)"),
    ("agent.idle_timeout", "\"20m\""),
    ("agent.mode", "(unset)"),
    ("agent.model", "(unset)"),
    ("agent.permissions", "\"edits\""),
    ("agent.prices", "{}"),
    ("agent.prompt", "(unset)"),
    ("agent.record", "(unset)"),
    ("agent.reports", "[]"),
    ("agent.require_signal", "false"),
    ("agent.session", "\"fresh\""),
    ("agent.tiers.by_size", "false"),
    ("agent.tiers.high", "(unset)"),
    ("agent.tiers.high_words", "[]"),
    ("agent.tiers.low", "(unset)"),
    ("agent.tiers.low_words", "[]"),
    ("agent.tiers.standard", "(unset)"),
    ("agent.tiers.step_up", "false"),
    ("agent.timeout", "\"45m\""),
    ("agent.wait_at_most", "\"6h\""),
    ("budget.blockers_per_phase", "3"),
    ("budget.blockers_per_plan", "10"),
    ("budget.checkpoint_every", "5"),
    ("budget.cost_usd", "(unset)"),
    ("budget.iterations", "30"),
    ("budget.no_progress", "2"),
    ("budget.sessions", "100"),
    ("budget.time", "\"8h\""),
    ("budget.tokens", "(unset)"),
    ("cleanup.agent", "(unset)"),
    ("cleanup.enabled", "false"),
    ("hook.max_blocks", "8"),
    ("hook.timeout", "\"9m\""),
    ("policy.database", "[\"**/migrations/**\", \"**/schema.*\"]"),
    ("policy.dependencies", "\"ask\""),
    ("policy.protected", "[\"default\"]"),
    ("policy.public_api", "[]"),
    ("policy.security", "[\"**/auth/**\", \"**/*secret*\", \"**/crypto/**\"]"),
    ("review.agent", "(unset)"),
    ("review.enabled", "false"),
    ("review.role", "\"architect\""),
    ("review.thorough", "[\"default\"]"),
    ("run.attempts", "2"),
    ("run.author", "(unset)"),
    ("run.branch", "\"ralph/{plan}\""),
    ("run.on_conflict", "\"refuse\""),
    ("run.on_stop", "(unset)"),
    ("run.push", "(unset)"),
    ("run.retry_from", "\"kept\""),
    ("run.workspaces", "(unset)"),
    ("spawn.children", "5"),
    ("spawn.depth", "(unset)"),
    ("spawn.total", "12"),
    ("verify.broken_exits", "[]"),
    ("verify.checks", "[\"default\"]"),
    ("verify.command", "(unset)"),
    ("verify.confirm", "1"),
    ("verify.env", "[]"),
    ("verify.env_check", "(unset)"),
    ("verify.keep", "[\"default\"]"),
    ("verify.setup", "(unset)"),
    ("verify.timeout", "\"15m\""),
];

/// Everything that can be set. The names are those of `ralph.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) agent: Agent,
    pub(crate) verify: Verify,
    pub(crate) run: Run,
    pub(crate) budget: Limits,
    pub(crate) policy: Policy,
    pub(crate) review: Review,
    pub(crate) cleanup: Cleanup,
    pub(crate) spawn: Spawn,
    pub(crate) hook: Hook,
}

/// What a person is asked about, whatever the agent says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Policy {
    pub(crate) dependencies: Dependencies,
    pub(crate) security: Vec<String>,
    pub(crate) database: Vec<String>,
    pub(crate) public_api: Vec<String>,
    pub(crate) protected: Vec<String>,
}

impl Default for Policy {
    fn default() -> Self {
        let globs = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect();
        Self {
            dependencies: Dependencies::Ask,
            security: globs(&["**/auth/**", "**/*secret*", "**/crypto/**"]),
            database: globs(&["**/migrations/**", "**/schema.*"]),
            public_api: Vec::new(),
            protected: globs(&["default"]),
        }
    }
}

/// What becomes of work that brings a new dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Dependencies {
    Ask,
    Allow,
    Refuse,
}

impl Dependencies {
    /// As it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Allow => "allow",
            Self::Refuse => "refuse",
        }
    }
}

/// What `ralph run` does where another one is at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub(crate) enum OnConflict {
    /// Say who is at work, and do nothing
    #[default]
    Refuse,
    /// Follow the run that is on to its end
    AdoptExisting,
    /// Check and bring records up to date, without any session
    ArtifactOnly,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Verify {
    pub(crate) command: Option<String>,
    pub(crate) setup: Option<String>,
    pub(crate) env_check: Option<String>,
    #[serde(deserialize_with = "duration::deserialize")]
    pub(crate) timeout: Duration,
    pub(crate) confirm: u32,
    pub(crate) checks: Vec<String>,
    pub(crate) env: Vec<String>,
    pub(crate) broken_exits: Vec<i32>,
    pub(crate) keep: Vec<String>,
}

impl Default for Verify {
    fn default() -> Self {
        Self {
            command: None,
            setup: None,
            env_check: None,
            timeout: Duration::from_secs(15 * 60),
            confirm: 1,
            checks: vec!["default".to_owned()],
            env: Vec::new(),
            broken_exits: Vec::new(),
            keep: vec!["default".to_owned()],
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Run {
    pub(crate) branch: String,
    pub(crate) attempts: u32,
    pub(crate) retry_from: RetryFrom,
    pub(crate) workspaces: Option<std::path::PathBuf>,
    pub(crate) author: Option<String>,
    pub(crate) push: Option<String>,
    pub(crate) on_stop: Option<String>,
    pub(crate) on_conflict: OnConflict,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            branch: "ralph/{plan}".to_owned(),
            attempts: 2,
            retry_from: RetryFrom::Kept,
            workspaces: None,
            author: None,
            push: None,
            on_stop: None,
            on_conflict: OnConflict::Refuse,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    iterations: u32,
    #[serde(deserialize_with = "duration::deserialize")]
    time: Duration,
    sessions: u32,
    #[serde(deserialize_with = "dollars")]
    pub(crate) cost_usd: Option<Usd>,
    pub(crate) tokens: Option<u64>,
    blockers_per_phase: u32,
    blockers_per_plan: u32,
    no_progress: u32,
    checkpoint_every: u32,
}

impl Default for Limits {
    fn default() -> Self {
        let usual = Budget::default();
        Self {
            iterations: usual.iterations,
            time: usual.time,
            sessions: usual.sessions,
            cost_usd: None,
            tokens: None,
            blockers_per_phase: usual.blockers_per_phase,
            blockers_per_plan: usual.blockers_per_plan,
            no_progress: usual.no_progress,
            checkpoint_every: usual.checkpoint_every,
        }
    }
}

/// An amount, written as a number or in quotes.
fn dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Usd>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Amount {
        Whole(u64),
        Part(f64),
        Text(String),
    }
    let amount = match Amount::deserialize(deserializer)? {
        Amount::Whole(dollars) => dollars.to_string().parse::<Usd>(),
        Amount::Part(dollars) => Usd::from_f64(dollars).ok_or_else(|| format!("{dollars} is not an amount of dollars")),
        Amount::Text(text) => text.parse(),
    };
    amount.map(Some).map_err(serde::de::Error::custom)
}

impl Settings {
    /// The limits, in the engine's words.
    pub(crate) fn budget(&self) -> Budget {
        let limits = &self.budget;
        let mut budget = Budget::default();
        budget.iterations = limits.iterations;
        budget.time = limits.time;
        budget.sessions = limits.sessions;
        budget.cost = limits.cost_usd;
        budget.tokens = limits.tokens;
        budget.blockers_per_phase = limits.blockers_per_phase;
        budget.blockers_per_plan = limits.blockers_per_plan;
        budget.no_progress = limits.no_progress;
        budget.checkpoint_every = limits.checkpoint_every;
        budget.wait_at_most = self.agent.wait_at_most;
        budget
    }

    /// What only makes sense together.
    fn check(&self) -> Result<(), String> {
        let limits = &self.budget;
        let counts = [
            ("budget.iterations", limits.iterations),
            ("budget.sessions", limits.sessions),
            ("budget.blockers_per_phase", limits.blockers_per_phase),
            ("budget.blockers_per_plan", limits.blockers_per_plan),
            ("budget.no_progress", limits.no_progress),
            ("budget.checkpoint_every", limits.checkpoint_every),
            ("run.attempts", self.run.attempts),
            ("verify.confirm", self.verify.confirm),
        ];
        if let Some((name, _)) = counts.into_iter().find(|(_, value)| *value == 0) {
            return Err(format!("`{name}` must be at least 1"));
        }
        self.agent.check()?;
        for (table, other) in [("review.agent", &self.review.agent), ("cleanup.agent", &self.cleanup.agent)] {
            if let Some(other) = other {
                agent::needs_command(table, other.backend, &other.command)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the page about agents tells people to write is understood.
    #[test]
    fn the_settings_of_the_docs_load() {
        let page = include_str!("../../../docs/agents.md");
        let blocks: Vec<&str> = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
        assert!(blocks.len() >= 4, "{blocks:?}");
        for block in blocks {
            let settings: Settings = toml::from_str(block).unwrap_or_else(|error| panic!("{block}: {error}"));
            settings.check().unwrap_or_else(|why| panic!("{block}: {why}"));
        }
    }

    #[test]
    fn the_defaults_that_are_shown_are_those_of_the_code() {
        let text: String = DEFAULTS
            .iter()
            .filter(|(_, value)| *value != "(unset)")
            .map(|(key, value)| format!("{key} = {value}\n"))
            .collect();
        let shown: Settings = toml::from_str(&text).unwrap();
        assert_eq!(format!("{shown:?}"), format!("{:?}", Settings::default()));
    }
}
