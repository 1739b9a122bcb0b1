//! What the tests share: a folder, conditions to wait for, and processes by id.

use std::{
    future::pending,
    path::PathBuf,
    time::{Duration, Instant},
};

use ralph_process::{Command, Finished, Limits, Output, env, run};

/// A folder with a log, in which scripts run.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn shell(&self, script: &str) -> Command {
        Command::shell(script, self.folder.path()).envs(env::inherited(&[]))
    }

    pub(crate) fn output(&self) -> Output {
        Output::merged(self.path("log"))
    }

    pub(crate) fn log(&self) -> Vec<u8> {
        std::fs::read(self.path("log")).unwrap()
    }

    /// Runs a script to its end; also gives the lines that were handed on.
    pub(crate) async fn run(&self, script: &str, limits: &Limits) -> (Finished, Vec<String>) {
        self.run_until(script, limits, pending()).await
    }

    pub(crate) async fn run_until(
        &self,
        script: &str,
        limits: &Limits,
        cancel: impl Future<Output = ()>,
    ) -> (Finished, Vec<String>) {
        let mut lines = Vec::new();
        let on_line = |line: &str| lines.push(line.to_owned());
        let finished = run(&self.shell(script), &self.output(), limits, cancel, on_line).await.unwrap();
        (finished, lines)
    }

    /// Waits until a script has written its process id into a file.
    pub(crate) async fn pid(&self, name: &str) -> i32 {
        until(name, || self.pid_now(name).is_some()).await;
        self.pid_now(name).unwrap()
    }

    pub(crate) fn pid_now(&self, name: &str) -> Option<i32> {
        // A number without its newline may be half of one.
        std::fs::read_to_string(self.path(name)).ok()?.strip_suffix('\n')?.parse().ok()
    }
}

/// The state of a process, such as `S` or `T`, or `None` when it is gone; a zombie counts as gone.
pub(crate) fn state(pid: i32) -> Option<String> {
    let out = std::process::Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap();
    let state = String::from_utf8(out.stdout).unwrap().trim().to_owned();
    (!state.is_empty() && !state.starts_with('Z')).then_some(state)
}

pub(crate) fn alive(pid: i32) -> bool {
    state(pid).is_some()
}

/// Ends one process that a test has started.
pub(crate) fn kill(pid: i32) {
    std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
}

const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Much longer than any test needs and much shorter than the sleepers in the scripts.
pub(crate) fn soon(since: Instant) -> bool {
    since.elapsed() < Duration::from_secs(15)
}
