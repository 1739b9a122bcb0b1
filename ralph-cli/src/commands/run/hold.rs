//! Takes the control folder, and the run that can go on or a new one.

use std::{sync::Arc, time::SystemTime};

use ralph_core::{
    Cx, DecisionError, DecisionSink as _, RunId,
    ledger::{FileDecisions, Holder, LedgerLock, LockError, Queued, Recorder},
};

use super::prepare::Prepared;
use crate::{answers, error::CliError, place, runs, settings::OnConflict, wire};

/// A run that is held by this process.
pub(super) struct Held {
    pub(super) run: RunId,
    /// Whether an earlier invocation began it.
    pub(super) taken_up: bool,
    pub(super) recorder: Arc<Recorder>,
    pub(super) decisions: Arc<FileDecisions>,
    /// What a person should know.
    pub(super) notes: Vec<String>,
    _lock: LedgerLock,
}

/// Who has the control folder.
pub(super) enum Taken {
    /// This process.
    Held(Box<Held>),
    /// Somebody else, who is not to be disturbed.
    Other(Holder),
}

pub(super) async fn hold(prepared: &Prepared, new: bool) -> Result<Taken, CliError> {
    let Prepared { project, info, settings, .. } = prepared;
    let ledger = &project.ledger;
    ledger.create().map_err(|error| CliError::failed("the control folder cannot be written", &error))?;
    let holder = |run| Holder::this_process(format!("ralph run {}", info.plan), run, SystemTime::now());
    let mut lock = match LedgerLock::take(ledger, &holder(None)) {
        Ok(lock) => lock,
        Err(LockError::Held(live)) if prepared.on_conflict != OnConflict::Refuse => {
            return Ok(Taken::Other(live));
        }
        Err(error @ LockError::Held(_)) => {
            return Err(CliError::usage(format!("{error}; wait for it, or stop it with `ralph stop`")));
        }
        Err(error) => return Err(CliError::refused(&error)),
    };
    // Before there is a session that could be elsewhere.
    place::record(ledger).map_err(|error| CliError::failed("state/place cannot be written", &error))?;
    let mut notes = register(prepared);
    let decisions = Arc::new(FileDecisions::new(ledger.clone()));
    // What an answer means for the plan may have been cut off.
    notes.extend(answers::settle(project, settings, &decisions).await?);
    if let Some(approved) = prepared.plan.approval() {
        // Looked at again under the lock; what a person wrote by hand is recorded from here on.
        approved.read().map_err(|error| CliError::plan(&error))?;
        notes.extend(approved.recorded_by_hand().map(|by| {
            format!(
                "the approval of {}, {} was written by hand: it is recorded, and holds while the plan stays as it is",
                by.who, by.date
            )
        }));
        notes.extend(approved.approvals().trouble());
    }
    let known = if new { None } else { runs::open(ledger, info)? };
    let taken_up = known.is_some();
    let run = match known {
        Some(run) => run,
        None => {
            let run = runs::begin(ledger, info)?;
            notes.extend(give_up_questions(prepared, &decisions, &run).await?);
            run
        }
    };
    lock.update(&holder(Some(run.clone()))).map_err(|error| CliError::failed("the lock", &error))?;
    let recorder = Arc::new(Recorder::new(ledger.clone()));
    Ok(Taken::Held(Box::new(Held { run, taken_up, recorder, decisions, notes, _lock: lock })))
}

/// Makes the project known to `ralph btw`. That it could not be is no reason not to work.
fn register(prepared: &Prepared) -> Vec<String> {
    let registered = wire::registry().and_then(|registry| {
        registry
            .register(&prepared.project.ledger, &prepared.project.root)
            .map_err(|error| CliError::failed("this project", &error))
    });
    match registered {
        Ok(_) => Vec::new(),
        Err(error) => vec![format!("`ralph btw` will not see this project from elsewhere: {error}")],
    }
}

/// What earlier runs of the plan asked and nobody answered is nobody's any more: a new run asks for itself.
async fn give_up_questions(
    prepared: &Prepared,
    decisions: &FileDecisions,
    run: &RunId,
) -> Result<Option<String>, CliError> {
    let fail = |error: DecisionError| CliError::failed("the decisions", &error);
    let ledger = &prepared.project.ledger;
    let of_plan = |queued: &Queued| {
        let info = runs::info(ledger, &queued.decision.run);
        queued.is_pending() && info.is_some_and(|info| info.plan == prepared.info.plan)
    };
    let pending: Vec<Queued> = decisions.list().map_err(fail)?.into_iter().filter(of_plan).collect();
    for queued in &pending {
        let why = format!("run {run} began anew");
        decisions.close(&queued.id, &why, &Cx::new()).await.map_err(fail)?;
    }
    let ids: Vec<&str> = pending.iter().map(|queued| queued.id.as_str()).collect();
    Ok((!ids.is_empty())
        .then(|| format!("the run begins anew, so what an earlier one asked no longer stands: {}", ids.join(", "))))
}
