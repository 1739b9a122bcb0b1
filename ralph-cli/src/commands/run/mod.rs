//! `ralph run`: works through a plan until it stops.

mod adopt;
mod dry_run;
mod finish;
mod hold;
mod on_stop;
mod prepare;
mod signals;
mod state_page;

use std::{io::Write as _, path::Path, sync::Arc};

use ralph_core::{
    Cx, Event, Evergreen, ItemStatus, Observer as _, PlanSource, Ralph, engine::Artifacts, ledger::learnings,
    machine::Mode, printable,
};
use ralph_verify::CommandVerifier;

use self::{
    hold::{Held, Taken, hold},
    prepare::{Prepared, prepare},
};
use crate::{
    args,
    crash_point::CrashPoint,
    error::CliError,
    looping::Loop,
    report::{BaselineTeller, Events, Names, Progress, count},
    runs,
    settings::{Permissions, Session},
    wire,
};

pub(crate) use self::{
    prepare::{info, settings_for as settings},
    signals::any_signal,
    state_page::StatePage,
};

pub(crate) async fn run(directory: &Path, args: &args::Run) -> Result<u8, CliError> {
    let mut prepared = prepare(directory, args).await?;
    if args.how.dry_run {
        dry_run::dry_run(&prepared)?;
        return Ok(0);
    }
    let held = match hold(&prepared, args.how.new).await? {
        Taken::Held(held) => *held,
        Taken::Other(live) => return adopt::other(&prepared, &live, args).await,
    };
    // What a life that was cut off left running must not meet this one.
    ralph_process::become_subreaper();
    let swept = ralph_process::sweep(held.run.as_str());
    if !held.taken_up {
        finish::catch_up(&prepared, &held.run);
        open_again(&mut prepared).await?;
    }
    greet(&prepared, &held, args.how.json).await;
    if swept.killed > 0 {
        note(&format!("ended what a life of this run that was cut off had left running: {}", swept.killed));
    }
    let verifier = wire::verifier(&prepared.settings).remember_in(prepared.project.ledger.tests(&held.run));
    verifier.trouble().iter().for_each(|text| note(text));
    let ralph = build(&prepared, &held, &verifier)?;
    let teller = baseline_teller(&prepared, &held);
    let ralph = if args.how.json {
        ralph.observe(Events).observe(move |event: &Event| teller.see(event).iter().for_each(Events::print))
    } else {
        ralph.observe(Progress::new(Names::of(&prepared.read.plan)).with_baseline(teller))
    };
    let told = verifier.trouble().len();
    let ended = {
        let _listening = signals::Listening::with(ralph.switches());
        ralph.run().await
    };
    verifier.trouble().iter().skip(told).for_each(|text| note(text));
    finish::finish(&prepared, &held, ended, args.how.json).await
}

/// Says what the baseline means.
fn baseline_teller(prepared: &Prepared, held: &Held) -> BaselineTeller {
    let Prepared { project, read, looped, .. } = prepared;
    BaselineTeller::new(&read.plan, looped, &project.root, project.ledger.run(&held.run).join("iterations"))
}

/// A loop that begins anew has its item to do, whatever an earlier run came to: the branch may have lost it since.
async fn open_again(prepared: &mut Prepared) -> Result<(), CliError> {
    if prepared.looped == Loop::Plan {
        return Ok(());
    }
    for phase in &prepared.read.plan.phases {
        let is_marked = |status| matches!(status, ItemStatus::Done | ItemStatus::Decision | ItemStatus::Blocked);
        for item in phase.items.iter().filter(|item| is_marked(item.status)) {
            let marked = prepared.plan.mark(&phase.name(item), item.status, ItemStatus::Open, &Cx::new()).await;
            marked.map_err(|error| CliError::refused(&error))?;
        }
    }
    prepared.read = prepared.plan.read().map_err(|error| CliError::refused(&error))?;
    Ok(())
}

