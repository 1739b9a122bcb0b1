//! The `[Decision]` commit: what an answer changed in the control folder, on the operator's own branch.
//!
//! The one thing that is ever committed to a branch of the operator's. Just the named files are in it, with the bytes
//! that `git add` would have stored (the operator's own filters run for it, and no hooks); whatever else is staged stays
//! staged. It is never worth a risk: where anything is under way in the checkout there is no commit, and a note says
//! why. The answer itself does not depend on it.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use ralph_core::{Cx, DecisionId, Digest, Revision, VcsError, printable};
use tempfile::TempDir;

use crate::{
    GitOptions,
    changes::{RawChange, parse},
    discover::{Found, find_git, version},
    environment::Environment,
    git::{Call, Git, line, other, overrides},
    keep::component,
    preflight::under_way,
    settings::{Identity, Settings},
    snapshot::terminated,
};

/// A branch that somebody moves meanwhile is tried again so often.
const TRIES: u32 = 3;
/// A longer subject is cut.
const LONGEST_SUBJECT: usize = 120;
/// Lists about a handful of files are short.
const MOST_OUTPUT: usize = 4 << 20;

/// What came of committing the control folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LedgerCommitted {
    /// There is a commit.
    Committed {
        /// It.
        revision: Revision,
        /// What could not be done after it and is done the next time.
        note: Option<String>,
    },
    /// The branch holds the files as they are already.
    Nothing,
    /// The control folder is not in git here.
    NotTracked,
    /// There is no commit. Says why, for people.
    Skipped(String),
}

/// Commits files of the control folder on the branch that the operator has checked out.
#[derive(Debug)]
pub struct LedgerCommit {
    operator: Git,
    environment: Environment,
    repository: PathBuf,
    ledger: String,
}

/// The checkout as it is now.
pub(crate) struct Checkout {
    /// With our overrides: for what is ours.
    pub(crate) git: Git,
    /// With the operator's own settings, hooks apart: for their index, which keeps its form.
    pub(crate) plain: Git,
    pub(crate) root: PathBuf,
    pub(crate) identity: Identity,
    /// Relative to the root, with `/` at its end.
    pub(crate) ledger: String,
    pub(crate) head: Revision,
    /// Where a commit is noted whose files the operator's index does not have yet: its parent.
    pub(crate) pending: String,
}

/// What came of one try.
enum Try {
    Done(LedgerCommitted),
    /// The branch was moved meanwhile.
    Moved,
}

fn skipped(why: impl Into<String>) -> LedgerCommitted {
    LedgerCommitted::Skipped(why.into())
}

/// `[Decision] D-007 R03: <summary>` on one line: `about` is the item, or the phase where there is none. Whatever people
/// and agents wrote can neither add lines, and so no trailers, nor hide.
///
/// ```
/// let subject = ralph_vcs::decision_subject(&"D-007".into(), "R03", "Resend\n\nSigned-off-by: me");
/// assert_eq!(subject, "[Decision] D-007 R03: Resend Signed-off-by: me");
/// ```
pub fn decision_subject(id: &DecisionId, about: &str, summary: &str) -> String {
    one_line(&format!("[Decision] {} {}: {summary}", one_line(id.as_str()), one_line(about)))
}

/// The same for several decisions that are committed together: each with its id, what it is about, and the answer, as in
/// `[Decision] D-001 R01: approve; D-002 R02: Postmark`. Where that is too long the answers are left
/// out.
///
/// ```
/// let [one, other] = ["D-001", "D-002"].map(ralph_core::DecisionId::new);
/// let subject = ralph_vcs::decisions_subject(&[(&one, "R01", "approve"), (&other, "P1", "no:\nlater")]);
/// assert_eq!(subject, "[Decision] D-001 R01: approve; D-002 P1: no: later");
/// ```
pub fn decisions_subject(decisions: &[(&DecisionId, &str, &str)]) -> String {
    if let [(id, about, summary)] = decisions {
        return decision_subject(id, about, summary);
    }
    let whole = |(id, about, summary): &(&DecisionId, &str, &str)| {
        format!("{} {}: {}", one_line(id.as_str()), one_line(about), one_line(summary))
    };
    let all: Vec<String> = decisions.iter().map(whole).collect();
    let subject = format!("[Decision] {}", all.join("; "));
    if subject.chars().count() <= LONGEST_SUBJECT {
        return subject;
    }
    // Without the answers: which they were matters more here, and DECISIONS.md has both.
    let all: Vec<String> =
        decisions.iter().map(|(id, about, _)| format!("{} {}", one_line(id.as_str()), one_line(about))).collect();
    one_line(&format!("[Decision] {}", all.join("; ")))
}

