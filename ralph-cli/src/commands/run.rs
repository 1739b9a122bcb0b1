//! `ralph run`: works through a PRD until it stops.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use ralph_core::{
    Cx, ItemStatus, Observer as _, Outcome, Phase, Prompt, PromptInput, RunError, RunId, Stop, StopReason,
    engine::{Artifacts, Switches},
    ledger::{FileDecisions, Holder, LedgerLock, LockError, MarkdownPrd, Recorder, Summary},
    printable,
};
use ralph_vcs::GitVcs;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    args,
    crash_point::CrashPoint,
    error::CliError,
    plan::Configured,
    project::{self, Project},
    report::{Events, Overview, Progress},
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
    vcs: GitVcs,
    notes: Vec<String>,
}

pub(crate) async fn run(directory: &Path, args: &args::Run) -> Result<u8, CliError> {
    let prepared = prepare(directory, args).await?;
    if args.dry_run {
        dry_run(&prepared)?;
        return Ok(0);
    }
    let Prepared { project, settings, plan, phase, info, vcs, notes } = prepared;
    let agent = wire::agent(&settings)?;

    let ledger = &project.ledger;
    let fail = |error: std::io::Error| CliError::failed("the control folder cannot be written", &error);
    ledger.create().map_err(fail)?;
    let mut lock = take(&project, &info)?;
    let taken_up = if args.new { None } else { runs::open(ledger, &info)? };
    let run = match &taken_up {
        Some(run) => run.clone(),
        None => runs::begin(ledger, &info)?,
    };
    hold_for(&mut lock, &info, &run)?;
    // What a life that was cut off left running must not meet this one.
    ralph_process::become_subreaper();
    let swept = ralph_process::sweep(run.as_str());

    let recorder = std::sync::Arc::new(Recorder::new(ledger.clone()));
    let (watched, learnings) = (std::sync::Arc::clone(&recorder), ledger.clone());
    let decisions = FileDecisions::new(ledger.clone());
    let crash = CrashPoint::from_environment()?;
    let ralph = crash.ralph(
        std::sync::Arc::new(plan.clone()),
        agent,
        std::sync::Arc::new(wire::verifier(&settings)),
        std::sync::Arc::new(vcs),
    );
    let mut ralph = crash
        .records(ralph, runs::journal(ledger), run.clone(), decisions)
        .budget(settings.budget())
        .attempts(settings.run.attempts)
        .retry_from(settings.run.retry_from)
        .require_signal(settings.agent.require_signal)
        .session_limit(settings.agent.timeout)
        .setup(wire::setup(&settings))
        .env_check(wire::env_check(&settings))
        .artifacts(Artifacts::below(ledger.run(&run).join("iterations")))
        .learnings(move || ralph_core::ledger::learnings(&learnings))
        .observe(move |event: &ralph_core::Event| watched.on_event(event));
    ralph = if args.json { ralph.observe(Events) } else { ralph.observe(Progress::new()) };
    greet(args.json, &phase, &info, &run, taken_up.is_some(), &notes);
    if swept.killed > 0 {
        note(&format!("{} left over from a life of this run that was cut off were ended", swept.killed));
    }

    let switches = ralph.switches();
    let ended = {
        let _listening = AbortOnDrop(tokio::spawn(listen(switches)));
        ralph.run().await
    };
    finish(args.json, &project, &plan, &info, &run, ended, &recorder)
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
    let agent = wire::agent(&settings)?;
    wire::refuse_blind_budgets(&settings, &*agent)?;
    let info = info(&project, &settings, &prd, &phase);
    let (vcs, notes) = open_vcs(&settings, &project, &info).await?;
    Ok(Prepared { project, settings, plan, phase, info, vcs, notes })
}

pub(super) fn info(project: &Project, settings: &Settings, prd: &Path, phase: &Phase) -> RunInfo {
    RunInfo { plan: project.relative(prd), branch: project::branch(&settings.run.branch, prd, phase.id.as_str()) }
}

async fn open_vcs(settings: &Settings, project: &Project, info: &RunInfo) -> Result<(GitVcs, Vec<String>), CliError> {
    let options = wire::git(settings, project, &info.branch)?;
    let vcs = GitVcs::open(options).await.map_err(|error| CliError::refused(&error))?;
    let found = vcs.preflight(&Cx::new()).await.map_err(|error| CliError::refused(&error))?;
    if !found.refusals.is_empty() {
        return Err(CliError::usage(found.refusals.join("\n")));
    }
    Ok((vcs, found.notes))
}

fn take(project: &Project, info: &RunInfo) -> Result<LedgerLock, CliError> {
    let holder = Holder::this_process(format!("ralph run {}", info.plan), None, SystemTime::now());
    LedgerLock::take(&project.ledger, &holder).map_err(|error| match error {
        LockError::Held(_) => CliError::usage(format!("{error}; wait for it, or stop it with `ralph stop`")),
        error => CliError::refused(&error),
    })
}

