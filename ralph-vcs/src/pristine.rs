//! A revision whose files are not as its own attributes say is changed by being checked out: every snapshot would hold
//! changes that nobody made. Looked for once, where there are attributes at all.

use ralph_core::{Cx, Revision, Site, VcsError};

use crate::{GitVcs, index::Index, site::SiteState, status};

impl GitVcs {
    /// Refuses the revision at which the branch began, if it is not clean in the site where it was just placed.
    pub(crate) async fn refuse_unclean(
        &self,
        state: &SiteState,
        site: Site,
        revision: &Revision,
        cx: &Cx,
    ) -> Result<(), VcsError> {
        // Later revisions are our own, and what an agent does to its attributes is its work.
        if self.memory().unseen.as_ref() != Some(revision) || !matches!(site, Site::Work { .. }) {
            return Ok(());
        }
        if self.has_attributes(state)? {
            let dirty = self.changed_by_checkout(state, revision, cx).await?;
            if !dirty.is_empty() {
                let shown: Vec<_> = dirty.iter().take(5).map(|path| String::from_utf8_lossy(path)).collect();
                let more = dirty.len().saturating_sub(shown.len());
                let more = if more == 0 { String::new() } else { format!(" and {more} more") };
                return Err(VcsError::Refused(format!(
                    "these files are not stored as their attributes say, so that every checkout changes them: {}{more}; \
                     run `git add --renormalize .`, commit, and begin again",
                    shown.join(", ")
                )));
            }
        }
        self.memory().unseen = None;
        Ok(())
    }

    fn has_attributes(&self, state: &SiteState) -> Result<bool, VcsError> {
        let own = self.common_dir.join("info/attributes").exists();
        let elsewhere = self.passed_on.iter().any(|(key, value)| key == "core.attributesfile" && value != "/dev/null");
        Ok(own || elsewhere || Index::read(&state.index, self.oid_bytes())?.has_attributes())
    }

    /// Compares all files by content: with an index that has no notes about the disk.
    async fn changed_by_checkout(
        &self,
        state: &SiteState,
        revision: &Revision,
        cx: &Cx,
    ) -> Result<Vec<Vec<u8>>, VcsError> {
        let index = state.index.with_extension("probe");
        // One that a crash left would have notes.
        let _ = std::fs::remove_file(&index);
        let call = self.git.call("read-tree").arg(revision.as_str());
        call.site(&state.root, &index).ok(cx).await?;
        let status = self
            .git
            .call("status")
            .args(["--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=all"])
            .arg("--untracked-files=no")
            .site(&state.root, &index)
            .scan()
            .ok(cx)
            .await?;
        let _ = std::fs::remove_file(&index);
        let changed = status::parse(&status).map(|status| status.changed).unwrap_or_default();
        Ok(changed.into_iter().map(|changed| changed.path).collect())
    }
}
