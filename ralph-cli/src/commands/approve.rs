//! `ralph approve`: a person's signature under a Master Plan.

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::Path,
    time::SystemTime,
};

use ralph_core::{
    ledger::{Approval, Coverage},
    printable,
};

use crate::{args, error::CliError, operator, output, plan::PlanFile, project::Project, report::count, settings};

/// How many lines of a change are shown.
const LINES_MAX: usize = 40;

pub(crate) fn approve(directory: &Path, args: &args::Approve) -> Result<u8, CliError> {
    let project = Project::find(directory)?;
    operator::not_from_a_session([&project.ledger], "approve")?;
    let settings = settings::load(&project.settings(), &args.overrides.set)?.settings;
    let path = project.plan(args.plan.as_deref())?;
    let plan = PlanFile::open(&project, &path, &settings.verify).approved(&project, &settings)?;
    let Some(approved) = plan.approval() else {
        return Err(CliError::usage(format!(
            "{} is a single PRD, which needs no approval: whoever starts it is there",
            project.relative(&path)
        )));
    };
    // With what the settings add: a plan that cannot run cannot be approved either.
    plan.read().map_err(|error| CliError::plan(&error))?;
    let (read, approval) = approved.check().map_err(|error| CliError::plan(&error))?;
    let covered = approved.coverage(&read);
    let before = approved.approvals().record().map_err(|error| CliError::failed("the record of approvals", &error))?;
    if let Approval::Valid(record) = &approval
        && record.who == args.by.trim()
        && record.hash.is_some()
    {
        output::print(&format!("Approved already by {}, {}: nothing has changed since.\n", record.who, record.date))?;
        return Ok(0);
    }
    output::print(&page(&project.relative(&path), &covered, before.as_ref().map(|record| &record.covered)))?;
    if !args.yes && !confirmed(args.by.trim())? {
        output::print("Nothing was approved.\n")?;
        return Ok(1);
    }
    let by = approved
        .approvals()
        .approve(plan.path(), &args.by, &covered, SystemTime::now())
        .map_err(|error| CliError::plan(&error))?;
    output::print(&format!(
        "Approved-By: {}, {}{}\n`ralph run` may begin.\n",
        by.who,
        by.date,
        by.hash.map(|hash| format!(" ({hash})")).unwrap_or_default()
    ))?;
    Ok(0)
}

/// What a person is about to sign: what changed since the last time, or everything.
fn page(name: &str, covered: &Coverage, before: Option<&Coverage>) -> String {
    let mut page = String::new();
    let changes = covered.changes(before.unwrap_or(&Coverage::default()));
    match before {
        None => page.push_str(&format!("{name} was never approved here. An approval covers:\n")),
        Some(_) if changes.is_empty() => {
            page.push_str(&format!("{name}: nothing has changed since the last approval.\n"));
        }
        Some(_) => {
            let many = count(changes.len() as u64, "text");
            page.push_str(&format!("{name}: {many} changed since the last approval:\n"));
        }
    }
    for change in changes {
        page.push_str(&format!("\n  {}\n", printable(&change.name)));
        let lines = change.lines();
        lines.iter().take(LINES_MAX).for_each(|line| page.push_str(&format!("    {line}\n")));
        if lines.len() > LINES_MAX {
            page.push_str(&format!("    … {} more\n", count((lines.len() - LINES_MAX) as u64, "line")));
        }
    }
    page.push('\n');
    page
}

/// Asks; nobody is asked who is not at a terminal.
fn confirmed(who: &str) -> Result<bool, CliError> {
    if !io::stdin().is_terminal() {
        return Err(CliError::usage(
            "there is no terminal to ask on: look at the above, and say `--yes` if you approve",
        ));
    }
    let fail = |error: io::Error| CliError::failed("the terminal", &error);
    anstream::print!("Approve as {}? [y/N] ", printable(who));
    io::stdout().flush().map_err(fail)?;
    let mut line = String::new();
    io::stdin().read_line(&mut line).map_err(fail)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}
