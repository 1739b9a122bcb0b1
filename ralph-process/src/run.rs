//! Runs an untrusted program with its output in files.

use std::{
    future::Future,
    io,
    pin::pin,
    process::ChildStdin,
    time::{Duration, Instant},
};

use crate::{
    awake::Awake,
    command::{Command, Stdin},
    error::SpawnError,
    group::{Group, own_end},
    limits::{End, Finished, Limits},
    lines::Follower,
    output::{OpenOutput, Output},
    stdin::{Feed, Input},
    sweep::new_mark,
};

/// How often the files are looked at: soon after something was printed, less often in silence.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(50));

/// How many chunks are read before the limits are looked at again.
const CHUNKS: usize = 16;

/// One side of a conversation with a process, over its stdin and stdout: see [`talk`].
///
/// ```
/// use std::future::pending;
/// use ralph_process::{Command, Dialogue, End, Input, Limits, Output, Stdin, talk};
///
/// /// Answers each line with one more, up to three.
/// struct Count(u32);
///
/// impl Dialogue for Count {
///     fn line(&mut self, line: &str, input: &mut Input) {
///         self.0 = line.parse().unwrap();
///         match self.0 {
///             3 => input.close(),
///             number => input.write(format!("{}\n", number + 1).as_bytes()),
///         }
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let folder = tempfile::tempdir().unwrap();
/// let echo = Command::new("cat", folder.path()).stdin(Stdin::Bytes(b"1\n".to_vec()));
/// let (output, mut count) = (Output::merged(folder.path().join("log")), Count(0));
/// let finished = talk(&echo, &output, &Limits::default(), pending(), &mut count).await.unwrap();
/// assert_eq!((finished.end, count.0), (End::Exited(0), 3));
/// # });
/// ```
pub trait Dialogue {
    /// It printed a line; what is to be said to that goes to `input`. Must not block.
    fn line(&mut self, line: &str, input: &mut Input);

    /// It is to end: the run was cancelled or is at a limit. Whether it was asked to by what was written to `input`; if
    /// not, it gets the signal. It is killed after [`Limits::grace`] either way.
    fn ask(&mut self, _input: &mut Input) -> bool {
        false
    }
}

/// A listener who says nothing.
struct Listener<F>(F);

impl<F: FnMut(&str)> Dialogue for Listener<F> {
    fn line(&mut self, line: &str, _input: &mut Input) {
        (self.0)(line);
    }
}

/// Runs `command` to its end, with its output in the files of `output`, and hands each line of stdout to `on_line`.
///
/// The end is the leader's exit. Whatever it left behind is then killed: its process group, and what left
/// the group, which is found by a mark in its environment. Where a limit is reached or `cancel` is ready, the group is asked to end, and killed after
/// [`Limits::grace`].
///
/// Lines come without their end, with what is not UTF-8 replaced, and cut at [`Limits::line_bytes`]. Memory stays
/// bounded whatever is printed. `on_line` is called from this future and must not block. The future is `Send` where
/// `cancel` and `on_line` are.
///
/// # Cancellation
/// `cancel` ends the run in order, with [`End::Cancelled`]. Dropping the future kills everything at once, which blocks
/// the thread for some milliseconds, and leaves nothing behind.
///
/// # Errors
/// See [`SpawnError`]. An exit code other than 0 and a limit that was reached are no errors but an [`End`].
pub async fn run(
    command: &Command,
    output: &Output,
    limits: &Limits,
    cancel: impl Future<Output = ()>,
    on_line: impl FnMut(&str),
) -> Result<Finished, SpawnError> {
    converse(command, output, limits, cancel, &mut Listener(on_line), Feed::new).await
}

