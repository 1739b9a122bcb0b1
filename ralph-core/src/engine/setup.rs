//! When a folder has to be set up again.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Mutex, PoisonError},
};

use crate::{
    id::Digest,
    plan::Phase,
    vcs::{Placed, Site},
};

/// Files that say which dependencies a folder needs; a change of one of them calls for `Setup:` again.
const LOCK_FILES: [&str; 16] = [
    "Cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
    "poetry.lock",
    "uv.lock",
    "Pipfile.lock",
    "requirements.txt",
    "Gemfile.lock",
    "composer.lock",
    "go.sum",
    "mix.lock",
    "flake.lock",
];

/// What each site was last set up for, in this process.
#[derive(Debug, Default)]
pub(super) struct SetUps(Mutex<BTreeMap<Site, Digest>>);

impl SetUps {
    /// Whether `site` needs its set-up, and the stamp to hand to [`SetUps::done`] afterwards.
    pub(super) fn due(&self, site: Site, placed: &Placed, phase: &Phase) -> Option<Digest> {
        if phase.setup.is_empty() {
            return None;
        }
        let stamp = stamp(&placed.folder, phase);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (placed.fresh || known.get(&site) != Some(&stamp)).then_some(stamp)
    }

    /// `site` is set up as `stamp` says.
    pub(super) fn done(&self, site: Site, stamp: Digest) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(site, stamp);
    }

    /// Whatever `site` was set up for holds no longer.
    pub(super) fn forget(&self, site: Site) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&site);
    }
}

/// Fingerprint of the commands and the lock files.
fn stamp(folder: &Path, phase: &Phase) -> Digest {
    let mut bytes = phase.setup.join("\n").into_bytes();
    for name in LOCK_FILES {
        bytes.push(0);
        // A lock file behind a link is not followed: it could lead anywhere.
        let path = folder.join(name);
        if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file()) {
            bytes.extend(fs::read(&path).unwrap_or_default());
        }
    }
    Digest::of(&bytes)
}
