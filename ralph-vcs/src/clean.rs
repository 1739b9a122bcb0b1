//! Removing what runs leave behind. Only what is certainly ours goes, and work only where it is named.

use std::{
    fs,
    os::fd::AsFd,
    path::{Path, PathBuf},
    time::SystemTime,
};

use ralph_core::{Cx, RunId, VcsError};
use tokio::sync::Mutex;

use crate::{
    GitVcs,
    git::other,
    keep::component,
    site::{OWNER, owned_by},
    walk::{list, open_folder, open_root, remove},
};

impl GitVcs {
    /// The folders that [`GitVcs::remove_sites`] would remove: those of the lanes, the ones included that were moved
    /// aside because an agent had replaced them.
    ///
    /// # Errors
    /// [`VcsError::Refused`] where the folder of the sites does not carry this repository's mark.
    pub fn sites_to_remove(&self) -> Result<Vec<PathBuf>, VcsError> {
        if !owned_by(&self.sites, &self.common_dir)? {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for lane in entries(&self.sites.join("lanes")) {
            found.extend(entries(&lane).into_iter().filter(|path| path.is_dir() || path.is_symlink()));
        }
        Ok(found)
    }

    /// Removes all sites. Their content is a cache: whatever was worth keeping is in a revision. Waits for what is
    /// under way in this process; that no other process is at work is for the caller to know (it holds the lock).
    ///
    /// # Errors
    /// As [`GitVcs::sites_to_remove`], or where something cannot be removed.
    pub async fn remove_sites(&self) -> Result<Vec<PathBuf>, VcsError> {
        let known: Vec<_> = {
            let mut lanes = self.lanes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            std::mem::take(&mut *lanes).into_values().collect()
        };
        let mut held = Vec::new();
        for site in known {
            held.push(Mutex::lock_owned(site).await);
        }
        let removed = self.sites_to_remove()?;
        if !owned_by(&self.sites, &self.common_dir)? {
            return Ok(removed);
        }
        let sites = self.sites.clone();
        let task = tokio::task::spawn_blocking(move || {
            let result = remove_all(&sites);
            drop(held);
            result
        });
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| other("removing the sites", error);
        task.await.map_err(|error| failed(error.into()))?.map_err(|error| failed(error.into()))?;
        Ok(removed)
    }

    /// Removes the pins of `run`: of snapshots that were neither accepted nor kept, because a later attempt took their
    /// place. For when the run is over. Answers how many went.
    ///
    /// # Errors
    /// Only if git cannot answer.
    pub async fn remove_pins(&self, run: &RunId, cx: &Cx) -> Result<usize, VcsError> {
        let below = format!("refs/ralph/work/{}/", component(run.as_str()));
        let call = self.git.call("for-each-ref").args(["--format=%(refname)", &below]);
        let list = call.ok(cx).await?;
        let list = String::from_utf8_lossy(&list);
        let lines: String = list.lines().map(|name| format!("delete {name}\0\0")).collect();
        if lines.is_empty() {
            return Ok(0);
        }
        let lines = format!("start\0{lines}prepare\0commit\0");
        let output = self.update_refs(lines.into_bytes(), "ralph: prune").await?;
        if !output.success() {
            return Err(output.failed("update-ref"));
        }
        self.memory().pins.retain(|_, pin| !pin.starts_with(&below));
        Ok(list.lines().count())
    }

    /// Removes the names of kept work, which lets git collect it: those of `names` that are ours and were committed
    /// before `before`. Answers the names that went.
    ///
    /// # Errors
    /// [`VcsError::Refused`] for a name that is not one of kept work.
    pub async fn prune_kept(
        &self,
        names: &[String],
        before: Option<SystemTime>,
        cx: &Cx,
    ) -> Result<Vec<String>, VcsError> {
        let kept = self.kept(None, cx).await?;
        let mut lines = String::from("start\0");
        let mut pruned = Vec::new();
        for name in names {
            let Some(work) = kept.iter().find(|work| work.name == *name) else {
                return Err(VcsError::Refused(format!("`{name}` is not the name of kept work")));
            };
            if before.is_none_or(|before| work.at < before) {
                lines.push_str(&format!("delete {name}\0{}\0", work.revision));
                pruned.push(name.clone());
            }
        }
        if pruned.is_empty() {
            return Ok(pruned);
        }
        lines.push_str("prepare\0commit\0");
        let output = self.update_refs(lines.into_bytes(), "ralph: prune").await?;
        if output.success() { Ok(pruned) } else { Err(output.failed("update-ref")) }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Removes the lanes and, where nothing else is there, the folder itself.
fn remove_all(sites: &Path) -> std::io::Result<()> {
    let root = open_root(sites)?;
    for entry in list(root.as_fd())? {
        if entry.name.to_bytes() == b"lanes" {
            // Opened first, so that a lane whose rights were taken can be removed.
            if entry.kind.is_dir() {
                drop(open_folder(root.as_fd(), b"lanes")?);
            }
            remove(root.as_fd(), b"lanes", entry.kind)?;
        }
    }
    let only_mark = list(root.as_fd())?.iter().all(|entry| entry.name.to_bytes() == OWNER.as_bytes());
    if only_mark {
        fs::remove_file(sites.join(OWNER))?;
        fs::remove_dir(sites)?;
    }
    Ok(())
}
