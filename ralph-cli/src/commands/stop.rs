//! `ralph stop`: asks the live run to end.

use std::path::Path;

use ralph_core::ledger::holder;
use rustix::process::{Pid, Signal, kill_process};

use crate::{args, error::CliError, project::Project};

/// Sends what Ctrl-C sends, or SIGTERM. The lock says who holds the control folder and vanishes with them, so that the
/// signal cannot meet somebody else.
pub(crate) fn stop(directory: &Path, args: &args::Stop) -> Result<u8, CliError> {
    let project = Project::find(directory)?;
    let live = holder(&project.ledger).map_err(|error| CliError::failed("the lock", &error))?;
    let Some(live) = live else {
        anstream::println!("No run is at work here.");
        return Ok(0);
    };
    let pid = i32::try_from(live.pid).ok().and_then(Pid::from_raw);
    let Some(pid) = pid else {
        return Err(CliError::fault(format!("the control folder is held by {live}, whose process is not known")));
    };
    let (signal, word) = if args.now {
        (Signal::TERM, "now")
    } else {
        (Signal::INT, "after the step under way (a session can be long; `--now` ends it)")
    };
    kill_process(pid, signal).map_err(|error| CliError::failed(format!("{live} cannot be told"), &error))?;
    anstream::println!("Told {live} to stop {word}.");
    Ok(0)
}
