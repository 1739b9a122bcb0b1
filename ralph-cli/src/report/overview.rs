//! Where a run stands, what matters first: what needs a person, what was verified, what it cost.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use ralph_core::{
    Cost, DecisionKind, ItemRef, ItemStatus, Phase, Plan, Record, RunId, Spent, Stop, StopReason, Usd,
    ledger::{Holder, Queued},
    machine::{Fact, Iteration, Machine, Mode, Origin},
    printable,
};
use serde::{Serialize, Serializer};

use super::{Glyph, SCHEMA_VERSION, attempts, count, waits, wrap};
use crate::{looping, runs::RunInfo};

/// How wide the page is.
const WIDTH: usize = 96;
/// What stands before a detail of an item.
const DETAIL: &str = "           ";
/// How many lines of a detail are shown.
const DETAIL_LINES: usize = 8;

/// All that `status` shows, and the end of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Overview {
    schema_version: u32,
    run: Option<String>,
    plan: String,
    branch: String,
    /// Whoever is at work now.
    live: Option<String>,
    /// What it waits for, and until when.
    waiting: Option<String>,
    stop: Option<Stop>,
    #[serde(serialize_with = "spent")]
    spent: Spent,
    /// Whether the branch holds what was not pushed although it should be.
    unpublished: bool,
    /// The phases of a plan that has several, or gates.
    phases: Vec<PhaseRow>,
    /// The questions that wait for a person.
    pending: Vec<Waiting>,
    /// The verifiers that passed and failed the very same content.
    flaky: Vec<String>,
    items: Vec<Row>,
    /// Whether the phase that is worked on has open items. Those of later phases are open as they should be.
    #[serde(skip)]
    open: bool,
}

#[derive(Debug, Serialize)]
struct PhaseRow {
    phase: String,
    title: String,
    /// Whether its gates have opened, too.
    finished: bool,
    done: usize,
    items: usize,
    /// What the sessions on its items cost, as far as their iterations came to an end.
    cost: Cost,
}

#[derive(Debug, Serialize)]
struct Waiting {
    id: String,
    kind: DecisionKind,
    /// The phase, and the item where it concerns one.
    place: String,
    question: String,
}

