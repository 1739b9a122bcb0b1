//! One session as a process: what all agents that are programs have in common.

use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use ralph_core::{AgentError, Brief, Cancel, Cx};
use ralph_process::{Command, Dialogue, End, Finished, Limits, Output, SpawnError, StopSignal, env as allowed, tail};
use tempfile::TempDir;

use crate::{exit::Exit, json::one_line};

/// How a program that is an agent is run, whichever it is.
///
/// ```
/// use ralph_agents::ProcessOptions;
/// let options = ProcessOptions { env: vec!["MY_AGENT_KEY".into()], ..ProcessOptions::default() };
/// assert_eq!(options.idle.unwrap().as_secs(), 20 * 60);
/// ```
#[derive(Clone)]
pub struct ProcessOptions {
    /// Variables of our environment that it may see beyond the basics and its own keys. A `*` at the end stands for
    /// any rest.
    pub env: Vec<String>,
    /// Variables to set. They win over inherited ones, not over what Ralph itself sets.
    pub set: Vec<(String, String)>,
    /// From the start to the first byte of output. Default: what fits the agent.
    pub first_output: Option<Duration>,
    /// Between bytes of output. Default: 20 minutes. Agents can be silent while a tool of theirs runs.
    pub idle: Option<Duration>,
    /// How many bytes it may print. Default: 1 GiB.
    pub output_bytes: u64,
    /// From the signal that asks it to end to the one that it cannot refuse. Default: 5 seconds, for an agent has to
    /// end its tools and say what it used.
    pub grace: Duration,
}

impl Default for ProcessOptions {
    fn default() -> Self {
        Self {
            env: Vec::new(),
            set: Vec::new(),
            first_output: None,
            idle: Some(Duration::from_secs(20 * 60)),
            output_bytes: 1 << 30,
            grace: Duration::from_secs(5),
        }
    }
}

/// Values of variables are left out: they may be secret.
impl fmt::Debug for ProcessOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessOptions")
            .field("env", &self.env)
            .field("set", &self.set.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("first_output", &self.first_output)
            .field("idle", &self.idle)
            .field("output_bytes", &self.output_bytes)
            .field("grace", &self.grace)
            .finish()
    }
}

impl ProcessOptions {
    /// The variables of our own environment that a session sees beyond the basics, by name: those that match its agent's
    /// `keys`, and those that the user names. Values are nobody's business.
    pub(crate) fn visible(&self, keys: &[&str]) -> Vec<String> {
        let names: Vec<String> = keys.iter().map(|&name| name.to_owned()).chain(self.env.iter().cloned()).collect();
        let basics: Vec<_> = allowed::inherited(&[]).into_iter().map(|(name, _)| name).collect();
        let seen = allowed::inherited(&names).into_iter().map(|(name, _)| name);
        let mut names: Vec<String> =
            seen.filter(|name| !basics.contains(name)).map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// How a process ended: by itself, or by us and why.
#[derive(Debug)]
pub(crate) enum How {
    Exit(Exit),
    Limit(String),
    Cancelled,
}

impl How {
    /// The exit, as far as it says anything: that after a signal of ours does not.
    pub(crate) fn exit(&self) -> Exit {
        if let Self::Exit(exit) = self { *exit } else { Exit::Signal(2) }
    }
}

/// What is left of a process.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) how: How,
    /// Whether it was ended because it had printed nothing at all.
    pub(crate) silent: bool,
    /// The end of its stderr.
    pub(crate) stderr: String,
}

/// What is different from one agent to the next.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) program: &'a Path,
    pub(crate) args: Vec<String>,
    /// Names of variables with its own keys.
    pub(crate) keys: &'a [&'a str],
    /// Variables that it needs.
    pub(crate) set: &'a [(&'a str, &'a str)],
    pub(crate) stop_signal: StopSignal,
    pub(crate) line_bytes: usize,
}

