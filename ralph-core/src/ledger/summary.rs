//! `summary.md`: what a run came to, for the person who reads it in the morning.

mod advice;
mod judged;

use std::{collections::BTreeSet, fmt::Write as _, io, path::PathBuf};

use self::{advice::advice, judged::judged};
use super::{baseline, layout::Ledger, quote, replace, time};
use crate::{
    budget::Cost,
    id::{ItemRef, RunId},
    journal::Record,
    machine::{Attempt, End, Fact, Iteration, Machine, Origin},
    plan::{ItemStatus, Plan},
    stop::Stop,
};

/// How long texts of other people may be in a line, in characters.
const TEXT_MAX: usize = 300;

/// How many lines of output are shown.
const OUTPUT_LINES: usize = 20;
const OUTPUT_WIDTH: usize = 160;

/// How many open items are named.
const OPEN_MAX: usize = 15;

/// What a summary is made of.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary<'a> {
    /// The run.
    pub run: &'a RunId,
    /// Its records so far, the stop included.
    pub records: &'a [Record],
    /// The plan as it is now, where it can be read.
    pub plan: Option<&'a Plan>,
    /// Items that earlier runs accepted; those of the records need not be in it.
    pub accepted: &'a BTreeSet<ItemRef>,
}

impl<'a> Summary<'a> {
    /// Of these records of `run`, with the plan as it is now and the items that earlier runs accepted.
    pub fn new(run: &'a RunId, records: &'a [Record], plan: Option<&'a Plan>, accepted: &'a BTreeSet<ItemRef>) -> Self {
        Self { run, records, plan, accepted }
    }

    /// Renders and writes it to the run's folder.
    pub fn write(&self, ledger: &Ledger) -> io::Result<PathBuf> {
        let path = ledger.summary(self.run);
        replace::replace(&path, self.render().as_bytes())?;
        Ok(path)
    }

    /// The page.
    pub fn render(&self) -> String {
        let stop = self.records.iter().rev().find_map(|record| match &record.fact {
            Fact::Stopped { stop } => Some(stop),
            _ => None,
        });
        let mut page = String::new();
        self.head(&mut page, stop);
        let before = baseline::page(self.records);
        section(&mut page, "Before any work", before.lines().map(str::to_owned));
        self.outcomes(&mut page);
        self.phases(&mut page);
        self.unexplained(&mut page);
        self.flaky(&mut page);
        self.last(&mut page);
        self.costs(&mut page);
        if let Some(stop) = stop {
            let _ = writeln!(page, "\n## What to do next\n\n{}", advice(stop.reason));
        }
        page
    }

    fn head(&self, page: &mut String, stop: Option<&Stop>) {
        let name = stop.map_or("still running", |stop| stop.reason.name());
        let _ = writeln!(page, "# Run {}: {name}", self.run);
        if let (Some(first), Some(last)) = (self.records.first(), self.records.last()) {
            let _ = writeln!(page, "\n{} to {}", time::stamp(first.at), time::stamp(last.at));
        }
        if let Some(stop) = stop.filter(|stop| !stop.detail.is_empty()) {
            let _ = write!(page, "\n{}", quote::block(&stop.detail, OUTPUT_LINES, OUTPUT_WIDTH));
        }
    }

    /// Every item's last iteration, and what is still open.
    fn outcomes(&self, page: &mut String) {
        let mut last: Vec<&Iteration> = Vec::new();
        for record in self.records {
            if let Fact::Marked { iteration, .. } = &record.fact {
                last.retain(|known| known.item != iteration.item);
                last.push(iteration);
            }
        }
        let done = |iteration: &&&Iteration| iteration.to == ItemStatus::Done;
        section(page, "What passed", last.iter().filter(done).map(|i| outcome(i)));
        section(page, "What did not pass", last.iter().filter(|i| !done(i)).map(|i| outcome(i)));
        let open = self.items(ItemStatus::Open);
        let mut lines: Vec<String> = open.iter().take(OPEN_MAX).cloned().collect();
        if open.len() > OPEN_MAX {
            lines.push(format!("- and {} more", open.len() - OPEN_MAX));
        }
        section(page, "Still open", lines.into_iter());
    }