impl Waiting {
    fn new(queued: &Queued) -> Self {
        let decision = &queued.decision;
        let item = decision.item.as_ref().map(|item| format!("/{item}")).unwrap_or_default();
        Self {
            id: queued.id.to_string(),
            kind: decision.question.kind,
            place: format!("{}{item}", decision.phase),
            question: decision.question.text.clone(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Row {
    item: String,
    title: String,
    status: ItemStatus,
    attempts: Vec<Glyph>,
    /// How many of the attempts were sessions: work that comes back with an answer needs none.
    sessions: u64,
    /// What they cost in all.
    cost: Cost,
    /// Whether its work was verified twice, and where it is.
    verified: Verified,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<Iteration>,
}

/// What is known of a done item's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verified {
    /// Verified twice, and on the branch.
    OnBranch,
    /// Verified twice by an earlier run, whose commit is not on this branch (merged since, or lost with its branch).
    Earlier,
    /// Nothing: somebody ticked it by hand, or it is not done.
    No,
}

/// What an overview is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) info: &'a RunInfo,
    pub(crate) run: Option<&'a str>,
    pub(crate) records: &'a [Record],
    /// The plan as it is now.
    pub(crate) plan: &'a Plan,
    /// The items whose commits the branch holds.
    pub(crate) on_branch: &'a BTreeSet<ItemRef>,
    /// The items that earlier runs on this plan verified.
    pub(crate) elsewhere: &'a BTreeSet<ItemRef>,
    /// The questions of this plan that wait for an answer.
    pub(crate) pending: &'a [Queued],
    pub(crate) live: Option<&'a Holder>,
}

/// Whether it is this run that is at work.
fn is_of(live: &Holder, run: Option<&str>) -> bool {
    live.run.as_ref().map(RunId::as_str) == run
}

impl Overview {
    pub(crate) fn new(known: &Known<'_>) -> Self {
        let mut machine = Machine::new();
        let mut last: BTreeMap<ItemRef, Iteration> = BTreeMap::new();
        let mut confirmed: BTreeSet<ItemRef> = BTreeSet::new();
        let mut bills: BTreeMap<ItemRef, (u64, Cost)> = BTreeMap::new();
        for record in known.records {
            // A journal that does not fold is told by whoever opens it for writing.
            let _ = machine.apply(&record.fact);
            match &record.fact {
                // Done on the branch by somebody else's commit, and verified there.
                Fact::Began { attempt } if attempt.origin == Origin::Branch => {
                    confirmed.insert(attempt.id.item.clone());
                }
                Fact::Began { attempt } => {
                    confirmed.remove(&attempt.id.item);
                }
                _ => {}
            }
            if let Fact::Marked { iteration, .. } = &record.fact {
                let bill = bills.entry(iteration.item.clone()).or_default();
                bill.0 += u64::from(iteration.sessions);
                bill.1 = bill.1 + iteration.cost;
                last.insert(iteration.item.clone(), iteration.clone());
            }
        }
        let bill = |item: &ItemRef| bills.get(item).copied().unwrap_or_default();
        let mut glyphs = attempts(known.records);
        let several = known.plan.phases.len() > 1;
        let mut items = Vec::new();
        for phase in &known.plan.phases {
            for item in &phase.items {
                let name = phase.name(item);
                items.push(Row {
                    item: if several { name.to_string() } else { item.id.to_string() },
                    title: item.title.chars().take(200).collect(),
                    status: item.status,
                    attempts: glyphs.remove(&name).unwrap_or_default(),
                    sessions: bill(&name).0,
                    cost: bill(&name).1,
                    verified: if known.on_branch.contains(&name) || confirmed.contains(&name) {
                        Verified::OnBranch
                    } else if machine.accepted().contains_key(&name) || known.elsewhere.contains(&name) {
                        Verified::Earlier
                    } else {
                        Verified::No
                    },
                    last: last.remove(&name),
                });
            }
        }
        let done = |phase: &Phase| phase.items.iter().filter(|item| item.status == ItemStatus::Done).count();
        let finished = |phase: &Phase| machine.finished().contains(&phase.id) && done(phase) == phase.items.len();
        let phases = known.plan.phases.iter().filter(|phase| several || phase.is_gated()).map(|phase| PhaseRow {
            phase: phase.id.to_string(),
            title: phase.title.clone(),
            finished: finished(phase),
            done: done(phase),
            items: phase.items.len(),
            cost: phase.items.iter().map(|item| bill(&phase.name(item)).1).sum(),
        });
        let at_hand = known.plan.phases.iter().find(|phase| !finished(phase));
        let opened = known.records.iter().rev().find_map(|record| match &record.fact {
            Fact::Opened { rules, .. } => Some(rules.mode),
            _ => None,
        });
        // At an interval, items stay open.
        let stays_open = matches!(opened, Some(Mode::Every(_)));
        let open =
            !stays_open && at_hand.is_some_and(|phase| phase.items.iter().any(|item| item.status == ItemStatus::Open));
        Self {
            schema_version: SCHEMA_VERSION,
            run: known.run.map(str::to_owned),
            plan: known.info.plan.clone(),
            branch: known.info.branch.clone(),
            live: known.live.map(ToString::to_string),
            waiting: known.live.filter(|live| is_of(live, known.run)).and_then(|_| waits(known.records)),
            stop: machine.stopped().cloned(),
            spent: machine.spent(),
            unpublished: machine.unpublished(),
            phases: phases.collect(),
            pending: known.pending.iter().map(Waiting::new).collect(),
            flaky: machine.flaky().map(str::to_owned).collect(),
            items,
            open,
        }
    }

    /// The page for people.
    pub(crate) fn render(&self) -> String {
        let mut page = String::new();
        self.head(&mut page);
        self.phases(&mut page);
        self.needs_you(&mut page);
        self.part(&mut page, "Waiting for a decision", |row| row.status == ItemStatus::Decision);
        self.part(&mut page, "Blocked", |row| row.status == ItemStatus::Blocked);
        self.part(&mut page, "Unknown marks", |row| row.status == ItemStatus::Unknown);
        let done = |row: &Row, verified| row.status == ItemStatus::Done && row.verified == verified;
        self.part(&mut page, "Verified twice, on the branch", |row| done(row, Verified::OnBranch));
        self.part(&mut page, "Verified by an earlier run, not on this branch", |row| done(row, Verified::Earlier));
        self.part(&mut page, "Ticked by hand, not verified", |row| done(row, Verified::No));
        self.part(&mut page, "Open", |row| row.status == ItemStatus::Open);
        if self.unpublished {
            page.push_str("\nNot pushed: the last push failed; the next accepted item or run tries again.\n");
        }
        self.flaky(&mut page);
        self.cost(&mut page);
        self.next(&mut page);
        page
    }

    fn phases(&self, page: &mut String) {
        if self.phases.is_empty() {
            return;
        }
        page.push('\n');
        for phase in &self.phases {
            let mark = if phase.finished { 'x' } else { ' ' };
            let title = if phase.title == phase.phase { String::new() } else { format!(" — {}", phase.title) };
            let state = match (phase.finished, phase.done == phase.items) {
                (true, _) => "done".to_owned(),
                (false, true) => "at its gates".to_owned(),
                (false, false) => format!("{} of {} done", phase.done, phase.items),
            };
            let cost = match phase.cost {
                Cost::Reported(Usd::ZERO) | Cost::Unknown => String::new(),
                cost => format!(", {cost}"),
            };
            let _ = writeln!(page, "  [{mark}] {}{} ({state}{cost})", printable(&phase.phase), printable(&title));
        }
    }

    fn needs_you(&self, page: &mut String) {
        if self.pending.is_empty() {
            return;
        }
        let _ = writeln!(page, "\nNeeds you ({})", self.pending.len());
        for waiting in &self.pending {
            let head = format!("{} {} {}", waiting.id, waiting.kind, waiting.place);
            let _ = writeln!(page, "  {}", printable(&head));
            for line in lines(&waiting.question) {
                let _ = writeln!(page, "{DETAIL}{line}");
            }
        }
    }

    fn head(&self, page: &mut String) {
        let state = match (&self.live, &self.stop, &self.run) {
            (Some(holder), _, _) => match &self.waiting {
                Some(waiting) => format!("at work: {holder}; {waiting}"),
                None => format!("at work: {holder}"),
            },
            (None, Some(stop), _) if self.edited() => format!("{}; the plan was edited since", stop.reason),
            (None, Some(stop), _) => stop.to_string(),
            (None, None, Some(_)) => format!("was cut off; `{}` takes it up", looping::again(&self.plan)),
            (None, None, None) => "no run yet".to_owned(),
        };
        // Writing to a string cannot fail; so throughout.
        let _ = writeln!(page, "{} on {} — {}", self.plan, self.branch, printable(&state));
    }

    fn part(&self, page: &mut String, title: &str, belongs: impl Fn(&Row) -> bool) {
        let rows: Vec<&Row> = self.items.iter().filter(|row| belongs(row)).collect();
        if rows.is_empty() {
            return;
        }
        let _ = writeln!(page, "\n{title} ({})", rows.len());
        let most = 20;
        for row in rows.iter().take(most) {
            let glyphs: String = row.attempts.iter().map(ToString::to_string).collect();
            let _ = write!(page, "  {:<8} {glyphs:<4} {}", row.item, printable(&row.title));
            let current = row.last.as_ref().filter(|last| last.to == row.status);
            if row.status == ItemStatus::Blocked && current.is_none() {
                page.push_str(" (marked by hand)");
            }
            if let Some(last) = current {
                let cost = if row.cost == Cost::Unknown { "cost unknown".to_owned() } else { row.cost.to_string() };
                let commit = last.revision.as_ref().map(|revision| format!(", {}", revision.short()));
                let _ = write!(page, " ({}, {cost}{})", count(row.sessions, "session"), commit.unwrap_or_default());
                for detail in [last.decision.as_ref().map(|id| id.as_str()).unwrap_or_default(), &last.why] {
                    for line in lines(detail) {
                        let _ = write!(page, "\n{DETAIL}{line}");
                    }
                }
                if let Some(kept) = &last.kept {
                    let _ = write!(page, "\n{DETAIL}kept as {}", printable(kept));
                }
            }
            page.push('\n');
        }
        if rows.len() > most {
            let _ = writeln!(page, "  … and {} more", rows.len() - most);
        }
    }

    /// Whether items are open after a stop that left none of their phase open: somebody edited the plan since.
    fn edited(&self) -> bool {
        let left_none = |stop: &Stop| {
            matches!(
                stop.reason,
                StopReason::Success
                    | StopReason::ItemsBlocked
                    | StopReason::AwaitingDecisions
                    | StopReason::AutoGateFailed
            )
        };
        self.open && self.stop.as_ref().is_some_and(left_none)
    }

    fn flaky(&self, page: &mut String) {
        if self.flaky.is_empty() {
            return;
        }
        let _ = writeln!(page, "\nFlaky: passed and failed the very same content");
        for name in &self.flaky {
            let _ = writeln!(page, "  {}", printable(name));
        }
        page.push_str("  `ralph check --calibrate 20` measures; once put right, `ralph run --new` judges afresh\n");
    }

    fn cost(&self, page: &mut String) {
        if self.run.is_none() {
            return;
        }
        let unknown = match self.spent.unknown_cost {
            0 => String::new(),
            sessions => format!("; {} did not say what it cost", count(sessions, "session")),
        };
        let tokens = match self.spent.tokens {
            // No session costs none: nobody said.
            0 => String::new(),
            tokens => format!(", {}", count(tokens, "token")),
        };
        if self.spent.cost == Usd::ZERO && self.spent.unknown_cost > 0 {
            let _ = writeln!(page, "\nCost unknown{tokens}{unknown}");
        } else {
            let estimated = match self.spent.estimated {
                Usd::ZERO => String::new(),
                all if all == self.spent.cost => " by your own prices".to_owned(),
                part => format!(", {part} of it by your own prices"),
            };
            let _ = writeln!(page, "\nCost {}{estimated}{tokens}{unknown}", self.spent.cost);
        }
    }

    fn next(&self, page: &mut String) {
        let Some(stop) = &self.stop else { return };
        let by_hand =
            self.items.iter().filter(|row| row.status == ItemStatus::Done && row.verified == Verified::No).count();
        let advice = match stop.reason {
            _ if self.edited() => "`ralph run` goes on",
            StopReason::Success => {
                let branch = printable(&self.branch);
                let accepted =
                    |row: &Row| row.attempts.contains(&Glyph::Accepted) || row.verified == Verified::OnBranch;
                if !self.items.iter().any(accepted) && by_hand == 0 {
                    return;
                }
                let _ = writeln!(page, "\nNext: review it with `ralph diff`, then merge it (`git merge {branch}`).");
                if by_hand > 0 {
                    let _ = writeln!(
                        page,
                        "{} ticked by hand: their work was not verified.",
                        count(by_hand as u64, "item")
                    );
                }
                return;
            }
            StopReason::ManualGate if self.pending.is_empty() => {
                "put right on the branch what was rejected, then `ralph run` asks again"
            }
            StopReason::AwaitingDecisions | StopReason::ManualGate | StopReason::Checkpoint => {
                "answer with `ralph btw`, then `ralph run` goes on"
            }
            StopReason::AutoGateFailed => {
                "see the verifier's output in ralph-loop/DECISIONS.md, answer with `ralph btw` or put it right, then \
                 `ralph run` tries the gate again"
            }
            StopReason::ItemsBlocked | StopReason::BlockerLimit | StopReason::NoProgress => {
                "look at `ralph log ITEM`, then `ralph retry ITEM`, or take its row out of the PRD"
            }
            StopReason::BudgetExhausted => {
                "`ralph run` goes on with a new budget; raise one by a flag or in ralph.toml"
            }
            StopReason::VerifierBroken | StopReason::Environment => "put it right (`ralph doctor`), then `ralph run`",
            StopReason::AgentUnavailable => "see that the agent works (`ralph doctor`), then `ralph run`",
            StopReason::Cancelled => "`ralph run` goes on",
            StopReason::BranchMoved => {
                "look at the branch with `git log` and put it back; if it is gone for good, `ralph run --new` begins anew"
            }
            StopReason::PlanInvalid => "put the plan right (`ralph check`), then `ralph run`",
            StopReason::NotApproved => "read what changed and approve it (`ralph approve`), then `ralph run`",
            StopReason::Fault => "`ralph doctor` looks for what is wrong; then `ralph run` goes on",
            _ => return,
        };
        page.push('\n');
        let advice = advice.replace("`ralph run", &format!("`{}", looping::again(&self.plan)));
        for line in wrap(&format!("Next: {advice}."), WIDTH, "      ") {
            let _ = writeln!(page, "{line}");
        }
    }
}

/// A text of several lines as details; its first ones say enough.
fn lines(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().flat_map(|line| wrap(&printable(line), WIDTH - DETAIL.len(), ""));
    lines.filter(|line| !line.trim().is_empty()).take(DETAIL_LINES)
}

/// Money that nobody knows is not nothing.
fn spent<S: Serializer>(spent: &Spent, serializer: S) -> Result<S::Ok, S::Error> {
    let known = spent.cost > Usd::ZERO || spent.unknown_cost == 0;
    let document = serde_json::json!({
        "cost_usd": known.then_some(spent.cost),
        "estimated_usd": spent.estimated,
        "tokens": (spent.tokens > 0).then_some(spent.tokens),
        "sessions_of_unknown_cost": spent.unknown_cost,
    });
    document.serialize(serializer)
}