impl Start<'_> {
    /// Runs the process to its end with the prompt as its input. `stop` is for the backend itself, to end it early.
    ///
    /// stdout goes to [`Brief::log`], stderr beside it, with `.stderr` added to the name.
    ///
    /// # Errors
    /// That it could not be started.
    pub(crate) async fn run(
        self,
        options: &ProcessOptions,
        brief: &Brief,
        cx: &Cx,
        stop: &Cancel,
        on_line: impl FnMut(&str) + Send,
    ) -> Result<Ended, AgentError> {
        let ready = self.ready(options, brief, cx, brief.prompt.clone())?;
        let Ready { command, output, limits, .. } = &ready;
        let finished = ralph_process::run(command, output, limits, asked(cx, stop.cancelled()), on_line).await;
        ready.ended(finished, cx)
    }

    /// The same with a process that is talked to. `first` is what is said first; `stop` ends it when it is ready.
    pub(crate) async fn talk(
        self,
        options: &ProcessOptions,
        brief: &Brief,
        cx: &Cx,
        first: String,
        stop: impl Future<Output = ()> + Send,
        dialogue: &mut (impl Dialogue + Send),
    ) -> Result<Ended, AgentError> {
        let ready = self.ready(options, brief, cx, first)?;
        let Ready { command, output, limits, .. } = &ready;
        let finished = ralph_process::talk(command, output, limits, asked(cx, stop), dialogue).await;
        ready.ended(finished, cx)
    }

    fn ready(self, options: &ProcessOptions, brief: &Brief, cx: &Cx, input: String) -> Result<Ready, AgentError> {
        let path = locate(self.program, &brief.workspace)?;
        let keys = self.keys.iter().map(|&name| name.to_owned());
        let names: Vec<String> = keys.chain(options.env.iter().cloned()).collect();
        let command = Command::new(path, &brief.workspace)
            .args(self.args)
            .envs(allowed::inherited(&names))
            .envs(allowed::NO_PROMPTS.iter().copied())
            .envs(options.set.iter().cloned())
            .envs(self.set.iter().copied())
            .envs(brief.env())
            // What a crash of ours leaves behind is found by the id of the run.
            .mark(brief.run.to_string())
            .stdin(ralph_process::Stdin::Bytes(input.into_bytes()));
        let limits = Limits {
            time: [brief.time_limit, cx.time_limit()].into_iter().flatten().min(),
            first_output: options.first_output,
            idle: options.idle,
            output_bytes: options.output_bytes,
            line_bytes: self.line_bytes,
            grace: options.grace,
            stop_signal: self.stop_signal,
        };
        let files = Files::new(brief.log.as_deref())?;
        let output = Output::apart(&files.stdout, &files.stderr);
        Ok(Ready { program: self.program.display().to_string(), command, output, limits, files })
    }
}

/// When a session is to end: at the latest when it is cancelled.
async fn asked(cx: &Cx, stop: impl Future<Output = ()>) {
    tokio::select! {
        () = cx.cancel().cancelled() => {}
        () = stop => {}
    }
}

/// A process that can be started.
struct Ready {
    program: String,
    command: Command,
    output: Output,
    limits: Limits,
    files: Files,
}

impl Ready {
    fn ended(self, finished: Result<Finished, SpawnError>, cx: &Cx) -> Result<Ended, AgentError> {
        let Self { program, limits, files, .. } = self;
        let finished = finished.map_err(|error| not_started(error, &program))?;
        if finished.left_behind > 0 {
            cx.live(&format!("[ended {} processes it left behind]", finished.left_behind));
        }
        // For people only; without it the session is no worse.
        let stderr = tail(&files.stderr, 4096).unwrap_or_default();
        let how = match finished.end {
            End::Exited(code) => How::Exit(Exit::Code(code)),
            End::Signalled(signal) => How::Exit(Exit::Signal(signal)),
            End::TimedOut => How::Limit(format!("time limit of {:?}", limits.time.unwrap_or_default())),
            End::Idle => How::Limit(format!("silent for {:?}", limits.idle.unwrap_or_default())),
            End::NoFirstOutput => {
                let limit = limits.first_output.unwrap_or_default();
                How::Limit(format!("no output for {limit:?} since its start"))
            }
            End::OutputLimit => How::Limit(format!("output limit of {} bytes", limits.output_bytes)),
            End::Cancelled => How::Cancelled,
        };
        Ok(Ended { how, silent: finished.end == End::NoFirstOutput, stderr })
    }
}

