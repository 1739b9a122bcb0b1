//! A process group: started, watched, killed and reaped in the one order that is safe.
//!
//! The leader's exit is observed without reaping it. The zombie keeps the id of the group reserved, so that killing
//! the group cannot hit a stranger; only then it is reaped.

use std::{
    io,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Child, Command as StdCommand, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid},
};

use crate::{
    command::{Command, Stdin},
    error::SpawnError,
    limits::{End, StopSignal},
    sweep::{self, Swept},
};

/// How long a killed process may take to be gone; longer only where the kernel holds it (a dead network disk).
const DEATH: Duration = Duration::from_secs(10);

/// The same where a thread is blocked meanwhile.
const BLOCKING_DEATH: Duration = Duration::from_secs(1);

/// How long killed members may take to be gone. Where a zombie that its parent has yet to reap cannot be told from a live
/// member, waiting is of little use.
const GROUP_DEATH: Duration = Duration::from_millis(if cfg!(target_os = "linux") { 500 } else { 30 });

/// A running group. Dropping it kills the group, reaps the leader and sweeps.
pub(crate) struct Group {
    pub(crate) child: Child,
    pid: Pid,
    program: PathBuf,
    /// Unique to this group, where it is to be swept.
    mark: Option<String>,
    /// Swept or not wanted any more.
    done: bool,
    #[cfg(target_os = "linux")]
    pidfd: Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>>,
}

impl Group {
    /// Starts `command`, under its own mark and under `mark`, by which what leaves the group will be found.
    pub(crate) fn spawn(
        command: &Command,
        stdout: impl Into<Stdio>,
        stderr: impl Into<Stdio>,
        mark: Option<String>,
    ) -> Result<Self, SpawnError> {
        let mut std_command = StdCommand::new(resolve(command)?);
        std_command
            .arg0(&command.program)
            .args(&command.args)
            .current_dir(&command.dir)
            .env_clear()
            .envs(command.env.iter().map(|(name, value)| (name, value)))
            .stdin(match command.stdin {
                Stdin::Null => Stdio::null(),
                Stdin::Bytes(_) => Stdio::piped(),
            })
            .stdout(stdout)
            .stderr(stderr)
            // Not a session of its own: that would need code between fork and exec.
            .process_group(0);
        match sweep::nested(&[command.mark.as_deref(), mark.as_deref()]) {
            Some(value) => std_command.env(sweep::MARK_VARIABLE, value),
            None => std_command.env_remove(sweep::MARK_VARIABLE),
        };
        let child =
            sweep::register(mark.as_deref(), || std_command.spawn()).map_err(|source| spawn_error(command, source))?;
        let Some(pid) = Pid::from_raw(child.id().cast_signed()) else {
            return Err(wait_error(&command.program, io::Error::other("no process id")));
        };
        Ok(Self {
            child,
            pid,
            program: command.program.clone(),
            mark,
            done: false,
            #[cfg(target_os = "linux")]
            pidfd: pidfd(pid),
        })
    }

    /// An error of this group's.
    pub(crate) fn error(&self, source: impl Into<io::Error>) -> SpawnError {
        wait_error(&self.program, source.into())
    }

