//! The logs that people read, rendered from the records of a run: PROGRESS.md, BLOCKERS.md, LEARNINGS.md.
//!
//! The journal is the truth; these files are written after it. A cursor says up to which record they are written, and
//! where each file ended then. Records beyond it come again when the run is taken up, and are written unless they are
//! in the file already.

use std::{
    collections::VecDeque,
    fs, io,
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use super::{append, layout::Ledger, learnings, quote, replace, time};
use crate::{
    budget::Cost,
    event::{Event, Observer},
    id::{AttemptId, ItemRef, RunId},
    journal::Record,
    machine::{End, Fact, Iteration, Readiness, VerifyOutcome},
    plan::ItemStatus,
    stop::StopReason,
};

/// How long a summary in PROGRESS.md may be, in characters.
const SUMMARY_MAX: usize = 200;

/// How much of a verifier's output goes to BLOCKERS.md.
const OUTPUT_LINES: usize = 30;
const OUTPUT_WIDTH: usize = 200;

/// How many errors are remembered.
const TROUBLE_MAX: usize = 20;

/// Writes the logs of the control folder while a run goes on. Give it to the engine as an observer.
///
/// What cannot be written now is tried again with the next record, and when the run is taken up; [`Self::trouble`]
/// says what went wrong.
#[derive(Debug)]
pub struct Recorder {
    ledger: Ledger,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    run: Option<Current>,
    trouble: Vec<String>,
}

/// The run that is watched.
#[derive(Debug)]
struct Current {
    run: RunId,
    cursor: Cursor,
    story: Story,
    /// What is still to be written, in order.
    pending: VecDeque<Entry>,
}

/// Up to where the logs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    /// The last record that is in the logs.
    seq: u64,
    /// Where PROGRESS.md ended then.
    progress: u64,
    /// Where BLOCKERS.md ended then.
    blockers: u64,
}

/// Something to write.
#[derive(Debug)]
struct Entry {
    /// The record that it comes from.
    seq: u64,
    log: Log,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Log {
    Progress,
    Blockers,
    Learnings,
}

/// What earlier records say about the session under way.
#[derive(Debug, Default)]
struct Story {
    attempt: Option<AttemptId>,
    iteration: u32,
    /// How many attempts the item has had, interrupted ones not counted before this one.
    charged: u32,
    /// What the agent said about it.
    summary: String,
    /// The output of the last verifier that did not pass.
    output: String,
    /// What its sessions cost; `None` once one of them did not say.
    cost: Cost,
    /// Whether the logs have an outcome of it.
    told: bool,
}

impl Recorder {
    /// Writes into the logs of `ledger`.
    pub fn new(ledger: Ledger) -> Self {
        Self { ledger, state: Mutex::new(State::default()) }
    }

    /// What could not be written so far, oldest first.
    pub fn trouble(&self) -> Vec<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).trouble.clone()
    }

    /// Writes the last line of a run that its journal cannot end: `STOP_REASON: FAULT`.
    pub fn fault(&self) {
        let line = format!("STOP_REASON: {}\n", StopReason::Fault);
        let path = self.ledger.progress();
        // Not looked for: an earlier fault's line is no reason to leave out this one.
        let end = fs::metadata(&path).map_or(0, |found| found.len());
        if let Err(error) = append::append(&path, "# Progress\n\n", &line, end) {
            tell(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).trouble, &error);
        }
    }

    fn see(&self, run: &RunId, record: &Record) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { run: current, trouble } = &mut *state;
        if current.as_ref().is_none_or(|current| current.run != *run) {
            *current = match Current::new(&self.ledger, run, trouble) {
                Ok(fresh) => Some(fresh),
                Err(error) => return tell(trouble, &error),
            };
        }
        let Some(current) = current else { return };
        current.render(record);
        if let Err(error) = current.write(&self.ledger) {
            tell(trouble, &error);
        }
    }
}

impl Observer for Recorder {
    fn on_event(&self, event: &Event) {
        match event {
            Event::Recorded { run, record } | Event::Replayed { run, record } => {
                self.see(run, record);
            }
            Event::Began { .. } | Event::Live { .. } | Event::Told { .. } => {}
        }
    }
}

fn tell(trouble: &mut Vec<String>, error: &io::Error) {
    let text = error.to_string();
    if trouble.len() < TROUBLE_MAX && trouble.last() != Some(&text) {
        trouble.push(text);
    }
}

