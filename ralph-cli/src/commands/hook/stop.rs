//! When a session wants to end: it goes on until its criteria hold, or a budget is spent.
//!
//! What cannot be judged lets go, and says so: nobody is kept by a broken verifier. A block that cannot be counted is
//! none, so that this never goes on for ever.

use std::{fs, future::pending, path::Path, sync::Arc, time::SystemTime};

use ralph_core::{
    Cx, Phase, RunId, Stage, Target, Verdict, Verifier as _, VerifyError, chain,
    ledger::{Criteria, Ledger},
};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::{
    Input, is_of_a_run,
    record::{self, Record},
    say, settings,
};
use crate::{output, project::Project, wire};

/// What is answered.
#[derive(Debug)]
enum Answer {
    /// It may end, and there is nothing to say.
    Silent,
    /// It may end, which somebody should know about.
    LetGo(String),
    /// It goes on, for this reason.
    Block(String),
}

/// Answers the hook; the exit code. It is always 0: 2 would keep the session.
pub(super) async fn stop(directory: &Path) -> u8 {
    if is_of_a_run() {
        return 0;
    }
    let answer = match Input::read() {
        Ok(input) => tokio::select! {
            // Dropping what is under way ends all that it started.
            () = any_signal() => Answer::LetGo("ended by a signal".to_owned()),
            answer = answer(&input, directory) => answer,
        },
        Err(error) => Answer::LetGo(format!("what the hook was told cannot be read ({error})")),
    };
    let answer = match answer {
        Answer::Silent => return 0,
        Answer::LetGo(why) => {
            say(&why);
            json!({"systemMessage": format!("ralph: {why}")})
        }
        Answer::Block(reason) => json!({"decision": "block", "reason": reason}),
    };
    if let Err(error) = output::print_bytes(format!("{answer}\n").as_bytes()) {
        say(&error.to_string());
    }
    0
}

async fn any_signal() {
    let streams = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = streams else { return pending().await };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}

async fn answer(input: &Input, directory: &Path) -> Answer {
    // A subagent that ends is the session's own business.
    if input.agent_id.is_some() || input.hook_event_name.as_deref() == Some("SubagentStop") {
        return Answer::Silent;
    }
    let Some(session) = input.session() else { return Answer::Silent };
    let projects = input.projects(directory);
    let mut known = projects.iter().filter_map(|project| Some((project, record::read(&project.ledger, session)?)));
    // Only a session that was seen to begin here is ours.
    let Some((project, record)) = known.next() else { return Answer::Silent };
    let answer = judge(project, record).await;
    let outcome = match &answer {
        Answer::Silent => return answer,
        Answer::LetGo(why) => format!("let go: {why}"),
        Answer::Block(reason) => reason.lines().next().unwrap_or_default().to_owned(),
    };
    record::log(&project.ledger, session, &outcome);
    answer
}

async fn judge(project: &Project, mut record: Record) -> Answer {
    let ledger = &project.ledger;
    let criteria = match Criteria::read(&ledger.criteria()) {
        // The scaffold of `ralph init`, which nobody has edited, says nothing.
        Ok(None) => return Answer::Silent,
        Ok(Some(criteria)) if criteria == Criteria::default() => return Answer::Silent,
        Ok(Some(criteria)) if criteria.verify.is_empty() => {
            return Answer::LetGo("ralph-loop/criteria.md has no `Verify:` line, so that it binds nobody".to_owned());
        }
        Ok(Some(criteria)) => criteria,
        Err(error) => return Answer::LetGo(format!("the criteria cannot be read: {}", chain(&error))),
    };
    let settings = settings(Some(project));
    let most = settings.hook.max_blocks;
    if record.blocks >= most {
        return Answer::LetGo(format!(
            "the criteria did not hold {most} times in a row, and the session is let go (hook.max_blocks)"
        ));
    }
    let mut phase = Phase::new("criteria", []);
    phase.verify.clone_from(&criteria.verify);
    let run = RunId::new(format!("hook-{}", record::name(&record.session)));
    let mut target = Target::new(&project.root, Stage::Workspace, run, Arc::new(phase));
    let log = record::file(ledger, &record.session, "log");
    // Only the last output is kept.
    let _ = fs::remove_file(&log);
    target.log = Some(log);
    let cx = Cx::new().with_time_limit(settings.hook.timeout, SystemTime::now());
    let failed = match wire::verifier(&settings).verify(&target, &cx).await {
        Ok(Verdict::Pass(evidence)) => {
            record.blocks = 0;
            return match record::write(ledger, &record) {
                Ok(()) => passed(ledger, &record, &evidence.summary),
                Err(error) => Answer::LetGo(format!("the criteria hold; the count was not reset ({error})")),
            };
        }
        Ok(Verdict::Fail(evidence)) => evidence,
        Err(error @ (VerifyError::Broken { .. } | VerifyError::Cancelled | VerifyError::Other(_))) => {
            return Answer::LetGo(format!("nothing was judged, and the session is let go: {}", chain(&error)));
        }
        Err(error) => return Answer::LetGo(chain(&error)),
    };
    record.blocks += 1;
    if let Err(error) = record::write(ledger, &record) {
        let summary = failed.summary;
        return Answer::LetGo(format!("the criteria do not hold ({summary}), and that cannot be counted ({error})"));
    }
    let note = changed(ledger, &record);
    Answer::Block(reason(&criteria, &failed.summary, &failed.tail, record.blocks, most, note))
}

fn passed(ledger: &Ledger, record: &Record, summary: &str) -> Answer {
    record::log(ledger, &record.session, &format!("passed: {summary}"));
    match changed(ledger, record) {
        Some(note) => Answer::LetGo(format!("the criteria hold; {note}")),
        None => Answer::Silent,
    }
}

/// That the criteria are not those that the session began with: it could have written them itself.
fn changed(ledger: &Ledger, record: &Record) -> Option<&'static str> {
    let began = record.criteria.as_ref()?;
    let now = record::criteria(ledger);
    (now.as_ref() != Some(began)).then_some("ralph-loop/criteria.md was changed since the session began")
}

/// What the agent is told. The first line goes to the log, too.
fn reason(criteria: &Criteria, summary: &str, tail: &str, blocks: u32, most: u32, note: Option<&str>) -> String {
    let mut text = format!("ralph: the work is not complete (block {blocks} of {most}): {summary}\n");
    text.extend(note.map(|note| format!("Note: {note}.\n")));
    for (title, lines) in
        [("Objective", &criteria.objective), ("Must hold", &criteria.completion), ("See", &criteria.context)]
    {
        let shown = lines.iter().take(LINES_MAX);
        text.extend(shown.map(|line| format!("{title}: {}\n", line.chars().take(LINE_MAX).collect::<String>())));
    }
    text.push_str("The end of the output:\n");
    text.push_str(tail.trim_end());
    text.push_str(
        "\nBring it about, without weakening what checks it. Where that cannot be done, say what is missing and why.\n",
    );
    text
}

/// How much of each section is shown.
const LINES_MAX: usize = 20;
const LINE_MAX: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_bounded_and_begins_with_what_matters() {
        let mut criteria = Criteria::default();
        criteria.completion = vec!["x".repeat(10_000); 10_000];
        let reason = reason(&criteria, "cargo test: exit 101", "FAILED\n", 3, 8, Some("changed"));
        assert!(reason.len() < 10_000, "{}", reason.len());
        assert!(
            reason
                .starts_with("ralph: the work is not complete (block 3 of 8): cargo test: exit 101\nNote: changed.\n")
        );
        assert!(reason.contains("FAILED"));
    }
}
