//! How the session under way went, fact by fact.

use std::fmt::Write as _;

use super::{OUTPUT_LINES, OUTPUT_WIDTH, quote, text};
use crate::{
    gate::Ruling,
    machine::{End, Fact, Refusal, VerifyOutcome},
    vcs::DiffStat,
};

/// What a fact says of the session under way.
pub(super) fn judged(page: &mut String, fact: &Fact) {
    let mut block = "";
    match fact {
        Fact::Ended { end, usage, signal, denied, .. } => {
            let how = match end {
                End::Finished => "ended".to_owned(),
                End::Failed(why) => format!("failed: {}", text(why)),
                End::Limit(which) => format!("was ended at a limit: {}", text(which)),
                End::Cancelled => "was cancelled".to_owned(),
                End::Interrupted => "was interrupted: ralph ended in the middle of it".to_owned(),
                End::Unavailable { trouble, detail, .. } => {
                    format!("found no agent: {trouble}: {}", text(detail))
                }
                End::NoAgent(why) => format!("did not take place: {}", text(why)),
                End::Unusable(why) => format!("could not go on: {}", text(why)),
            };
            let _ = writeln!(page, "- it {how} (cost {})", usage.known_cost());
            if *denied > 0 {
                let calls = if *denied == 1 { "tool call" } else { "tool calls" };
                let _ = writeln!(page, "- {denied} {calls} of it were not permitted");
            }
            if let Some(signal) = signal.as_ref().filter(|signal| !signal.summary.is_empty()) {
                let _ = writeln!(page, "- the agent says: \"{}\"", text(&signal.summary));
            }
        }
        Fact::Captured { stat, findings, .. } => {
            let _ = write!(page, "- it changed {}", much(stat));
            page.push('\n');
            for finding in findings {
                let _ = writeln!(page, "- not taken in: {}", text(&finding.to_string()));
            }
        }
        Fact::Verified { stage, outcome, summary, tail, .. } => {
            let said = match outcome {
                VerifyOutcome::Pass => "passed",
                VerifyOutcome::Fail => "failed",
                VerifyOutcome::Broken => "could not be judged",
                VerifyOutcome::Unready => "was not possible",
            };
            let _ = writeln!(page, "- verification ({stage}) {said}: {}", text(summary));
            block = tail;
        }
        Fact::Tidied { work: Some(work), agent, .. } => {
            let _ = writeln!(page, "- {} tidied it: in all it changes {} now", text(agent), much(&work.stat));
        }
        Fact::Tidied { work: None, why, .. } => {
            let _ = writeln!(page, "- the clean-up was dropped: {}", text(why));
        }
        Fact::Reviewed { summary, tail, .. } => {
            let _ = writeln!(page, "- review: {}", text(summary));
            block = tail;
        }
        Fact::Judged { phase: None, ruling: Ruling::Closed(why), .. } => {
            let _ = writeln!(page, "- a gate is closed: {}", text(why));
        }
        Fact::Rebased { onto: None, conflicts } => {
            let _ = writeln!(page, "- it no longer fits the branch: {}", text(&conflicts.join(", ")));
        }
        Fact::NotAccepted { why } => {
            let why = match why {
                Refusal::ItemChanged => "its row in the plan was edited meanwhile".to_owned(),
                Refusal::Overtaken(tip) => {
                    format!("somebody committed {} meanwhile", text(tip.short()))
                }
                Refusal::Lost(why) => format!("the branch is lost: {}", text(why)),
                Refusal::Barred(why) => format!("the branch cannot be moved now: {}", text(why)),
            };
            let _ = writeln!(page, "- it was not accepted: {why}");
        }
        Fact::Marked { iteration, .. } => {
            let _ = writeln!(page, "- the item is now {}", iteration.to);
        }
        _ => {}
    }
    let block = quote::block(block, OUTPUT_LINES, OUTPUT_WIDTH);
    if !block.is_empty() {
        // Inside of the list item: an indented block needs two more.
        page.push('\n');
        for line in block.lines() {
            let _ = writeln!(page, "  {line}");
        }
        page.push('\n');
    }
}

/// How much is changed.
fn much(stat: &DiffStat) -> String {
    let files = if stat.files == 1 { "file" } else { "files" };
    let lines = match (stat.added, stat.removed) {
        (Some(added), Some(removed)) => format!(" (+{added} −{removed} lines)"),
        _ => String::new(),
    };
    format!("{} {files}{lines}", stat.files)
}