impl Current {
    fn new(ledger: &Ledger, run: &RunId, trouble: &mut Vec<String>) -> io::Result<Self> {
        let cursor = match read_cursor(ledger, run, trouble)? {
            Some(cursor) => cursor,
            None => {
                // Before anything is written, so that what comes after this point is known to be of this run.
                let length = |path| fs::metadata(path).map_or(0, |found| found.len());
                let (progress, blockers) = (length(ledger.progress()), length(ledger.blockers()));
                let cursor = Cursor { seq: 0, progress, blockers };
                save_cursor(ledger, run, &cursor)?;
                cursor
            }
        };
        Ok(Self { run: run.clone(), cursor, story: Story::default(), pending: VecDeque::new() })
    }

    /// Renders what `record` has to say, where the logs do not have it yet.
    fn render(&mut self, record: &Record) {
        let mut entries = self.story.entries(&self.run, record);
        let known = self.pending.back().map_or(self.cursor.seq, |entry| entry.seq);
        if record.seq > known {
            self.pending.extend(entries.drain(..).map(|(log, text)| Entry { seq: record.seq, log, text }));
        }
    }

    /// Writes what is pending. What fails stays pending.
    fn write(&mut self, ledger: &Ledger) -> io::Result<()> {
        while let Some(entry) = self.pending.front() {
            let text = &entry.text;
            let (path, result) = match entry.log {
                Log::Progress => {
                    let path = ledger.progress();
                    let end = append::append(&path, "# Progress\n\n", text, self.cursor.progress);
                    (path, end.map(|end| self.cursor.progress = end))
                }
                Log::Blockers => {
                    let path = ledger.blockers();
                    let end = append::append(&path, "# Blockers\n\n", text, self.cursor.blockers);
                    (path, end.map(|end| self.cursor.blockers = end))
                }
                Log::Learnings => (ledger.learnings(), learnings::add(&ledger.learnings(), text)),
            };
            result.map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
            let seq = entry.seq;
            self.pending.pop_front();
            if self.pending.front().is_none_or(|next| next.seq != seq) {
                self.cursor.seq = seq;
                save_cursor(ledger, &self.run, &self.cursor)?;
            }
        }
        Ok(())
    }
}

impl Story {
    /// What `record` adds to the logs.
    fn entries(&mut self, run: &RunId, record: &Record) -> Vec<(Log, String)> {
        let mut entries = Vec::new();
        match &record.fact {
            Fact::Began { attempt } => {
                let goes_on = self.iteration == attempt.iteration;
                if !goes_on {
                    entries.extend(self.left_off(record.at));
                }
                *self = Self {
                    attempt: Some(attempt.id.clone()),
                    iteration: attempt.iteration,
                    charged: attempt.charged,
                    cost: if goes_on { self.cost } else { Cost::default() },
                    ..Self::default()
                };
            }
            // A session that did not take place is no attempt, and cost nothing.
            Fact::Ended { end: End::NoAgent(_), .. } | Fact::Prepared { readiness: Readiness::Environment(_), .. } => {
                self.charged = self.charged.saturating_sub(1);
            }
            Fact::Ended { end, usage, signal, .. } => {
                self.cost = self.cost + usage.known_cost();
                if let Some(signal) = signal {
                    self.summary.clone_from(&signal.summary);
                    let who = self.attempt.as_ref().map(|attempt| attempt.item.to_string());
                    for text in &signal.learned {
                        let line = learnings::line(who.as_deref().unwrap_or("?"), text);
                        entries.extend(line.map(|line| (Log::Learnings, line)));
                    }
                }
                if let (End::Interrupted, Some(attempt)) = (end, &self.attempt) {
                    let head = head(self.iteration, record.at, &attempt.item, "interrupted");
                    let cost = usage.known_cost();
                    let text = format!(
                        "{head} attempts={} cost={cost} — ralph ended in the middle of the session\n",
                        self.charged
                    );
                    entries.push((Log::Progress, text));
                    self.told = true;
                }
            }
            Fact::Tidied { end, usage, .. } if !matches!(end, End::NoAgent(_)) => {
                self.cost = self.cost + usage.known_cost();
            }
            Fact::Reviewed { end, outcome, usage, summary, tail, .. } => {
                if !matches!(end, End::NoAgent(_)) {
                    self.cost = self.cost + usage.known_cost();
                }
                if *outcome == VerifyOutcome::Fail {
                    self.output = if tail.is_empty() { summary.clone() } else { tail.clone() };
                }
            }
            Fact::Verified { outcome, tail, summary, .. } if *outcome != VerifyOutcome::Pass => {
                self.output = if tail.is_empty() { summary.clone() } else { tail.clone() };
            }
            Fact::NotJudged { stop, .. } => self.output.clone_from(&stop.detail),
            Fact::Marked { iteration, refused } => {
                entries.push((Log::Progress, self.progress(iteration, refused.as_deref(), record.at)));
                if iteration.to == ItemStatus::Blocked {
                    entries.push((Log::Blockers, self.blocker(run, iteration, record.at)));
                }
                *self = Self::default();
            }
            Fact::Stopped { stop } => {
                entries.extend(self.left_off(record.at));
                entries.push((Log::Progress, format!("STOP_REASON: {}\n", stop.reason)));
            }
            _ => {}
        }
        entries
    }