    /// The phases that the run finished, what people answered, and what was not pushed.
    fn phases(&self, page: &mut String) {
        let (mut done, mut answers, mut not_pushed) = (Vec::new(), Vec::new(), None);
        for record in self.records {
            match &record.fact {
                Fact::PhaseDone { phase, revision } => {
                    done.push(format!("- {phase} {} at {}", time::stamp(record.at), text(revision.short())));
                }
                Fact::TookIn { answer, .. } => answers.push(format!("- {}", text(&answer.line()))),
                Fact::Published { error, .. } => not_pushed.clone_from(error),
                _ => {}
            }
        }
        section(page, "Phases that are done", done.into_iter());
        section(page, "What was answered", answers.into_iter());
        if let Some(why) = not_pushed {
            section(page, "Not pushed", std::iter::once(format!("- the last push failed: {}", text(&why))));
        }
    }

    /// The items of the plan with this status.
    fn items(&self, status: ItemStatus) -> Vec<String> {
        self.named(|item| item.1 == status)
    }

    fn named(&self, wanted: impl Fn(&(ItemRef, ItemStatus)) -> bool) -> Vec<String> {
        let phases = self.plan.into_iter().flat_map(|plan| &plan.phases);
        let items = phases.flat_map(|phase| phase.items.iter().map(|item| (phase.name(item), item)));
        items
            .filter(|(name, item)| wanted(&(name.clone(), item.status)))
            .map(|(name, item)| format!("- {}: {}", text(&name.to_string()), text(&item.title)))
            .collect()
    }

    /// What the plan says that no record explains.
    fn unexplained(&self, page: &mut String) {
        let own = accepted(self.records);
        let by_hand = self.named(|(name, status)| {
            *status == ItemStatus::Done && !own.contains(name) && !self.accepted.contains(name)
        });
        if !by_hand.is_empty() {
            section(page, "Ticked by hand", by_hand.into_iter());
            page.push_str("\nRalph never verified these: somebody marked them as done in the plan.\n");
        }
        let unknown = self.items(ItemStatus::Unknown);
        if !unknown.is_empty() {
            section(page, "Marks that ralph does not know", unknown.into_iter());
            page.push_str("\nThese are never picked and never done; `ralph check` names the lines.\n");
        }
        if self.plan.is_none() {
            page.push_str("\nThe plan cannot be read now, so what is still open is not listed.\n");
        }
    }

    /// The verifiers that contradicted themselves.
    fn flaky(&self, page: &mut String) {
        let mut machine = Machine::new();
        for record in self.records {
            // What does not follow is no part of what this page is about.
            let _ = machine.apply(&record.fact);
        }
        let mut flaky = machine.flaky().peekable();
        if flaky.peek().is_some() {
            section(page, "Flaky verifiers", flaky.map(|name| format!("- `{}`", text(name))));
            page.push_str(
                "\nThey passed and failed the very same content; nothing that they failed was accepted. \
                 `ralph check --calibrate 20` measures them. Where what made one fail is put right, such as a service \
                 that was down, `ralph run --new` judges afresh.\n",
            );
        }
    }

    /// The sessions of the last iteration, with what they said and how they were judged.
    fn last(&self, page: &mut String) {
        let Some(number) = self.records.iter().rev().find_map(|record| began(record).map(|a| a.iteration)) else {
            return;
        };
        let mut within = false;
        for record in self.records {
            match &record.fact {
                Fact::Began { attempt } => {
                    let first = !within;
                    within = attempt.iteration == number;
                    if within && first {
                        let (item, title) = (&attempt.spec.item, &attempt.spec.title);
                        let _ =
                            writeln!(page, "\n## The last iteration: {} {}\n", text(&item.to_string()), text(title));
                    }
                    if within {
                        let what = match attempt.origin {
                            Origin::Session => "session",
                            Origin::Kept => "kept work, without a session, attempt",
                            Origin::Branch => "the branch as it is, attempt",
                        };
                        let _ = writeln!(page, "- {what} {} began {}", attempt.id.number, time::stamp(record.at));
                    }
                }
                fact if within => judged(page, fact),
                _ => {}
            }
        }
    }

