//! `ralph run` where another run is at work: follow it, or bring records up to date, and start nothing.

use std::time::Duration;

use ralph_core::{
    Event, Observer as _, Stop, StopReason,
    ledger::{FileDecisions, Holder, holder},
};

use super::{finish::Stopped, note, prepare::Prepared};
use crate::{
    answers, args,
    error::CliError,
    report::{Events, Names, Progress},
    runs,
    settings::OnConflict,
};

/// How often the live run's record is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

pub(super) async fn other(prepared: &Prepared, live: &Holder, args: &args::Run) -> Result<u8, CliError> {
    match prepared.on_conflict {
        OnConflict::AdoptExisting => follow(prepared, live, args.how.json).await,
        OnConflict::Refuse | OnConflict::ArtifactOnly => artifacts(prepared, live, args).await,
    }
}

/// Shows what the live run records until it ends, and ends like it.
async fn follow(prepared: &Prepared, live: &Holder, json: bool) -> Result<u8, CliError> {
    let ledger = &prepared.project.ledger;
    let Some(run) = live.run.clone() else {
        return Err(CliError::usage(format!("the control folder is held by {live}, which is no run to follow")));
    };
    note(&format!("following {live}; Ctrl-C ends the following, not the run"));
    let (progress, mut seen) = (Progress::new(Names::of(&prepared.read.plan)), 0);
    loop {
        // The lock first: what is recorded before it is gone is read after.
        let alive = holder(ledger).map_err(|error| CliError::failed("the lock", &error))?;
        let alive = alive.is_some_and(|now| now.run.as_ref() == Some(&run));
        for record in runs::records(ledger, &run)?.into_iter().skip(seen) {
            seen += 1;
            let event = Event::Recorded { run: run.clone(), record };
            if json {
                Events.on_event(&event);
            } else {
                progress.on_event(&event);
            }
        }
        if !alive {
            let stop = runs::last_stop(&runs::records(ledger, &run)?).cloned();
            let stop =
                stop.unwrap_or_else(|| Stop::new(StopReason::Fault, "the run was cut off; `ralph run` takes it up"));
            if json {
                Events::print(&Stopped::new(&run, &stop, None));
            } else {
                note(&stop.to_string());
            }
            return Ok(stop.reason.exit_code());
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = tokio::signal::ctrl_c() => return Err(CliError::cancelled()),
        }
    }
}

/// Checks the plan and renders what is rendered. The live run is not disturbed.
async fn artifacts(prepared: &Prepared, live: &Holder, args: &args::Run) -> Result<u8, CliError> {
    note(&format!("{live} is at work: checks and records only, no session"));
    let decisions = FileDecisions::new(prepared.project.ledger.clone());
    if let Err(error) = decisions.render() {
        note(&answers::trouble("DECISIONS.md", &error));
    }
    let (json, overrides) = (args.how.json, args.how.overrides.clone());
    let check = args::Check { plan: args.plan.clone(), list: false, calibrate: None, json, overrides };
    crate::commands::check::check(&prepared.project.root, &check).await
}
