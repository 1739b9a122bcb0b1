//! The agent, with what stands around it: other models, another agent, prices.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use ralph_agents::{
    ClaudeCode, CommandAgent, Permissions as AgentPermissions, ProcessOptions,
    wrap::{Fallback, Named, Priced, Tiers},
};
use ralph_core::{AgentBackend, AgentError, chain};

use crate::{
    error::CliError,
    project::Project,
    settings::{Agent, Backend, Permissions, Reports, Settings},
};

/// The agent that the settings name: with its models for tiers, its prices, and another one for when it is out.
pub(crate) fn agent(settings: &Settings, project: &Project) -> Result<Arc<dyn AgentBackend>, CliError> {
    let agent = &settings.agent;
    let Some(kind) = agent.backend else {
        return Err(CliError::usage(
            "no agent is set: write `[agent]` with `backend = \"claude\"`, or `backend = \"command\"` and `command = […]`, \
             into ralph-loop/ralph.toml",
        ));
    };
    let first = tiers(agent, kind, project)?;
    let Some(other) = &agent.fallback else { return Ok(first) };
    let name = format!("fallback {}", other.model.as_deref().unwrap_or(other.backend.name()));
    let other = priced(
        agent,
        other.model.as_ref(),
        backend(agent, other.backend, &other.command, other.model.as_ref(), project)?,
    );
    let other = if other.name() == first.name() { Arc::new(Named::new(name, other)) } else { other };
    Ok(Arc::new(Fallback::new(first).or(other).map_err(|error| clash(&error))?))
}

/// One backend for each model that a tier names.
fn tiers(agent: &Agent, kind: Backend, project: &Project) -> Result<Arc<dyn AgentBackend>, CliError> {
    let names = &agent.tiers;
    let standard = names.standard.as_ref().or(agent.model.as_ref());
    let one = |model: Option<&String>| -> Result<Arc<dyn AgentBackend>, CliError> {
        Ok(priced(agent, model, backend(agent, kind, &agent.command, model, project)?))
    };
    let several: BTreeSet<Option<&String>> =
        [standard, names.low.as_ref().or(standard), names.high.as_ref().or(standard)].into_iter().collect();
    if several.len() == 1 {
        return one(standard);
    }
    let named = |model: Option<&String>| -> Result<Arc<dyn AgentBackend>, CliError> {
        let inner = one(model)?;
        Ok(match model {
            Some(model) => Arc::new(Named::new(model, inner)),
            None => inner,
        })
    };
    let mut tiers = Tiers::new(named(standard)?);
    if names.low.is_some() && names.low.as_ref() != standard {
        tiers = tiers.low(named(names.low.as_ref())?).map_err(|error| clash(&error))?;
    }
    if names.high.is_some() && names.high.as_ref() != standard {
        tiers = tiers.high(named(names.high.as_ref())?).map_err(|error| clash(&error))?;
    }
    Ok(Arc::new(tiers))
}

fn clash(error: &AgentError) -> CliError {
    CliError::usage(format!("`agent`: {}", chain(error)))
}

/// With the user's own prices for the model, where there are any.
fn priced(agent: &Agent, model: Option<&String>, inner: Arc<dyn AgentBackend>) -> Arc<dyn AgentBackend> {
    match agent.prices.get(model.map_or("default", String::as_str)) {
        Some(prices) => Arc::new(Priced::new(inner, prices.of_engine())),
        None => inner,
    }
}

/// The backend by itself. A relative path to its program counts from the repository's root, wherever the person stands.
fn backend(
    agent: &Agent,
    kind: Backend,
    command: &[String],
    model: Option<&String>,
    project: &Project,
) -> Result<Arc<dyn AgentBackend>, CliError> {
    let options =
        ProcessOptions { env: agent.env.clone(), idle: Some(agent.idle_timeout), ..ProcessOptions::default() };
    let permissions = match agent.permissions {
        Permissions::Edits => AgentPermissions::Edits,
        Permissions::All => AgentPermissions::All,
    };
    let program = command.split_first().map(|(program, args)| (at_root(project, program), args));
    Ok(match kind {
        Backend::Claude => {
            let mut claude = ClaudeCode::new().options(options).permissions(permissions);
            if let Some((program, args)) = program {
                claude = claude.program(program).args(args);
            }
            if let Some(model) = model {
                claude = claude.model(model);
            }
            Arc::new(claude)
        }
        Backend::Command => {
            let Some((program, args)) = program else {
                return Err(CliError::usage("the command of the agent is empty"));
            };
            let mut any = CommandAgent::new(program).args(args).options(options);
            for what in &agent.reports {
                any = match what {
                    Reports::Cost => any.reports_cost(),
                    Reports::Tokens => any.reports_tokens(),
                    Reports::Resume => any.resumes(),
                };
            }
            Arc::new(any)
        }
    })
}

/// A bare name stays one: it is looked for on the `PATH`.
fn at_root(project: &Project, program: &str) -> PathBuf {
    if program.contains('/') { project.root.join(program) } else { PathBuf::from(program) }
}
