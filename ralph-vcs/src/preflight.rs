//! Whether a run may begin here. Looks at everything and changes nothing.

use ralph_core::{Cx, Revision, VcsError};

use crate::{GitVcs, git::line, settings::word_in_tree, site::owned_by};

/// What the run's branch is before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BranchState {
    /// It is not there and will be made at the operator's `HEAD`.
    Absent,
    /// An earlier run made it.
    Ours {
        /// Where it is.
        tip: Revision,
        /// Where it began.
        base: Revision,
    },
    /// Its commits carry Ralph's trailers, though our mark is missing (a clone has no marks).
    Known {
        /// Where it is.
        tip: Revision,
        /// Where it left the operator's branch.
        base: Revision,
    },
    /// Somebody else's.
    Foreign,
}

/// What was found out before a run. A run begins only if there are no refusals.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Preflight {
    /// The version of git.
    pub git_version: String,
    /// `sha1` or `sha256`.
    pub object_format: String,
    /// `files` or `reftable`.
    pub ref_format: String,
    /// The operator's `HEAD`; none before the first commit.
    pub head: Option<Revision>,
    /// The run's branch.
    pub branch: BranchState,
    /// Why no run can begin here: what, where, what to do.
    pub refusals: Vec<String>,
    /// What is worth knowing and stops nothing.
    pub notes: Vec<String>,
}

/// What a list of refs says.
struct Found {
    name: String,
    id: Revision,
    symref: String,
}

impl GitVcs {
    /// Looks whether a run may begin. For `check`, `doctor` and dry runs as well.
    ///
    /// # Errors
    /// Only if git cannot answer.
    pub async fn preflight(&self, cx: &Cx) -> Result<Preflight, VcsError> {
        let head = self.operator_head(cx).await?;
        let mut report = Preflight {
            git_version: self.version.clone(),
            object_format: if self.sha256 { "sha256" } else { "sha1" }.to_owned(),
            ref_format: if self.reftable { "reftable" } else { "files" }.to_owned(),
            head,
            branch: BranchState::Absent,
            refusals: Vec::new(),
            notes: Vec::new(),
        };
        if report.head.is_none() {
            report.refusals.push("the repository has no commit yet; make a first one".to_owned());
        }
        self.look_at_sites(&mut report);
        self.look_at_settings(&mut report);
        self.look_at_branch(&mut report, cx).await?;
        if let Some(head) = report.head.clone() {
            self.look_at_files(&mut report, &head, cx).await?;
        }
        self.look_around(&mut report);
        Ok(report)
    }

    pub(crate) async fn operator_head(&self, cx: &Cx) -> Result<Option<Revision>, VcsError> {
        let call = self.operator.call("rev-parse").args(["--verify", "--quiet", "HEAD^{commit}"]);
        let output = call.folder(&self.options.repository).run(cx).await?;
        let id = line(&output.stdout);
        Ok((output.success() && !id.is_empty()).then(|| Revision::new(id)))
    }

    fn look_at_sites(&self, report: &mut Preflight) {
        let checks = [self.refuse_sites_in_a_checkout(), owned_by(&self.sites, &self.common_dir).map(drop)];
        report.refusals.extend(checks.into_iter().filter_map(Result::err).map(|e| e.to_string()));
    }

    fn look_at_settings(&self, report: &mut Preflight) {
        let is_promisor = |(key, value): (&str, &[u8])| {
            (key.ends_with(".promisor") && value == b"true") || key.ends_with(".partialclonefilter")
        };
        if self.settings.text("extensions.partialclone").is_some() || self.settings.below("remote.").any(is_promisor) {
            report.refusals.push(
                "this is a partial clone: files would be fetched in the middle of the night; make it whole \
                 (`git fetch --refetch --no-filter`, then remove `remote.<name>.promisor` and its filter), or use a full clone"
                    .to_owned(),
            );
        }
        let Some(root) = self.root.as_deref().or(Some(&self.common_dir)) else { return };
        for (key, command) in self.settings.below("filter.") {
            let runs = [".clean", ".smudge", ".process"].iter().any(|end| key.ends_with(end));
            if let Some(word) = runs.then(|| word_in_tree(command, root)).flatten() {
                report.refusals.push(format!(
                    "the setting `{key}` runs `{word}`, which lies in the working tree: an agent could change what it \
                     does; install that program elsewhere and name it there"
                ));
            }
        }
        if self.identity.committer.1 == "ralph@localhost" {
            report
                .notes
                .push("no identity is set (user.name, user.email): commits are by Ralph <ralph@localhost>".to_owned());
        }
    }

