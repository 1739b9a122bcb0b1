//! How each agent is set, so that it asks the model of a test.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{install::Clis, model::Model};
use crate::e2e::support::{Ended, Scratch};

/// The key that every agent has. It is none.
pub(super) const KEY: &str = "sk-not-a-key";

/// What a test tells of an agent to `ralph`.
pub(super) struct Agent {
    /// The settings below `[agent]`.
    pub(super) settings: String,
    /// What stands in the environment of whoever starts `ralph`.
    pub(super) variables: Vec<(&'static str, String)>,
    /// Where in the home it keeps its sessions.
    pub(super) sessions: &'static str,
}

/// Claude Code, which as root may do anything only where it is told that this is a sandbox.
pub(super) fn claude(clis: &Clis, model: &Model, permissions: &str) -> Agent {
    Agent {
        settings: format!(
            "backend = \"claude\"\npermissions = \"{permissions}\"\ncommand = [{:?}]\n",
            clis.claude.to_str().unwrap()
        ),
        variables: vec![
            ("ANTHROPIC_API_KEY", KEY.to_owned()),
            ("ANTHROPIC_BASE_URL", model.url()),
            ("IS_SANDBOX", "1".to_owned()),
        ],
        sessions: ".claude/projects",
    }
}

/// Codex with its own provider, which is told another place.
pub(super) fn codex(clis: &Clis, model: &Model, permissions: &str) -> Agent {
    let base = format!("openai_base_url=\"{}/v1\"", model.url());
    Agent {
        settings: format!(
            "backend = \"codex\"\npermissions = \"{permissions}\"\ncommand = [{:?}, \"-c\", {base:?}]\n",
            clis.codex.to_str().unwrap()
        ),
        variables: vec![("CODEX_API_KEY", KEY.to_owned())],
        sessions: ".codex/sessions",
    }
}

impl Agent {
    /// The same with one more variable, or another value of one.
    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.variables.retain(|(other, _)| *other != name);
        self.variables.push((name, value.to_owned()));
        self
    }

    /// The same without a variable.
    pub(super) fn without(mut self, name: &str) -> Self {
        self.variables.retain(|(other, _)| *other != name);
        self
    }

    /// Runs `ralph run` with it in this repository, and more arguments.
    pub(super) fn run(&self, scratch: &Scratch, args: &[&str]) -> Ended {
        scratch.write("ralph-loop/ralph.toml", format!("[agent]\n{}", self.settings));
        let variables = self.environment(scratch);
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        scratch.start_with(&[&["run"], args].concat(), &variables).end()
    }

    /// Runs Claude Code itself, as a person does in a script; what it printed.
    #[track_caller]
    pub(super) fn alone(&self, clis: &Clis, scratch: &Scratch, folder: &Path, prompt: &str) -> String {
        let mut command = Command::new(&clis.claude);
        command.args(["-p", "--permission-mode", "acceptEdits", prompt]).current_dir(folder).stdin(Stdio::null());
        scratch.operators(&mut command);
        let output = command.envs(self.environment(scratch)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        said
    }

    fn environment(&self, scratch: &Scratch) -> Vec<(&'static str, String)> {
        // Hooks call `ralph` by its name.
        let ours = Path::new(env!("CARGO_BIN_EXE_ralph")).parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap();
        let path = std::env::join_paths([ours].into_iter().chain(std::env::split_paths(&path))).unwrap();
        // What agents leave in a folder for temporary files, they leave with the test.
        let temporary = scratch.path("home");
        let mut variables = [("PATH", path), ("TMPDIR", temporary.into())]
            .map(|(name, value)| (name, value.into_string().unwrap()))
            .to_vec();
        variables.extend(self.variables.iter().cloned());
        variables
    }

    /// The files of its sessions in the test's home, named from there.
    pub(super) fn session_files(&self, scratch: &Scratch) -> Vec<PathBuf> {
        let home = scratch.path("home");
        let mut found = Vec::new();
        files(&home.join(self.sessions), &mut found);
        found.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
        found.iter().map(|path| path.strip_prefix(&home).unwrap().to_owned()).collect()
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}
