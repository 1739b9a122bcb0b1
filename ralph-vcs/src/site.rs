//! The folders of the lanes: where they are, and whether they are still the ones that were made.
//!
//! ```text
//! <sites>/ralph-sites.json       whose sites these are
//! <sites>/lanes/0/work           the agent's site of lane 0 (a folder)
//! <sites>/lanes/0/work.index     its private index
//! <sites>/lanes/0/work.json      (device, inode) of the folder
//! <sites>/lanes/0/clean/ …       where candidates are judged
//! ```

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use ralph_core::{Digest, Site, VcsError};
use serde::{Deserialize, Serialize};

use crate::git::other;

/// The file that says whose sites a folder holds.
pub(crate) const OWNER: &str = "ralph-sites.json";

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Owner {
    repository: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    device: u64,
    inode: u64,
}

/// One site and what is known about it.
#[derive(Debug)]
pub(crate) struct SiteState {
    /// The folder.
    pub(crate) root: PathBuf,
    /// The private index.
    pub(crate) index: PathBuf,
    record: PathBuf,
    made: Option<Made>,
    /// The tree that the index stands for, where known.
    pub(crate) tree: Option<Digest>,
    /// The tree whose entries of the ledger the index holds, where known.
    pub(crate) ledger_of: Option<Digest>,
    /// The last answer to "which of these caches are ignored", and what it depends on.
    pub(crate) ignored: Option<(Digest, Vec<Vec<u8>>)>,
}

/// What became of a site's folder since it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// It is the one that was made.
    Same,
    /// It was not there and has just been made.
    New,
    /// Something else stands in its place.
    Replaced,
    /// Nothing is there.
    Missing,
}

impl SiteState {
    pub(crate) fn new(sites: &Path, site: Site) -> Self {
        let (lane, name) = match site {
            Site::Work { lane } => (lane, "work"),
            Site::Clean { lane } => (lane, "clean"),
            Site::Review { lane } => (lane, "review"),
        };
        let folder = sites.join("lanes").join(lane.to_string());
        Self {
            root: folder.join(name),
            index: folder.join(format!("{name}.index")),
            record: folder.join(format!("{name}.json")),
            made: None,
            tree: None,
            ledger_of: None,
            ignored: None,
        }
    }

    /// Looks at the folder without changing anything.
    pub(crate) fn look(&mut self) -> Result<Root, VcsError> {
        if self.made.is_none() {
            self.made = match fs::read(&self.record) {
                Ok(bytes) => serde_json::from_slice(&bytes).ok(),
                Err(_) => None,
            };
        }
        match identity(&self.root) {
            Ok(Some(found)) if self.made == Some(found) => Ok(Root::Same),
            Ok(_) => Ok(Root::Replaced),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Root::Missing),
            Err(error) => Err(other(format!("looking at {}", self.root.display()), error)),
        }
    }

    /// Makes sure that the folder is the one that was made. What stands in its place is moved aside, and nothing is
    /// touched through it.
    pub(crate) fn make(&mut self, sites: &Path, repository: &Path) -> Result<Root, VcsError> {
        let fail = |what: &Path, error| other(format!("making {}", what.display()), error);
        claim(sites, repository)?;
        let lane = self.root.parent().unwrap_or(sites);
        for folder in [sites.join("lanes").as_path(), lane] {
            match identity(folder) {
                Ok(Some(_)) => {}
                Ok(None) => {
                    return Err(VcsError::Refused(format!(
                        "{} is no longer a folder; look at what it is now and remove it",
                        folder.display()
                    )));
                }
                Err(_) => private_folder(folder).map_err(|error| fail(folder, error))?,
            }
        }
        match self.look()? {
            Root::Same => return Ok(Root::Same),
            Root::Replaced => self.move_aside()?,
            Root::Missing | Root::New => {}
        }
        // Files of an index are believed to be there, so it goes before the folder comes.
        self.forget()?;
        private_folder(&self.root).map_err(|error| fail(&self.root, error))?;
        let made = identity(&self.root).map_err(|error| fail(&self.root, error))?;
        let record = serde_json::to_vec(&made).map_err(|error| other("recording a site", error))?;
        fs::write(&self.record, record).map_err(|error| fail(&self.record, error))?;
        self.made = made;
        Ok(Root::New)
    }

    /// Forgets which files are there. They are all strangers at the next placing.
    pub(crate) fn forget(&mut self) -> Result<(), VcsError> {
        (self.tree, self.ledger_of, self.ignored) = (None, None, None);
        match fs::remove_file(&self.index) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(other(format!("removing {}", self.index.display()), error))
            }
            _ => Ok(()),
        }
    }

    /// Removes the lock that a git of ours left when it was killed. Nobody else uses a private index, and we hold the
    /// site.
    pub(crate) fn unlock(&self) {
        let mut lock = self.index.clone().into_os_string();
        lock.push(".lock");
        // If it is there and stays, git will say so.
        let _ = fs::remove_file(lock);
    }

    fn move_aside(&self) -> Result<(), VcsError> {
        let free = (1..10_000).map(|nth| {
            let mut name = self.root.clone().into_os_string();
            name.push(format!(".replaced-{nth}"));
            PathBuf::from(name)
        });
        let Some(aside) = free.into_iter().find(|path| fs::symlink_metadata(path).is_err()) else {
            return Err(VcsError::Refused(format!(
                "too many replaced folders beside {}; remove them",
                self.root.display()
            )));
        };
        // Renaming a link moves the link.
        fs::rename(&self.root, &aside).map_err(|error| other(format!("moving {} aside", self.root.display()), error))
    }
}

