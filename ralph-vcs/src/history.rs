//! What a run has put on its branch, and what it kept aside: for people who review.

use std::time::SystemTime;

use ralph_core::{Cx, KeepKind, Revision, VcsError, from_millis};

use crate::GitVcs;

/// A commit of the run's branch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Logged {
    /// The commit.
    pub revision: Revision,
    /// Its trailer `Ralph-Item`; none where a person made it.
    pub item: Option<String>,
    /// Its trailer `Ralph-Run`.
    pub run: Option<String>,
    /// Its trailer `Ralph-Attempt`.
    pub attempt: Option<u32>,
    /// The first line of its message.
    pub subject: String,
    /// When it was committed.
    pub at: SystemTime,
}

/// Work that was kept and is not on the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// The ref.
    pub name: String,
    /// Why.
    pub kind: KeepKind,
    /// The commit.
    pub revision: Revision,
    /// What it is built on; none where it is a first commit.
    pub base: Option<Revision>,
    /// Its trailer `Ralph-Item`.
    pub item: Option<String>,
    /// When it was committed.
    pub at: SystemTime,
}

impl GitVcs {
    /// The commits after `base` up to `tip`, oldest first. Without a base, from where the branch began; without a tip,
    /// to where it is. Trailers are taken as they are written: who can commit to the branch can write them.
    ///
    /// # Errors
    /// [`VcsError::NoRevision`] where one of the ends is not there.
    pub async fn log(&self, base: Option<&Revision>, tip: Option<&Revision>, cx: &Cx) -> Result<Vec<Logged>, VcsError> {
        let tip = self.given_or_ref(tip, &self.branch_ref, cx).await?;
        let base = self.given_or_ref(base, &self.marker_ref, cx).await?;
        let call = self
            .git
            .call("rev-list")
            .args(["--reverse", "--topo-order", "--no-commit-header", "--format=%H%x00%ct%x00%B%x00"])
            .args([tip.as_str(), "--not", base.as_str(), "--"]);
        let text = call.ok(cx).await?;
        let text = String::from_utf8_lossy(&text);
        let mut fields = text.split('\0');
        let mut commits = Vec::new();
        while let (Some(id), Some(time), Some(message)) = (fields.next(), fields.next(), fields.next()) {
            commits.push(logged(id.trim(), time, message));
        }
        Ok(commits)
    }

    /// Everything that was kept, of `run` only where one is given; sorted by name.
    ///
    /// # Errors
    /// Only if git cannot answer.
    pub async fn kept(&self, run: Option<&str>, cx: &Cx) -> Result<Vec<Kept>, VcsError> {
        // An item's name may hold blanks, so that it comes last.
        let format = "--format=%(objectname) %(committerdate:unix) %(refname) %(parent)\t\
                      %(trailers:key=Ralph-Item,valueonly,separator=%x2C)";
        let list = self.git.call("for-each-ref").args([format, "refs/ralph/"]).ok(cx).await?;
        let run = run.map(|run| format!("{}/", crate::keep::component(run)));
        let parse = |line: &str| {
            let (words, item) = line.split_once('\t')?;
            let mut words = words.split(' ');
            let (id, time, name) = (words.next()?, words.next()?, words.next()?);
            let (kind, path) = name.strip_prefix("refs/ralph/")?.split_once('/')?;
            let kind = match kind {
                "rejected" => KeepKind::Rejected,
                "parked" => KeepKind::Parked,
                "interrupted" => KeepKind::Interrupted,
                _ => return None,
            };
            let wanted = run.as_ref().is_none_or(|run| path.starts_with(run));
            let (name, revision) = (name.to_owned(), Revision::new(id));
            let base = words.next().filter(|parent| !parent.is_empty()).map(Revision::new);
            let item = Some(item.trim().to_owned()).filter(|item| !item.is_empty());
            wanted.then(|| Kept { name, kind, revision, base, item, at: seconds(time) })
        };
        Ok(String::from_utf8_lossy(&list).lines().filter_map(parse).collect())
    }

    async fn given_or_ref(&self, given: Option<&Revision>, name: &str, cx: &Cx) -> Result<Revision, VcsError> {
        match given {
            Some(revision) => {
                self.require(revision, cx).await?;
                Ok(revision.clone())
            }
            None => {
                let found = self.read_ref(name, cx).await?;
                found.ok_or_else(|| VcsError::NoRevision(Revision::new(name)))
            }
        }
    }
}

fn seconds(text: &str) -> SystemTime {
    from_millis(text.trim().parse::<u64>().unwrap_or(0).saturating_mul(1000))
}

fn logged(id: &str, time: &str, message: &str) -> Logged {
    let message = message.trim();
    // Trailers are lines of the last paragraph, which is not the subject.
    let last = message.rsplit_once("\n\n").map_or("", |(_, last)| last);
    let trailer = |key: &str| {
        let value = |line: &str| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim().to_owned());
        last.lines().rev().find_map(value)
    };
    Logged {
        revision: Revision::new(id),
        item: trailer("Ralph-Item"),
        run: trailer("Ralph-Run"),
        attempt: trailer("Ralph-Attempt").and_then(|text| text.parse().ok()),
        subject: message.lines().next().unwrap_or_default().to_owned(),
        at: seconds(time),
    }
}

#[cfg(test)]
mod tests {
    use super::logged;

    #[test]
    fn trailers_are_of_the_last_paragraph() {
        let log = logged("a", "5", "R01: x\n\nRalph-Item: no\n\ntext\n\nRalph-Item: P1/R01\nRalph-Attempt: 2\n");
        assert_eq!((log.item.as_deref(), log.attempt, log.run), (Some("P1/R01"), Some(2), None));
        assert_eq!(logged("a", "x", "Ralph-Item: subject").item, None);
        assert_eq!(logged("a", "", "").subject, "");
    }
}