    /// The line for an iteration that came to no outcome: the run stopped, or a person set the item aside.
    fn left_off(&mut self, at: u64) -> Option<(Log, String)> {
        let attempt = self.attempt.as_ref().filter(|_| !self.told)?;
        let head = head(self.iteration, at, &attempt.item, "interrupted");
        let text = format!("{head} attempts={} cost={} — left without an outcome\n", self.charged, self.cost);
        self.told = true;
        Some((Log::Progress, text))
    }

    fn progress(&self, iteration: &Iteration, refused: Option<&str>, at: u64) -> String {
        let outcome = match iteration.to {
            ItemStatus::Done => "done",
            ItemStatus::Decision => "decision",
            ItemStatus::Blocked => "blocked",
            ItemStatus::Open => "open",
            ItemStatus::Unknown => "unknown",
        };
        let mut text = head(iteration.number, at, &iteration.item, outcome);
        // Without a session of its own (parked work that was approved) the record's count is all there is.
        let attempts = if self.charged > 0 { self.charged } else { iteration.sessions };
        text.push_str(&format!(" attempts={attempts} cost={}", iteration.cost));
        match (&iteration.revision, &iteration.decision) {
            (Some(revision), _) if iteration.to == ItemStatus::Done => {
                let short = revision.as_str().get(..7).unwrap_or(revision.as_str());
                text.push_str(&format!(" commit={}", quote::line(short, 40)));
            }
            (_, Some(decision)) => text.push_str(&format!(" decision={decision}")),
            _ => {}
        }
        let summary = [&iteration.why, &self.summary, &iteration.title];
        let summary = summary.into_iter().find(|text| !text.trim().is_empty());
        text.push_str(" — ");
        text.push_str(&quote::line(summary.map_or("", String::as_str), SUMMARY_MAX));
        if let Some(refused) = refused {
            text.push_str(&format!(" (not marked: {})", quote::line(refused, SUMMARY_MAX)));
        }
        text.push('\n');
        text
    }

    fn blocker(&self, run: &RunId, iteration: &Iteration, at: u64) -> String {
        let mut text = format!(
            "## {:04} {} — {}\n\n{}, run {run}, sessions: {}, cost: {}\n",
            iteration.number,
            iteration.item,
            quote::line(&iteration.title, SUMMARY_MAX),
            time::stamp(at),
            iteration.sessions,
            iteration.cost,
        );
        if let Some(kept) = &iteration.kept {
            text.push_str(&format!("\nThe work is kept as `{}`.\n", quote::line(kept, SUMMARY_MAX)));
        }
        for (what, said) in
            [("Why", &iteration.why), ("What the agent said", &self.summary), ("The end of the output", &self.output)]
        {
            let block = quote::block(said, OUTPUT_LINES, OUTPUT_WIDTH);
            if !block.is_empty() {
                text.push_str(&format!("\n{what}:\n\n{block}"));
            }
        }
        text.push('\n');
        text
    }
}

fn head(iteration: u32, at: u64, item: &ItemRef, outcome: &str) -> String {
    let item = quote::line(&item.to_string(), SUMMARY_MAX);
    format!("- {iteration:04} {} {item} {outcome}", time::stamp(at))
}

fn cursor_path(ledger: &Ledger, run: &RunId) -> std::path::PathBuf {
    ledger.run(run).join("logs.json")
}

fn read_cursor(ledger: &Ledger, run: &RunId, trouble: &mut Vec<String>) -> io::Result<Option<Cursor>> {
    let path = cursor_path(ledger, run);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match serde_json::from_slice(&bytes) {
        Ok(cursor) => Ok(Some(cursor)),
        Err(error) => {
            let place = replace::set_aside(&path, "damaged")?;
            let text = format!("{}: {error}; it is now {}", path.display(), place.display());
            tell(trouble, &io::Error::other(text));
            // Nothing is known to be written, so everything is looked for in the whole file.
            Ok(Some(Cursor::default()))
        }
    }
}

fn save_cursor(ledger: &Ledger, run: &RunId, cursor: &Cursor) -> io::Result<()> {
    let path = cursor_path(ledger, run);
    super::layout::private_folder(&ledger.run(run))?;
    let text = serde_json::to_string(cursor)?;
    replace::replace(&path, text.as_bytes()).map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
}
