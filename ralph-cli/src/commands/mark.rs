//! `ralph retry` and `ralph skip`: a person's word about single items.

use std::path::Path;

use ralph_core::{
    Cx, DecisionError, DecisionId, DecisionKind, DecisionSink as _, Item, ItemRef, ItemStatus, Marked, Phase, Plan,
    PlanSource as _,
    ledger::{FileDecisions, Queued},
};

use crate::{args, error::CliError, looping, operator, output, plan::PlanFile, project::Project, runs, settings};

/// Marks items open again; the next iteration gives them fresh attempts.
pub(crate) async fn retry(directory: &Path, args: &args::Items) -> Result<u8, CliError> {
    mark(directory, args, ItemStatus::Open).await
}

/// Marks items blocked, so that the loop passes them by.
pub(crate) async fn skip(directory: &Path, args: &args::Items) -> Result<u8, CliError> {
    mark(directory, args, ItemStatus::Blocked).await
}

async fn mark(directory: &Path, args: &args::Items, to: ItemStatus) -> Result<u8, CliError> {
    let project = Project::find(directory)?;
    // It takes questions back, too.
    operator::not_from_a_session([&project.ledger], "open items again or leave them out")?;
    let loaded = settings::load(&project.settings(), &[])?;
    let last = runs::find(&project.ledger, None)?.map(|(_, info)| project.root.join(info.plan));
    let path = project.plan(args.plan.clone().or(last).as_deref())?;
    let plan = PlanFile::open(&project, &path, &loaded.settings.verify);
    output::print(&write(&project, &plan, &args.items, to).await?)?;
    Ok(0)
}

/// Marks `items` of `plan`; what came of it, for people.
pub(crate) async fn write(
    project: &Project,
    plan: &PlanFile,
    items: &[String],
    to: ItemStatus,
) -> Result<String, CliError> {
    let read = plan.read().map_err(|error| CliError::refused(&error))?;
    // All are looked up before one is changed.
    let mut found = Vec::new();
    for name in items {
        let (phase, item) = find(&read.plan, name)
            .map_err(|why| CliError::usage(format!("{why} in {}", project.relative(plan.path()))))?;
        if item.status == ItemStatus::Unknown {
            return Err(CliError::usage(format!(
                "line {}: {} has a mark that Ralph does not know; edit it by hand",
                item.line, item.id
            )));
        }
        found.push((phase, item));
    }
    let (mut page, decisions) = (String::new(), FileDecisions::new(project.ledger.clone()));
    let why = if to == ItemStatus::Open { "the item was opened again" } else { "the item was left out" };
    for (phase, item) in found {
        let marked = plan
            .mark(&phase.name(item), item.status, to, &Cx::new())
            .await
            .map_err(|error| CliError::refused(&error))?;
        match marked {
            Marked::Written => {
                page.push_str(&format!("{}: {} → {to}", item.id, item.status));
                if item.status == ItemStatus::Done {
                    page.push_str("; a commit that it has on the branch stays there");
                }
                page.push('\n');
            }
            Marked::AlreadySo => page.push_str(&format!("{}: {to} already\n", item.id)),
            Marked::Refused(_) => {
                return Err(CliError::usage(format!("{} was edited meanwhile; try again", item.id)));
            }
        }
        for id in take_back(project, plan, &decisions, &phase.name(item), why).await? {
            page.push_str(&format!("  {id} no longer waits: {why}\n"));
        }
    }
    page.push_str(&format!("`{}` goes on.\n", looping::again(&project.relative(plan.path()))));
    Ok(page)
}

/// Closes what this plan's runs asked about `item`, because of `why`. Another plan may have an item of that name, and what
/// more an agent proposed is a question of its own. Answers which questions.
async fn take_back(
    project: &Project,
    plan: &PlanFile,
    decisions: &FileDecisions,
    item: &ItemRef,
    why: &str,
) -> Result<Vec<DecisionId>, CliError> {
    let fail = |error: DecisionError| CliError::failed("the decisions on it", &error);
    let name = project.relative(plan.path());
    let is_meant = |queued: &Queued| {
        let asked = &queued.decision;
        queued.is_pending()
            && asked.phase == item.phase
            && asked.item.as_ref() == Some(&item.item)
            && asked.question.kind != DecisionKind::Scope
            && runs::info(&project.ledger, &asked.run).is_some_and(|info| info.plan == name)
    };
    let mut closed = Vec::new();
    for queued in decisions.list().map_err(fail)?.into_iter().filter(is_meant) {
        decisions.close(&queued.id, why, &Cx::new()).await.map_err(fail)?;
        closed.push(queued.id);
    }
    Ok(closed)
}

/// The item that a person means by `R03` or `P1/R03`.
fn find<'a>(plan: &'a Plan, name: &str) -> Result<(&'a Phase, &'a Item), String> {
    let (phase, id) = name.rsplit_once('/').map_or((None, name), |(phase, id)| (Some(phase), id));
    let phases = plan.phases.iter().filter(|known| phase.is_none_or(|phase| known.id.as_str() == phase));
    let all: Vec<(&Phase, &Item)> = phases.filter_map(|phase| Some((&**phase, &**phase.item(&id.into())?))).collect();
    match all.as_slice() {
        [] => Err(format!("there is no item `{name}`")),
        [one] => Ok(*one),
        several => {
            let names: Vec<String> = several.iter().map(|(phase, item)| phase.name(item).to_string()).collect();
            Err(format!("`{name}` is {}: name the one that is meant", names.join(" and ")))
        }
    }
}
