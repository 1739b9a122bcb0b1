//! Where output goes.

use std::{
    fs::{File, OpenOptions},
    path::{Path, PathBuf},
};

use crate::error::SpawnError;

/// The files that a process prints to. Made if they are not there, else appended to; their folder must exist.
///
/// Files and not pipes: several agent programs lose what a slow reader has not yet taken and still exit with 0, and
/// a file survives a crash of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    stdout: PathBuf,
    stderr: Option<PathBuf>,
}

impl Output {
    /// stdout and stderr in one file, in the order in which they were printed.
    pub fn merged(path: impl Into<PathBuf>) -> Self {
        Self { stdout: path.into(), stderr: None }
    }

    /// stdout and stderr in a file each. Only stdout is handed on line by line.
    pub fn apart(stdout: impl Into<PathBuf>, stderr: impl Into<PathBuf>) -> Self {
        Self { stdout: stdout.into(), stderr: Some(stderr.into()) }
    }

    /// The file of stdout.
    pub fn stdout(&self) -> &Path {
        &self.stdout
    }

    /// The file of stderr.
    pub fn stderr(&self) -> &Path {
        self.stderr.as_deref().unwrap_or(&self.stdout)
    }

    pub(crate) fn open(&self) -> Result<OpenOutput, SpawnError> {
        let stdout = Sink::open(&self.stdout)?;
        let stderr = self.stderr.as_deref().map(Sink::open).transpose()?;
        Ok(OpenOutput { stdout, stderr })
    }
}

/// The files of one run, open for writing, with where the run's output begins in them.
pub(crate) struct OpenOutput {
    pub(crate) stdout: Sink,
    pub(crate) stderr: Option<Sink>,
}

impl OpenOutput {
    pub(crate) fn sinks(&mut self) -> impl Iterator<Item = &mut Sink> {
        std::iter::once(&mut self.stdout).chain(&mut self.stderr)
    }

    pub(crate) fn stderr_file(&self) -> &File {
        self.stderr.as_ref().map_or(&self.stdout.file, |sink| &sink.file)
    }
}

pub(crate) struct Sink {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    /// Its length before the run.
    pub(crate) start: u64,
    /// Its length when last looked at.
    pub(crate) length: u64,
}

impl Sink {
    fn open(path: &Path) -> Result<Self, SpawnError> {
        let failed = |source| SpawnError::Output { path: path.to_owned(), source };
        // Append: a process that opens the same file again, or a second command that goes on in it, never writes over
        // what is there.
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        let start = file.metadata().map_err(failed)?.len();
        Ok(Self { path: path.to_owned(), file, start, length: start })
    }

    /// Looks at the file again: whether it changed its length since the last look.
    pub(crate) fn grew(&mut self) -> Result<bool, SpawnError> {
        let length = self.file.metadata().map_err(|source| self.failed(source))?.len();
        let grew = length != self.length;
        self.length = length;
        Ok(grew)
    }

    /// How many bytes the run has printed.
    pub(crate) fn printed(&self) -> u64 {
        self.length.saturating_sub(self.start)
    }

    /// Cuts the run's output to `max` bytes; whether there was anything to cut.
    pub(crate) fn cut(&mut self, max: u64) -> Result<bool, SpawnError> {
        self.grew()?;
        if self.printed() <= max {
            return Ok(false);
        }
        self.length = self.start + max;
        self.file.set_len(self.length).map_err(|source| self.failed(source))?;
        Ok(true)
    }

    fn failed(&self, source: std::io::Error) -> SpawnError {
        SpawnError::Output { path: self.path.clone(), source }
    }
}
