//! Questions and answers on a terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use super::{
    desk::{Desk, Given},
    page,
};
use crate::{error::CliError, output, report::count};

/// Whether somebody is there to be asked.
pub(super) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Asks one question after the other; an empty answer leaves it for later.
pub(super) async fn ask(desk: &Desk, by: &str) -> Result<Vec<Given>, CliError> {
    let pending = desk.pending();
    desk.notes.iter().for_each(|note| anstream::eprintln!("⚠ {note}"));
    if pending.is_empty() {
        output::print("Nothing waits for you.\n")?;
        return Ok(Vec::new());
    }
    output::print(&format!("{}; an empty line leaves one for later.\n", count(pending.len() as u64, "question")))?;
    let mut given = Vec::new();
    for one in pending {
        output::print(&format!("\n{}", page::question(&one)))?;
        loop {
            let Some(said) = read("> ")? else { return Ok(given) };
            if said.trim().is_empty() {
                break;
            }
            let understood = one.queued.decision.question.reply(&said).map_err(|error| CliError::refused(&error));
            match understood.and_then(|reply| Desk::fits(one.project, one.queued, &reply)) {
                Ok(()) => {
                    let answered = desk.answer(one.project, &one.queued.id, &said, by).await?;
                    output::print(&answered.line())?;
                    given.push(answered);
                    break;
                }
                Err(error) => anstream::eprintln!("{error}"),
            }
        }
    }
    Ok(given)
}

/// Whether to take up the run of `project`; no where nobody can be asked.
pub(super) fn resume(project: &str) -> Result<bool, CliError> {
    if !is_possible() {
        return Ok(false);
    }
    let said = read(&format!("Resume {project} now? [y/N] "))?.unwrap_or_default();
    Ok(matches!(said.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// A line from the terminal; `None` at its end.
fn read(prompt: &str) -> Result<Option<String>, CliError> {
    let fail = |error: io::Error| CliError::failed("the terminal", &error);
    let mut out = io::stdout();
    out.write_all(prompt.as_bytes()).and_then(|()| out.flush()).map_err(fail)?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line).map_err(fail)?;
    Ok((read > 0).then_some(line))
}
