//! `ralph run`: works through a PRD until it stops.

mod dry_run;
mod finish;
mod signals;

use std::{fs, io::Write as _, path::Path, sync::Arc, time::SystemTime};

use ralph_core::{
    Cx, Event, ItemStatus, Observer as _, Phase, Ralph, RunId, chain,
    engine::Artifacts,
    ledger::{FileDecisions, Holder, LedgerLock, LockError, MarkdownPrd, Recorder, learnings},
    machine::Fact,
    printable,
};
use ralph_vcs::GitVcs;

use crate::{
    args,
    crash_point::CrashPoint,
    error::CliError,
    plan::Configured,
    project::{self, Project},
    report::{Events, Progress, count},
    runs::{self, RunInfo},
    settings::{self, Settings},
    wire,
};

/// Everything that is known before anything is changed.
struct Prepared {
    project: Project,
    settings: Settings,
    plan: Configured,
    phase: Phase,
    info: RunInfo,
    vcs: Arc<GitVcs>,
    notes: Vec<String>,
}

/// A run that is held by this process.
struct Held {
    run: RunId,
    /// Whether an earlier invocation began it.
    taken_up: bool,
    recorder: Arc<Recorder>,
    decisions: Arc<FileDecisions>,
    _lock: LedgerLock,
}

pub(crate) async fn run(directory: &Path, args: &args::Run) -> Result<u8, CliError> {
    let prepared = prepare(directory, args).await?;
    if args.dry_run {
        dry_run::dry_run(&prepared)?;
        return Ok(0);
    }
    let held = hold(&prepared, args.new)?;
    // What a life that was cut off left running must not meet this one.
    ralph_process::become_subreaper();
    let swept = ralph_process::sweep(held.run.as_str());
    if !held.taken_up {
        finish::catch_up(&prepared, &held.run);
    }
    greet(&prepared, &held, args.json).await;
    if swept.killed > 0 {
        note(&format!("ended what a life of this run that was cut off had left running: {}", swept.killed));
    }
    let ralph = build(&prepared, &held)?;
    let ralph = if args.json { ralph.observe(Events) } else { ralph.observe(Progress::new()) };
    let ended = {
        let _listening = signals::Listening::with(ralph.switches());
        ralph.run().await
    };
    finish::finish(&prepared, &held, ended, args.json).await
}

/// Takes the control folder, and the run that can go on or a new one.
fn hold(prepared: &Prepared, new: bool) -> Result<Held, CliError> {
    let Prepared { project, info, .. } = prepared;
    let ledger = &project.ledger;
    ledger.create().map_err(|error| CliError::failed("the control folder cannot be written", &error))?;
    let holder = |run| Holder::this_process(format!("ralph run {}", info.plan), run, SystemTime::now());
    let mut lock = LedgerLock::take(ledger, &holder(None)).map_err(|error| match error {
        LockError::Held(_) => CliError::usage(format!("{error}; wait for it, or stop it with `ralph stop`")),
        error => CliError::refused(&error),
    })?;
    let known = if new { None } else { runs::open(ledger, info)? };
    let taken_up = known.is_some();
    let run = match known {
        Some(run) => run,
        None => runs::begin(ledger, info)?,
    };
    lock.update(&holder(Some(run.clone()))).map_err(|error| CliError::failed("the lock", &error))?;
    Ok(Held {
        run,
        taken_up,
        recorder: Arc::new(Recorder::new(ledger.clone())),
        decisions: Arc::new(FileDecisions::new(ledger.clone())),
        _lock: lock,
    })
}

/// The loop with all its parts, but for who watches.
fn build(prepared: &Prepared, held: &Held) -> Result<Ralph, CliError> {
    let Prepared { project, settings, plan, vcs, .. } = prepared;
    let (ledger, for_learnings) = (&project.ledger, project.ledger.clone());
    let (recorder, decisions) = (Arc::clone(&held.recorder), Arc::clone(&held.decisions));
    let crash = CrashPoint::from_environment()?;
    let ralph = crash.ralph(
        Arc::new(plan.clone()),
        wire::agent(settings, project)?,
        Arc::new(wire::verifier(settings)),
        Arc::clone(vcs) as Arc<dyn ralph_core::Vcs>,
    );
    let ralph = crash.records(ralph, runs::journal(ledger), held.run.clone(), Arc::clone(&held.decisions));
    Ok(ralph
        .budget(settings.budget())
        .attempts(settings.run.attempts)
        .retry_from(settings.run.retry_from)
        .require_signal(settings.agent.require_signal)
        .session_limit(settings.agent.timeout)
        .setup(wire::setup(settings))
        .env_check(wire::env_check(settings))
        .artifacts(Artifacts::below(ledger.run(&held.run).join("iterations")))
        .learnings(move || learnings(&for_learnings))
        .observe(move |event: &Event| {
            recorder.on_event(event);
            withdraw_overtaken(&decisions, event);
        }))
}

