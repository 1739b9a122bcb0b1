//! `summary.md`: what a run came to, for the person who reads it in the morning.

use std::{collections::BTreeSet, fmt::Write as _, io, path::PathBuf};

use super::{baseline, layout::Ledger, quote, replace, time};
use crate::{
    budget::Cost,
    gate::Ruling,
    id::{ItemRef, RunId},
    journal::Record,
    machine::{Attempt, End, Fact, Iteration, Machine, Origin, Refusal, VerifyOutcome},
    plan::{ItemStatus, Plan},
    stop::{Stop, StopReason},
    vcs::DiffStat,
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

/// How much is changed.
fn much(stat: &DiffStat) -> String {
    let files = if stat.files == 1 { "file" } else { "files" };
    let lines = match (stat.added, stat.removed) {
        (Some(added), Some(removed)) => format!(" (+{added} −{removed} lines)"),
        _ => String::new(),
    };
    format!("{} {files}{lines}", stat.files)
}

/// What a fact says of the session under way.
fn judged(page: &mut String, fact: &Fact) {
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

/// What a person should do after a stop.
fn advice(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Success => "Look at what was done (`ralph diff`) and merge the branch.",
        StopReason::Cancelled => "`ralph run` goes on where the run stood.",
        StopReason::Fault => {
            "Something of ralph's own failed, or the disk. `ralph doctor` looks for it; then `ralph run` goes on."
        }
        StopReason::PlanInvalid => "Correct the plan: `ralph check` names every place. Then `ralph run` goes on.",
        StopReason::NotApproved => {
            "Read what changed and approve it: `ralph approve --by WHO`. Then `ralph run` goes on."
        }
        StopReason::BranchMoved => {
            "The run's branch is gone or was rewritten. Put it back, or begin anew: `ralph run --new`."
        }
        StopReason::Environment => {
            "Put the surroundings right (a service, a tool, `Setup:`), then `ralph run` goes on."
        }
        StopReason::VerifierBroken => {
            "The verify command could not judge, on the branch either. Run it by hand on a clean checkout, correct it, then `ralph run` goes on."
        }
        StopReason::AgentUnavailable => {
            "See that the agent is installed, logged in and within its limits; then `ralph run` goes on."
        }
        StopReason::BlockerLimit => {
            "Too many items are blocked: read BLOCKERS.md, correct the items or their verifiers, then `ralph retry ITEM` and `ralph run`."
        }
        StopReason::NoProgress => {
            "Sessions change nothing or undo each other. Read the last iteration: the item may be too large, or its verifier cannot be satisfied."
        }
        StopReason::BudgetExhausted => {
            "A budget was used up, by design. Review what is there; `ralph run` goes on with a new budget (cost and tokens are raised by a flag)."
        }
        StopReason::AutoGateFailed => {
            "The items are done, and the branch does not pass: DECISIONS.md has the verifier's output. `ralph btw` answers (try again, or reopen the item that is at fault), then `ralph run` goes on."
        }
        StopReason::AwaitingDecisions => "Only what waits for you is left: `ralph btw` asks, then `ralph run` goes on.",
        StopReason::ManualGate => {
            "A person must open the phase's gate: look at the branch (`ralph diff`), answer with `ralph btw`, then `ralph run` goes on."
        }
        StopReason::Checkpoint => {
            "A planned pause: look at what was done so far (`ralph diff`), answer with `ralph btw`, then `ralph run` goes on."
        }
        StopReason::ItemsBlocked => {
            "What is left is blocked or carries an unknown mark: read BLOCKERS.md, then `ralph retry ITEM` or correct the plan."
        }
    }
}
