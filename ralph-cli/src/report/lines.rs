//! A fact as a line for people.

use ralph_core::{
    Cost, ItemRef, ItemStatus, Plan, Record, Ruling, Stage, Usage,
    machine::{End, Fact, Origin, Pick, Readiness, Refusal, VerifyOutcome},
    printable,
};

use super::count;

/// How long a line may be, in characters: titles and verifiers' words have no bound of their own.
const LINE_MAX: usize = 500;

/// How items are named: with their phase where there are several.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Names {
    pub(crate) with_phase: bool,
}

impl Names {
    /// As in this plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        Self { with_phase: plan.phases.len() > 1 }
    }

    fn name(self, item: &ItemRef) -> String {
        if self.with_phase { item.to_string() } else { item.item.to_string() }
    }
}

/// The line for `fact`; `None` where nobody needs to read it.
pub(crate) fn line(fact: &Fact, names: Names) -> Option<String> {
    let text = match fact {
        Fact::Began { attempt } => {
            let again = match attempt.origin {
                Origin::Session if attempt.charged > 1 => format!(", attempt {}", attempt.charged),
                Origin::Session => String::new(),
                Origin::Kept => ", with the work that is there".to_owned(),
                Origin::Branch => ", as it is on the branch".to_owned(),
            };
            format!("▸ {}: {}{again}", names.name(&attempt.id.item), attempt.spec.title)
        }
        Fact::Ended { end, usage, denied, compactions, took_ms, .. } => {
            let cost = cost(usage);
            let how = match end {
                End::Finished => "finished".to_owned(),
                End::Failed(why) => format!("failed: {why}"),
                End::Limit(which) => format!("ended at a limit: {which}"),
                End::Cancelled => "cancelled".to_owned(),
                End::Interrupted => "was interrupted".to_owned(),
                End::Unavailable { trouble, detail, wait_ms, until } => {
                    format!("agent not available ({trouble}: {detail}); {}", waiting(*wait_ms, *until))
                }
                End::NoAgent(why) => format!("did not take place: {why}"),
                End::Unusable(why) => format!("could not go on: {why}"),
            };
            let tokens = match usage.tokens {
                Some(tokens) if cost.is_empty() => format!(", {}", count(tokens.billed(), "token")),
                _ => String::new(),
            };
            let denied = match denied {
                0 => String::new(),
                denied => format!(", {} not permitted", count(*denied, "tool call")),
            };
            let compacted = match compactions {
                0 => String::new(),
                times => format!(", context compacted {}", count(*times, "time")),
            };
            format!("  session {how} ({}{cost}{tokens}{denied}{compacted})", seconds(*took_ms))
        }
        Fact::Rounded { enough: Some(VerifyOutcome::Pass), summary, .. } => format!("  ✓ enough: {summary}"),
        Fact::Rounded { enough: Some(VerifyOutcome::Broken | VerifyOutcome::Unready), summary, .. } => {
            format!("  ⚠ enough: broken: {summary}")
        }
        Fact::Rounded { enough: Some(VerifyOutcome::Fail), summary, .. } => format!("  ✗ enough: {summary}"),
        Fact::Verified { own: Some(item), outcome: VerifyOutcome::Fail, summary, took_ms, .. } => {
            let item = names.name(item);
            format!("  ✓ {item}'s own verifier fails before there is any work: {summary} ({})", seconds(*took_ms))
        }
        Fact::Verified { own: Some(item), outcome: VerifyOutcome::Pass, summary, took_ms, .. } => {
            let item = names.name(item);
            format!("  ✗ {item}'s own verifier passes before there is any work: {summary} ({})", seconds(*took_ms))
        }
        Fact::Verified { own: Some(item), summary, took_ms, .. } => {
            format!("  ⚠ {}'s own verifier cannot judge: {summary} ({})", names.name(item), seconds(*took_ms))
        }
        Fact::Tidied { work: Some(work), usage, took_ms, .. } => {
            let files = count(work.stat.files, "file");
            format!("  tidied, {files} in all; dropped if anything is worse ({}{})", seconds(*took_ms), cost(usage))
        }
        Fact::Tidied { work: None, why, usage, took_ms, .. } => {
            format!("  clean-up dropped: {why} ({}{})", seconds(*took_ms), cost(usage))
        }
        Fact::Reviewed { end: End::Unavailable { trouble, detail, wait_ms, until }, .. } => {
            format!("  reviewer not available ({trouble}: {detail}); {}", waiting(*wait_ms, *until))
        }
        Fact::Reviewed { outcome, summary, usage, took_ms, .. } => {
            let glyph = match outcome {
                VerifyOutcome::Pass => "✓",
                VerifyOutcome::Fail => "✗",
                VerifyOutcome::Broken | VerifyOutcome::Unready => "⚠",
            };
            format!("  {glyph} review: {summary} ({}{})", seconds(*took_ms), cost(usage))
        }
        Fact::Verified { stage, outcome, summary, took_ms, .. } => {
            let (glyph, word) = match outcome {
                VerifyOutcome::Pass => ("✓", ""),
                VerifyOutcome::Fail => ("✗", ""),
                VerifyOutcome::Broken => ("⚠", "broken: "),
                VerifyOutcome::Unready => ("⚠", "not ready: "),
            };
            let place = match stage {
                Stage::Base => "the base",
                Stage::Workspace => "the workspace",
                Stage::Candidate => "a clean checkout",
                Stage::Gate => "the branch",
                Stage::Setup => "set-up",
            };
            format!("  {glyph} {place}: {word}{summary} ({})", seconds(*took_ms))
        }
        Fact::Captured { revision: None, .. } => "  nothing was changed".to_owned(),
        Fact::Captured { stat, findings, .. } if !findings.is_empty() => {
            format!("  {} files changed; {} cannot be committed: {}", stat.files, findings.len(), findings[0])
        }
        Fact::Prepared { readiness: Readiness::Environment(why) | Readiness::StartUnusable(why), .. } => {
            format!("  ⚠ {why}")
        }
        Fact::NotAccepted { why } => match why {
            Refusal::ItemChanged => {
                "  the item was edited meanwhile: its work is the start of the next attempt".to_owned()
            }
            Refusal::Overtaken(by) => format!("  somebody committed {} meanwhile", by.short()),
            Refusal::Lost(found) => format!("  the branch is not where it was: {found}"),
            Refusal::Barred(why) => format!("  the branch cannot be moved now: {why}"),
        },
        Fact::Marked { iteration, refused } => {
            let what = match iteration.to {
                ItemStatus::Done => {
                    let commit = iteration.revision.as_ref().map_or("", |revision| revision.short());
                    format!("● {} done, {commit}", names.name(&iteration.item))
                }
                ItemStatus::Decision => {
                    let id = iteration.decision.as_ref().map_or("", |id| id.as_str());
                    format!("? {} waits for you, {id}: {}", names.name(&iteration.item), iteration.why)
                }
                ItemStatus::Open if iteration.why.is_empty() => return None,
                ItemStatus::Open => format!("○ {} not yet: {}", names.name(&iteration.item), iteration.why),
                ItemStatus::Blocked | ItemStatus::Unknown => {
                    format!("! {} blocked: {}", names.name(&iteration.item), iteration.why)
                }
            };
            match refused {
                Some(found) => format!("{what} (not marked: {found})"),
                None => what,
            }
        }
        Fact::Looked { pick: Pick::Invalid(why) | Pick::NotApproved(why), .. } => format!("⚠ {why}"),
        Fact::TookIn { answer, refused } => {
            let what = format!("↩ {} by {}: {}", answer.decision, answer.by, answer.reply.text());
            match refused {
                Some(found) => format!("{what} (the plan was left alone: {found})"),
                None => what,
            }
        }
        Fact::Rebased { onto: Some(onto), .. } => format!("  carried over to the tip: {}", onto.revision.short()),
        Fact::Rebased { onto: None, conflicts } => format!("  does not fit the tip any more: {}", conflicts.join(", ")),
        Fact::Judged { phase: None, ruling: Ruling::Closed(why), .. } => format!("  ✗ gate: {why}"),
        Fact::Judged { phase: Some(phase), ruling, took_ms, .. } => match ruling {
            Ruling::Open => format!("  ✓ the gates of {phase} are open ({})", seconds(*took_ms)),
            Ruling::Closed(why) => {
                let why = why.lines().next().unwrap_or_default();
                format!("  ✗ the gate of {phase} is closed: {why} ({})", seconds(*took_ms))
            }
            Ruling::Ask(question) => format!("  ? {phase}: {}", question.text),
        },
        Fact::NotJudged { stop, .. } => format!("  ⚠ {}", stop.detail),
        Fact::PhaseDone { phase, .. } => format!("■ {phase} is done"),
        Fact::Asked { id, item: None } => format!("? {id} waits for you"),
        Fact::Published { error: Some(why), .. } => format!("  ⚠ not pushed: {why}"),
        Fact::CancelAsked => "stopping".to_owned(),
        Fact::Stopped { stop } => format!("■ {stop}"),
        _ => return None,
    };
    let line = text.lines().collect::<Vec<_>>().join(" ");
    Some(printable(&line.chars().take(LINE_MAX).collect::<String>()))
}

