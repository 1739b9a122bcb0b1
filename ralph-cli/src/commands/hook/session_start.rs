//! When a session begins: it is remembered, with nothing counted against it, and gets its spawn budget.

use std::path::Path;

use ralph_agents::spawn::{SpawnBudget, inherited};
use ralph_core::{chain, ledger::Ledger};

use super::{
    Input, is_of_a_run,
    record::{self, Record},
    say, settings,
};
use crate::error::CliError;

/// Answers the hook; the exit code. Nothing is printed on stdout: the agent would read it.
pub(super) fn session_start(directory: &Path) -> u8 {
    if is_of_a_run() {
        return 0;
    }
    let done = Input::read().map_err(CliError::usage).and_then(|input| begin(&input, directory));
    match done {
        Ok(()) => 0,
        Err(error) => {
            say(&format!("the session is not looked after: {error}"));
            1
        }
    }
}

fn begin(input: &Input, directory: &Path) -> Result<(), CliError> {
    let session = input.session().ok_or_else(|| CliError::usage("no session is named"))?;
    let projects = input.projects(directory);
    let Some(project) = projects.iter().find(|project| project.ledger.root().is_dir()) else { return Ok(()) };
    let ledger = &project.ledger;
    record::sweep(Some(ledger));
    let known = record::read(ledger, session);
    // In the middle of a session its context may be made smaller. That is no new one: what was counted stays.
    let goes_on = known.is_some() && !matches!(input.source.as_deref(), Some("startup" | "clear" | "resume"));
    if goes_on {
        return Ok(());
    }
    // A budget that was there and is gone is not made again.
    if known.is_none() && inherited().is_none() {
        let path = record::spawn_state(session)?;
        let limits = settings(Some(project)).spawn.limits();
        SpawnBudget::create(&path, limits)
            .map_err(|error| CliError::failed(format!("{} cannot be made", path.display()), &error))?;
    }
    remember(ledger, session)
}

fn remember(ledger: &Ledger, session: &str) -> Result<(), CliError> {
    let spawn = inherited().is_none();
    let record = Record { session: session.to_owned(), blocks: 0, spawn, criteria: record::criteria(ledger) };
    let written = ledger.create().and_then(|()| record::write(ledger, &record));
    written.map_err(|error| CliError::fault(format!("{}: {}", ledger.hooks().display(), chain(&error))))?;
    record::log(ledger, session, "began");
    Ok(())
}
