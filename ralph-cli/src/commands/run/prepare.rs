//! Reads and checks everything before anything is changed.

use std::{fs, path::Path, sync::Arc, time::SystemTime};

use ralph_core::{
    Cx, Publish,
    ledger::{FileDecisions, Holder, LedgerLock, LockError, MasterPlan},
};
use ralph_vcs::GitVcs;

use crate::{
    answers, args,
    error::CliError,
    looping::Loop,
    plan::{MASTER_PLAN, PlanFile, ReadPlan},
    project::{self, Project},
    runs::RunInfo,
    settings::{self, OnConflict, Settings},
    wire::{self, Wired},
};

/// Everything that is known before anything is changed.
pub(super) struct Prepared {
    pub(super) project: Project,
    pub(super) settings: Settings,
    pub(super) plan: PlanFile,
    /// The plan as it was read.
    pub(super) read: ReadPlan,
    pub(super) info: RunInfo,
    pub(super) looped: Loop,
    pub(super) agent: Wired,
    pub(super) vcs: Arc<GitVcs>,
    pub(super) publish: Option<Arc<dyn Publish>>,
    pub(super) notes: Vec<String>,
    pub(super) on_conflict: OnConflict,
}

pub(super) async fn prepare(directory: &Path, args: &args::Run) -> Result<Prepared, CliError> {
    let project = Project::find(directory)?;
    let how = &args.how;
    let settings = settings_for(&project, how)?;
    let path = project.plan(args.plan.as_deref())?;
    refuse_a_phase_alone(&project, &path)?;
    let looped = Loop::of(&path)?;
    let mut plan = PlanFile::open(&project, &path, &settings.verify);
    let mut read = plan.read().map_err(|error| CliError::refused(&error))?;
    if let Some(phase) = &args.phase {
        plan = plan.until(phase)?;
        in_order(&project, &plan, &read, phase)?;
        read.plan = plan.cut(read.plan);
    }
    plan = plan.approved(&project, &settings)?;
    let mut notes = Vec::new();
    if let Err(error) = plan.check_approval() {
        let settled = if how.dry_run { None } else { settle_additions(&project, &settings).await? };
        let Some(settled) = settled else { return Err(CliError::plan(&error)) };
        plan.check_approval().map_err(|error| CliError::plan(&error))?;
        read = plan.read().map_err(|error| CliError::refused(&error))?;
        read.plan = plan.cut(read.plan);
        notes.extend(settled);
    }
    // Found out now, not when the first item is done and paid for.
    for prd in plan.prds().map_err(|error| CliError::refused(&error))? {
        fs::OpenOptions::new().write(true).open(&prd).map_err(|error| {
            let name = project.relative(&prd);
            CliError::usage(format!("{name} cannot be written, and items could not be marked: {error}"))
        })?;
    }
    let agent = wire::agent(&settings, &project)?;
    wire::refuse_what_it_cannot(&settings, &*agent.agent)?;
    wire::policies(&settings)?;
    let checks = wire::checks(&settings)?;
    if let Some((file, item, why)) = wire::bad_checks(&checks, &plan, &read).into_iter().next() {
        let file = project.relative(Path::new(&file));
        return Err(CliError::usage(format!("{file}:{}: {}: {why}", item.line, item.id)));
    }
    wire::prompt(&settings, &project, &looped)?;
    let info = info(&project, &settings, &path, &read);
    let (vcs, found) = open_vcs(&settings, &project, &info, &plan).await?;
    notes.extend(found);
    let publish = wire::publish(&settings, &vcs).await?;
    let on_conflict = args.on_conflict.unwrap_or(settings.run.on_conflict);
    Ok(Prepared { project, settings, plan, read, info, looped, agent, vcs, publish, notes, on_conflict })
}

