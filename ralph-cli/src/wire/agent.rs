//! The agent, with what stands around it: other models, another agent, prices.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use ralph_agents::{
    Acp, ClaudeCode, Codex, CommandAgent, Gemini, OpenCode, Permissions as AgentPermissions, ProcessOptions,
    SpawnBudgeted, spawn,
    wrap::{Fallback, Named, Priced, Recorded, Replay, Tiers},
};
use ralph_core::{AgentBackend, AgentError, Capabilities, Reviewer as _, chain};

use ralph_vcs::DEFAULT_KEEP;
use ralph_verify::AgentReviewer;

use crate::{
    error::CliError,
    project::Project,
    settings::{Agent, Backend, Permissions, Reports, Settings},
};

/// Everybody who has sessions, put together.
pub(crate) struct Wired {
    pub(crate) agent: Arc<dyn AgentBackend>,
    /// What tidies work that passed twice, where that is wanted.
    pub(crate) cleanup: Option<Arc<dyn AgentBackend>>,
    /// What may veto it.
    pub(crate) reviewer: Option<AgentReviewer>,
    /// The variables that sessions see beyond the basics, by name.
    pub(crate) variables: BTreeSet<String>,
}

impl Wired {
    /// Who has sessions besides the agent that works, and for what.
    pub(crate) fn asides(&self) -> Vec<(&'static str, &str)> {
        let tidies = self.cleanup.iter().map(|agent| ("clean-up", agent.name()));
        tidies.chain(self.reviewer.iter().map(|reviewer| ("review", reviewer.name()))).collect()
    }
}

/// The agent that the settings name, and those who tidy and review.
pub(crate) fn agent(settings: &Settings, project: &Project) -> Result<Wired, CliError> {
    let mut wired = working(settings, project)?;
    wired.cleanup = super::review::cleanup(settings, project, &mut wired)?;
    wired.reviewer = super::review::review(settings, project, &mut wired)?;
    Ok(wired)
}

/// The agent that works: with its models for tiers, its prices, and another one for when it is out.
pub(super) fn working(settings: &Settings, project: &Project) -> Result<Wired, CliError> {
    let agent = &settings.agent;
    let Some(kind) = agent.backend else {
        return Err(CliError::usage(
            "no agent is set: write `[agent]` with `backend = \"claude\"`, or `backend = \"command\"` and `command = […]`, \
             into ralph-loop/ralph.toml",
        ));
    };
    let mut parts = Parts { agent, project, budget: settings.spawn.limits(), variables: BTreeSet::new() };
    let first = parts.tiers(kind)?;
    let agent: Arc<dyn AgentBackend> = match &agent.fallback {
        None => first,
        Some(other) => {
            let model = other.model.as_ref();
            let name = format!("fallback {}", model.map_or(other.backend.name(), String::as_str));
            let other = parts.priced(other.backend, &other.command, model)?;
            let other = if other.name() == first.name() { Arc::new(Named::new(name, other)) } else { other };
            Arc::new(Fallback::new(first).or(other).map_err(|error| clash(&error))?)
        }
    };
    let agent = match &settings.agent.record {
        Some(folder) => {
            let caches = DEFAULT_KEEP.iter().map(|path| path.trim_end_matches('/')).filter(|path| !path.contains('/'));
            Arc::new(Recorded::new(agent, project.root.join(folder)).leave_out(caches)) as Arc<dyn AgentBackend>
        }
        None => agent,
    };
    Ok(Wired { agent, cleanup: None, reviewer: None, variables: parts.variables })
}

/// What backends are made of.
struct Parts<'a> {
    agent: &'a Agent,
    project: &'a Project,
    budget: spawn::Limits,
    variables: BTreeSet<String>,
}