    fn costs(&self, page: &mut String) {
        let (mut sessions, mut silent, mut tokens) = (0_u32, 0_u32, 0_u64);
        let (mut reviews, mut clean_ups) = (0_u32, 0_u32);
        let mut known = Cost::default();
        for record in self.records {
            if let Fact::Ended { usage, end, .. }
            | Fact::Reviewed { usage, end, .. }
            | Fact::Tidied { usage, end, .. } = &record.fact
            {
                if matches!(end, End::NoAgent(_)) {
                    continue;
                }
                sessions += 1;
                reviews += u32::from(matches!(record.fact, Fact::Reviewed { .. }));
                clean_ups += u32::from(matches!(record.fact, Fact::Tidied { .. }));
                match usage.known_cost() {
                    Cost::Unknown => silent += 1,
                    cost => known = known + cost,
                }
                tokens = tokens.saturating_add(usage.tokens.map_or(0, |tokens| tokens.billed()));
            }
        }
        page.push_str("\n## What it cost\n\n");
        let mut of_these = Vec::new();
        of_these.extend((reviews > 0).then(|| format!("{reviews} to review")));
        of_these.extend((clean_ups > 0).then(|| format!("{clean_ups} to tidy")));
        let of_these = if of_these.is_empty() { String::new() } else { format!(", of these {}", of_these.join(", ")) };
        let _ = writeln!(page, "- sessions: {sessions}{of_these}");
        let cost = match (silent, sessions) {
            (0, _) | (_, 0) => known.to_string(),
            (silent, all) if silent == all => "unknown".to_owned(),
            (silent, _) => {
                format!("{known} and what {silent} of the sessions did not report (unknown)")
            }
        };
        let estimated = if matches!(known, Cost::Estimated(_)) { " (`~`: by your own prices)" } else { "" };
        let _ = writeln!(page, "- cost: {cost}{estimated}");
        if tokens > 0 {
            let _ = writeln!(page, "- tokens reported: {tokens}");
        }
    }
}

/// The items that these records accepted: their work verified twice and on the branch.
pub fn accepted(records: &[Record]) -> BTreeSet<ItemRef> {
    let (mut current, mut accepted) = (None, BTreeSet::new());
    for record in records {
        match &record.fact {
            Fact::Began { attempt } => current = Some(&attempt.spec.item),
            Fact::Accepted { .. } => accepted.extend(current.cloned()),
            // Parked work that was approved, and verified items without a session of this run.
            Fact::Marked { iteration, .. } if iteration.to == ItemStatus::Done => {
                accepted.insert(iteration.item.clone());
            }
            _ => {}
        }
    }
    accepted
}

fn began(record: &Record) -> Option<&Attempt> {
    match &record.fact {
        Fact::Began { attempt } => Some(attempt),
        _ => None,
    }
}

fn text(text: &str) -> String {
    quote::line(text, TEXT_MAX)
}

fn section(page: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    let _ = writeln!(page, "\n## {title}\n");
    for line in lines {
        page.push_str(&line);
        page.push('\n');
    }
}

fn outcome(iteration: &Iteration) -> String {
    let mut line = format!("- {}: {}", text(&iteration.item.to_string()), text(&iteration.title));
    if iteration.to != ItemStatus::Done {
        let _ = write!(line, " — {}", iteration.to);
        if let Some(decision) = &iteration.decision {
            let _ = write!(line, " {decision}");
        }
        if !iteration.why.is_empty() {
            let _ = write!(line, ": {}", text(&iteration.why));
        }
    }
    let sessions = if iteration.sessions == 1 { "session" } else { "sessions" };
    let _ = write!(line, " ({} {sessions}, cost {}", iteration.sessions, iteration.cost);
    match (&iteration.revision, &iteration.kept) {
        (_, Some(kept)) => {
            let _ = write!(line, ", kept as `{}`", text(kept));
        }
        (Some(revision), None) => {
            let _ = write!(line, ", commit {}", text(revision.short()));
        }
        (None, None) => {}
    }
    line.push(')');
    line
}
