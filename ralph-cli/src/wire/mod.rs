//! Puts the parts together as the settings say.

mod agent;
mod checks;
mod review;

use std::{path::PathBuf, sync::Arc};

use etcetera::BaseStrategy as _;
use ralph_core::{AgentBackend, DecisionKind, Gate, Prompt, Publish, chain, ledger::Registry};
use ralph_vcs::{DEFAULT_KEEP, GitOptions, GitPublish, GitVcs};
use ralph_verify::{
    CommandVerifier, EnvCheck, SetupVerifier, Shell,
    policy::{Action, Dependencies, Paths, PolicyError, Protected},
};

pub(crate) use agent::{Wired, agent};
pub(crate) use checks::{bad as bad_checks, checks, requires_red, test_evidence};

use crate::{
    error::CliError,
    looping::Loop,
    project::Project,
    settings::{self, Session, Settings},
};

/// What the settings ask for and the agent cannot do.
pub(crate) fn refuse_what_it_cannot(settings: &Settings, agent: &dyn AgentBackend) -> Result<(), CliError> {
    let (can, name) = (agent.capabilities(), agent.name());
    if settings.agent.session == Session::Continue && !can.resume {
        return Err(CliError::usage(format!(
            "`agent.session` is \"continue\", and the agent `{name}` cannot go on with a session: remove it, or use an agent \
             that can"
        )));
    }
    let missing = [
        (settings.budget.cost_usd.is_some() && !can.cost, "budget.cost_usd", "what it costs"),
        (settings.budget.tokens.is_some() && !can.tokens, "budget.tokens", "its tokens"),
    ];
    match missing.into_iter().find(|(missing, _, _)| *missing) {
        // Tokens and a price are as good.
        Some((_, key @ "budget.cost_usd", what)) if can.tokens => Err(CliError::usage(format!(
            "`{key}` is set, and the agent `{name}` does not report {what}: remove it, or say in `[agent.prices]` what a \
             million of its tokens cost; no price is known for {}",
            settings.agent.unpriced().join(", ")
        ))),
        Some((_, key, what)) => Err(CliError::usage(format!(
            "`{key}` is set, and the agent `{name}` does not report {what}: remove it, or use an agent that does"
        ))),
        None => Ok(()),
    }
}

/// The template of prompts.
pub(crate) fn prompt(settings: &Settings, project: &Project, looped: &Loop) -> Result<Prompt, CliError> {
    let Some(path) = &settings.agent.prompt else { return Ok(looped.prompt()) };
    let path = project.root.join(path);
    let fail = |why: String| CliError::usage(format!("`agent.prompt`: {}: {why}", path.display()));
    let template = std::fs::read_to_string(&path).map_err(|error| fail(error.to_string()))?;
    Prompt::new(template).map_err(fail)
}

/// What says that a loop at an interval has run long enough.
pub(crate) fn until(settings: &Settings, command: &str) -> CommandVerifier {
    CommandVerifier::new(shell(settings)).named("until").only(command).test_evidence(false)
}

fn shell(settings: &Settings) -> Shell {
    let verify = &settings.verify;
    Shell::new()
        .inherit(verify.env.iter().cloned())
        .time_limit(verify.timeout)
        .broken_exits(verify.broken_exits.iter().copied())
}

/// The verifier of the plan's commands.
pub(crate) fn verifier(settings: &Settings) -> CommandVerifier {
    CommandVerifier::new(shell(settings)).confirm(settings.verify.confirm).test_evidence(test_evidence(settings))
}

pub(crate) fn setup(settings: &Settings) -> SetupVerifier {
    SetupVerifier::new(shell(settings))
}

pub(crate) fn env_check(settings: &Settings) -> EnvCheck {
    EnvCheck::new(shell(settings))
}

/// The folder with this repository's workspaces.
pub(crate) fn sites(settings: &Settings, project: &Project) -> Result<PathBuf, CliError> {
    if let Some(folder) = &settings.run.workspaces {
        return Ok(project.root.join(folder).join(project.slug()));
    }
    Ok(state_folder()?.join("workspaces").join(project.slug()))
}

/// The user's folder for what programs remember.
pub(crate) fn state_folder() -> Result<PathBuf, CliError> {
    let folders = etcetera::base_strategy::Xdg::new()
        .map_err(|error| CliError::failed("the user's home folder is not known", &error))?;
    Ok(folders.state_dir().unwrap_or_else(|| folders.data_dir()).join("ralph"))
}

/// Where the spawn budgets of the sessions of all runs are.
pub(crate) fn spawn_budgets() -> Result<PathBuf, CliError> {
    Ok(state_folder()?.join("spawn").join("runs"))
}

/// The projects that this user knows.
pub(crate) fn registry() -> Result<Registry, CliError> {
    Ok(Registry::at(state_folder()?.join("projects")))
}

/// The gates that read a candidate and raise a decision whatever the agent says.
pub(crate) fn policies(settings: &Settings) -> Result<Vec<Arc<dyn Gate>>, CliError> {
    let policy = &settings.policy;
    let mut gates: Vec<Arc<dyn Gate>> = Vec::new();
    match policy.dependencies {
        settings::Dependencies::Ask => gates.push(Arc::new(Dependencies::new())),
        settings::Dependencies::Refuse => gates.push(Arc::new(Dependencies::new().action(Action::Refuse))),
        settings::Dependencies::Allow => {}
    }
    let bad = |key: &str, error: PolicyError| CliError::usage(format!("`policy.{key}`: {}", chain(&error)));
    for (key, kind, globs) in [
        ("security", DecisionKind::Security, &policy.security),
        ("database", DecisionKind::Database, &policy.database),
        ("public_api", DecisionKind::PublicApi, &policy.public_api),
    ] {
        if !globs.is_empty() {
            gates.push(Arc::new(Paths::new(kind, globs).map_err(|error| bad(key, error))?));
        }
    }
    for entry in &policy.protected {
        // A slip of the pen would take all protection away.
        let bare = entry.chars().all(|c| c.is_ascii_alphabetic());
        if bare && entry != "default" && strsim::damerau_levenshtein(&entry.to_lowercase(), "default") <= 2 {
            return Err(CliError::usage(format!("`policy.protected`: `{entry}` is not `default`: did you mean that?")));
        }
    }
    gates.push(Arc::new(Protected::new(&policy.protected).map_err(|error| bad("protected", error))?));
    Ok(gates)
}

/// How git is used for `branch`.
pub(crate) fn git(settings: &Settings, project: &Project, branch: &str) -> Result<GitOptions, CliError> {
    let mut options = GitOptions::new(&project.root, branch, sites(settings, project)?);
    options.keep = Vec::new();
    for entry in &settings.verify.keep {
        match entry.as_str() {
            "default" => options.keep.extend(DEFAULT_KEEP.iter().map(|&path| path.to_owned())),
            path => options.keep.push(path.to_owned()),
        }
    }
    options.author.clone_from(&settings.run.author);
    options.environment.clone_from(&project.environment);
    Ok(options)
}

/// What pushes the branch after each accepted item, where that is set.
pub(crate) async fn publish(settings: &Settings, vcs: &GitVcs) -> Result<Option<Arc<dyn Publish>>, CliError> {
    match &settings.run.push {
        Some(remote) => Ok(Some(Arc::new(GitPublish::open(vcs, remote).await?))),
        None => Ok(None),
    }
}