/// Device and inode of a folder; `None` if it is something else, a link for example.
fn identity(path: &Path) -> io::Result<Option<Made>> {
    let data = fs::symlink_metadata(path)?;
    Ok(data.is_dir().then(|| Made { device: data.dev(), inode: data.ino() }))
}

fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).recursive(false).create(path)
}

/// Makes the folder of all sites, for the repository and no other.
fn claim(sites: &Path, repository: &Path) -> Result<(), VcsError> {
    let fail = |error| other(format!("making {}", sites.display()), error);
    if owned_by(sites, repository)? {
        return Ok(());
    }
    fs::DirBuilder::new().mode(0o700).recursive(true).create(sites).map_err(fail)?;
    let owner = Owner { repository: repository.to_owned() };
    let bytes = serde_json::to_vec(&owner).map_err(|error| other("recording the owner", error))?;
    fs::write(sites.join(OWNER), bytes).map_err(fail)
}

fn holds_nothing_else(sites: &Path) -> bool {
    let others = |entry: io::Result<fs::DirEntry>| entry.map_or(true, |entry| entry.file_name() != OWNER);
    fs::read_dir(sites).is_ok_and(|mut entries| !entries.any(others))
}

/// Whether `sites` holds the sites of `repository`; `false` where it can become so. Anything else is refused.
pub(crate) fn owned_by(sites: &Path, repository: &Path) -> Result<bool, VcsError> {
    let refuse = |why: &str| {
        VcsError::Refused(format!(
            "{} cannot hold the workspaces: {why}; choose another folder (`run.workspaces`)",
            sites.display()
        ))
    };
    match fs::read(sites.join(OWNER)) {
        Ok(bytes) => match serde_json::from_slice::<Owner>(&bytes) {
            Ok(owner) if owner.repository == repository => Ok(true),
            Ok(owner) => Err(refuse(&format!("it belongs to the repository {}", owner.repository.display()))),
            // A crash while the folder was made: nothing is in it yet.
            Err(_) if holds_nothing_else(sites) => Ok(false),
            Err(_) => Err(refuse("its owner's record is damaged")),
        },
        Err(_) => match fs::read_dir(sites).map(|mut entries| entries.next().is_none()) {
            Ok(true) => Ok(false),
            Ok(false) => Err(refuse("it holds something that is not Ralph's")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(refuse(&error.to_string())),
        },
    }
}

/// `path` with the links of its existing part resolved.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut at = path;
    loop {
        if let Ok(real) = fs::canonicalize(at) {
            return rest.iter().rev().fold(real, |path, part| path.join(part));
        }
        match (at.parent(), at.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name);
                at = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

/// The checkout in which `path` lies: the nearest folder above it with a `.git`.
pub(crate) fn checkout_around(path: &Path) -> Option<&Path> {
    path.ancestors().find(|folder| fs::symlink_metadata(folder.join(".git")).is_ok())
}
