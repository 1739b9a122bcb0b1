//! `ralph log`: the iterations of a run, or all that is known of an item.

use std::{collections::BTreeSet, path::Path};

use ralph_core::{ItemRef, PhaseId, Record, Reply, RunId, engine::Artifacts, from_millis, machine::Fact, printable};

use crate::{
    args,
    error::CliError,
    output,
    project::Project,
    report::{self, Names},
    runs::{self, RunInfo},
};

pub(crate) fn log(directory: &Path, args: &args::Log) -> Result<u8, CliError> {
    let project = Project::find(directory)?;
    let item = args.item.as_deref();
    let Some((run, info, records)) = find(&project, args)? else {
        return Err(CliError::usage("there is no run yet; `ralph run` begins one"));
    };
    let shown = of_item(&records, item);
    if args.json {
        for record in shown {
            report::Events::print(record);
        }
        return Ok(0);
    }
    let phases: BTreeSet<&PhaseId> = records.iter().filter_map(phase).collect();
    let names = Names { with_phase: phases.len() > 1 };
    let mut page = format!("run {run}: {} on {}\n", info.plan, info.branch);
    let mut folders = BTreeSet::new();
    for record in shown {
        if let Fact::Began { attempt } = &record.fact {
            folders.insert(attempt.iteration);
        }
        if let Some(line) = report::line(&record.fact, names) {
            page.push_str(&format!("{}  {line}\n", super::time(from_millis(record.at))));
        }
        if let (Some(_), Fact::Verified { tail, .. }) = (item, &record.fact) {
            for line in tail.lines() {
                page.push_str(&format!("{:22}| {}\n", "", printable(line)));
            }
        }
    }
    if item.is_some() {
        let artifacts = Artifacts::below(project.ledger.run(&run).join("iterations"));
        for folder in folders.into_iter().filter_map(|number| artifacts.folder(number)) {
            page.push_str(&format!("\nprompts and outputs: {}\n", project.relative(&folder)));
        }
    }
    output::print(&page)?;
    Ok(0)
}

/// The phase that an attempt belongs to.
fn phase(record: &Record) -> Option<&PhaseId> {
    match &record.fact {
        Fact::Began { attempt } => Some(&attempt.id.item.phase),
        _ => None,
    }
}

/// The run that is meant, with its records: the one that is named, else the last one that worked on the item, else the
/// last one.
fn find(project: &Project, args: &args::Log) -> Result<Option<(RunId, RunInfo, Vec<Record>)>, CliError> {
    let ledger = &project.ledger;
    let (Some(item), None) = (&args.item, &args.run) else {
        let found = runs::find(ledger, args.run.as_deref())?;
        let with_records = |(run, info): (RunId, RunInfo)| {
            let records = runs::records(ledger, &run)?;
            match &args.item {
                Some(item) if of_item(&records, Some(item)).is_empty() => {
                    Err(CliError::usage(format!("run {run} has not worked on `{item}`")))
                }
                _ => Ok((run, info, records)),
            }
        };
        return found.map(with_records).transpose();
    };
    let all = runs::all(ledger)?;
    if all.is_empty() {
        return Ok(None);
    }
    for (run, info) in all.into_iter().rev() {
        let records = runs::records(ledger, &run)?;
        if !of_item(&records, Some(item)).is_empty() {
            return Ok(Some((run, info, records)));
        }
    }
    Err(CliError::usage(format!("no run has worked on `{item}`; `ralph status` shows the items")))
}

/// The records of one item's attempts, or all.
fn of_item<'a>(records: &'a [Record], item: Option<&str>) -> Vec<&'a Record> {
    let Some(item) = item else { return records.iter().collect() };
    let is_meant = |name: &ItemRef| name.item.as_str() == item || name.to_string() == item;
    let mut inside = false;
    let mut asked = BTreeSet::new();
    let mut shown = Vec::new();
    for record in records {
        match &record.fact {
            Fact::Began { attempt } => inside = is_meant(&attempt.id.item),
            Fact::Looked { .. } | Fact::Opened { .. } | Fact::Stopped { .. } => inside = false,
            Fact::Asked { id, item: Some(item) } if is_meant(item) => {
                asked.insert(id.clone());
            }
            _ => {}
        }
        let answered = match &record.fact {
            Fact::TookIn { answer, .. } => match &answer.reply {
                // An answer about a phase that names the item.
                Reply::Reopen(named) | Reply::Retire(named) => {
                    named.as_str() == item.rsplit('/').next().unwrap_or(item)
                }
                _ => asked.contains(&answer.decision),
            },
            _ => false,
        };
        if inside || answered {
            shown.push(record);
        }
    }
    shown
}
