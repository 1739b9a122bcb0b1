//! Where the repository, its control folder and its plan are.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use ralph_core::{Digest, ledger::Ledger};

use crate::{error::CliError, plan::MASTER_PLAN};

/// The name of the control folder at the repository's root.
pub(crate) const LEDGER: &str = "ralph-loop";

/// A repository with its control folder.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    pub(crate) ledger: Ledger,
    /// What git sees of the surroundings, where that is not this process' own environment.
    pub(crate) environment: Option<Vec<(OsString, OsString)>>,
}

impl Project {
    /// The repository around `from`.
    pub(crate) fn find(from: &Path) -> Result<Self, CliError> {
        let from = fs::canonicalize(from).map_err(|error| CliError::usage(format!("{}: {error}", from.display())))?;
        let root = from.ancestors().find(|folder| folder.join(".git").exists());
        let Some(root) = root.map(Path::to_owned) else {
            return Err(CliError::usage(format!(
                "{} is in no git repository: go to one, or make one with `git init` and a first commit",
                from.display()
            )));
        };
        Ok(Self { ledger: Ledger::at(root.join(LEDGER)), root, environment: None })
    }

    /// The settings file, whether it is there or not.
    pub(crate) fn settings(&self) -> PathBuf {
        self.ledger.settings()
    }

    /// The plan that is meant: `given`, or the Master Plan of the control folder, or the only PRD there.
    pub(crate) fn plan(&self, given: Option<&Path>) -> Result<PathBuf, CliError> {
        let master = self.ledger.root().join(MASTER_PLAN);
        let path = match given {
            Some(given) => given.to_owned(),
            None if master.exists() => master,
            None => self.only_prd()?,
        };
        if path.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("md")) {
            return Err(CliError::usage(format!("{}: a plan is a Markdown file (`.md`)", path.display())));
        }
        fs::canonicalize(&path).map_err(|error| CliError::usage(format!("{}: {error}", path.display())))
    }

    /// The PRDs in the control folder, by name.
    pub(crate) fn prds(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = fs::read_dir(self.ledger.root())
            .map(|entries| {
                entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| is_prd(path)).collect()
            })
            .unwrap_or_default();
        found.sort();
        found
    }

    fn only_prd(&self) -> Result<PathBuf, CliError> {
        match self.prds().as_slice() {
            [] => {
                let folder = self.relative(self.ledger.root());
                Err(CliError::usage(format!("there is no PRD in {folder}/; `ralph init` writes a first one")))
            }
            [only] => Ok(only.clone()),
            several => {
                let names: Vec<String> = several.iter().map(|path| self.relative(path)).collect();
                let folder = self.relative(self.ledger.root());
                Err(CliError::usage(format!(
                    "there are several PRDs and no {folder}/{MASTER_PLAN}; name one of {}",
                    names.join(", ")
                )))
            }
        }
    }

    /// `path` as people of this project write it.
    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }

    /// What of the checkout is control besides `ralph-loop/`: the plan (given as [`Self::relative`] has it) where it lies
    /// elsewhere, and the folder that `ralph-loop` is a link to. An agent's copies of them must not come back by a merge.
    pub(crate) fn control(&self, plan: &str) -> Vec<String> {
        let folder = fs::canonicalize(self.ledger.root()).map(|folder| self.relative(&folder)).unwrap_or_default();
        let inside = |path: &str| !path.is_empty() && Path::new(path).is_relative();
        [plan.to_owned(), folder].into_iter().filter(|path| inside(path)).collect()
    }

    /// A name for folders of this repository outside of it: its own and a fingerprint of where it is.
    pub(crate) fn slug(&self) -> String {
        let name = self.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let digest = Digest::of(self.root.as_os_str().as_encoded_bytes());
        format!("{}-{}", slug(&name), digest.short())
    }
}

fn is_prd(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    name.starts_with("prd") && name.ends_with(".md") && path.is_file()
}

/// `text` as part of a branch's or folder's name: lower case, letters and digits, `-` between.
pub(crate) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.to_lowercase().chars() {
        if c.is_alphanumeric() || c == '_' {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "plan".to_owned() } else { slug.to_owned() }
}

/// The run's branch: the pattern of the settings with the plan's and phase's names.
pub(crate) fn branch(pattern: &str, prd: &Path, phase: &str) -> String {
    let stem = prd.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    pattern.replace("{plan}", &slug(&stem)).replace("{phase}", &slug(phase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(slug("My Plan (v2)!"), "my-plan-v2");
        assert_eq!(slug("--upload-pack=x"), "upload-pack-x");
        assert_eq!(slug("…"), "plan");
        assert_eq!(branch("ralph/{plan}", Path::new("/x/PRD-P1.md"), "P1"), "ralph/prd-p1");
        assert_eq!(branch("auto/{phase}", Path::new("/x/PRD-P1.md"), "P1"), "auto/p1");
    }
}