/// The settings that hold for a run that is called so.
pub(crate) fn settings_for(project: &Project, how: &args::How) -> Result<Settings, CliError> {
    let mut flags = Vec::new();
    flags.extend(how.iterations.map(|n| format!("budget.iterations={n}")));
    flags.extend(how.time.as_ref().map(|time| format!("budget.time={time}")));
    flags.extend(how.cost_usd.as_ref().map(|usd| format!("budget.cost_usd={usd}")));
    flags.extend(how.tokens.map(|n| format!("budget.tokens={n}")));
    flags.extend(how.overrides.set.iter().cloned());
    Ok(settings::load(&project.settings(), &flags)?.settings)
}

/// Brings answers to their end where one adds items: a crash may have come after the rows, and before the approval knew
/// of them. Answers what a person should know; `None`, and nothing was changed, where there is no such answer, or where
/// somebody is at work, who brings it to its end.
async fn settle_additions(project: &Project, settings: &Settings) -> Result<Option<Vec<String>>, CliError> {
    let decisions = FileDecisions::new(project.ledger.clone());
    if !answers::adds_items(&decisions)? {
        return Ok(None);
    }
    let this = Holder::this_process("ralph run", None, SystemTime::now());
    match LedgerLock::take(&project.ledger, &this) {
        Ok(_lock) => answers::settle(project, settings, &decisions).await.map(Some),
        Err(LockError::Held(_)) => Ok(None),
        Err(error) => Err(CliError::refused(&error)),
    }
}

pub(crate) fn info(project: &Project, settings: &Settings, path: &Path, read: &ReadPlan) -> RunInfo {
    let phase = read.plan.phases.first().map_or("", |phase| phase.id.as_str());
    RunInfo { plan: project.relative(path), branch: project::branch(&settings.run.branch, path, phase) }
}

/// A PRD that a Master Plan names runs as its phase only: after approval, in order, through its gates.
fn refuse_a_phase_alone(project: &Project, path: &Path) -> Result<(), CliError> {
    let master = project.ledger.root().join(MASTER_PLAN);
    let same = |a: &Path, b: &Path| fs::canonicalize(a).ok() == fs::canonicalize(b).ok();
    if same(&master, path) {
        return Ok(());
    }
    let Ok(bytes) = fs::read(&master) else { return Ok(()) };
    let name = project.relative(&master);
    let read = MasterPlan::parse(&bytes, &name).map_err(|problems| CliError::usage(problems.join("\n")))?;
    match read.phases.iter().find(|phase| same(&project.root.join(&phase.prd), path)) {
        Some(phase) => Err(CliError::usage(format!(
            "{} is phase {} of {name}, which has gates and an approval: use `ralph run --phase {}`",
            project.relative(path),
            phase.id,
            phase.id
        ))),
        None => Ok(()),
    }
}

/// Phases are walked in order.
fn in_order(project: &Project, plan: &PlanFile, read: &ReadPlan, phase: &str) -> Result<(), CliError> {
    let finished = crate::runs::phases_done(&project.ledger, &project.relative(plan.path()));
    let before = read.plan.phases.iter().take_while(|known| known.id.as_str() != phase);
    let missing: Vec<&str> =
        before.filter(|known| !finished.contains_key(&known.id)).map(|known| known.id.as_str()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(CliError::usage(format!("{phase} comes after {}, which must be done first", missing.join(", "))))
}

async fn open_vcs(
    settings: &Settings,
    project: &Project,
    info: &RunInfo,
    plan: &PlanFile,
) -> Result<(Arc<GitVcs>, Vec<String>), CliError> {
    let mut control = project.control(&info.plan);
    let prds = plan.prds().map_err(|error| CliError::refused(&error))?;
    // One that lies elsewhere is in no checkout.
    control.extend(prds.iter().map(|prd| project.relative(prd)).filter(|prd| Path::new(prd).is_relative()));
    let options = wire::git(settings, project, &info.branch)?.with_control(control);
    let vcs = GitVcs::open(options).await?;
    let found = vcs.preflight(&Cx::new()).await?;
    if !found.refusals.is_empty() {
        return Err(CliError::usage(found.refusals.join("\n")));
    }
    Ok((Arc::new(vcs), found.notes))
}
