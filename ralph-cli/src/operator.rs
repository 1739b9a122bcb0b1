//! The person at the keyboard: who it is, and that it is one.

use std::{fs, os::unix::fs::MetadataExt as _};

use ralph_core::ledger::{Ledger, holder};

use crate::{error::CliError, place};

/// The name under which an answer is given: the one that was said, else the user's.
pub(crate) fn name(given: Option<&str>) -> String {
    let user = || ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()));
    given.map(str::to_owned).or_else(user).unwrap_or_else(|| "operator".to_owned())
}

/// Refuses to `act` from inside a session that Ralph started: what is a person's to say is not an agent's.
///
/// A session is known by the mark that its processes carry, in this process or in one above it, and by the run that
/// started it: that holds the lock of one of `ledgers`, or, where the caller was made to look for projects elsewhere, is
/// at least this program. Who made a namespace to see neither is elsewhere than the runs of the project, and is refused
/// for that; so is a person who is, until a run takes place there.
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
    let mut elsewhere = None;
    for ledger in ledgers {
        elsewhere = elsewhere.or_else(|| Some((ledger, place::elsewhere(ledger)?)));
        if let Ok(Some(live)) = holder(ledger)
            && ancestry.ancestors.contains(&live.pid)
        {
            return refuse(format!("below {live}"));
        }
    }
    if let Some(pid) = ancestry.ancestors.iter().find(|pid| is_this_program(**pid)) {
        return refuse(format!("below another ralph (process {pid})"));
    }
    let Some((ledger, why)) = elsewhere else { return Ok(()) };
    Err(CliError::usage(format!(
        "this is another namespace (a container, a sandbox) than the one in which the runs of {} take place ({why}), and \
         only a person there may {act}. Do it from there, or here after a `ralph run` here",
        ledger.root().display()
    )))
}

/// Why this process seems to be inside a session that Ralph started, if it does.
pub(crate) fn inside_a_session() -> Option<String> {
    let ancestry = ralph_process::ancestry();
    let above = || ancestry.ancestors.iter().find(|pid| is_this_program(**pid));
    let session = ancestry.session.as_ref().map(|session| format!("a session that Ralph started ({session})"));
    session.or_else(|| above().map(|pid| format!("below another ralph (process {pid})")))
}

/// Whether the process runs this program, by its file or by that file's name: a session may have copied the file, but
/// not that of a process above it. Nothing is known of other processes where there is no `/proc`.
fn is_this_program(pid: u32) -> bool {
    let link = |who: &str| format!("/proc/{who}/exe");
    let file = |who: &str| fs::metadata(link(who)).ok().map(|file| (file.dev(), file.ino()));
    let pid = pid.to_string();
    let name = fs::read_link(link(&pid)).ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    // The system says so of a file that was replaced meanwhile.
    let is_named = name.is_some_and(|name| name.trim_end_matches(" (deleted)") == env!("CARGO_BIN_NAME"));
    is_named || file(&pid).is_some_and(|theirs| Some(theirs) == file("self"))
}
