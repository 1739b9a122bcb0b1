//! `ralph diff`: what is to be reviewed.

use std::path::Path;

use ralph_core::{Cx, KeepKind, Revision, printable};
use ralph_vcs::{BranchState, DiffForm, GitVcs, Kept, Logged};

use crate::{args, error::CliError, output, project::Project, report, runs, settings, wire};

pub(crate) async fn diff(directory: &Path, args: &args::Diff) -> Result<u8, CliError> {
    let project = Project::find(directory)?;
    let settings = settings::load(&project.settings(), &[])?.settings;
    let (_, info) = runs::find(&project.ledger, None)?
        .ok_or_else(|| CliError::usage("there is no run yet, and so nothing to review"))?;
    let vcs = GitVcs::open(wire::git(&settings, &project, &info.branch)?).await?;
    let review = Review { vcs, form: if args.stat { DiffForm::Stat } else { DiffForm::Patch }, branch: &info.branch };
    match &args.item {
        None => review.branch().await?,
        Some(item) => review.item(item).await?,
    }
    Ok(0)
}

struct Review<'a> {
    vcs: GitVcs,
    form: DiffForm,
    branch: &'a str,
}

impl Review<'_> {
    /// Everything since the branch began, item by item in the heading.
    async fn branch(&self) -> Result<(), CliError> {
        let (base, tip) = self.ends().await?;
        let log = self.vcs.log(Some(&base), Some(&tip), &Cx::new()).await?;
        let mut head = format!("{} on {}", report::count(log.len() as u64, "commit"), self.branch);
        head.push_str(&format!(", from {}\n", base.short()));
        for commit in &log {
            let by = if commit.item.is_some() { "" } else { " (not Ralph's)" };
            head.push_str(&format!("  {} {}{by}\n", commit.revision.short(), printable(&commit.subject)));
        }
        output::print(&head)?;
        self.show(&base, &tip).await
    }

    /// The commits of an item on the branch; without any, what was kept aside of it.
    async fn item(&self, item: &str) -> Result<(), CliError> {
        let is_meant = |name: &Option<String>| {
            name.as_deref().is_some_and(|name| name == item || name.rsplit('/').next() == Some(item))
        };
        let mut shown = 0;
        if let Ok((base, tip)) = self.ends().await {
            let log = self.vcs.log(Some(&base), Some(&tip), &Cx::new()).await?;
            let mut before = base;
            for commit in &log {
                if is_meant(&commit.item) {
                    output::print(&format!("{}{}", gap(shown), accepted(commit, self.branch)))?;
                    self.show(&before, &commit.revision).await?;
                    shown += 1;
                }
                before = commit.revision.clone();
            }
        }
        let mut kept = self.vcs.kept(None, &Cx::new()).await?;
        kept.retain(|work| is_meant(&work.item));
        kept.sort_by_key(|work| work.at);
        if shown > 0 {
            // Earlier attempts are not what is to be reviewed.
            let names: String = kept.iter().map(|work| format!("\nkept aside of it: {}", work.name)).collect();
            return output::print(&if names.is_empty() { names } else { format!("{names}\n") });
        }
        for work in &kept {
            output::print(&format!("{}{}", gap(shown), aside(work)))?;
            match &work.base {
                Some(base) => self.show(base, &work.revision).await?,
                None => output::print("it stands on nothing\n")?,
            }
            shown += 1;
        }
        if shown > 0 {
            return Ok(());
        }
        Err(CliError::usage(format!(
            "no work of `{item}` is on {}, and none was kept aside; `ralph status` shows the items",
            self.branch
        )))
    }

    /// Where the branch began and where it is.
    async fn ends(&self) -> Result<(Revision, Revision), CliError> {
        let found = self.vcs.preflight(&Cx::new()).await?;
        match found.branch {
            BranchState::Ours { tip, base } | BranchState::Known { tip, base } => Ok((base, tip)),
            BranchState::Absent => Err(CliError::usage(format!(
                "the branch {} is not there: nothing was accepted yet, or it was merged and removed",
                self.branch
            ))),
            _ => Err(CliError::usage(found.refusals.join("\n"))),
        }
    }

    async fn show(&self, from: &Revision, to: &Revision) -> Result<(), CliError> {
        let bytes = self.vcs.diff(from, to, self.form, &Cx::new()).await?;
        if bytes.is_empty() {
            return output::print("\nno difference\n");
        }
        output::print("\n")?;
        if !output::is_for_eyes() {
            return output::print_bytes(&bytes);
        }
        let text = String::from_utf8_lossy(&bytes);
        output::print(&match self.form {
            DiffForm::Patch => report::paint_patch(&text),
            DiffForm::Stat => report::paint_stat(&text),
        })
    }
}

/// What stands between two works.
fn gap(shown: u32) -> &'static str {
    if shown > 0 { "\n" } else { "" }
}

fn accepted(commit: &Logged, branch: &str) -> String {
    let attempt = commit.attempt.map(|attempt| format!(", attempt {attempt}")).unwrap_or_default();
    let (id, time) = (commit.revision.short(), super::time(commit.at));
    format!("{}\n  accepted on {branch} as {id}{attempt}, {time}\n", printable(&commit.subject))
}

fn aside(work: &Kept) -> String {
    let why = match work.kind {
        KeepKind::Rejected => "REJECTED: a verifier was against it",
        KeepKind::Parked => "PARKED: it waits for a decision",
        KeepKind::Interrupted => "INTERRUPTED: its session was cut off",
    };
    let item = work.item.as_deref().unwrap_or_default();
    let (id, time) = (work.revision.short(), super::time(work.at));
    format!("{}\n  {why}; it is not on the branch\n  kept as {} ({id}), {time}\n", printable(item), work.name)
}