/// The loop with all its parts, but for who watches.
fn build(prepared: &Prepared, held: &Held, verifier: &CommandVerifier) -> Result<Ralph, CliError> {
    let Prepared { project, settings, plan, vcs, info, looped, .. } = prepared;
    let (ledger, for_learnings) = (&project.ledger, project.ledger.clone());
    let recorder = Arc::clone(&held.recorder);
    let crash = CrashPoint::from_environment()?;
    let ralph = crash.ralph(
        match looped.mode() {
            Mode::Items | Mode::Goal => Arc::new(plan.clone()) as Arc<dyn PlanSource>,
            Mode::Every(_) => Arc::new(Evergreen::new(plan.clone())),
        },
        Arc::clone(&prepared.agent.agent),
        Arc::new(verifier.clone()),
        Arc::clone(vcs) as Arc<dyn ralph_core::Vcs>,
    );
    let ralph = crash.records(ralph, runs::journal(ledger), held.run.clone(), Arc::clone(&held.decisions));
    let page = StatePage::new(project.ledger.clone(), plan.clone(), info.plan.clone());
    let mut ralph = ralph
        .mode(looped.mode())
        .baseline(looped.verifies())
        .prompt(wire::prompt(settings, project, looped)?)
        .tiering(settings.agent.tiers.tiering())
        .continue_session(settings.agent.session == Session::Continue)
        .budget(settings.budget())
        .attempts(settings.run.attempts)
        .retry_from(settings.run.retry_from)
        .require_signal(settings.agent.require_signal)
        .require_red(wire::requires_red(settings))
        .session_limit(settings.agent.timeout)
        .setup(wire::setup(settings))
        .env_check(wire::env_check(settings))
        .rebase(Arc::clone(vcs))
        .carried(runs::carried(ledger, info, &held.run)?)
        .artifacts(Artifacts::below(ledger.run(&held.run).join("iterations")))
        .learnings(move || learnings(&for_learnings))
        .observe(move |event: &Event| recorder.on_event(event))
        .observe(page);
    if let Loop::Every { until: Some(until), .. } = looped {
        ralph = ralph.until(wire::until(settings, until));
    }
    for policy in wire::policies(settings)? {
        ralph = ralph.gate(policy);
    }
    ralph = ralph.gate(wire::checks(settings)?);
    if let Some(agent) = &prepared.agent.cleanup {
        ralph = ralph.cleanup(Arc::clone(agent));
    }
    if let Some(reviewer) = &prepared.agent.reviewer {
        ralph = ralph.review(reviewer.clone());
    }
    if let Some(publish) = &prepared.publish {
        ralph = ralph.publish(Arc::clone(publish));
    }
    Ok(ralph)
}

/// Says what begins, and on what it stands.
async fn greet(prepared: &Prepared, held: &Held, json: bool) {
    let Prepared { read, info, notes, vcs, settings, .. } = prepared;
    let items = || read.plan.phases.iter().flat_map(|phase| &phase.items);
    let open = items().filter(|item| item.status == ItemStatus::Open).count();
    let how = if held.taken_up { "goes on" } else { "begins" };
    if !json {
        let all = items().count();
        note(&format!("run {} {how}: {}, {open} of {all} open, branch {}", held.run, info.plan, info.branch));
    }
    if !json {
        let seen: Vec<&str> = prepared.agent.variables.iter().map(String::as_str).collect();
        let seen = if seen.is_empty() { "none beyond the basics".to_owned() } else { seen.join(", ") };
        note(&format!("agent {}; variables that it sees: {seen}", prepared.agent.agent.name()));
        for (what, who) in prepared.agent.asides() {
            note(&format!("{what} {who}"));
        }
        if settings.agent.permissions == Permissions::All {
            note("the agent may do anything (permissions = \"all\"), and nothing confines it to its workspace");
        }
    }
    notes.iter().chain(&held.notes).for_each(|text| note(text));
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
pub(crate) fn note(text: &str) {
    // Nobody reads it any more: no reason to stop a run.
    let _ = writeln!(std::io::stderr(), "{}", printable(text));
}
