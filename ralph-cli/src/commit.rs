//! The `[Decision]` commit in the operator's repository.

use std::collections::BTreeSet;

use ralph_core::{Cx, chain, ledger::Queued};
use ralph_vcs::{LedgerCommit, LedgerCommitted, decisions_subject};

use crate::{plan::PlanFile, project::Project, runs, settings::Settings, wire};

/// Commits what answers changed in the ledger, where git tracks it, all of them at once; answers what a person should
/// know. An answer does not depend on it.
pub(crate) async fn decisions(project: &Project, settings: &Settings, answered: &[&Queued]) -> Option<String> {
    let all: Vec<_> = answered
        .iter()
        .filter_map(|queued| {
            let asked = &queued.decision;
            let about = asked.item.as_ref().map_or_else(|| asked.phase.to_string(), ToString::to_string);
            Some((&queued.id, about, queued.answer()?.reply.text()))
        })
        .collect();
    if all.is_empty() {
        return None;
    }
    let parts: Vec<_> = all.iter().map(|(id, about, answer)| (*id, about.as_str(), answer.as_str())).collect();
    let ids: Vec<&str> = all.iter().map(|(id, ..)| id.as_str()).collect();
    let skipped = |why: &str| Some(format!("{}: no commit of the control folder: {why}", ids.join(", ")));
    match commit(project, settings, &decisions_subject(&parts), answered).await {
        Ok(LedgerCommitted::Committed { note, .. }) => note,
        Ok(LedgerCommitted::Nothing | LedgerCommitted::NotTracked) => None,
        Ok(LedgerCommitted::Skipped(why)) => skipped(&why),
        Ok(_) => None,
        Err(why) => skipped(&why),
    }
}

async fn commit(
    project: &Project,
    settings: &Settings,
    subject: &str,
    answered: &[&Queued],
) -> Result<LedgerCommitted, String> {
    // The branch of a run plays no part in it.
    let options = wire::git(settings, project, "ralph/none").map_err(|error| error.to_string())?;
    let ledger = LedgerCommit::open(&options).await.map_err(|error| chain(&error))?;
    ledger.commit(subject, &files(project, settings, answered), &Cx::new()).await.map_err(|error| chain(&error))
}

/// The files of the control folder that Ralph itself writes: its pages, and where the answers are about items the PRDs
/// of their phases. What else lies there is its owner's to commit.
fn files(project: &Project, settings: &Settings, answered: &[&Queued]) -> Vec<String> {
    let ledger = &project.ledger;
    let pages = [
        ledger.root().join(".gitignore"),
        ledger.blockers(),
        ledger.decisions_page(),
        ledger.learnings(),
        ledger.orchestrator_state(),
        ledger.progress(),
    ];
    let mut files: BTreeSet<String> = pages.iter().map(|page| project.relative(page)).collect();
    files.extend(answered.iter().filter_map(|queued| prd(project, settings, queued)));
    files.into_iter().collect()
}

/// The PRD that a question's phase is in, where it lies in the control folder.
fn prd(project: &Project, settings: &Settings, queued: &Queued) -> Option<String> {
    let info = runs::info(&project.ledger, &queued.decision.run)?;
    let plan = PlanFile::open(project, &project.root.join(&info.plan), &settings.verify);
    let path = plan.prd_path(&queued.decision.phase).ok()?;
    path.starts_with(project.ledger.root()).then(|| project.relative(&path))
}
