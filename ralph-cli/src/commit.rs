//! The `[Decision]` commit in the operator's repository.

use std::fs;

use ralph_core::{Answer, Cx, chain, ledger::Queued};
use ralph_vcs::{LedgerCommit, LedgerCommitted, decision_subject};

use crate::{project::Project, settings::Settings, wire};

/// Commits what an answer changed in the ledger, where git tracks it; answers what a person should know. An answer does
/// not depend on it.
pub(crate) async fn decision(
    project: &Project,
    settings: &Settings,
    queued: &Queued,
    answer: &Answer,
) -> Option<String> {
    let asked = &queued.decision;
    let about = asked.item.as_ref().map_or_else(|| asked.phase.to_string(), ToString::to_string);
    let subject = decision_subject(&queued.id, &about, &answer.reply.text());
    match commit(project, settings, &subject).await {
        Ok(LedgerCommitted::Committed { note, .. }) => note,
        Ok(LedgerCommitted::Nothing | LedgerCommitted::NotTracked) => None,
        Ok(LedgerCommitted::Skipped(why)) => Some(format!("{}: no commit of the control folder: {why}", queued.id)),
        Ok(_) => None,
        Err(why) => Some(format!("{}: no commit of the control folder: {why}", queued.id)),
    }
}

async fn commit(project: &Project, settings: &Settings, subject: &str) -> Result<LedgerCommitted, String> {
    // The branch of a run plays no part in it.
    let options = wire::git(settings, project, "ralph/none").map_err(|error| error.to_string())?;
    let ledger = LedgerCommit::open(&options).await.map_err(|error| chain(&error))?;
    ledger.commit(subject, &files(project), &Cx::new()).await.map_err(|error| chain(&error))
}

/// The files of the control folder that people read and git may track.
fn files(project: &Project) -> Vec<String> {
    let entries = fs::read_dir(project.ledger.root()).into_iter().flatten().filter_map(Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut files: Vec<String> = files
        .map(|entry| project.relative(&entry.path()))
        .filter(|name| name.to_ascii_lowercase().ends_with(".md") || name.ends_with("/.gitignore"))
        .collect();
    files.sort();
    files
}
