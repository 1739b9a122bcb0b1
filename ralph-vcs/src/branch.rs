//! The run's branch: making it, finding it, and who else holds it.

use std::{fs, path::PathBuf};

use ralph_core::{Cx, Revision, Tip, VcsError};

use crate::{GitVcs, preflight::BranchState};

impl GitVcs {
    /// Makes sure that the branch exists, and says where it is.
    pub(crate) async fn begin(&self, cx: &Cx) -> Result<Tip, VcsError> {
        let preflight = self.preflight(cx).await?;
        if !preflight.refusals.is_empty() {
            return Err(VcsError::Refused(preflight.refusals.join("\n")));
        }
        let (lines, tip) = match preflight.branch {
            BranchState::Ours { tip, base } => {
                if tip == base {
                    self.memory().unseen = Some(tip.clone());
                }
                return Ok(Tip::At(tip));
            }
            // Known by the trailers of its commits: it gets its mark back.
            BranchState::Known { tip, base } => (format!("update {}\0{base}\0\0", self.marker_ref), tip),
            BranchState::Absent => {
                let Some(head) = preflight.head else {
                    return Err(VcsError::Refused("the repository has no commit yet".to_owned()));
                };
                let (branch, marker) = (&self.branch_ref, &self.marker_ref);
                self.memory().unseen = Some(head.clone());
                (format!("create {branch}\0{head}\0update {marker}\0{head}\0\0"), head)
            }
            BranchState::Foreign => {
                return Err(VcsError::Refused("the branch is not Ralph's".to_owned()));
            }
        };
        let lines = format!("start\0{lines}prepare\0commit\0");
        let output = self.update_refs(lines.into_bytes(), "ralph: begin").await?;
        if output.success() { Ok(Tip::At(tip)) } else { Err(output.failed("update-ref")) }
    }

    /// Where the branch is, compared with `since`.
    pub(crate) async fn tip_since(&self, since: &Revision, cx: &Cx) -> Result<Tip, VcsError> {
        // Asked before every item, and nearly always the answer is that nothing has changed.
        if self.holds(&self.branch_ref, since) {
            return Ok(Tip::At(since.clone()));
        }
        let Some(found) = self.read_ref(&self.branch_ref, cx).await? else {
            return Ok(Tip::Lost(format!("the branch {} is gone", self.options.branch)));
        };
        if found == *since {
            Ok(Tip::At(found))
        } else if self.is_ancestor(since, &found, cx).await? {
            Ok(Tip::Ahead(found))
        } else {
            Ok(Tip::Lost(format!("the branch {} is at {found}", self.options.branch)))
        }
    }

    /// Whether the file of the ref `name` says `revision`. Git replaces such a file as a whole, and it goes before packed
    /// refs. Where there is none, or it says anything else, git has to be asked.
    fn holds(&self, name: &str, revision: &Revision) -> bool {
        let file = self.common_dir.join(name);
        !self.reftable && fs::read(file).is_ok_and(|found| found.trim_ascii_end() == revision.as_str().as_bytes())
    }

    /// The checkout in which the branch is checked out, or held by a rebase.
    pub(crate) async fn held_by(&self, cx: &Cx) -> Result<Option<String>, VcsError> {
        let mut folders = vec![self.common_dir.clone()];
        if let Ok(entries) = fs::read_dir(self.common_dir.join("worktrees")) {
            folders.extend(entries.flatten().map(|entry| entry.path()));
        }
        let names = |folder: &PathBuf, file: &str| {
            let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
            text.trim().strip_prefix("ref: ").unwrap_or(text.trim()) == self.branch_ref
        };
        for folder in &folders {
            let files = ["HEAD", "rebase-merge/head-name", "rebase-apply/head-name"];
            if files.iter().any(|file| names(folder, file)) {
                let link = fs::read_to_string(folder.join("gitdir")).unwrap_or_default();
                let place = link.trim().strip_suffix("/.git").unwrap_or(link.trim());
                let own = self.common_dir.parent().unwrap_or(&self.common_dir);
                return Ok(Some(if place.is_empty() { own.display().to_string() } else { place.to_owned() }));
            }
        }
        if !self.reftable {
            return Ok(None);
        }
        // There the files say nothing, and git has to be asked.
        let call = self.git.call("for-each-ref").arg("--format=%(worktreepath)");
        let place = crate::git::line(&call.arg(&self.branch_ref).ok(cx).await?);
        Ok((!place.is_empty()).then_some(place))
    }
}