impl Parts<'_> {
    /// One backend for each model that a tier names.
    fn tiers(&mut self, kind: Backend) -> Result<Arc<dyn AgentBackend>, CliError> {
        let agent = self.agent;
        let names = &agent.tiers;
        let standard = names.standard.as_ref().or(agent.model.as_ref());
        let [low, high] = [&names.low, &names.high].map(|name| name.as_ref().filter(|name| Some(*name) != standard));
        let usual = self.priced(kind, &agent.command, standard)?;
        if low.is_none() && high.is_none() {
            return Ok(usual);
        }
        let mut tiers = Tiers::new(match standard {
            Some(model) => Arc::new(Named::new(model, usual)),
            None => usual,
        });
        if let Some(model) = low {
            let small = Named::new(model, self.priced(kind, &agent.command, Some(model))?);
            tiers = tiers.low(small).map_err(|error| clash(&error))?;
        }
        if let Some(model) = high {
            // One model may be for both.
            let name = if low == Some(model) { format!("high {model}") } else { model.clone() };
            let big = Named::new(name, self.priced(kind, &agent.command, Some(model))?);
            tiers = tiers.high(big).map_err(|error| clash(&error))?;
        }
        Ok(Arc::new(tiers))
    }

    /// A backend whose sessions have a spawn budget, with the user's own prices for the model, where there are any.
    fn priced(
        &mut self,
        kind: Backend,
        command: &[String],
        model: Option<&String>,
    ) -> Result<Arc<dyn AgentBackend>, CliError> {
        let budgets = super::spawn_budgets()?;
        let bare = self.bare(kind, command, model)?;
        let inner: Arc<dyn AgentBackend> = Arc::new(SpawnBudgeted::new(bare, budgets, self.budget));
        Ok(match self.agent.prices.get(model.map_or("default", String::as_str)) {
            Some(prices) => Arc::new(Priced::new(inner, prices.of_engine())),
            None => inner,
        })
    }

    /// The backend by itself.
    fn bare(
        &mut self,
        kind: Backend,
        command: &[String],
        model: Option<&String>,
    ) -> Result<Arc<dyn AgentBackend>, CliError> {
        let agent = self.agent;
        let options =
            ProcessOptions { env: agent.env.clone(), idle: Some(agent.idle_timeout), ..ProcessOptions::default() };
        let permissions = match agent.permissions {
            Permissions::Edits => AgentPermissions::Edits,
            Permissions::All => AgentPermissions::All,
        };
        let (program, args) = match command.split_first() {
            Some((program, args)) => (at_root(self.project, program), args),
            None => {
                (PathBuf::from(kind.program().ok_or_else(|| CliError::usage("`agent.command` is empty"))?), command)
            }
        };
        // What the programs have in common, and no trait: each is put together once.
        macro_rules! program {
            ($backend:ident) => {{
                let mut backend = $backend::new().program(program).args(args).options(options).permissions(permissions);
                if let Some(model) = model {
                    backend = backend.model(model);
                }
                backend
            }};
        }
        let (made, variables): (Arc<dyn AgentBackend>, _) = match kind {
            Backend::Claude => {
                let mut claude = program!(ClaudeCode);
                // The hook that counts the agents which a session starts. Somebody's own settings come before it.
                if !args.iter().any(|arg| arg == "--settings") {
                    let ralph = std::env::current_exe();
                    let ralph = ralph.map_err(|error| CliError::failed("where this program is", &error))?;
                    claude = claude.args(["--settings".to_owned(), spawn::claude_settings(&ralph)]);
                }
                let variables = claude.variables();
                (Arc::new(claude), variables)
            }
            Backend::Codex => {
                let codex = program!(Codex);
                let variables = codex.variables();
                (Arc::new(codex), variables)
            }
            Backend::Gemini => {
                let gemini = program!(Gemini);
                let variables = gemini.variables();
                (Arc::new(gemini), variables)
            }
            Backend::OpenCode => {
                let opencode = program!(OpenCode);
                let variables = opencode.variables();
                (Arc::new(opencode), variables)
            }
            Backend::Acp => {
                let mut reports = Capabilities::none();
                (reports.cost, reports.tokens) = (self.says(Reports::Cost), self.says(Reports::Tokens));
                let mut acp = Acp::new(program).args(args).options(options).permissions(permissions).reports(reports);
                if let Some(mode) = &agent.mode {
                    acp = acp.mode(mode);
                }
                if let Some(model) = model {
                    acp = acp.model(model);
                }
                let variables = acp.variables();
                (Arc::new(acp), variables)
            }
            Backend::Command => {
                let mut any = CommandAgent::new(program).args(args).options(options);
                if self.says(Reports::Cost) {
                    any = any.reports_cost();
                }
                if self.says(Reports::Tokens) {
                    any = any.reports_tokens();
                }
                if self.says(Reports::Resume) {
                    any = any.resumes();
                }
                let variables = any.variables();
                (Arc::new(any), variables)
            }
            Backend::Scripted => {
                let folder = self.project.root.join(&program);
                let replay = Replay::open(folder)
                    .map_err(|error| CliError::usage(format!("`agent.backend = \"scripted\"`: {}", chain(&error))))?;
                (Arc::new(replay), Vec::new())
            }
        };
        self.variables.extend(variables);
        Ok(made)
    }

    /// Whether the user says that the agent reports this.
    fn says(&self, what: Reports) -> bool {
        self.agent.reports.contains(&what)
    }
}

fn clash(error: &AgentError) -> CliError {
    CliError::usage(format!("`agent`: {}", chain(error)))
}

/// A bare name stays one: it is looked for on the `PATH`. A relative path to the program counts from the repository's root,
/// wherever the person stands.
fn at_root(project: &Project, program: &str) -> PathBuf {
    if program.contains('/') { project.root.join(program) } else { PathBuf::from(program) }
}
