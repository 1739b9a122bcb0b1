//! One call of `ralph run` in the demo: the real loop with all its parts, and a script for an agent.

use std::{collections::BTreeSet, sync::Arc, time::SystemTime};

use ralph_core::{
    Cx, Event, Observer as _, Plan, Ralph, Record, RunId, Stop,
    engine::Artifacts,
    gates::{AutoGate, ManualGate},
    ledger::{FileDecisions, Holder, LedgerLock, Recorder, Summary, learnings},
};
use ralph_vcs::GitVcs;

use super::{actor::Actor, narrator::Narrator, stage::Stage};
use crate::{answers, commands::run::StatePage, error::CliError, plan::PlanFile, report, runs, wire};

/// Runs until it stops; takes up the run that stopped before.
pub(super) async fn run(stage: &Stage, narrator: &Arc<Narrator>) -> Result<Stop, CliError> {
    let Stage { project, settings, info, .. } = stage;
    let ledger = &project.ledger;
    let plan = PlanFile::open(project, &stage.plan, &settings.verify).approved(project, settings)?;
    plan.check_approval().map_err(|error| CliError::plan(&error))?;
    let vcs = Arc::new(open_vcs(stage).await?);

    let holder = Holder::this_process("ralph demo", None, SystemTime::now());
    let _lock = LedgerLock::take(ledger, &holder).map_err(|error| CliError::refused(&error))?;
    let run = match runs::open(ledger, info)? {
        Some(run) => run,
        None => runs::begin(ledger, info)?,
    };
    let recorder = Arc::new(Recorder::new(ledger.clone()));
    let (watched, narrator, for_learnings) = (Arc::clone(&recorder), Arc::clone(narrator), ledger.clone());
    let verifier = || wire::verifier(settings);
    let mut ralph = Ralph::builder(Arc::new(plan.clone()), Arc::new(Actor), Arc::new(verifier()), Arc::clone(&vcs))
        .journal(runs::journal(ledger), run.clone())
        .decisions(FileDecisions::new(ledger.clone()))
        .budget(settings.budget())
        .rebase(Arc::clone(&vcs))
        .phase_gate(AutoGate::new(verifier()))
        .phase_gate(ManualGate)
        .carried(runs::carried(ledger, info, &run)?)
        .artifacts(Artifacts::below(ledger.run(&run).join("iterations")))
        .learnings(move || learnings(&for_learnings))
        .observe(move |event: &Event| watched.on_event(event))
        .observe(StatePage::new(ledger.clone(), plan.clone(), info.plan.clone()))
        .observe(move |event: &Event| narrator.on_event(event));
    for policy in wire::policies(settings)? {
        ralph = ralph.gate(policy);
    }
    let outcome = ralph.run().await.map_err(|error| CliError::failed("the demo's run", &error))?;
    if let Some(trouble) = recorder.trouble().into_iter().next() {
        return Err(CliError::fault(format!("a log could not be written: {trouble}")));
    }
    let (records, now) = (runs::records(ledger, &run)?, read(&plan)?);
    Summary::new(&run, &records, Some(&now), &BTreeSet::new())
        .write(ledger)
        .map_err(|error| CliError::failed("the summary", &error))?;
    Ok(outcome.stop)
}

/// What is there when all is over.
pub(super) struct Ending {
    pub(super) plan: Plan,
    /// The page of `ralph status`.
    pub(super) status: String,
    /// The commits of the branch, the oldest first: the item and the line of `git log --oneline`.
    pub(super) commits: Vec<(Option<String>, String)>,
    /// How many runs there were.
    pub(super) runs: usize,
}

/// Looks at it.
pub(super) async fn look(stage: &Stage) -> Result<Ending, CliError> {
    let Stage { project, settings, info, .. } = stage;
    let ledger = &project.ledger;
    let plan = read(&PlanFile::open(project, &stage.plan, &settings.verify))?;
    let vcs = open_vcs(stage).await?;
    let last: Option<RunId> = runs::find(ledger, None)?.map(|(run, _)| run);
    let records: Vec<Record> = match &last {
        Some(run) => runs::records(ledger, run)?,
        None => Vec::new(),
    };
    let overview = report::Overview::new(&report::Known {
        info,
        run: last.as_ref().map(RunId::as_str),
        records: &records,
        plan: &plan,
        on_branch: &runs::on_branch(&vcs).await,
        elsewhere: &BTreeSet::new(),
        pending: &answers::pending(ledger, &FileDecisions::new(ledger.clone()), &info.plan)?,
        live: None,
    });
    let commits = vcs.log(None, None, &Cx::new()).await?.into_iter();
    let commits = commits.map(|commit| (commit.item, format!("{} {}", commit.revision.short(), commit.subject)));
    Ok(Ending { status: overview.render(), commits: commits.collect(), runs: runs::all(ledger)?.len(), plan })
}

fn read(plan: &PlanFile) -> Result<Plan, CliError> {
    plan.read().map(|read| read.plan).map_err(|error| CliError::refused(&error))
}

async fn open_vcs(stage: &Stage) -> Result<GitVcs, CliError> {
    let Stage { project, settings, info, .. } = stage;
    let options = wire::git(settings, project, &info.branch)?.with_control(project.control(&info.plan));
    let vcs = GitVcs::open(options).await?;
    let found = vcs.preflight(&Cx::new()).await?;
    if found.refusals.is_empty() { Ok(vcs) } else { Err(CliError::usage(found.refusals.join("\n"))) }
}