/// The files of a session. Without a log to keep they are gone with this value.
struct Files {
    stdout: PathBuf,
    stderr: PathBuf,
    _temporary: Option<TempDir>,
}

impl Files {
    fn new(log: Option<&Path>) -> Result<Self, AgentError> {
        if let Some(log) = log {
            let mut stderr = log.as_os_str().to_owned();
            stderr.push(".stderr");
            return Ok(Self { stdout: log.to_owned(), stderr: stderr.into(), _temporary: None });
        }
        let folder = TempDir::new().map_err(|error| AgentError::Other(error.into()))?;
        Ok(Self {
            stdout: folder.path().join("stdout"),
            stderr: folder.path().join("stderr"),
            _temporary: Some(folder),
        })
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // An empty file says nothing. Whether it can be removed does not matter.
        if fs::metadata(&self.stderr).is_ok_and(|meta| meta.len() == 0) {
            let _ = fs::remove_file(&self.stderr);
        }
    }
}

/// The program as an absolute path.
///
/// It is looked up here and now, in our own `PATH` and current folder: never in the workspace, where a session could
/// leave a program of that name for the next one to run.
fn locate(program: &Path, workspace: &Path) -> Result<PathBuf, AgentError> {
    let not_found = |advice: String| AgentError::NotFound { program: program.display().to_string(), advice };
    let found = which::which(program).map_err(|_| {
        not_found(if program.components().count() > 1 {
            "check that the file is there and may be executed".into()
        } else {
            "install it, or give its path".into()
        })
    })?;
    let found = std::path::absolute(found).map_err(|error| AgentError::Other(error.into()))?;
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if real(&found).starts_with(real(workspace)) {
        return Err(not_found("what is in the workspace is not run as the agent".into()));
    }
    Ok(found)
}

fn not_started(error: SpawnError, program: &str) -> AgentError {
    match error {
        SpawnError::NotFound { .. } => {
            AgentError::NotFound { program: program.into(), advice: "install it, or give its path".into() }
        }
        SpawnError::NotExecutable { source, .. } => AgentError::NotFound {
            program: program.into(),
            advice: format!("it is there and cannot be executed ({source})"),
        },
        error => AgentError::Other(error.into()),
    }
}

/// How a process failed, for people: its exit and the end of what it complained about.
pub(crate) fn failure(exit: Exit, stderr: &str) -> String {
    match one_line(last_lines(stderr), 300) {
        words if words.is_empty() => exit.to_string(),
        words => format!("{exit}: {words}"),
    }
}

/// The last few lines: a complaint stands at the end.
pub(crate) fn last_lines(text: &str) -> &str {
    let text = text.trim_end();
    let start = text.rmatch_indices('\n').nth(2).map_or(0, |(at, _)| at + 1);
    &text[start..]
}

/// Whether a variable is 1 for the process: set, or let through.
pub(crate) fn is_on(options: &ProcessOptions, name: &str) -> bool {
    let set = options.set.iter().rev().find(|(key, _)| key == name);
    match set {
        Some((_, value)) => value == "1",
        None => env::var_os(name).is_some_and(|value| value == "1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_the_workspace_is_not_run() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("agent");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let error = locate(&program, folder.path()).unwrap_err();
        assert!(error.to_string().contains("workspace"), "{error}");
        // The control.
        assert_eq!(locate(&program, Path::new("/elsewhere")).unwrap(), program);
    }

    #[test]
    fn no_value_of_a_variable_is_printed() {
        let set = vec![("KEY".to_owned(), "sk-secret".to_owned())];
        let shown = format!("{:?}", ProcessOptions { set, ..ProcessOptions::default() });
        assert!(shown.contains("KEY") && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn a_complaint_is_its_last_lines() {
        assert_eq!(failure(Exit::Code(2), ""), "exit code 2");
        assert_eq!(failure(Exit::Signal(9), "a\nb\nc\nd\n"), "signal 9: b c d");
    }
}
