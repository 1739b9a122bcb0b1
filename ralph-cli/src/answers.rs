//! What follows from answers outside of the queue: the row in the PRD, the commit in the operator's repository.
//!
//! The answer itself is one durable write in `state/`. Everything here is done after it, and again where a crash cut it
//! off: before a run begins, at its end, and by `ralph btw`.

use std::{collections::BTreeSet, sync::Arc};

use ralph_core::{
    Answer, Cx, DecisionId, DecisionKind, ItemRef, PlanChange, Reply, chain,
    ledger::{FileDecisions, Ledger, Queued},
    machine::Fact,
};

use crate::{
    commit,
    crash_point::{self, point},
    error::CliError,
    plan::PlanFile,
    project::Project,
    runs,
    settings::Settings,
};

/// Does what is still to be done for answers; answers what a person should know. Needs the ledger's lock.
pub(crate) async fn settle(
    project: &Project,
    settings: &Settings,
    decisions: &FileDecisions,
) -> Result<Vec<String>, CliError> {
    let unsettled = decisions.unsettled().map_err(|error| CliError::failed("the decisions", &error))?;
    let mut notes = Vec::new();
    if unsettled.is_empty() {
        return Ok(notes);
    }
    let all = decisions.list().map_err(|error| CliError::failed("the decisions", &error))?;
    let mut written = Vec::new();
    for queued in &unsettled {
        let Some(answer) = queued.answer() else { continue };
        if !taken_in(&project.ledger, queued) {
            match write(project, settings, queued, &answer, &all).await {
                Ok(note) => notes.extend(note),
                // A plan that is gone or broken must not hold up the others: it is tried again the next time.
                Err(error) => {
                    notes.push(format!("{}: the answer is recorded, but not yet in the plan: {error}", queued.id));
                    continue;
                }
            }
        }
        written.push(queued);
    }
    point("commit");
    notes.extend(commit::decisions(project, settings, &written).await);
    for queued in written {
        point("settle");
        decisions.settle(&queued.id).map_err(|error| CliError::failed("the decisions", &error))?;
        point("settled");
    }
    Ok(notes)
}

/// Whether one of the answers for which something is still to be done adds items to a plan.
pub(crate) fn adds_items(decisions: &FileDecisions) -> Result<bool, CliError> {
    let unsettled = decisions.unsettled().map_err(|error| CliError::failed("the decisions", &error))?;
    let adds = |queued: &Queued| {
        queued.decision.question.kind == DecisionKind::Scope
            && queued.answer().is_some_and(|answer| answer.reply == Reply::Approve)
    };
    Ok(unsettled.iter().any(adds))
}

/// Whether the run that asked has written the answer into the plan itself.
pub(crate) fn taken_in(ledger: &Ledger, queued: &Queued) -> bool {
    let records = runs::records(ledger, &queued.decision.run).unwrap_or_default();
    records.iter().any(|record| matches!(&record.fact, Fact::TookIn { answer, .. } if answer.decision == queued.id))
}

async fn write(
    project: &Project,
    settings: &Settings,
    queued: &Queued,
    answer: &Answer,
    all: &[Queued],
) -> Result<Option<String>, CliError> {
    let asked = &queued.decision;
    let change = PlanChange::of(asked.question.kind, &asked.phase, asked.item.as_ref(), &asked.proposed, &answer.reply);
    if change == PlanChange::Nothing {
        return Ok(None);
    }
    let Some(info) = runs::info(&project.ledger, &asked.run) else {
        return Ok(Some(format!("{}: its run {} is gone, so the plan was left alone", queued.id, asked.run)));
    };
    let plan = PlanFile::open(project, &project.root.join(&info.plan), &settings.verify).approved(project, settings)?;
    let now = plan.read().map_err(|error| CliError::refused(&error))?.plan;
    let change = match change {
        PlanChange::Reopen { item, from } => {
            let known = now.find(&item).is_some_and(|(_, row)| row.decisions.contains(&answer.line()));
            // What came after this answer is not undone: a later question about the item, or the work that it led to.
            if asked_again(&item, &queued.id, all) || (known && from == ralph_core::ItemStatus::Done) {
                PlanChange::Note { item }
            } else {
                PlanChange::Reopen { item, from }
            }
        }
        change => change,
    };
    let plan = crash_point::wrapped(Arc::new(plan));
    let refused = change.write(&*plan, answer, &Cx::new()).await.map_err(|error| CliError::refused(&error))?;
    Ok(refused.map(|found| format!("{}: {found}; its mark was left alone", queued.id)))
}

/// Whether a later question waits for the same item.
fn asked_again(item: &ItemRef, id: &DecisionId, all: &[Queued]) -> bool {
    let about: BTreeSet<&DecisionId> = all
        .iter()
        .filter(|other| other.is_pending() && other.decision.phase == item.phase)
        .filter(|other| other.decision.item.as_ref() == Some(&item.item))
        // What more an agent proposes does not keep the item waiting.
        .filter(|other| other.decision.question.kind != DecisionKind::Scope)
        .map(|other| &other.id)
        .collect();
    about.into_iter().any(|other| other != id)
}

/// The questions of this plan that wait for a person.
pub(crate) fn pending(ledger: &Ledger, decisions: &FileDecisions, plan: &str) -> Result<Vec<Queued>, CliError> {
    let mut pending = decisions.list().map_err(|error| CliError::failed("the decisions", &error))?;
    pending.retain(|queued| {
        queued.is_pending() && runs::info(ledger, &queued.decision.run).is_none_or(|info| info.plan == plan)
    });
    Ok(pending)
}

/// A problem with the queue, as a line for people.
pub(crate) fn trouble(what: &str, error: &dyn std::error::Error) -> String {
    format!("{what}: {}", chain(error))
}