/// `text` on one bounded line, without anything that cannot be seen.
fn one_line(text: &str) -> String {
    let line = printable(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if line.chars().count() <= LONGEST_SUBJECT {
        return line;
    }
    let cut: String = line.chars().take(LONGEST_SUBJECT - 1).collect();
    format!("{}…", cut.trim_end())
}

impl LedgerCommit {
    /// For the repository and the control folder of `options`.
    ///
    /// # Errors
    /// [`VcsError::Refused`] where there is no git, or an old one.
    pub async fn open(options: &GitOptions) -> Result<Self, VcsError> {
        let environment = Environment::new(options.environment.as_deref());
        let operator = Git::of_operator(find_git(options, &environment)?, &environment);
        version(&operator, &Cx::new()).await?;
        Ok(Self {
            operator,
            environment,
            repository: options.repository.clone(),
            ledger: options.ledger.trim_matches('/').to_owned(),
        })
    }

    /// Commits those of `files` (relative to the repository's root, in the control folder) that differ from the branch,
    /// with the one line `subject` (see [`decision_subject`]) for a message. Doing it again is one commit still, and
    /// completes what a crash left half done.
    ///
    /// # Errors
    /// Only if git cannot answer. What stands in the way of a commit is [`LedgerCommitted::Skipped`].
    pub async fn commit(&self, subject: &str, files: &[String], cx: &Cx) -> Result<LedgerCommitted, VcsError> {
        for _ in 0..TRIES {
            match self.one_try(subject, files, cx).await? {
                Try::Done(done) => return Ok(done),
                Try::Moved => {}
            }
        }
        Ok(skipped("the branch was moved again and again meanwhile"))
    }

    async fn one_try(&self, subject: &str, files: &[String], cx: &Cx) -> Result<Try, VcsError> {
        let checkout = match self.look(files, cx).await? {
            Ok(checkout) => checkout,
            Err(instead) => return Ok(Try::Done(instead)),
        };
        checkout.mend(cx).await?;
        let files = checkout.to_commit(files, cx).await?;
        if files.is_empty() {
            return Ok(Try::Done(LedgerCommitted::Nothing));
        }
        let unmerged = checkout.plain.call("ls-files").args(["-u", "-z", "--"]).args(files.iter().map(|it| os(it)));
        if !unmerged.folder(&checkout.root).most(MOST_OUTPUT).ok(cx).await?.is_empty() {
            return Ok(Try::Done(skipped("files of the control folder have conflicts that are not resolved yet")));
        }
        let (tree, changes) = checkout.tree_with(&files, self.temp_folder(), cx).await?;
        if changes.is_empty() {
            return Ok(Try::Done(LedgerCommitted::Nothing));
        }
        if let Some(other) = changes.iter().find(|it| !files.contains(&it.path)) {
            let path = printable(&String::from_utf8_lossy(&other.path));
            return Ok(Try::Done(skipped(format!(
                "it would change `{path}` as well, where a folder has become a file"
            ))));
        }
        checkout.commit(subject, &tree, &changes, cx).await
    }

    fn temp_folder(&self) -> PathBuf {
        let given = self.environment.get("TMPDIR").map(PathBuf::from).filter(|folder| folder.is_absolute());
        given.unwrap_or_else(std::env::temp_dir)
    }

    /// The checkout, or why there is no commit.
    async fn look(&self, files: &[String], cx: &Cx) -> Result<Result<Checkout, LedgerCommitted>, VcsError> {
        let found = match Found::at(&self.operator, &self.repository, cx).await {
            Ok(found) => found,
            Err(VcsError::Refused(why)) => return Ok(Err(skipped(why))),
            Err(error) => return Err(error),
        };
        let Some(root) = found.root else { return Ok(Err(skipped("this is a bare repository"))) };
        let ledger = format!("{}/", self.ledger);
        if let Some(why) = outside(&root, &ledger, files) {
            return Ok(Err(skipped(why)));
        }
        if let Some(what) = under_way(&found.git_dir).first() {
            return Ok(Err(skipped(format!("{what} is under way in the checkout"))));
        }
        let lock = found.git_dir.join("index.lock");
        if lock.exists() {
            let lock = lock.display();
            return Ok(Err(skipped(format!("another git is at work here, or was killed ({lock} exists)"))));
        }
        let call = |verb| self.operator.call(verb).folder(&root);
        // Where refs are not files, these are not files either.
        for (name, what) in [("CHERRY_PICK_HEAD", "a cherry-pick"), ("REVERT_HEAD", "a revert")] {
            if call("rev-parse").args(["--verify", "--quiet", name]).run(cx).await?.success() {
                return Ok(Err(skipped(format!("{what} is under way in the checkout"))));
            }
        }
        let name = call("symbolic-ref").args(["--quiet", "HEAD"]).run(cx).await?;
        let name = line(&name.stdout);
        let Some(branch) = name.strip_prefix("refs/heads/") else {
            return Ok(Err(skipped("no branch is checked out (`HEAD` is detached)")));
        };
        let head = call("rev-parse").args(["--verify", "--quiet", "HEAD^{commit}"]).run(cx).await?;
        if !head.success() {
            return Ok(Err(skipped("the branch has no commit yet")));
        }
        let head = Revision::new(line(&head.stdout));
        let tracked = call("ls-tree").args(["-z", "--full-tree", head.as_str(), "--", &ledger]);
        if tracked.most(MOST_OUTPUT).ok(cx).await?.is_empty() {
            return Ok(Err(LedgerCommitted::NotTracked));
        }
        let settings = Settings::read(&self.operator, &root, cx).await?;
        let git = self.operator.clone().with(overrides());
        let hooks_off = ["core.hooksPath", "gc.auto", "maintenance.auto"].into_iter().zip(["/dev/null", "0", "false"]);
        Ok(Ok(Checkout {
            git,
            plain: self.operator.clone().with(hooks_off.map(|(key, value)| (key, OsStr::new(value)))),
            identity: settings.identity(None, &self.environment)?,
            ledger,
            head,
            pending: format!("refs/ralph/ledger/{}", component(branch)),
            root,
        }))
    }
}

impl Checkout {
    /// Begins a call in the checkout.
    pub(crate) fn call(&self, verb: &'static str) -> Call<'_> {
        self.identity
            .variables()
            .into_iter()
            .fold(self.git.call(verb).folder(&self.root), |call, (name, value)| call.env(name, value))
    }

    /// Those of `files` that are there and not ignored, `state/` never.
    async fn to_commit(&self, files: &[String], cx: &Cx) -> Result<BTreeSet<Vec<u8>>, VcsError> {
        let state = format!("{}state/", self.ledger);
        let there = |path: &&String| {
            !path.starts_with(&state) && fs::symlink_metadata(self.root.join(path)).is_ok_and(|data| data.is_file())
        };
        let mut files: BTreeSet<_> = files.iter().filter(there).map(|path| path.as_bytes().to_vec()).collect();
        if files.is_empty() {
            return Ok(files);
        }
        // This command knows no literal paths; after `./` nothing is magic.
        let list: Vec<u8> = files.iter().flat_map(|path| [&b"./"[..], path, b"\0"].concat()).collect();
        let call = self.plain.call("check-ignore").args(["-z", "--stdin"]).env("GIT_LITERAL_PATHSPECS", "0");
        let output = call.folder(&self.root).stdin(list).run(cx).await?;
        if !matches!(output.code, Some(0 | 1)) {
            return Err(output.failed("check-ignore"));
        }
        for ignored in output.stdout.split(|byte| *byte == 0) {
            files.remove(ignored.strip_prefix(b"./").unwrap_or(ignored));
        }
        Ok(files)
    }

    /// The tree of the branch with the present content of `files`, and what is another in it.
    async fn tree_with(
        &self,
        files: &BTreeSet<Vec<u8>>,
        temp: PathBuf,
        cx: &Cx,
    ) -> Result<(Digest, Vec<RawChange>), VcsError> {
        let temp = TempDir::new_in(temp).map_err(|error| other("making a temporary folder", error))?;
        let index = temp.path().join("index");
        let call = |verb| self.call(verb).env("GIT_INDEX_FILE", &index);
        call("read-tree").arg(self.head.as_str()).ok(cx).await?;
        let update = call("update-index").args(["--add", "--replace", "-z", "--stdin"]);
        update.stdin(terminated(files)).ok(cx).await?;
        let tree = Digest::new(line(&call("write-tree").arg("--missing-ok").ok(cx).await?));
        Ok((tree.clone(), self.changes(self.head.as_str(), tree.as_str(), &[], cx).await?))
    }

    /// What differs between two trees, below `paths` where some are given.
    pub(crate) async fn changes(
        &self,
        from: &str,
        to: &str,
        paths: &[&str],
        cx: &Cx,
    ) -> Result<Vec<RawChange>, VcsError> {
        let call = self.call("diff-tree").args(["-r", "--raw", "-z", "--no-renames", "--no-abbrev"]);
        let list = call.args(["--ignore-submodules=none", from, to, "--"]).args(paths).most(MOST_OUTPUT).ok(cx).await?;
        parse(&list).ok_or_else(|| other("reading git's list of changes", "it has an entry that is not known"))
    }

    /// Makes the commit, moves the branch to it if it still is where it was, and brings the operator's index up to it.
    async fn commit(&self, subject: &str, tree: &Digest, changes: &[RawChange], cx: &Cx) -> Result<Try, VcsError> {
        let subject = one_line(subject);
        let call = self.call("commit-tree").args(["--no-gpg-sign", "-p", self.head.as_str(), "-F", "-", tree.as_str()]);
        let revision = Revision::new(line(&call.stdin(format!("{subject}\n")).ok(cx).await?));
        // One transaction: who finds the note knows that the index has still to follow.
        let lines = format!(
            "start\0update HEAD\0{revision}\0{head}\0update {pending}\0{head}\0\0prepare\0commit\0",
            head = self.head,
            pending = self.pending
        );
        let reason = format!("commit: {subject}");
        let output = self.update_refs(&["-m", &reason], lines).await?;
        if !output.success() {
            let now = self.call("rev-parse").args(["--verify", "--quiet", "HEAD^{commit}"]).run(cx).await?;
            let now = Revision::new(line(&now.stdout));
            return if now == revision || now == self.head { Err(output.failed("update-ref")) } else { Ok(Try::Moved) };
        }
        let note = match self.follow(&self.head, changes, cx).await {
            Ok(()) => None,
            Err(error) => Some(format!(
                "the index could not be brought up to the commit, so that `git status` shows its files as staged; it is \
                 done with the next one ({error})"
            )),
        };
        Ok(Try::Done(LedgerCommitted::Committed { revision, note }))
    }
}

fn os(path: &[u8]) -> &OsStr {
    OsStr::from_bytes(path)
}

/// Why the control folder, or one of `files`, is not simply a part of the checkout at `root`.
fn outside(root: &Path, ledger: &str, files: &[String]) -> Option<String> {
    let odd = |part: &str| matches!(part, "" | "." | "..") || part.eq_ignore_ascii_case(".git");
    for path in std::iter::once(ledger.trim_end_matches('/')).chain(files.iter().map(String::as_str)) {
        let inside = path.starts_with(ledger) || path == ledger.trim_end_matches('/');
        if !inside || path.split('/').any(odd) {
            return Some(format!("`{}` does not lie in the control folder of this repository", printable(path)));
        }
        let mut at = root.to_owned();
        for part in path.split('/') {
            at.push(part);
            if at.is_symlink() {
                let link = at.strip_prefix(root).unwrap_or(&at).display().to_string();
                return Some(format!(
                    "`{}` is a symbolic link, and what it leads to is not this branch's",
                    printable(&link)
                ));
            }
        }
    }
    let own = root.join(ledger).join(".git");
    own.exists().then(|| format!("the control folder is a repository of its own ({} exists)", own.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_one_bounded_line() {
        let subject = |about: &str, summary: &str| decision_subject(&"D-007".into(), about, summary);
        assert_eq!(subject("R03", "Resend"), "[Decision] D-007 R03: Resend");
        assert_eq!(subject("P1\nX: y", "a\r\n\tb\u{2028}c"), "[Decision] D-007 P1 X: y: a b c");
        assert_eq!(subject("R03", "\u{1b}[31m\u{202e}x\0"), "[Decision] D-007 R03: \\u{1b}[31m\\u{202e}x\\u{0}");
        assert_eq!(subject("R03", " "), "[Decision] D-007 R03:");
        let long = subject("R03", &"ä".repeat(5000));
        assert!(long.chars().count() == LONGEST_SUBJECT && long.ends_with('…'), "{long}");
    }
}
