//! `ralph retry` and `ralph skip`: a person's word about single items.

use std::{path::Path, time::SystemTime};

use ralph_core::{
    Cx, ItemStatus, Marked, PlanSource as _,
    ledger::{FileDecisions, MarkdownPrd},
};

use crate::{args, error::CliError, output, plan::Configured, project::Project, runs, settings};

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
    let loaded = settings::load(&project.settings(), &[])?;
    let last = runs::find(&project.ledger, None)?.map(|(_, info)| project.root.join(info.plan));
    let prd = project.prd(args.plan.clone().or(last).as_deref())?;
    let plan = Configured::new(MarkdownPrd::open(&prd), &loaded.settings.verify);
    let (phase, _) = plan.read().map_err(|error| CliError::refused(&error))?;
    // All are looked up before one is changed.
    let mut found = Vec::new();
    for name in &args.items {
        let id = name.rsplit('/').next().unwrap_or(name);
        let item = phase
            .items
            .iter()
            .find(|item| item.id.as_str() == id)
            .ok_or_else(|| CliError::usage(format!("there is no item `{name}` in {}", project.relative(&prd))))?;
        if item.status == ItemStatus::Unknown {
            return Err(CliError::usage(format!(
                "{}:{}: {id} has a mark that Ralph does not know; edit it by hand",
                project.relative(&prd),
                item.line
            )));
        }
        found.push(item);
    }
    let (mut page, decisions) = (String::new(), FileDecisions::new(project.ledger.clone()));
    let why = if to == ItemStatus::Open { "the item was opened again" } else { "the item was left out" };
    for item in found {
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
        let withdrawn = decisions.withdraw(&phase.name(item), why, SystemTime::now());
        for id in withdrawn.map_err(|error| CliError::failed("the decisions on it", &error))? {
            page.push_str(&format!("  {id} no longer waits: {why}\n"));
        }
    }
    page.push_str("`ralph run` goes on.\n");
    output::print(&page)?;
    Ok(0)
}