    async fn look_at_branch(&self, report: &mut Preflight, cx: &Cx) -> Result<(), VcsError> {
        let branch = &self.options.branch;
        let call = self.git.call("check-ref-format").arg(&self.branch_ref);
        if branch.starts_with('-') || branch == "HEAD" || !call.run(cx).await?.success() {
            report
                .refusals
                .push(format!("`{branch}` is not a name that a branch can have; choose another (`run.branch`)"));
            report.branch = BranchState::Foreign;
            return Ok(());
        }
        let refs = self.refs(cx).await?;
        let find = |name: &str| refs.iter().find(|found| found.name == name);
        if self.is_default_branch(&refs) {
            report.refusals.push(format!(
                "`{branch}` is the repository's default branch; a run has a branch of its own (`run.branch`)"
            ));
        }
        for (own, what) in [(&self.branch_ref, "branch"), (&self.marker_ref, "ref")] {
            let above = |found: &&Found| own.starts_with(&format!("{}/", found.name));
            let below = |found: &&Found| found.name.starts_with(&format!("{own}/"));
            for found in refs.iter().filter(|found| above(found) || below(found)) {
                report
                    .refusals
                    .push(format!("the {what} `{}` and `{own}` cannot both exist; rename one of them", found.name));
            }
        }
        if let Some(place) = self.held_by(cx).await? {
            report.refusals.push(format!(
                "the branch `{branch}` is checked out in {place}: accepting work would move it there; switch that checkout \
                 to another branch"
            ));
        }
        let Some(found) = find(&self.branch_ref) else { return Ok(()) };
        if !found.symref.is_empty() {
            report.refusals.push(format!(
                "the branch `{branch}` is only another name of `{}`; remove it (`git symbolic-ref --delete {}`)",
                found.symref, self.branch_ref
            ));
            report.branch = BranchState::Foreign;
            return Ok(());
        }
        report.branch = match (find(&self.marker_ref), &report.head) {
            (Some(marker), _) => BranchState::Ours { tip: found.id.clone(), base: marker.id.clone() },
            (None, Some(head)) => self.known_by_trailers(&found.id, head, cx).await?,
            (None, None) => BranchState::Foreign,
        };
        if report.branch == BranchState::Foreign {
            report.refusals.push(format!(
                "the branch `{branch}` exists and is not Ralph's; rename it, or choose another name (`run.branch`)"
            ));
        }
        Ok(())
    }

    async fn refs(&self, cx: &Cx) -> Result<Vec<Found>, VcsError> {
        let mut patterns = Vec::new();
        for name in [&self.branch_ref, &self.marker_ref] {
            // Names of which ours is below, and ours with what is below it.
            let parts: Vec<_> = name.split('/').collect();
            patterns.extend((3..=parts.len()).filter_map(|n| Some(parts.get(..n)?.join("/"))));
        }
        let call = self.git.call("for-each-ref").arg("--format=%(objectname) %(refname) %(symref)");
        let list = call.args(patterns).arg("refs/remotes/*/HEAD").ok(cx).await?;
        let text = String::from_utf8_lossy(&list);
        let parse = |record: &str| {
            let mut words = record.splitn(3, ' ').map(str::to_owned);
            let (id, name, symref) = (words.next()?, words.next()?, words.next()?);
            Some(Found { id: Revision::new(id), name, symref })
        };
        Ok(text.lines().filter_map(parse).collect())
    }

    fn is_default_branch(&self, refs: &[Found]) -> bool {
        let branch = self.options.branch.as_str();
        let of_remote = |found: &Found| {
            let name = found.name.strip_prefix("refs/remotes/").and_then(|it| it.strip_suffix("/HEAD"));
            name.is_some_and(|remote| found.symref == format!("refs/remotes/{remote}/{branch}"))
        };
        matches!(branch, "main" | "master")
            || self.settings.text("init.defaultbranch").as_deref() == Some(branch)
            || refs.iter().any(of_remote)
    }

    /// A branch whose own commits carry our trailers is ours, even without the mark.
    async fn known_by_trailers(&self, tip: &Revision, head: &Revision, cx: &Cx) -> Result<BranchState, VcsError> {
        let find = self
            .git
            .call("rev-list")
            .args(["-n", "1", "--grep=^Ralph-Item: ", tip.as_str(), "--not", head.as_str()])
            .ok(cx)
            .await?;
        if find.is_empty() {
            return Ok(BranchState::Foreign);
        }
        let base = self.git.call("merge-base").args([tip.as_str(), head.as_str()]).run(cx).await?;
        if !base.success() {
            return Ok(BranchState::Foreign);
        }
        Ok(BranchState::Known { tip: tip.clone(), base: Revision::new(line(&base.stdout)) })
    }

    fn look_around(&self, report: &mut Preflight) {
        for what in under_way(&self.git_dir) {
            report.notes.push(format!("{what} is under way in your checkout; it stays as it is"));
        }
        if self.root.is_none() {
            report.notes.push("this is a bare repository".to_owned());
        }
    }
}

/// What is under way in the checkout of `git_dir` and not yet at its end.
pub(crate) fn under_way(git_dir: &std::path::Path) -> Vec<&'static str> {
    let states = [
        ("MERGE_HEAD", "a merge"),
        ("rebase-merge", "a rebase"),
        ("rebase-apply", "a rebase"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
        ("sequencer", "a cherry-pick or revert of several commits"),
        ("BISECT_LOG", "a bisection"),
    ];
    states.into_iter().filter(|(file, _)| git_dir.join(file).exists()).map(|(_, what)| what).collect()
}
