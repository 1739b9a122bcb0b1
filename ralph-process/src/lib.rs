//! Runs a command for Ralph: whole tree, deadline, bounded output.
//!
//! There is one way to run a program here, whether it is an agent, a verifier or git:
//!
//! - argv and an environment that starts **empty** ([`Command`], [`mod@env`]); stdin is null or given bytes, never a terminal;
//! - a process group of its own, and when the leader ends, is out of time, is cancelled, or the future is dropped, the
//!   whole group is killed and what left the group is swept by a [mark](Command::mark);
//! - the end of a run is the **child's exit**, never the end of its output: a background process that holds the
//!   output open delays nothing;
//! - a program that speaks a protocol over its stdin and stdout is [talked](talk) to, with all of this;
//! - output goes to [files](Output) by inherited descriptor and is read from there in bounded memory ([`run`]), or, for
//!   small trusted helpers, into memory up to a limit ([`capture`]).
//!
//! [`ancestry()`] is the other way round: whether this very process was started inside such a run.
//!
//! Running needs a tokio runtime with its I/O and time drivers enabled. Unix only; on platforms without `/proc` what
//! leaves the group cannot be found, and [`Finished::swept`] says so. A process that ignores SIGCHLD (also by
//! inheritance) cannot wait for children: everything here fails with [`SpawnError::Wait`] then.
//!
//! ```
//! use ralph_process::{Command, End, Limits, Output, run};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let folder = tempfile::tempdir().unwrap();
//! let output = Output::merged(folder.path().join("output.log"));
//! let command = Command::shell("echo hello; exit 3", folder.path());
//! let mut lines = Vec::new();
//! let finished = run(&command, &output, &Limits::default(), std::future::pending(), |line| {
//!     lines.push(line.to_owned());
//! })
//! .await
//! .unwrap();
//! assert_eq!(finished.end, End::Exited(3));
//! assert_eq!(lines, ["hello"]);
//! # });
//! ```

mod ancestry;
mod awake;
mod capture;
mod command;
pub mod env;
mod error;
mod group;
mod limits;
mod lines;
mod output;
mod run;
mod stdin;
mod sweep;

pub use crate::{
    ancestry::{Ancestry, ancestors, ancestry, inside_session, namespaces},
    capture::{Captured, capture},
    command::{Command, Stdin},
    error::SpawnError,
    limits::{End, Finished, Limits, StopSignal},
    lines::{CUT_MARK, tail},
    output::Output,
    run::{Dialogue, run, talk},
    stdin::Input,
    sweep::{MARK_VARIABLE, Swept, become_subreaper, sweep},
};
