//! Where the runs of a project take place: on which machine or in which container, by the namespaces of the system.
//!
//! A session that makes a namespace for itself sees neither the run nor its own session above it. It is elsewhere, though,
//! and that can be seen. (Who can write the operator's files can write this record, too: keeping a session from that is a
//! sandbox's.)

use std::{
    fs,
    io::{self, Write as _},
};

use ralph_core::ledger::Ledger;
use tempfile::NamedTempFile;

/// Records that runs take place here. Where the system says nothing of namespaces nothing is recorded.
pub(crate) fn record(ledger: &Ledger) -> io::Result<()> {
    let Some(here) = ralph_process::namespaces() else { return Ok(()) };
    let text = format!("{here}\n");
    if fs::read(ledger.place()).is_ok_and(|known| known == text.as_bytes()) {
        return Ok(());
    }
    // For its owner only from the beginning; all of it is there or nothing.
    let mut file = NamedTempFile::new_in(ledger.state())?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(ledger.place()).map(drop).map_err(|error| error.error)
}

/// Why this process is not where the runs of the project take place; `None` where it is, or where none is on record.
pub(crate) fn elsewhere(ledger: &Ledger) -> Option<String> {
    let recorded = match fs::read_to_string(ledger.place()) {
        Ok(recorded) => recorded,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(format!("{}: {error}", ledger.place().display())),
    };
    differs(recorded.trim(), ralph_process::namespaces().as_deref())
}

fn differs(recorded: &str, here: Option<&str>) -> Option<String> {
    match here {
        Some(here) if here == recorded => None,
        Some(here) => Some(format!("this is {here}, they are in {recorded}")),
        None => Some(format!("the system does not say where this is, they are in {recorded}")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_what_is_recorded_and_the_same_is_here() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::at(folder.path());
        assert_eq!(elsewhere(&ledger), None, "no run yet");
        ledger.create().unwrap();
        for _ in 0..2 {
            record(&ledger).unwrap();
            assert_eq!(elsewhere(&ledger), None);
        }
        if let Some(here) = ralph_process::namespaces() {
            assert_eq!(fs::read_to_string(ledger.place()).unwrap().trim(), here);
            assert_eq!(fs::metadata(ledger.place()).unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::write(ledger.place(), "user:[1] pid:[2]\n").unwrap();
        assert!(elsewhere(&ledger).unwrap().contains("they are in user:[1] pid:[2]"));
        fs::remove_file(ledger.place()).unwrap();
        fs::create_dir(ledger.place()).unwrap();
        assert!(elsewhere(&ledger).unwrap().contains("place"), "what cannot be read is no leave");
    }

    #[test]
    fn what_cannot_be_seen_is_another_place() {
        assert_eq!(differs("user:[1] pid:[2]", Some("user:[1] pid:[2]")), None);
        for here in [Some("user:[3] pid:[2]"), Some("user:[1] pid:[3]"), Some(""), None] {
            assert!(differs("user:[1] pid:[2]", here).is_some(), "{here:?}");
        }
    }
}
