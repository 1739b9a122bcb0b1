//! Moving the branch: one transaction, durable, by compare-and-swap; what came of it is read from the ref.

use ralph_core::{Accepted, Cx, Revision, VcsError};

use crate::{
    GitVcs,
    git::{Output, line, other},
};

impl GitVcs {
    pub(crate) async fn accept_work(
        &self,
        revision: &Revision,
        expected: &Revision,
        cx: &Cx,
    ) -> Result<Accepted, VcsError> {
        if let Some(place) = self.held_by(cx).await? {
            return Err(VcsError::Refused(format!(
                "the branch {} is now checked out in {place}: moving it would leave that checkout with changes nobody \
                 made; switch it to another branch",
                self.options.branch
            )));
        }
        let known = self.memory().bases.get(revision).cloned();
        if known.as_ref() != Some(expected) && revision != expected {
            self.require(revision, cx).await?;
            if !self.is_ancestor(expected, revision, cx).await? {
                return self.outcome(revision, expected, None, cx).await;
            }
        }
        let lines = format!("update {}\0{revision}\0{expected}\0", self.branch_ref);
        let output = self.update_and_unpin(&lines, revision, "ralph: accept", cx).await?;
        if output.success() {
            return Ok(Accepted::Landed);
        }
        self.outcome(revision, expected, Some(&output), cx).await
    }

    /// What the branch says after a move that failed, or seemed to.
    async fn outcome(
        &self,
        revision: &Revision,
        expected: &Revision,
        output: Option<&Output>,
        cx: &Cx,
    ) -> Result<Accepted, VcsError> {
        let Some(found) = self.read_ref(&self.branch_ref, cx).await? else {
            return Ok(Accepted::Lost(format!("the branch {} is gone", self.options.branch)));
        };
        if found == *revision || self.is_ancestor(revision, &found, cx).await? {
            return Ok(Accepted::Landed);
        }
        if found == *expected {
            return Err(match output {
                Some(output) => output.failed("update-ref"),
                None => VcsError::Refused(format!(
                    "{} is not built on {}: the branch only moves forward",
                    revision.short(),
                    expected.short()
                )),
            });
        }
        if self.is_ancestor(expected, &found, cx).await? {
            return Ok(Accepted::Overtaken(found));
        }
        Ok(Accepted::Lost(format!("the branch {} is at {found}", self.options.branch)))
    }

    /// Runs `lines` and, in the same transaction, removes the pin of `revision`.
    pub(crate) async fn update_and_unpin(
        &self,
        lines: &str,
        revision: &Revision,
        reason: &'static str,
        cx: &Cx,
    ) -> Result<Output, VcsError> {
        let pin = self.pin_of(revision, cx).await?;
        let unpin = pin.as_ref().map(|pin| format!("delete {pin}\0{revision}\0"));
        let whole = |unpin: &str| format!("start\0{lines}{unpin}prepare\0commit\0").into_bytes();
        let mut output = self.update_refs(whole(&unpin.unwrap_or_default()), reason).await?;
        if let Some(pin) = pin.filter(|_| !output.success()) {
            // A pin that somebody removed or that holds newer work is no reason to fail.
            if self.read_ref(&pin, cx).await?.as_ref() != Some(revision) {
                output = self.update_refs(whole(""), reason).await?;
            }
        }
        if output.success() {
            self.memory().pins.remove(revision);
        }
        Ok(output)
    }

    /// Runs one batch of ref changes. Neither a cancellation nor a dropped future ends it: it takes milliseconds, and a
    /// git that is killed in it leaves locks that would stop every later one.
    pub(crate) async fn update_refs(&self, lines: Vec<u8>, reason: &'static str) -> Result<Output, VcsError> {
        let git = self.git.clone();
        let task = tokio::spawn(async move {
            let call = git.call("update-ref").args(["-m", reason]);
            call.args(["--no-deref", "-z", "--stdin"]).stdin(lines).run_through().await
        });
        task.await.map_err(|error| other("git update-ref", error))?
    }

    /// The commit that the ref `name` holds.
    pub(crate) async fn read_ref(&self, name: &str, cx: &Cx) -> Result<Option<Revision>, VcsError> {
        let call = self.git.call("rev-parse").args(["--verify", "--quiet", "--end-of-options", name]);
        let output = call.run(cx).await?;
        match output.code {
            Some(0) => Ok(Some(Revision::new(line(&output.stdout)))),
            Some(1) => Ok(None),
            _ => Err(output.failed("rev-parse")),
        }
    }

    pub(crate) async fn is_ancestor(&self, old: &Revision, new: &Revision, cx: &Cx) -> Result<bool, VcsError> {
        let call = self.git.call("merge-base").args(["--is-ancestor", old.as_str(), new.as_str()]);
        let output = call.run(cx).await?;
        match output.code {
            Some(0) => Ok(true),
            // 128: one of them is not there any more.
            Some(1 | 128) => Ok(false),
            _ => Err(output.failed("merge-base")),
        }
    }

    /// An error unless `revision` is a commit of the repository.
    pub(crate) async fn require(&self, revision: &Revision, cx: &Cx) -> Result<(), VcsError> {
        if !is_id(revision) {
            return Err(VcsError::NoRevision(revision.clone()));
        }
        let name = format!("{revision}^{{commit}}");
        let output = self.git.call("cat-file").args(["-e", &name]).run(cx).await?;
        if output.success() { Ok(()) } else { Err(VcsError::NoRevision(revision.clone())) }
    }
}

/// Whether this is a whole commit id and can never be read as an option or an expression.
pub(crate) fn is_id(revision: &Revision) -> bool {
    let text = revision.as_str();
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
