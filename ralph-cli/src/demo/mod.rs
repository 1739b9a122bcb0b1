//! The demo: a Master Plan from its approval to SUCCESS, with the real loop, git, checks, gates and records. Two parts
//! are played: the agent by a script, and the operator by what `ralph approve`, `retry` and `btw` would do.

mod actor;
mod narrator;
mod operator;
mod script;
mod sitting;
mod stage;

use std::{fs, path::Path, sync::Arc};

use ralph_core::{ItemStatus, Stop};

use self::{
    narrator::{Narrator, Seen, command, output, say, tell},
    script::{MASTER_PLAN, PHASES, SCENES, SITTINGS, Turn},
    sitting::Ending,
    stage::Stage,
};
use crate::error::CliError;

/// How many sessions there are: one for each iteration, one more for the retry, and none where parked work was approved.
const SESSIONS: usize = 9;

/// Plays the demo. The exit code is 0 if it went as it should.
pub(crate) async fn play(keep: bool) -> Result<u8, CliError> {
    let stage = Stage::new().await?;
    opening();
    let wrong = walk(&stage).await?;
    closing(stage, keep);
    if wrong.is_empty() {
        return Ok(0);
    }
    Err(CliError::fault(format!(
        "the demo did not go as it should; please report this with the lines above:\n  {}",
        wrong.join("\n  ")
    )))
}

fn opening() {
    tell(
        "Ralph walks a plan with coding agents, and believes nothing that they say. Here the agent is a script (no account, \
         no network); git, checks, gates and rules are real. Each phase of the plan has a gate, and a PRD: a list of \
         items, with the command that verifies each.",
    );
    say("");
    MASTER_PLAN.lines().filter(|line| !line.is_empty()).for_each(output);
    say("");
    tell("Nothing runs before a person has signed it:");
}

/// Plays all of it; what did not go as it should.
async fn walk(stage: &Stage) -> Result<Vec<String>, CliError> {
    operator::approve(stage)?;
    let (narrator, mut stops) = (Arc::new(Narrator::default()), Vec::new());
    for sitting in SITTINGS {
        say("");
        command("ralph run");
        let stop = sitting::run(stage, &narrator).await?;
        let as_it_should = stop.reason == sitting.ends;
        stops.push(stop);
        if !as_it_should {
            break;
        }
        tell(sitting.after);
        match sitting.turn {
            Turn::Repair => operator::repair(stage).await?,
            Turn::Answer => operator::answer(stage).await?,
            Turn::Rest => {}
        }
    }
    let ending = sitting::look(stage).await?;
    say("");
    tell("That was the whole plan. What is there now:");
    command("ralph status");
    output(&ending.status);
    command(&format!("git log --oneline main..{}", stage.info.branch));
    ending.commits.iter().rev().for_each(|(_, line)| output(line));
    Ok(surprises(&stops, &narrator.seen(), &ending, &stage.project.ledger.orchestrator_state()))
}

/// What did not go as it should.
fn surprises(stops: &[Stop], seen: &Seen, ending: &Ending, state_page: &Path) -> Vec<String> {
    let items = || ending.plan.phases.iter().flat_map(|phase| phase.items.iter().map(move |item| (phase, item)));
    let mut wrong = Vec::new();
    let mut compare = |what: &str, found: Vec<String>, expected: Vec<String>| {
        if found != expected {
            wrong.push(format!("{what} should be {expected:?}, not {found:?}"));
        }
    };
    let ended = seen.ended.iter().map(|(item, status)| format!("{item} {status}"));
    let scenes = SCENES.iter().map(|scene| format!("{} {}", scene.item, scene.ends));
    compare("the iterations", ended.collect(), scenes.collect());
    let stopped = stops.iter().map(|stop| stop.reason.to_string());
    compare("the stops", stopped.collect(), SITTINGS.iter().map(|sitting| sitting.ends.to_string()).collect());
    let phases: Vec<String> = PHASES.iter().map(|(phase, _)| (*phase).to_owned()).collect();
    compare("the finished phases", seen.phases.clone(), phases.clone());
    let page = fs::read_to_string(state_page).unwrap_or_default();
    let ticked = page.lines().filter_map(|line| line.strip_prefix("- [x] ")?.split(" — ").next());
    compare("the phases that ORCHESTRATOR-STATE.md ticks", ticked.map(str::to_owned).collect(), phases);
    let open = items().filter(|(_, item)| item.status != ItemStatus::Done).map(|(_, item)| item.id.to_string());
    compare("the items that are not done", open.collect(), Vec::new());
    let commits = ending.commits.iter().map(|(item, _)| item.clone().unwrap_or_default());
    compare("the commits", commits.collect(), items().map(|(phase, item)| phase.name(item).to_string()).collect());
    compare("the number of sessions", vec![seen.sessions.to_string()], vec![SESSIONS.to_string()]);
    compare("the number of runs", vec![ending.runs.to_string()], vec!["1".to_owned()]);
    wrong
}

fn closing(stage: Stage, keep: bool) {
    say("");
    tell(
        "Nothing of what was rejected ever reached the branch, and merging it is yours. All of it is on record: in the \
         journal, in the notes in ralph-loop/, and in git.",
    );
    if keep {
        let root = stage.keep();
        say(&format!("\nLook around:\n\n  cd {}", root.display()));
        for (command, what) in [
            ("ralph status", "where things stand"),
            ("ralph log R03", "how the false completion was found out"),
            ("ralph diff R03", "its work, and what was kept aside"),
            ("ralph btw", "what waits for you (nothing any more)"),
            ("cat ralph-loop/DECISIONS.md", "what you decided"),
            ("cat ralph-loop/ORCHESTRATOR-STATE.md", "the phases"),
        ] {
            say(&format!("  {command:<37} {what}"));
        }
        say("");
    } else {
        say("\nThe repository is gone again; `ralph demo --keep` leaves it for you to look around.");
    }
    say("In a repository of your own, begin with `ralph init`.");
}

#[cfg(test)]
mod tests {
    use ralph_core::{Plan, StopReason};

    use super::*;

    #[test]
    fn a_demo_that_went_otherwise_says_how() {
        let ending = Ending { plan: Plan::default(), status: String::new(), commits: Vec::new(), runs: 1 };
        let stops = [Stop::new(StopReason::NoProgress, "")];
        let folder = tempfile::tempdir().unwrap();
        let wrong = surprises(&stops, &Seen::default(), &ending, &folder.path().join("none"));
        let about: Vec<&str> = wrong.iter().filter_map(|line| Some(line.split_once(" should be ")?.0)).collect();
        assert_eq!(
            about,
            [
                "the iterations",
                "the stops",
                "the finished phases",
                "the phases that ORCHESTRATOR-STATE.md ticks",
                "the number of sessions"
            ]
        );
        assert!(wrong[1].ends_with("not [\"NO_PROGRESS\"]"), "{wrong:?}");
    }
}
