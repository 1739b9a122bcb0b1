//! `ralph log`: the iterations of a run, or all that is known of an item.

use std::path::Path;

use ralph_core::{ItemRef, Record, engine::Artifacts, from_millis, machine::Fact, printable};

use crate::{args, error::CliError, project::Project, report, runs};

pub(crate) fn log(directory: &Path, args: &args::Log) -> Result<u8, CliError> {
    let project = Project::find(directory)?;
    let Some((run, info)) = runs::find(&project.ledger, args.run.as_deref())? else {
        return Err(CliError::usage("there is no run yet"));
    };
    let records = runs::records(&project.ledger, &run)?;
    let shown = of_item(&records, args.item.as_deref());
    if let (Some(item), true) = (&args.item, shown.is_empty()) {
        return Err(CliError::usage(format!("run {run} has not worked on `{item}`")));
    }
    if args.json {
        for record in shown {
            let json = serde_json::to_string(record);
            println!("{}", json.map_err(|error| CliError::failed("the record", &error))?);
        }
        return Ok(0);
    }
    anstream::println!("run {run}: {} on {}", info.plan, info.branch);
    let mut folders = std::collections::BTreeSet::new();
    for record in shown {
        if let Fact::Began { attempt } = &record.fact {
            folders.insert(attempt.iteration);
        }
        if let Some(line) = report::line(&record.fact) {
            anstream::println!("{}  {line}", super::time(from_millis(record.at)));
        }
        if let (Some(_), Fact::Verified { tail, .. }) = (&args.item, &record.fact) {
            for line in tail.lines() {
                anstream::println!("{:22}| {}", "", printable(line));
            }
        }
    }
    if args.item.is_some() {
        let artifacts = Artifacts::below(project.ledger.run(&run).join("iterations"));
        for folder in folders.into_iter().filter_map(|number| artifacts.folder(number)) {
            anstream::println!("\nprompts and outputs: {}", project.relative(&folder));
        }
    }
    Ok(0)
}

/// The records of one item's attempts, or all.
fn of_item<'a>(records: &'a [Record], item: Option<&str>) -> Vec<&'a Record> {
    let Some(item) = item else { return records.iter().collect() };
    let is_meant = |name: &ItemRef| name.item.as_str() == item || name.to_string() == item;
    let mut inside = false;
    let mut shown = Vec::new();
    for record in records {
        match &record.fact {
            Fact::Began { attempt } => inside = is_meant(&attempt.id.item),
            Fact::Looked { .. } | Fact::Opened { .. } | Fact::Stopped { .. } => inside = false,
            _ => {}
        }
        if inside {
            shown.push(record);
        }
    }
    shown
}
