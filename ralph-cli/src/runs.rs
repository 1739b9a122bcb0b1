//! The runs of a project: which there are, which can go on, what they record.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::SystemTime,
};

use ralph_core::{
    Cx, ItemRef, PhaseId, Record, Revision, RunId, Stop, StopReason,
    ledger::{JsonlJournal, Ledger, accepted},
    machine::{Carried, Fact, Machine},
};
use ralph_vcs::GitVcs;
use serde::{Deserialize, Serialize};

use crate::error::CliError;

/// What a run is about; written when it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunInfo {
    /// The PRD, relative to the repository's root where it is inside.
    pub(crate) plan: String,
    /// The branch.
    pub(crate) branch: String,
}

const INFO: &str = "run.json";

fn read_info(ledger: &Ledger, run: &RunId) -> Option<RunInfo> {
    serde_json::from_slice(&fs::read(ledger.run(run).join(INFO)).ok()?).ok()
}

/// What a run is about, where it says so.
pub(crate) fn info(ledger: &Ledger, run: &RunId) -> Option<RunInfo> {
    read_info(ledger, run)
}

/// What earlier runs of this plan and branch came to, for one that begins: what the last of them with records knows, which
/// knew those before it.
pub(crate) fn carried(ledger: &Ledger, info: &RunInfo, but: &RunId) -> Result<Carried, CliError> {
    for (run, _) in all(ledger)?.into_iter().rev().filter(|(run, known)| run != but && known == info) {
        let records = records(ledger, &run)?;
        // One that died before its first record knew nothing yet.
        if records.is_empty() {
            continue;
        }
        let mut machine = Machine::new();
        for record in records {
            machine
                .apply(&record.fact)
                .map_err(|error| CliError::failed(format!("the journal of run {run}"), &error))?;
        }
        return Ok(machine.carried());
    }
    Ok(Carried::default())
}

/// When each phase of this plan was last finished, in milliseconds since the epoch, and at which commit.
pub(crate) fn phases_done(ledger: &Ledger, plan: &str) -> BTreeMap<PhaseId, (u64, Revision)> {
    let mut done = BTreeMap::new();
    for (run, _) in all(ledger).unwrap_or_default().into_iter().filter(|(_, info)| info.plan == plan) {
        for record in records(ledger, &run).unwrap_or_default() {
            if let Fact::PhaseDone { phase, revision } = record.fact {
                done.insert(phase, (record.at, revision));
            }
        }
    }
    done
}

/// Whether a run says what it is about.
pub(crate) fn is_described(ledger: &Ledger, run: &RunId) -> bool {
    read_info(ledger, run).is_some()
}

/// The journals of a project.
pub(crate) fn journal(ledger: &Ledger) -> JsonlJournal {
    JsonlJournal::new(ledger.runs_folder())
}

/// What is recorded of a run; nothing where it has not begun.
pub(crate) fn records(ledger: &Ledger, run: &RunId) -> Result<Vec<Record>, CliError> {
    let journal = journal(ledger);
    if !journal.path(run).exists() {
        return Ok(Vec::new());
    }
    journal.read(run).map_err(|error| CliError::failed(format!("the journal of run {run}"), &error))
}

/// The runs, the oldest first.
pub(crate) fn all(ledger: &Ledger) -> Result<Vec<(RunId, RunInfo)>, CliError> {
    let runs = ledger.runs().map_err(|error| CliError::failed("the runs cannot be listed", &error))?;
    Ok(runs.into_iter().filter_map(|run| read_info(ledger, &run).map(|info| (run, info))).collect())
}

/// The last run, or the one with this id.
pub(crate) fn find(ledger: &Ledger, id: Option<&str>) -> Result<Option<(RunId, RunInfo)>, CliError> {
    let mut all = all(ledger)?;
    let Some(id) = id else { return Ok(all.pop()) };
    let found = all.into_iter().find(|(run, _)| run.as_str() == id);
    found.map(Some).ok_or_else(|| CliError::usage(format!("there is no run `{id}`")))
}

/// How a run last stopped; `None` where it was cut off.
pub(crate) fn last_stop(records: &[Record]) -> Option<&Stop> {
    match &records.last()?.fact {
        Fact::Stopped { stop } => Some(stop),
        _ => None,
    }
}

/// The run of this plan and branch that can go on: the last one, unless it was a success.
pub(crate) fn open(ledger: &Ledger, info: &RunInfo) -> Result<Option<RunId>, CliError> {
    let last = all(ledger)?.into_iter().rfind(|(_, known)| known == info);
    let Some((run, _)) = last else { return Ok(None) };
    // Without its journal there is nothing to go on from, and the logs know records of it that would come again.
    if !journal(ledger).path(&run).exists() {
        return Ok(None);
    }
    let records = records(ledger, &run)?;
    let success = last_stop(&records).is_some_and(|stop| stop.reason == StopReason::Success);
    Ok((!success).then_some(run))
}

/// Begins a run: its folder, and what it is about.
pub(crate) fn begin(ledger: &Ledger, info: &RunInfo) -> Result<RunId, CliError> {
    let fail = |error: std::io::Error| CliError::failed("the run's folder cannot be made", &error);
    let run = ledger.new_run(SystemTime::now()).map_err(fail)?;
    let json = serde_json::to_vec_pretty(info).map_err(|error| CliError::failed("the run's description", &error))?;
    fs::write(ledger.run(&run).join(INFO), json).map_err(fail)?;
    Ok(run)
}

/// The items of `plan` that runs other than `but` brought to a branch, whichever it was.
pub(crate) fn accepted_elsewhere(ledger: &Ledger, plan: &str, but: &RunId) -> Result<BTreeSet<ItemRef>, CliError> {
    let mut items = BTreeSet::new();
    for (run, info) in all(ledger)? {
        if run != *but && info.plan == plan {
            items.extend(accepted(&records(ledger, &run)?));
        }
    }
    Ok(items)
}

/// The items whose work is on the branch, by the commits' trailers: what is known where records are gone.
pub(crate) async fn on_branch(vcs: &GitVcs) -> BTreeSet<ItemRef> {
    let commits = vcs.log(None, None, &Cx::new()).await.unwrap_or_default();
    commits.into_iter().filter_map(|commit| ItemRef::try_from(commit.item?).ok()).collect()
}
