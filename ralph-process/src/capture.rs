//! Runs a small trusted helper, such as git, with its output in memory.

use std::time::Duration;

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::{ChildStderr, ChildStdout},
    time::{Instant, sleep_until, timeout},
};

use crate::{
    command::{Command, Stdin},
    error::SpawnError,
    group::{Group, own_end},
    limits::{End, StopSignal},
    stdin::Feed,
    sweep::new_mark,
};

/// How much of the end of stderr is kept.
const STDERR_MAX: usize = 64 << 10;

/// How long a helper has between SIGTERM and SIGKILL: enough to remove its lock files.
const GRACE: Duration = Duration::from_secs(1);

/// How long output may still come after the exit, where something else holds the pipe.
const DRAIN: Duration = Duration::from_millis(500);

/// What a helper said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Captured {
    /// How it ended. [`End::OutputLimit`] where stdout was longer than allowed.
    pub end: End,
    /// Its whole stdout, where it ended by itself.
    pub stdout: Vec<u8>,
    /// The end of its stderr, 64 KiB at most.
    pub stderr: Vec<u8>,
}

impl Captured {
    /// Whether it exited with code 0.
    pub fn success(&self) -> bool {
        self.end.success()
    }
}

/// Runs `command` to its end with at most `max_stdout` bytes of stdout, and ends it after `time`.
///
/// It is ended with SIGTERM, then after a second SIGKILL, both to its whole group. When the call returns, the group is
/// gone; what left the group is swept only where the command has a [mark](Command::mark).
///
/// # Cancellation
/// Dropping the future kills the whole group at once and reaps the leader.
///
/// # Errors
/// See [`SpawnError`]. An exit code other than 0 and a limit that was reached are no errors but an [`End`].
pub async fn capture(command: &Command, time: Duration, max_stdout: usize) -> Result<Captured, SpawnError> {
    let mut group = Group::spawn(
        command,
        std::process::Stdio::piped(),
        std::process::Stdio::piped(),
        command.mark.is_some().then(new_mark),
    )?;
    let stdin = group.child.stdin.take();
    let (stdout, stderr) = (group.child.stdout.take(), group.child.stderr.take());
    let input: &[u8] = match &command.stdin {
        Stdin::Null => &[],
        Stdin::Bytes(bytes) => bytes,
    };
    let mut feed = Feed::new(stdin, input).map_err(|error| group.error(error))?;
    let stdout = stdout.map(ChildStdout::from_std).transpose().map_err(|e| group.error(e))?;
    let stderr = stderr.map(ChildStderr::from_std).transpose().map_err(|e| group.error(e))?;
    let mut pipes = Pipes {
        stdout: Pipe { pipe: stdout, bytes: Vec::with_capacity(8 << 10) },
        stderr: Pipe { pipe: stderr, bytes: Vec::with_capacity(1 << 10) },
        max: max_stdout,
    };

    let deadline = Instant::now() + time;
    let mut reason = tokio::select! {
        biased;
        exited = group.exited() => exited.map(|()| None)?,
        full = pipes.read() => {
            full.map_err(|error| group.error(error))?;
            Some(End::OutputLimit)
        }
        () = feed.run() => None,
        () = sleep_until(deadline) => Some(End::TimedOut),
    };
    if reason.is_some() && group.has_exited()? {
        reason = None;
    }
    if reason.is_some() {
        group.ask(StopSignal::Terminate);
        if let Ok(exited) = timeout(GRACE, group.exited()).await {
            exited?;
        }
    }
    let (status, _) = group.end().await?;
    if reason.is_none()
        && let Ok(full) = timeout(DRAIN, pipes.drain()).await
        && full.map_err(|error| group.error(error))?
    {
        reason = Some(End::OutputLimit);
    }
    let surplus = pipes.stderr.bytes.len().saturating_sub(STDERR_MAX);
    pipes.stderr.bytes.drain(..surplus);
    Ok(Captured {
        end: reason.unwrap_or_else(|| own_end(status)),
        stdout: pipes.stdout.bytes,
        stderr: pipes.stderr.bytes,
    })
}

/// A pipe and what was read from it.
struct Pipe<R> {
    /// `None` once it has ended.
    pipe: Option<R>,
    bytes: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    /// Reads once; pending for ever at the end. May be dropped and called again.
    async fn read(&mut self) -> std::io::Result<()> {
        match &mut self.pipe {
            Some(pipe) => {
                if pipe.read_buf(&mut self.bytes).await? == 0 {
                    self.pipe = None;
                }
                Ok(())
            }
            None => std::future::pending().await,
        }
    }
}

struct Pipes {
    stdout: Pipe<ChildStdout>,
    stderr: Pipe<ChildStderr>,
    max: usize,
}

impl Pipes {
    /// Reads on; ready only when stdout is longer than allowed.
    async fn read(&mut self) -> std::io::Result<()> {
        while !self.step().await? {}
        Ok(())
    }

    /// Reads to the end; whether stdout is longer than allowed.
    async fn drain(&mut self) -> std::io::Result<bool> {
        while self.stdout.pipe.is_some() || self.stderr.pipe.is_some() {
            if self.step().await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads once; whether stdout is longer than allowed now.
    async fn step(&mut self) -> std::io::Result<bool> {
        tokio::select! {
            read = self.stdout.read() => {
                read?;
                if self.stdout.bytes.len() > self.max {
                    self.stdout.bytes.truncate(self.max);
                    return Ok(true);
                }
            }
            read = self.stderr.read() => {
                read?;
                let bytes = &mut self.stderr.bytes;
                // Not at every read, so that a chatty helper costs no time.
                if bytes.len() > 2 * STDERR_MAX {
                    bytes.drain(..bytes.len() - STDERR_MAX);
                }
            }
        }
        Ok(false)
    }
}
