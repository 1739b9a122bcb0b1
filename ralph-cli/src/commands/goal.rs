//! `ralph goal` and `ralph every`: loops over one text.

use std::path::Path;

use super::run;
use crate::{
    args,
    error::CliError,
    looping::{self, Loop},
    project::Project,
    wire,
};

/// One objective, until its verifier passes.
pub(crate) async fn goal(directory: &Path, args: &args::Goal) -> Result<u8, CliError> {
    let project = Project::find(directory)?;
    let mut verify = args.verify.clone();
    if verify.is_empty() {
        verify.extend(run::settings(&project, &args.how)?.verify.command);
    }
    if verify.is_empty() {
        return Err(CliError::usage(
            "nothing would say that the goal is reached: give `--verify CMD`, or set `verify.command`",
        ));
    }
    start(directory, &project, &Loop::Goal, &args.text, &verify, &args.how).await
}

/// A prompt at an interval.
pub(crate) async fn every(directory: &Path, args: &args::Every) -> Result<u8, CliError> {
    let project = Project::find(directory)?;
    let interval = looping::interval(&args.interval, !args.verify.is_empty())?;
    if args.until.as_ref().is_some_and(|until| until.trim().is_empty()) {
        return Err(CliError::usage("`--until` needs a command"));
    }
    let looped = Loop::Every { interval, until: args.until.clone() };
    start(directory, &project, &looped, &args.text, &args.verify, &args.how).await
}

async fn start(
    directory: &Path,
    project: &Project,
    looped: &Loop,
    text: &str,
    verify: &[String],
    how: &args::How,
) -> Result<u8, CliError> {
    // What would be refused anyhow leaves nothing behind.
    let settings = run::settings(project, how)?;
    wire::refuse_what_it_cannot(&settings, &*wire::agent(&settings, project)?.agent)?;
    // Looking changes nothing: the plan is written elsewhere, and is gone afterwards.
    let elsewhere = how.dry_run.then(tempfile::tempdir).transpose();
    let elsewhere = elsewhere.map_err(|error| CliError::failed("a temporary folder", &error))?;
    let folder = match &elsewhere {
        Some(elsewhere) => looping::folder(elsewhere.path()),
        None => {
            let create = project.ledger.create();
            create.map_err(|error| CliError::failed("the control folder cannot be written", &error))?;
            looping::folder(project.ledger.root())
        }
    };
    let plan = looped.write(&folder, text, verify)?;
    run::run(directory, &args::Run { plan: Some(plan), how: how.clone(), ..args::Run::default() }).await
}
