//! The end of a run: logs, summary, the overview or the last JSON line, the exit code.

use ralph_core::{
    Cx, Event, Observer as _, Outcome, RunError, RunId, Stop, StopReason, chain,
    ledger::{Recorder, Summary},
};
use serde::Serialize;

use super::{Held, Prepared, note, on_stop};
use crate::{
    answers,
    error::CliError,
    output,
    report::{Events, Known, Overview},
    runs,
};

/// The last line of `run --json`.
#[derive(Serialize)]
pub(super) struct Stopped<'a> {
    kind: &'static str,
    run: &'a RunId,
    reason: StopReason,
    exit: u8,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<serde_json::Value>,
}

impl<'a> Stopped<'a> {
    pub(super) fn new(run: &'a RunId, stop: &'a Stop, outcome: Option<serde_json::Value>) -> Self {
        let (reason, exit) = (stop.reason, stop.reason.exit_code());
        Self { kind: "stopped", run, reason, exit, detail: &stop.detail, outcome }
    }
}

pub(super) async fn finish(
    prepared: &Prepared,
    held: &Held,
    ended: Result<Outcome, RunError>,
    json: bool,
) -> Result<u8, CliError> {
    let Prepared { project, settings, plan, info, vcs, .. } = prepared;
    let Held { run, recorder, decisions, .. } = held;
    let (stop, fault) = match ended {
        Ok(outcome) => (outcome.stop, None),
        Err(RunError::Refused(why)) => return Err(CliError::usage(why)),
        Err(error) => (Stop::new(StopReason::Fault, chain(&error)), Some(error)),
    };
    if fault.is_some() {
        recorder.fault();
    }
    for trouble in recorder.trouble() {
        note(&format!("a log could not be written: {trouble}"));
    }
    decisions.trouble().iter().for_each(|trouble| note(trouble));
    if stop.reason == StopReason::Success
        && let Err(error) = vcs.remove_pins(run, &Cx::new()).await
    {
        note(&format!("superseded work could not be let go: {}", chain(&error)));
    }

    let records = runs::records(&project.ledger, run).unwrap_or_default();
    let elsewhere = runs::accepted_elsewhere(&project.ledger, &info.plan, run).unwrap_or_default();
    let on_branch = runs::on_branch(vcs).await;
    let verified = elsewhere.union(&on_branch).cloned().collect();
    match answers::settle(project, settings, decisions).await {
        Ok(notes) => notes.iter().for_each(|text| note(text)),
        Err(error) => note(&format!("an answer is not yet brought to its end: {error}")),
    }
    let now = plan.read().ok().map(|read| read.plan);
    if let Err(error) = Summary::new(run, &records, now.as_ref(), &verified).write(&project.ledger) {
        note(&format!("the summary could not be written: {error}"));
    }
    if let Some(trouble) = on_stop::on_stop(project, settings, run, &stop).await {
        note(&trouble);
    }
    let now = now.unwrap_or_default();
    let pending = answers::pending(&project.ledger, decisions, &info.plan).unwrap_or_else(|error| {
        note(&error.to_string());
        Vec::new()
    });
    let overview = Overview::new(&Known {
        info,
        run: Some(run.as_str()),
        records: &records,
        plan: &now,
        on_branch: &on_branch,
        elsewhere: &elsewhere,
        pending: &pending,
        live: None,
    });
    if json {
        Events::print(&Stopped::new(run, &stop, serde_json::to_value(&overview).ok()));
    } else {
        output::print(&format!("{}\n", overview.render()))?;
    }
    match fault {
        Some(error) => Err(CliError::failed("the run is left open (`ralph run` takes it up)", &error)),
        None => Ok(stop.reason.exit_code()),
    }
}

/// Writes what a run that ended, and died before it could say so, left unsaid in the logs: nobody takes it up again.
pub(super) fn catch_up(prepared: &Prepared, this: &RunId) {
    let ledger = &prepared.project.ledger;
    let earlier = runs::all(ledger).unwrap_or_default();
    let last = earlier.into_iter().rfind(|(run, info)| run != this && *info == prepared.info);
    let Some((run, _)) = last.filter(|(run, _)| !ledger.summary(run).exists()) else { return };
    let records = runs::records(ledger, &run).unwrap_or_default();
    if runs::last_stop(&records).is_none() {
        return;
    }
    let recorder = Recorder::new(ledger.clone());
    for record in &records {
        recorder.on_event(&Event::Replayed { run: run.clone(), record: record.clone() });
    }
    let plan = &prepared.read.plan;
    let before = runs::accepted_elsewhere(ledger, &prepared.info.plan, &run).unwrap_or_default();
    if let Err(error) = Summary::new(&run, &records, Some(plan), &before).write(ledger) {
        note(&format!("the summary of run {run} could not be written: {error}"));
    }
}