/// What a session says that it cost, after a comma.
fn cost(usage: &Usage) -> String {
    match usage.known_cost() {
        Cost::Unknown => String::new(),
        cost => format!(", {cost}"),
    }
}

/// What is waited for after this fact, and until when.
pub(crate) fn awaited(fact: &Fact) -> Option<String> {
    match fact {
        Fact::Ended { end: End::Unavailable { trouble, until, .. }, .. } => {
            Some(format!("waiting for the agent ({trouble}) until {}", clock(*until)))
        }
        Fact::Reviewed { end: End::Unavailable { trouble, until, .. }, .. } => {
            Some(format!("waiting for the reviewer ({trouble}) until {}", clock(*until)))
        }
        Fact::Rounded { until, .. } => Some(format!("the next session begins at {}", clock(*until))),
        _ => None,
    }
}

/// What a run that is at work waits for after its last record.
pub(crate) fn waits(records: &[Record]) -> Option<String> {
    // What a session left comes into safety before the wait, and a run that is taken up goes on waiting.
    let before = |fact: &Fact| matches!(fact, Fact::Captured { .. } | Fact::Kept { .. } | Fact::Opened { .. });
    let last = records.iter().rev().find(|record| !before(&record.fact))?;
    awaited(&last.fact)
}

/// For how long, and until when.
fn waiting(wait_ms: u64, until: u64) -> String {
    format!("waiting {}, until {}", seconds(wait_ms), clock(until))
}

/// A time of the day here, with the date where it is another day.
fn clock(at: u64) -> String {
    let zone = jiff::tz::TimeZone::system();
    let Ok(at) = jiff::Timestamp::try_from(ralph_core::from_millis(at)) else { return String::new() };
    let (at, now) = (zone.to_datetime(at), zone.to_datetime(jiff::Timestamp::now()));
    let format = if at.date() == now.date() { "%H:%M:%S" } else { "%Y-%m-%d %H:%M" };
    at.strftime(format).to_string()
}

fn seconds(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        10_000..120_000 => format!("{} s", ms / 1000),
        _ => format!("{} min", ms / 60_000),
    }
}
