//! The reviewer and the clean-up, where the settings want them.

use std::sync::Arc;

use ralph_core::{AgentBackend, chain};
use ralph_verify::{AgentReviewer, Role};

use super::{
    agent::{Wired, working},
    refuse_what_it_cannot,
};
use crate::{
    error::CliError,
    project::Project,
    settings::{self, Agent, Other, Session, Settings},
};

/// The reviewer, made of the agent that works, unless another is named.
pub(super) fn review(
    settings: &Settings,
    project: &Project,
    wired: &mut Wired,
) -> Result<Option<AgentReviewer>, CliError> {
    let review = &settings.review;
    if !review.enabled {
        return Ok(None);
    }
    let role = match review.role {
        settings::Role::Architect => Role::Architect,
        settings::Role::Critic => Role::Critic,
    };
    let named = &settings.policy;
    let paths = review.thorough.iter().chain(&named.security).chain(&named.database).chain(&named.public_api);
    let agent = of_table("review", review.agent.as_ref(), settings, project, wired)?;
    let reviewer = AgentReviewer::new(agent).role(role).thorough(paths);
    reviewer.map(Some).map_err(|error| CliError::usage(format!("`review.thorough`: {}", chain(&error))))
}

/// The agent that tidies.
pub(super) fn cleanup(
    settings: &Settings,
    project: &Project,
    wired: &mut Wired,
) -> Result<Option<Arc<dyn AgentBackend>>, CliError> {
    if !settings.cleanup.enabled {
        return Ok(None);
    }
    of_table("cleanup", settings.cleanup.agent.as_ref(), settings, project, wired).map(Some)
}

/// The agent that a table names, with everything else as `[agent]` has it.
fn of_table(
    table: &str,
    other: Option<&Other>,
    settings: &Settings,
    project: &Project,
    wired: &mut Wired,
) -> Result<Arc<dyn AgentBackend>, CliError> {
    let Some(other) = other else { return Ok(Arc::clone(&wired.agent)) };
    let in_table = |error: CliError| CliError::usage(format!("`{table}.agent`: {error}"));
    let own = Agent {
        backend: Some(other.backend),
        command: other.command.clone(),
        model: other.model.clone(),
        session: Session::Fresh,
        fallback: None,
        record: None,
        tiers: settings::Tiers::default(),
        ..settings.agent.clone()
    };
    let settings = Settings { agent: own, ..settings.clone() };
    let other = working(&settings, project).map_err(in_table)?;
    refuse_what_it_cannot(&settings, &*other.agent).map_err(in_table)?;
    wired.variables.extend(other.variables);
    Ok(other.agent)
}
