//! What the baseline means, told before any money is spent.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use ralph_core::{
    Event, ItemStatus, Plan, Revision, RunId,
    ledger::{Baseline, Baselines},
    machine::VerifyOutcome,
    printable,
};
use serde::Serialize;

use crate::looping::Loop;

/// How many lines of output are shown; all of it is in a file.
const LINES_MAX: usize = 10;

/// How many items are named.
const NAMED_MAX: usize = 5;

/// Watches for the baseline, and says what it means.
#[derive(Debug)]
pub(crate) struct BaselineTeller {
    seen: Mutex<Baselines>,
    looped: Loop,
    /// Open items of the first phase that has any, which are judged by the common verifiers alone.
    alone: Vec<String>,
    /// Where outputs go, as people are told.
    outputs: PathBuf,
    root: PathBuf,
}

/// What is told, and the event that machines get.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Told<'a> {
    kind: &'static str,
    run: &'a RunId,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<&'a Revision>,
    outcome: VerifyOutcome,
    summary: &'a str,
    /// What follows from it; empty where nothing does.
    means: Vec<String>,
    /// The whole output, where it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    #[serde(skip)]
    tail: &'a str,
}

impl BaselineTeller {
    /// For a run of `plan` that is walked so, in the repository at `root`, with outputs in this folder.
    pub(crate) fn new(plan: &Plan, looped: &Loop, root: &Path, outputs: PathBuf) -> Self {
        let open = |status| status == ItemStatus::Open;
        let phase = plan.phases.iter().find(|phase| phase.items.iter().any(|item| open(item.status)));
        let phase = phase.filter(|phase| !phase.verify.is_empty() && *looped == Loop::Plan);
        let items = phase.into_iter().flat_map(|phase| &phase.items);
        let alone = items.filter(|item| open(item.status) && item.verify.is_empty());
        let alone = alone.map(|item| item.id.to_string()).collect();
        Self { seen: Mutex::default(), looped: looped.clone(), alone, outputs, root: root.to_owned() }
    }

    /// What is to be told after this event.
    pub(crate) fn see<'a>(&self, event: &'a Event) -> Option<Told<'a>> {
        let (Event::Recorded { run, record } | Event::Replayed { run, record }) = event else { return None };
        let found = self.seen.lock().unwrap_or_else(PoisonError::into_inner).see(&record.fact)?;
        if matches!(event, Event::Replayed { .. }) {
            return None;
        }
        let Baseline { revision, outcome, summary, tail, .. } = found;
        let log = match outcome {
            VerifyOutcome::Unready => "setup-base.log",
            VerifyOutcome::Pass | VerifyOutcome::Fail | VerifyOutcome::Broken => "verify-base.log",
        };
        let log = Some(self.outputs.join(log)).filter(|log| log.exists());
        let log = log.map(|log| log.strip_prefix(&self.root).unwrap_or(&log).display().to_string());
        Some(Told { kind: "baseline", run, revision, outcome, summary, means: self.means(&found), log, tail })
    }

    fn means(&self, found: &Baseline<'_>) -> Vec<String> {
        let text = match (&self.looped, found.outcome) {
            (Loop::Plan, VerifyOutcome::Pass) => {
                let (named, more) = self.alone.split_at(self.alone.len().min(NAMED_MAX));
                let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
                let names = named.join(", ");
                (!self.alone.is_empty()).then(|| {
                    format!(
                        "green before any work: any change at all passes for what has no `Verify:` of its own: {names}{more}"
                    )
                })
            }
            (Loop::Goal, VerifyOutcome::Fail) => {
                Some("the goal is not reached yet: sessions have to make it pass".to_owned())
            }
            (Loop::Every { .. }, VerifyOutcome::Fail) => {
                Some("what a session leaves is kept only where it makes this pass".to_owned())
            }
            _ => found.advice().map(str::to_owned),
        };
        text.into_iter().collect()
    }
}

impl Told<'_> {
    /// The lines for people; none where nothing follows from it.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.means.iter().map(|text| format!("  ⚠ {text}")).collect();
        if lines.is_empty() || self.outcome == VerifyOutcome::Pass {
            return lines;
        }
        let tail: Vec<&str> = self.tail.lines().collect();
        lines.extend(
            tail[tail.len().saturating_sub(LINES_MAX)..].iter().map(|line| format!("    | {}", printable(line))),
        );
        lines.extend(self.log.iter().map(|log| format!("    the whole output: {}", printable(log))));
        lines
    }
}
