//! Names under `refs/ralph/`: where work is kept that is not on the branch.
//!
//! ```text
//! refs/ralph/branch/<branch>                               where the branch began; says that it is Ralph's
//! refs/ralph/work/<run>/<phase>/<item>/<attempt>           a snapshot, until it is accepted or kept
//! refs/ralph/work/<run>/<phase>/<item>/<attempt>-on-<tip>  the same, carried over to a later tip
//! refs/ralph/work/<run>/<phase>/<item>/<attempt>-cleanup   the same, tidied
//! refs/ralph/ledger/<branch>                               the operator's index has yet to follow a commit of the ledger
//! refs/ralph/{rejected,parked,interrupted}/<run>/…         work kept for people
//! ```

use ralph_core::{AttemptId, Cx, Digest, KeepKind, Revision, RunId, VcsError};

use crate::GitVcs;

/// The longest part of a name that is made of an id.
const LONGEST: usize = 60;

/// `text` as one part of a ref's name: itself where git allows it everywhere, else as much of it as possible with a
/// short hash, so that different texts stay different.
pub(crate) fn component(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fine = !text.is_empty()
        && text.len() <= LONGEST
        && text.chars().all(plain)
        && !text.starts_with(['.', '-'])
        && !text.ends_with('.')
        && !text.to_ascii_lowercase().ends_with(".lock")
        && !text.contains("..");
    if fine {
        return text.to_owned();
    }
    let slug: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    let slug = slug.trim_matches('-');
    let hash: String = Digest::of(text.as_bytes()).as_str().chars().take(8).collect();
    if slug.is_empty() { hash } else { format!("{slug}-{hash}") }
}

fn attempt_path(run: &RunId, attempt: &AttemptId) -> String {
    let item = &attempt.item;
    let parts = [run.as_str(), item.phase.as_str(), item.item.as_str()].map(component);
    format!("{}/{}", parts.join("/"), attempt.number)
}

/// The pin of a snapshot.
pub(crate) fn work_ref(run: &RunId, attempt: &AttemptId) -> String {
    format!("refs/ralph/work/{}", attempt_path(run, attempt))
}

impl GitVcs {
    pub(crate) async fn keep_work(
        &self,
        revision: &Revision,
        kind: KeepKind,
        run: &RunId,
        attempt: &AttemptId,
        cx: &Cx,
    ) -> Result<String, VcsError> {
        let name = format!("refs/ralph/{kind}/{}", attempt_path(run, attempt));
        // Other work under the same name is never thrown away for it.
        for name in [name.clone(), format!("{name}-{}", revision.short())] {
            let lines = format!("create {name}\0{revision}\0");
            let output = self.update_and_unpin(&lines, revision, "ralph: keep", cx).await?;
            if output.success() {
                return Ok(name);
            }
            match self.read_ref(&name, cx).await? {
                Some(found) if found == *revision => return Ok(name),
                Some(_) => {}
                None => {
                    self.require(revision, cx).await?;
                    return Err(output.failed("update-ref"));
                }
            }
        }
        Err(crate::git::other("keeping work", "its name and the next are taken by other work"))
    }

    /// The pin that holds `revision`, where there is one.
    pub(crate) async fn pin_of(&self, revision: &Revision, cx: &Cx) -> Result<Option<String>, VcsError> {
        let (pin, made_here) = {
            let memory = self.memory();
            (memory.pins.get(revision).cloned(), memory.bases.contains_key(revision))
        };
        if pin.is_some() || made_here {
            return Ok(pin.map(|pin| pin.to_string()));
        }
        // Made by an earlier process.
        let call = self.git.call("for-each-ref").args([
            "--format=%(refname)",
            "--points-at",
            revision.as_str(),
            "refs/ralph/work/",
        ]);
        let output = call.run(cx).await?;
        let first = crate::git::line(&output.stdout);
        Ok((output.success() && !first.is_empty()).then_some(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_safe_parts() {
        for same in ["R01", "US-001", "a_b.c", "20261201T010203-ab12"] {
            assert_eq!(component(same), same);
        }
        for odd in [
            "",
            "../..",
            "-x",
            "a..b",
            "x.lock",
            "a/b",
            "ä",
            "a b",
            "@{",
            "refs~1",
            "a\nb",
            ".a",
            "a.",
            &"x".repeat(200),
        ] {
            let made = component(odd);
            assert!(made.len() <= LONGEST && !made.is_empty(), "{odd} {made}");
            assert_eq!(component(&made), made, "{odd}");
        }
        assert_ne!(component("a/b"), component("a b"));
    }
}