/// The same with a process that is talked to: its input stays open after what [`Stdin::Bytes`] says first, and
/// `dialogue` writes to it whenever a line was printed, until it closes it.
///
/// What the process does not read is kept for it, so that a dialogue that says much looks at [`Input::waiting`]. With
/// [`Stdin::Null`] there is nobody to talk to. Everything else is as with [`run`].
///
/// # Errors
/// As with [`run`].
pub async fn talk(
    command: &Command,
    output: &Output,
    limits: &Limits,
    cancel: impl Future<Output = ()>,
    dialogue: &mut impl Dialogue,
) -> Result<Finished, SpawnError> {
    converse(command, output, limits, cancel, dialogue, Feed::open).await
}

async fn converse<'a>(
    command: &'a Command,
    output: &Output,
    limits: &Limits,
    cancel: impl Future<Output = ()>,
    dialogue: &mut impl Dialogue,
    feed: fn(Option<ChildStdin>, &'a [u8]) -> io::Result<Feed<'a>>,
) -> Result<Finished, SpawnError> {
    let mut cancel = pin!(cancel);
    let cancelled = tokio::select! {
        biased;
        () = &mut cancel => true,
        () = std::future::ready(()) => false,
    };
    if cancelled {
        return Ok(Finished { end: End::Cancelled, took: Duration::ZERO, cut: false, left_behind: 0, swept: true });
    }

    let files = output.open()?;
    let follower = Follower::new(output.stdout(), files.stdout.start, limits.line_bytes)?;
    let failed = |path: &std::path::Path, source| SpawnError::Output { path: path.to_owned(), source };
    let stdout = files.stdout.file.try_clone().map_err(|e| failed(output.stdout(), e))?;
    let stderr = files.stderr_file().try_clone().map_err(|e| failed(output.stderr(), e))?;
    let mut group = Group::spawn(command, stdout, stderr, Some(new_mark()))?;
    let input: &[u8] = match &command.stdin {
        Stdin::Null => &[],
        Stdin::Bytes(bytes) => bytes,
    };
    let pipe = group.child.stdin.take();
    let feed = feed(pipe, input).map_err(|error| group.error(error))?;

    let mut watch = Watch { limits, files, follower, feed, clock: Awake::new(), last_output: None, pause: PAUSE.0 };
    let mut reason = tokio::select! {
        biased;
        reason = watch.until_exit(&group, dialogue) => reason?,
        () = &mut cancel => Some(End::Cancelled),
    };
    watch.clock.look(watch.pause);
    if reason.is_some() && group.has_exited()? {
        reason = None;
    }
    // A flood is not given time to go on.
    if reason.is_some_and(|reason| reason != End::OutputLimit) {
        if !dialogue.ask(&mut watch.feed.input) {
            group.ask(limits.stop_signal);
        }
        watch.grace(&group, dialogue).await?;
    }
    let ending = Instant::now();
    let (status, swept) = group.end().await?;
    let took = watch.clock.passed() + ending.elapsed();
    let cut = watch.finish(dialogue).await?;
    Ok(Finished {
        end: reason.unwrap_or_else(|| own_end(status)),
        took,
        cut,
        left_behind: swept.killed,
        swept: swept.clean,
    })
}

/// A run under way, seen from its files.
struct Watch<'a> {
    limits: &'a Limits,
    files: OpenOutput,
    follower: Follower,
    feed: Feed<'a>,
    clock: Awake,
    /// When, by the clock.
    last_output: Option<Duration>,
    pause: Duration,
}

