//! `ralph status`: where things stand.

use std::{collections::BTreeSet, path::Path};

use ralph_core::{
    ItemRef,
    ledger::{FileDecisions, holder},
};
use ralph_vcs::GitVcs;

use crate::{
    answers, args,
    error::CliError,
    output,
    plan::{PlanFile, ReadPlan},
    project::Project,
    report::{Known, Overview},
    runs::{self, RunInfo},
    settings::{self, Loaded, Settings, Value},
    wire,
};

pub(crate) async fn status(directory: &Path, args: &args::Status) -> Result<u8, CliError> {
    let project = Project::find(directory)?;
    let loaded = settings::load(&project.settings(), &args.overrides.set)?;
    if args.settings {
        show_settings(&loaded, args.json)?;
        return Ok(0);
    }
    let last = runs::find(&project.ledger, None)?;
    let named = args.plan.clone().or_else(|| last.as_ref().map(|(_, info)| project.root.join(&info.plan)));
    let path = project.plan(named.as_deref())?;
    let plan = PlanFile::open(&project, &path, &loaded.settings.verify);
    // A plan that does not read is no reason to hide what is known of its run.
    let (read, trouble) = match plan.read() {
        Ok(read) => (read, None),
        Err(error) => (ReadPlan::default(), Some(CliError::plan(&error))),
    };
    let info = super::run::info(&project, &loaded.settings, &path, &read);
    let run = runs::all(&project.ledger)?.into_iter().rfind(|(_, known)| known.plan == info.plan);
    let live = holder(&project.ledger).map_err(|error| CliError::failed("the lock", &error))?;
    let decisions = FileDecisions::new(project.ledger.clone());
    let (id, info, records, elsewhere) = match &run {
        Some((run, info)) => {
            let elsewhere = runs::accepted_elsewhere(&project.ledger, &info.plan, run)?;
            (Some(run.as_str()), info, runs::records(&project.ledger, run)?, elsewhere)
        }
        None => (None, &info, Vec::new(), BTreeSet::new()),
    };
    let overview = Overview::new(&Known {
        info,
        run: id,
        records: &records,
        plan: &read.plan,
        on_branch: &on_branch(&loaded.settings, &project, info).await,
        elsewhere: &elsewhere,
        pending: &answers::pending(&project.ledger, &decisions, &info.plan)?,
        live: live.as_ref(),
    });
    if args.json {
        output::print_json(&overview)?;
    } else {
        output::print(&overview.render())?;
    }
    match trouble {
        Some(error) => Err(error),
        None => Ok(0),
    }
}

/// The items whose work is on the branch; none where git cannot say.
async fn on_branch(settings: &Settings, project: &Project, info: &RunInfo) -> BTreeSet<ItemRef> {
    let Ok(options) = wire::git(settings, project, &info.branch) else { return BTreeSet::new() };
    match GitVcs::open(options).await {
        Ok(vcs) => runs::on_branch(&vcs).await,
        Err(_) => BTreeSet::new(),
    }
}

fn show_settings(loaded: &Loaded, json: bool) -> Result<(), CliError> {
    let rows = loaded.rows();
    if json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(key, value)| serde_json::json!({"key": key, "value": value.json(), "source": value.source}))
            .collect();
        let document = serde_json::json!({"schema_version": crate::report::SCHEMA_VERSION, "settings": rows});
        return output::print_json(&document);
    }
    let row = |(key, value): (&String, &Value)| format!("{key:<26} {:<26} {}\n", value.text, value.source);
    output::print(&rows.iter().map(row).collect::<String>())
}
