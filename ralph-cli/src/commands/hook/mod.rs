//! `ralph hook`: answers to the hooks of Claude Code, and of agents that speak its protocol. See `docs/hooks.md`.
//!
//! What the agent's program says comes as JSON on stdin, the answer goes as JSON to stdout; no answer and exit code 0 is
//! leave. Nothing of an agent's own words decides.

mod pre_tool_use;
mod record;
mod session_start;
mod stop;

use std::{
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::{
    args::{self, HookEvent},
    error::CliError,
    project::Project,
    settings::{self, Settings},
};

pub(crate) async fn hook(directory: &Path, args: &args::Hook) -> Result<u8, CliError> {
    match args.event {
        HookEvent::PreToolUse => Ok(pre_tool_use::pre_tool_use(directory)),
        HookEvent::SessionStart => Ok(session_start::session_start(directory)),
        HookEvent::Stop => Ok(stop::stop(directory).await),
    }
}

/// More than any agent's program says: a whole prompt is in it.
const INPUT_MAX: u64 = 16 << 20;

/// What the agent's program says, as far as we care.
#[derive(Debug, Deserialize)]
struct Input {
    session_id: Option<String>,
    cwd: Option<PathBuf>,
    hook_event_name: Option<String>,
    /// The subagent that it is about; none for the session itself.
    agent_id: Option<String>,
    tool_name: Option<String>,
    tool_use_id: Option<String>,
    /// Why a session begins.
    source: Option<String>,
}

impl Input {
    /// Reads it from stdin.
    fn read() -> Result<Self, String> {
        let mut text = Vec::new();
        io::stdin().take(INPUT_MAX + 1).read_to_end(&mut text).map_err(|error| error.to_string())?;
        if text.len() as u64 > INPUT_MAX {
            return Err("it is too long".to_owned());
        }
        serde_json::from_slice(&text).map_err(|error| error.to_string())
    }

    /// The id of the session, where there is one.
    fn session(&self) -> Option<&str> {
        self.session_id.as_deref().filter(|id| !id.is_empty())
    }

    /// The repositories that the session may be of: the one where it works now, and the one where it began.
    fn projects(&self, directory: &Path) -> Vec<Project> {
        let now = self.cwd.as_deref().unwrap_or(directory).to_owned();
        let began = std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
        let mut found: Vec<Project> = Vec::new();
        for folder in [Some(now), began].into_iter().flatten() {
            let project = Project::find(&folder).ok();
            found.extend(project.filter(|project| found.iter().all(|known| known.root != project.root)));
        }
        found
    }
}

/// The settings that hold in `project`. Bad ones are told, and the defaults hold instead.
fn settings(project: Option<&Project>) -> Settings {
    let path = project.map_or_else(|| PathBuf::from("ralph-loop/ralph.toml"), Project::settings);
    match settings::load(&path, &[]) {
        Ok(loaded) => loaded.settings,
        Err(error) => {
            say(&format!("{error}; the defaults hold"));
            Settings::default()
        }
    }
}

/// Whether `ralph run` started this session: then the loop's own verifier judges it.
fn is_of_a_run() -> bool {
    std::env::var_os("RALPH_RUN_ID").is_some_and(|run| !run.is_empty())
}

/// Says something to people, on stderr. That nobody listens is no reason to answer otherwise.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "ralph hook: {text}");
}
