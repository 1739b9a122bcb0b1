//! The person at the keyboard: who it is, and that it is one.

use ralph_core::ledger::{Ledger, holder};

use crate::error::CliError;

/// The name under which an answer is given: the one that was said, else the user's.
pub(crate) fn name(given: Option<&str>) -> String {
    let user = || ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()));
    given.map(str::to_owned).or_else(user).unwrap_or_else(|| "operator".to_owned())
}

/// Refuses to `act` from inside a session that Ralph started: what is a person's to say is not an agent's.
///
/// A session is known by the mark that its processes carry, in this process or in one above it, and by the run that
/// started it: that holds the lock of one of `ledgers`.
pub(crate) fn not_from_a_session<'a>(ledgers: impl IntoIterator<Item = &'a Ledger>, act: &str) -> Result<(), CliError> {
    let refuse = |why: String| {
        Err(CliError::usage(format!(
            "this is {why}: only a person may {act}. Do it from a terminal that Ralph did not start"
        )))
    };
    let ancestry = ralph_process::ancestry();
    if let Some(session) = &ancestry.session {
        return refuse(format!("inside a session that Ralph started ({session})"));
    }
    for ledger in ledgers {
        if let Ok(Some(live)) = holder(ledger)
            && ancestry.ancestors.contains(&live.pid)
        {
            return refuse(format!("below {live}"));
        }
    }
    Ok(())
}
