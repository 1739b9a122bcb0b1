//! What a run may use, and how it ended.

use std::time::Duration;

/// The signal that asks a process to end, before it is killed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StopSignal {
    /// SIGTERM, the usual one.
    #[default]
    Terminate,
    /// SIGINT: some programs report what they did only after this one.
    Interrupt,
}

/// What a run may use. All times are monotonic, and without those in which this program was stopped (SIGSTOP) or its
/// machine slept: where two looks at the process are more than 2 s further apart than they should be, the gap does not
/// count.
///
/// ```
/// use std::time::Duration;
/// use ralph_process::{Limits, StopSignal};
///
/// let limits = Limits {
///     time: Some(Duration::from_secs(900)),
///     stop_signal: StopSignal::Interrupt,
///     ..Limits::default()
/// };
/// assert_eq!(limits.idle, None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From start to exit. Default: no limit.
    pub time: Option<Duration>,
    /// From the start to the first byte of output, on stdout or stderr. Default: no limit.
    pub first_output: Option<Duration>,
    /// Between bytes of output, on stdout or stderr; and from the start to the first where that has no limit of its
    /// own. Default: no limit.
    pub idle: Option<Duration>,
    /// How many bytes may be printed to each file. A process that prints more is ended, and the file is cut to this
    /// length. Default: 1 GiB.
    pub output_bytes: u64,
    /// How many bytes of a line are handed on; the rest of the line is left out and [`CUT_MARK`](crate::CUT_MARK) put
    /// in its place. Default: 64 KiB.
    pub line_bytes: usize,
    /// How long a process has from the signal that asks it to end to the one that it cannot refuse. Default: 2 s.
    pub grace: Duration,
    /// The signal that asks. It goes to the whole group. Default: SIGTERM.
    pub stop_signal: StopSignal,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: None,
            first_output: None,
            idle: None,
            output_bytes: 1 << 30,
            line_bytes: 64 << 10,
            grace: Duration::from_secs(2),
            stop_signal: StopSignal::Terminate,
        }
    }
}

impl Limits {
    /// The defaults with a limit of time.
    pub fn time(limit: Duration) -> Self {
        Self { time: Some(limit), ..Self::default() }
    }
}

/// How a process ended.
///
/// A process that ended by itself before we asked it to has its own end here, even where a limit was reached in the
/// same moment: finished work counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// It exited with this code.
    Exited(i32),
    /// It was killed by this signal, and not by us.
    Signalled(i32),
    /// It reached [`Limits::time`].
    TimedOut,
    /// It reached [`Limits::idle`].
    Idle,
    /// It reached [`Limits::first_output`].
    NoFirstOutput,
    /// It reached a limit of output.
    OutputLimit,
    /// Somebody cancelled the run.
    Cancelled,
}

impl End {
    /// Whether it exited with code 0.
    pub fn success(self) -> bool {
        self == Self::Exited(0)
    }
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// From the start until all of it was gone; counted as [`Limits`] count.
    pub took: Duration,
    /// Whether output was cut off at [`Limits::output_bytes`].
    pub cut: bool,
    /// How many processes were still alive after the leader's exit and were killed, as far as they could be counted
    /// (0 on platforms without `/proc`, although the group was killed).
    pub left_behind: u32,
    /// Whether what left the group was looked for as well, and all that was found is dead: by its mark, and where this
    /// program is a [subreaper](crate::become_subreaper) also by descent, which finds one that cleared its environment
    /// too. `false` on platforms without `/proc`, where only the group is known to be gone.
    pub swept: bool,
}
