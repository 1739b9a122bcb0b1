//! What lies between two revisions, for people.

use ralph_core::{Cx, Revision, VcsError};

use crate::GitVcs;

/// How much of a difference is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffForm {
    /// All of it, as a patch.
    Patch,
    /// How many lines of which files.
    Stat,
}

impl GitVcs {
    /// The difference between two revisions as git writes it: without colours, and without anything run that the
    /// repository's settings or attributes name (external programs, text conversion). Contents are as they are
    /// in the repository: not safe for a terminal.
    ///
    /// # Errors
    /// [`VcsError::NoRevision`] where one of the two is not there.
    pub async fn diff(&self, from: &Revision, to: &Revision, form: DiffForm, cx: &Cx) -> Result<Vec<u8>, VcsError> {
        for revision in [from, to] {
            self.require(revision, cx).await?;
        }
        // Plumbing, for the settings of `git diff` are for the operator's own eyes.
        let call = self.git.call("diff-tree").args(["-r", "--find-renames", "--no-color", "--no-ext-diff"]);
        let call = call.args(["--no-textconv", "--submodule=short", "--ignore-submodules=none"]);
        let call = call.arg(match form {
            DiffForm::Patch => "--patch",
            DiffForm::Stat => "--stat=90",
        });
        call.args([from.as_str(), to.as_str(), "--"]).ok(cx).await
    }
}
