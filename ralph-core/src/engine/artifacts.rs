//! Where the outputs of a run go.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::machine::Attempt;

/// A folder for prompts, transcripts and verifier output: `0001/prompt.md`, `0001/session.log`,
/// `0001/verify-workspace.log`, … by iteration; later attempts of an iteration add their number: `session-2.log`.
#[derive(Clone, Debug, Default)]
pub struct Artifacts {
    root: Option<PathBuf>,
}

impl Artifacts {
    /// Outputs are not kept.
    pub fn none() -> Self {
        Self::default()
    }

    /// Outputs are kept below `root`, which is made when needed.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: Some(root.into()) }
    }

    /// The folder of an iteration.
    pub fn folder(&self, iteration: u32) -> Option<PathBuf> {
        Some(self.root.as_ref()?.join(format!("{iteration:04}")))
    }

    /// The path for `stem.extension` of an attempt; its folder exists afterwards.
    pub(super) fn path(&self, attempt: &Attempt, stem: &str, extension: &str) -> io::Result<Option<PathBuf>> {
        let Some(folder) = self.folder(attempt.iteration) else { return Ok(None) };
        fs::create_dir_all(&folder)?;
        let suffix = if attempt.id.number == 1 { String::new() } else { format!("-{}", attempt.id.number) };
        Ok(Some(folder.join(format!("{stem}{suffix}.{extension}"))))
    }

    /// The path for output that belongs to no attempt.
    pub(super) fn loose(&self, stem: &str) -> io::Result<Option<PathBuf>> {
        let Some(root) = &self.root else { return Ok(None) };
        fs::create_dir_all(root)?;
        Ok(Some(root.join(format!("{stem}.log"))))
    }

    /// Keeps a text beside the outputs.
    pub(super) fn write(&self, attempt: &Attempt, stem: &str, extension: &str, text: &str) -> io::Result<()> {
        match self.path(attempt, stem, extension)? {
            Some(path) => fs::write::<&Path, _>(&path, text),
            None => Ok(()),
        }
    }
}
