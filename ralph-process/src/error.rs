//! Why a process could not be run.

use std::{io, path::PathBuf};

/// Why a process could not be run or watched. Nothing of it is alive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The program is not there.
    #[error("program `{}` not found", program.display())]
    NotFound {
        /// As it was given.
        program: PathBuf,
    },
    /// The program is there and cannot be executed: no permission, not a program.
    #[error("program `{}` cannot be executed", program.display())]
    NotExecutable {
        /// What was found.
        program: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The folder to run in is not there.
    #[error("folder `{}` cannot be entered", dir.display())]
    Folder {
        /// The folder.
        dir: PathBuf,
    },
    /// A file for the output could not be opened or read.
    #[error("output file `{}` cannot be used", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The system refused to start it: too many processes, arguments too long.
    #[error("program `{}` could not be started", program.display())]
    Start {
        /// As it was given.
        program: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It was started and then could not be watched or waited for; it was killed.
    #[error("program `{}` could not be waited for", program.display())]
    Wait {
        /// As it was given.
        program: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}