fn hold_for(lock: &mut LedgerLock, info: &RunInfo, run: &RunId) -> Result<(), CliError> {
    let holder = Holder::this_process(format!("ralph run {}", info.plan), Some(run.clone()), SystemTime::now());
    lock.update(&holder).map_err(|error| CliError::failed("the lock", &error))
}

fn greet(json: bool, phase: &Phase, info: &RunInfo, run: &RunId, taken_up: bool, notes: &[String]) {
    let open = phase.items.iter().filter(|item| item.status == ItemStatus::Open).count();
    let how = if taken_up { "goes on" } else { "begins" };
    if !json {
        note(&format!("run {run} {how}: {}, {open} of {} open, branch {}", info.plan, phase.items.len(), info.branch));
    }
    for text in notes {
        note(text);
    }
}

/// A line for people on stderr, whatever stdout is for.
fn note(text: &str) {
    // Nobody reads it any more: no reason to stop a run.
    let _ = writeln!(std::io::stderr(), "{}", printable(text));
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Turns signals into switches: the first Ctrl-C ends after the step under way, a second one, SIGTERM and SIGHUP now.
async fn listen(switches: Switches) {
    let streams = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = streams else {
        return note("signals cannot be caught: Ctrl-C will cut the run off, `ralph run` takes it up");
    };
    loop {
        let now = tokio::select! {
            _ = interrupt.recv() => switches.stop.is_cancelled(),
            _ = terminate.recv() => true,
            _ = hangup.recv() => true,
        };
        if now {
            note("ending the step under way");
            switches.now.cancel();
        } else {
            note("stopping after the step under way (a session can be long); Ctrl-C again ends it now");
            switches.stop.cancel();
        }
    }
}

/// The last line of `run --json`.
#[derive(Serialize)]
struct Stopped<'a> {
    kind: &'static str,
    run: &'a RunId,
    reason: StopReason,
    exit: u8,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<serde_json::Value>,
}

fn finish(
    json: bool,
    project: &Project,
    plan: &Configured,
    info: &RunInfo,
    run: &RunId,
    ended: Result<Outcome, RunError>,
    recorder: &Recorder,
) -> Result<u8, CliError> {
    let (stop, fault) = match ended {
        Ok(outcome) => (outcome.stop, None),
        Err(RunError::Refused(why)) => return Err(CliError::usage(why)),
        Err(error) => (Stop::new(StopReason::Fault, ralph_core::chain(&error)), Some(error)),
    };
    if fault.is_some() {
        recorder.fault();
    }
    for trouble in recorder.trouble() {
        note(&format!("a log could not be written: {trouble}"));
    }
    let records = runs::records(&project.ledger, run).unwrap_or_default();
    let elsewhere = runs::accepted_elsewhere(&project.ledger, run).unwrap_or_default();
    let phase = plan.read().ok().map(|(phase, _)| phase);
    let now = phase.clone().map(|phase| ralph_core::Plan::new([phase]));
    if let Err(error) = Summary::new(run, &records, now.as_ref(), &elsewhere).write(&project.ledger) {
        note(&format!("the summary could not be written: {error}"));
    }
    let phase = phase.unwrap_or_else(|| Phase::new("plan", []));
    let overview = Overview::new(info, Some(run.as_str()), &records, &phase, &elsewhere, None);
    if json {
        Events::print(&Stopped {
            kind: "stopped",
            run,
            reason: stop.reason,
            exit: stop.reason.exit_code(),
            detail: &stop.detail,
            outcome: serde_json::to_value(&overview).ok(),
        });
    } else {
        anstream::println!("{}", overview.render());
    }
    match fault {
        Some(error) => Err(CliError::failed("the run is left open (`ralph run` takes it up)", &error)),
        None => Ok(stop.reason.exit_code()),
    }
}

fn dry_run(prepared: &Prepared) -> Result<(), CliError> {
    let Prepared { settings, phase, info, .. } = prepared;
    let Some(item) = phase.items.iter().find(|item| item.status == ItemStatus::Open) else {
        anstream::println!("No item of {} is open.", info.plan);
        return Ok(());
    };
    let learnings = ralph_core::ledger::learnings(&prepared.project.ledger);
    let mut input = PromptInput::new(phase, item);
    input.learnings = &learnings;
    let budget = settings.budget();
    let cost = budget.cost.map_or_else(|| "unlimited cost".to_owned(), |cost| cost.to_string());
    let own: PathBuf = wire::sites(settings, &prepared.project)?;
    anstream::println!("next item   {}: {}", item.id, printable(&item.title));
    anstream::println!("branch      {}", info.branch);
    anstream::println!("workspaces  {}", own.display());
    for command in item.verify.iter().chain(&phase.verify) {
        anstream::println!("verifier    {}", printable(command));
    }
    anstream::println!(
        "budget      {} iterations, {} sessions, {} s, {cost}",
        budget.iterations,
        budget.sessions,
        budget.time.as_secs()
    );
    anstream::println!("\n{}", printable_lines(&Prompt::default().render(&input)));
    Ok(())
}

fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}