    /// Whether the leader has ended. It is not reaped by this.
    pub(crate) fn has_exited(&self) -> Result<bool, SpawnError> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            match waitid(WaitId::Pid(self.pid), options) {
                Ok(status) => return Ok(status.is_some()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.error(error)),
            }
        }
    }

    /// Waits until the leader has ended. May be dropped and called again.
    pub(crate) async fn exited(&self) -> Result<(), SpawnError> {
        let mut pause = Duration::from_millis(1);
        while !self.has_exited()? {
            #[cfg(target_os = "linux")]
            if let Some(pidfd) = &self.pidfd {
                let mut ready = pidfd.readable().await.map_err(|error| self.error(error))?;
                if self.has_exited()? {
                    return Ok(());
                }
                ready.clear_ready();
                continue;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Asks the group to end. Stopped processes are continued, since they would not see it otherwise.
    pub(crate) fn ask(&self, signal: StopSignal) {
        self.signal(match signal {
            StopSignal::Terminate => Signal::TERM,
            StopSignal::Interrupt => Signal::INT,
        });
        self.signal(Signal::CONT);
    }

    /// Kills all of the group.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        // Once the leader is reaped, by whomever, the id may be somebody else's.
        if self.has_exited().is_ok() {
            // It fails only where nothing is left to get the signal.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Kills what is left of the group and reaps the leader, which must have ended or be about to.
    pub(crate) async fn end(&mut self) -> Result<(ExitStatus, Swept), SpawnError> {
        self.kill_if_running().await?;
        // Looked at before the kill, so that it can be said how many there were.
        let before = match &self.mark {
            Some(_) if sweep::seems_alone() => Some(0),
            Some(mark) => blocking(mark, sweep::look).await,
            None => None,
        };
        self.kill();
        let status = self.reap()?;
        let mut swept = Swept { killed: 0, clean: false };
        if let (Some(mark), Some(before)) = (&self.mark, before) {
            let again = if before > 0 || (sweep::is_subreaper() && !sweep::is_childless()) {
                blocking(mark, sweep::sweep).await
            } else {
                Swept { killed: 0, clean: true }
            };
            swept = Swept { killed: before.max(again.killed), ..again };
        }
        let group_gone = self.wait_for_group().await;
        self.done = true;
        Ok((status, Swept { clean: swept.clean && group_gone, ..swept }))
    }

    async fn kill_if_running(&self) -> Result<(), SpawnError> {
        if self.has_exited()? {
            return Ok(());
        }
        self.kill();
        match tokio::time::timeout(DEATH, self.exited()).await {
            Ok(exited) => exited,
            Err(_) => Err(self.error(io::Error::from(io::ErrorKind::TimedOut))),
        }
    }

    /// Takes the exit status of a leader that has ended.
    fn reap(&mut self) -> Result<ExitStatus, SpawnError> {
        let Self { child, pid, program, .. } = self;
        sweep::unregister(*pid, || child.wait()).map_err(|error| wait_error(program, error))
    }

    /// Waits until the killed members of the group are gone. Asking with no signal is harmless should the id belong to
    /// somebody else already.
    async fn wait_for_group(&self) -> bool {
        let deadline = Instant::now() + GROUP_DEATH;
        while test_kill_process_group(self.pid).is_ok() && sweep::group_is_alive(self.pid) {
            if Instant::now() > deadline {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        true
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        self.kill();
        let deadline = Instant::now() + BLOCKING_DEATH;
        while let Ok(false) = self.has_exited() {
            if Instant::now() > deadline {
                return;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        // Again, in case the first kill came before a member had joined.
        self.kill();
        let _ = self.reap();
        if let Some(mark) = &self.mark {
            let _ = sweep::sweep(mark);
        }
        let deadline = Instant::now() + GROUP_DEATH;
        while test_kill_process_group(self.pid).is_ok() && sweep::group_is_alive(self.pid) && Instant::now() < deadline
        {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

/// How a leader that was not ended by us has ended.
pub(crate) fn own_end(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, Some(signal)) => End::Signalled(signal),
        // Not reached for a process that has ended; the raw value is as good as anything.
        (None, None) => End::Signalled(status.into_raw()),
    }
}

/// A scan of all processes takes a millisecond and more: not on the runtime's own thread.
async fn blocking<T: Default + Send + 'static>(mark: &str, work: fn(&str) -> T) -> T {
    let mark = mark.to_owned();
    tokio::task::spawn_blocking(move || work(&mark)).await.unwrap_or_default()
}

#[cfg(target_os = "linux")]
#[expect(deprecated, reason = "its successor is unsafe, and an owned descriptor keeps what the safe one leaves open")]
fn pidfd(pid: Pid) -> Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>> {
    // Not there on old kernels and in some sandboxes: polled then.
    let fd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()?;
    tokio::io::unix::AsyncFd::with_interest(fd, tokio::io::Interest::READABLE).ok()
}

/// The file to execute. Found here and not by `exec`, so that a program that is missing can be told from one that is
/// not executable, and because looking it up in the child's `PATH` would cost a real fork.
fn resolve(command: &Command) -> Result<PathBuf, SpawnError> {
    let program = &command.program;
    if !command.dir.is_dir() {
        return Err(SpawnError::Folder { dir: command.dir.clone() });
    }
    if program.as_os_str().as_encoded_bytes().contains(&b'/') {
        let path = command.dir.join(program);
        return if path.exists() { Ok(path) } else { Err(not_found(program)) };
    }
    let ours = std::env::var_os("PATH");
    let path = command.get_env("PATH").or(ours.as_deref()).unwrap_or_default();
    let mut found = None;
    for folder in std::env::split_paths(path) {
        // An empty entry means the current folder: nothing that a workspace should decide.
        if !folder.is_absolute() {
            continue;
        }
        let candidate = folder.join(program);
        if candidate.is_file() {
            if rustix::fs::access(&candidate, rustix::fs::Access::EXEC_OK).is_ok() {
                return Ok(candidate);
            }
            found.get_or_insert(candidate);
        }
    }
    match found {
        Some(program) => Err(SpawnError::NotExecutable { program, source: io::ErrorKind::PermissionDenied.into() }),
        None => Err(not_found(program)),
    }
}

fn not_found(program: &Path) -> SpawnError {
    SpawnError::NotFound { program: program.to_owned() }
}

fn spawn_error(command: &Command, source: io::Error) -> SpawnError {
    let program = command.program.clone();
    match source.raw_os_error().map(Errno::from_raw_os_error) {
        // The file was there a moment ago, so it is the interpreter of a script that is missing, or it was removed.
        Some(Errno::NOENT) if !command.dir.is_dir() => SpawnError::Folder { dir: command.dir.clone() },
        Some(Errno::NOENT | Errno::ACCESS | Errno::NOEXEC | Errno::ISDIR) => {
            SpawnError::NotExecutable { program, source }
        }
        _ => SpawnError::Start { program, source },
    }
}

fn wait_error(program: &Path, source: io::Error) -> SpawnError {
    SpawnError::Wait { program: program.to_owned(), source }
}