impl Watch<'_> {
    /// Waits for the exit (`None`) or the first limit. May be dropped and called again.
    async fn until_exit(&mut self, group: &Group, dialogue: &mut impl Dialogue) -> Result<Option<End>, SpawnError> {
        loop {
            if self.turn(group, self.until_limit()).await? {
                return Ok(None);
            }
            self.look(dialogue)?;
            if let Some(end) = self.limit_reached() {
                return Ok(Some(end));
            }
        }
    }

    /// Waits for the exit while there is grace.
    async fn grace(&mut self, group: &Group, dialogue: &mut impl Dialogue) -> Result<(), SpawnError> {
        let deadline = self.clock.passed() + self.limits.grace;
        while let Some(left) = deadline.checked_sub(self.clock.passed()) {
            if self.turn(group, Some(left)).await? {
                return Ok(());
            }
            self.look(dialogue)?;
            if self.too_much() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Waits a little, feeding the input. Whether the leader has ended.
    async fn turn(&mut self, group: &Group, at_most: Option<Duration>) -> Result<bool, SpawnError> {
        let pause = at_most.map_or(self.pause, |limit| limit.min(self.pause));
        let ended = tokio::select! {
            biased;
            exited = group.exited() => exited.map(|()| true),
            () = self.feed.run() => Ok(false),
            () = wait(pause) => Ok(false),
        };
        self.clock.look(pause);
        ended
    }

    /// Sees what was printed since the last look.
    fn look(&mut self, dialogue: &mut impl Dialogue) -> Result<(), SpawnError> {
        let mut grew = false;
        for sink in self.files.sinks() {
            grew |= sink.grew()?;
        }
        if grew {
            self.last_output = Some(self.clock.passed());
        }
        let input = &mut self.feed.input;
        for _ in 0..CHUNKS {
            let more = self.follower.step(&mut |line: &str| dialogue.line(line, input))?;
            // Whoever is slow to listen was not stopped.
            self.clock.look(Duration::ZERO);
            if !more {
                self.pause = if grew { PAUSE.0 } else { (self.pause * 2).clamp(PAUSE.0, PAUSE.1) };
                return Ok(());
            }
        }
        // There is more to read.
        self.pause = Duration::ZERO;
        Ok(())
    }

    fn too_much(&mut self) -> bool {
        let max = self.limits.output_bytes;
        self.files.sinks().any(|sink| sink.printed() > max)
    }

    fn limit_reached(&mut self) -> Option<End> {
        if self.too_much() {
            return Some(End::OutputLimit);
        }
        let now = self.clock.passed();
        let reached = |(limit, since, end): (Option<Duration>, Duration, End)| {
            limit.filter(|limit| now.saturating_sub(since) >= *limit).map(|_| end)
        };
        self.clocks().into_iter().find_map(reached)
    }

    /// How long until the next limit of time.
    fn until_limit(&self) -> Option<Duration> {
        let now = self.clock.passed();
        let left = |(limit, since, _): (Option<Duration>, Duration, End)| {
            limit.map(|limit| limit.saturating_sub(now.saturating_sub(since)))
        };
        self.clocks().into_iter().filter_map(left).min()
    }

    /// The limits of time that apply now, since when, and what they end in.
    fn clocks(&self) -> [(Option<Duration>, Duration, End); 2] {
        let whole = (self.limits.time, Duration::ZERO, End::TimedOut);
        let silence = match (self.last_output, self.limits.first_output) {
            (None, Some(first)) => (Some(first), Duration::ZERO, End::NoFirstOutput),
            (None, None) => (self.limits.idle, Duration::ZERO, End::Idle),
            (Some(last), _) => (self.limits.idle, last, End::Idle),
        };
        [whole, silence]
    }

    /// Cuts the files to their limit and hands on the rest of the lines. Whether anything was cut.
    async fn finish(mut self, dialogue: &mut impl Dialogue) -> Result<bool, SpawnError> {
        let max = self.limits.output_bytes;
        let mut cut = false;
        for sink in self.files.sinks() {
            cut |= sink.cut(max)?;
        }
        let mut on_line = |line: &str| dialogue.line(line, &mut self.feed.input);
        let mut chunks = 0;
        while self.follower.step(&mut on_line)? {
            chunks += 1;
            if chunks % CHUNKS == 0 {
                tokio::task::yield_now().await;
            }
        }
        self.follower.finish(&mut on_line);
        Ok(cut)
    }
}

async fn wait(pause: Duration) {
    if pause.is_zero() {
        tokio::task::yield_now().await;
    } else {
        tokio::time::sleep(pause).await;
    }
}