/// Reads and checks everything; nothing is written.
async fn prepare(directory: &Path, args: &args::Run) -> Result<Prepared, CliError> {
    let project = Project::find(directory)?;
    let mut flags = Vec::new();
    flags.extend(args.iterations.map(|n| format!("budget.iterations={n}")));
    flags.extend(args.time.as_ref().map(|time| format!("budget.time={time}")));
    flags.extend(args.cost_usd.as_ref().map(|usd| format!("budget.cost_usd={usd}")));
    flags.extend(args.tokens.map(|n| format!("budget.tokens={n}")));
    flags.extend(args.overrides.set.iter().cloned());
    let settings = settings::load(&project.settings(), &flags)?.settings;
    let prd = project.prd(args.plan.as_deref())?;
    let plan = Configured::new(MarkdownPrd::open(&prd), &settings.verify);
    let (phase, _) = plan.read().map_err(|error| CliError::refused(&error))?;
    // Found out now, not when the first item is done and paid for.
    fs::OpenOptions::new().write(true).open(&prd).map_err(|error| {
        CliError::usage(format!("{} cannot be written, and items could not be marked: {error}", project.relative(&prd)))
    })?;
    let agent = wire::agent(&settings, &project)?;
    wire::refuse_blind_budgets(&settings, &*agent)?;
    let info = info(&project, &settings, &prd, &phase);
    let (vcs, notes) = open_vcs(&settings, &project, &info).await?;
    Ok(Prepared { project, settings, plan, phase, info, vcs, notes })
}

pub(super) fn info(project: &Project, settings: &Settings, prd: &Path, phase: &Phase) -> RunInfo {
    RunInfo { plan: project.relative(prd), branch: project::branch(&settings.run.branch, prd, phase.id.as_str()) }
}

async fn open_vcs(
    settings: &Settings,
    project: &Project,
    info: &RunInfo,
) -> Result<(Arc<GitVcs>, Vec<String>), CliError> {
    let options = wire::git(settings, project, &info.branch)?.with_control(project.control(&info.plan));
    let vcs = GitVcs::open(options).await?;
    let found = vcs.preflight(&Cx::new()).await?;
    if !found.refusals.is_empty() {
        return Err(CliError::usage(found.refusals.join("\n")));
    }
    Ok((Arc::new(vcs), found.notes))
}

/// A question about an item that is worked on again no longer stands: a person opened the item.
fn withdraw_overtaken(decisions: &FileDecisions, event: &Event) {
    let Event::Recorded { record, .. } = event else { return };
    if let Fact::Began { attempt } = &record.fact
        && let Err(error) = decisions.withdraw(&attempt.id.item, "the item was opened again", SystemTime::now())
    {
        note(&format!("a decision could not be withdrawn: {}", chain(&error)));
    }
}

/// Says what begins, and on what it stands.
async fn greet(prepared: &Prepared, held: &Held, json: bool) {
    let Prepared { phase, info, notes, vcs, .. } = prepared;
    let open = phase.items.iter().filter(|item| item.status == ItemStatus::Open).count();
    let how = if held.taken_up { "goes on" } else { "begins" };
    if !json {
        let all = phase.items.len();
        note(&format!("run {} {how}: {}, {open} of {all} open, branch {}", held.run, info.plan, info.branch));
    }
    notes.iter().for_each(|text| note(text));
    let known = runs::all(&prepared.project.ledger).is_ok_and(|all| all.len() > 1);
    let work = runs::on_branch(vcs).await.len();
    if !held.taken_up && !known && work > 0 {
        note(&format!(
            "no earlier run is on record here, but the branch holds verified work on {}: going on from its commits and \
             the plan's marks",
            count(work as u64, "item")
        ));
    }
}

/// A line for people on stderr, whatever stdout is for.
fn note(text: &str) {
    // Nobody reads it any more: no reason to stop a run.
    let _ = writeln!(std::io::stderr(), "{}", printable(text));
}
