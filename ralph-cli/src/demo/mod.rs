//! The demo: the real loop, git, checks and records, with a script for an agent.

mod narrator;
mod scenes;
mod stage;

use std::{collections::BTreeSet, sync::Arc};

use ralph_core::{
    Cx, ItemStatus, Observer as _, Phase, Ralph, StopReason,
    engine::Artifacts,
    ledger::{FileDecisions, Holder, LedgerLock, Recorder, Summary},
};
use ralph_vcs::GitVcs;

use self::{
    narrator::{Narrator, say, tell},
    scenes::{Actor, SCENES},
    stage::Stage,
};
use crate::{
    answers,
    error::CliError,
    plan::PlanFile,
    project,
    report::{Known, Overview},
    runs::{self, RunInfo},
    wire,
};

/// Plays the demo. The exit code is 0 if it went as it should.
pub(crate) async fn play(keep: bool) -> Result<u8, CliError> {
    let stage = Stage::new().await?;
    opening();
    let went = walk(&stage).await?;
    closing(stage, keep);
    if went.is_empty() {
        return Ok(0);
    }
    Err(CliError::fault(format!(
        "the demo did not go as it should; please report this with the lines above:\n  {}",
        went.join("\n  ")
    )))
}

fn opening() {
    tell(
        "Ralph walks a list of items with a coding agent, and believes nothing that the agent says. \
         Here the agent is a script (no account, no network); the git repository, the checks and the \
         rules are real ones. The plan:",
    );
    say("");
    let boxes = scenes::PRD.lines().filter(|line| line.starts_with("- ["));
    boxes.for_each(|line| say(&format!("  {line}")));
}

/// Runs the loop to its end and shows what came of it; what did not go as it should.
async fn walk(stage: &Stage) -> Result<Vec<String>, CliError> {
    let Stage { project, settings, prd, .. } = stage;
    let ledger = &project.ledger;
    let plan = PlanFile::open(project, prd, &settings.verify);
    let branch = project::branch(&settings.run.branch, prd, "demo");
    let info = RunInfo { plan: project.relative(prd), branch };
    let options = wire::git(settings, project, &info.branch)?.with_environment(stage.environment());
    let vcs = Arc::new(GitVcs::open(options).await?);
    let found = vcs.preflight(&Cx::new()).await?;
    if !found.refusals.is_empty() {
        return Err(CliError::usage(found.refusals.join("\n")));
    }

    let holder = Holder::this_process("ralph demo", None, std::time::SystemTime::now());
    let _lock = LedgerLock::take(ledger, &holder).map_err(|error| CliError::refused(&error))?;
    let run = runs::begin(ledger, &info)?;
    let recorder = Arc::new(Recorder::new(ledger.clone()));
    let watched = Arc::clone(&recorder);
    let outcome =
        Ralph::builder(Arc::new(plan.clone()), Arc::new(Actor), Arc::new(wire::verifier(settings)), vcs.clone())
            .journal(runs::journal(ledger), run.clone())
            .decisions(FileDecisions::new(ledger.clone()))
            .budget(settings.budget())
            .artifacts(Artifacts::below(ledger.run(&run).join("iterations")))
            .observe(move |event: &ralph_core::Event| watched.on_event(event))
            .observe(Narrator)
            .run()
            .await
            .map_err(|error| CliError::failed("the demo's run", &error))?;

    let records = runs::records(ledger, &run)?;
    let now = plan.read().map_err(|error| CliError::refused(&error))?.plan;
    Summary::new(&run, &records, Some(&now), &BTreeSet::new())
        .write(ledger)
        .map_err(|error| CliError::failed("the summary", &error))?;
    say("");
    tell("Nothing more can be done without a person, so the run ends. This is what `ralph status` shows then:");
    say("");
    let on_branch = runs::on_branch(&vcs).await;
    let decisions = FileDecisions::new(ledger.clone());
    let overview = Overview::new(&Known {
        info: &info,
        run: Some(run.as_str()),
        records: &records,
        plan: &now,
        on_branch: &on_branch,
        elsewhere: &BTreeSet::new(),
        pending: &answers::pending(ledger, &decisions, &info.plan),
        live: None,
    });
    overview.render().lines().for_each(|line| say(format!("  {line}").trim_end()));

    let mut wrong = surprises(&now.phases[0]);
    if outcome.stop.reason != StopReason::AwaitingDecisions {
        wrong.push(format!("it should have ended with AWAITING_DECISIONS, not with {}", outcome.stop));
    }
    let commits = vcs.log(None, None, &Cx::new()).await?;
    let done = SCENES.iter().filter(|scene| scene.ends == ItemStatus::Done).count();
    if commits.len() != done {
        wrong.push(format!("the branch should hold {done} commits, not {}", commits.len()));
    }
    Ok(wrong)
}

/// The items that did not end as they should.
fn surprises(phase: &Phase) -> Vec<String> {
    let ended = |id: &str| phase.items.iter().find(|item| item.id.as_str() == id).map(|item| item.status);
    let wrong = SCENES.iter().filter(|scene| ended(scene.item) != Some(scene.ends));
    wrong.map(|scene| format!("{} should have ended as {}", scene.item, scene.ends)).collect()
}

fn closing(stage: Stage, keep: bool) {
    say("");
    tell(
        "AWAITING_DECISIONS is how this plan was meant to end; `ralph run` says so with exit code 10. \
         All of it is on record: in the journal, in the notes in ralph-loop/, and in git.",
    );
    if keep {
        let root = stage.keep();
        say(&format!("\nLook around:\n\n  cd {}", root.display()));
        for (command, what) in [
            ("ralph log R03", "how the false completion was found out"),
            ("ralph diff R03", "the work that was kept aside"),
            ("ralph diff", "what is on the branch, to be reviewed"),
            ("cat ralph-loop/DECISIONS.md", "what waits for a person"),
        ] {
            say(&format!("  {command:<28} {what}"));
        }
    } else {
        say("\nThe repository is gone again; `ralph demo --keep` leaves it for you to look around.");
    }
    say("In a repository of your own, begin with `ralph init`.");
}
