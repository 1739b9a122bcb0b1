//! What outlives a crash, and one life of the process in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use super::{
    Behaviour, Final, PhaseGates, Report, Scenario,
    critics::{SimReviewer, SimTidy},
    doubles::{Parts, REOPENED, SimAgent, SimPolicy, SimUntil, SimVerifier},
};
use crate::{
    Digest, Event, Evergreen, Item, ItemRef, MemoryDecisions, MemoryJournal, MemoryPlan, Outcome, Phase, Plan,
    PlanSource, Ralph, Record, RunError, RunId, StopReason,
    machine::{End, Fact, Machine, Mode, Origin},
    testing::{
        FaultPlan, Faulty, Files, MemoryVcs, StillClock,
        laws::{LawBook, Violation},
        saboteurs,
    },
};

/// What outlives a crash.
pub(super) struct World {
    pub(super) scenario: Scenario,
    pub(super) plan: MemoryPlan,
    journal: MemoryJournal,
    pub(super) vcs: MemoryVcs,
    pub(super) decisions: MemoryDecisions,
    clock: StillClock,
    run: RunId,
    shared: Arc<Shared>,
}

/// What the doubles share across lives.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) outages: AtomicU32,
    /// Reviews that were asked for.
    pub(super) reviews: AtomicU32,
    /// Commits that a person made during a session.
    pub(super) commits: AtomicU32,
    pub(super) alive: AtomicU32,
    violations: Mutex<Vec<Violation>>,
}

impl Shared {
    fn broken(&self, law: &'static str, what: String) {
        let mut violations = self.violations.lock().unwrap_or_else(PoisonError::into_inner);
        if !violations.iter().any(|known| known.law == law) {
            violations.push(Violation { law, what });
        }
    }
}

fn item_name(index: usize) -> String {
    format!("R{:02}", index + 1)
}

/// How often a person may take the run up.
const INVOCATIONS_MAX: u32 = 60;

fn plan_of(scenario: &Scenario) -> MemoryPlan {
    let count = scenario.phases.len().max(1);
    let mut phases: Vec<Vec<Item>> = vec![Vec::new(); count];
    for (index, behaviour) in scenario.items.iter().enumerate() {
        let phase = index * count / scenario.items.len();
        let mut item = Item::new(item_name(index).as_str(), format!("{behaviour:?}"));
        if scenario.require_red {
            item.verify.push("own".to_owned());
        }
        phases[phase].push(item);
    }
    let phases = phases.into_iter().enumerate().map(|(index, items)| {
        let mut phase = Phase::new(format!("P{}", index + 1).as_str(), items);
        match scenario.phases.get(index) {
            None => {}
            Some(PhaseGates::Auto) => phase.auto_gate.push("check".to_owned()),
            Some(PhaseGates::AutoReopened) => phase.auto_gate.push(REOPENED.to_owned()),
            Some(PhaseGates::Manual | PhaseGates::ManualRejected) => {
                phase.manual_gate = Some("lead approves the phase".to_owned());
            }
        }
        phase
    });
    MemoryPlan::new(Plan::new(phases))
}

impl World {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let plan = plan_of(scenario);
        let mut files = Files::from([
            ("README".to_owned(), b"start".to_vec()),
            ("ralph-loop/PRD.md".to_owned(), b"- [ ] the operator's".to_vec()),
        ]);
        for (index, behaviour) in scenario.items.iter().enumerate() {
            if matches!(behaviour, Behaviour::AlreadyDone | Behaviour::AlreadyDoneApproved) {
                files.insert(item_name(index), b"good".to_vec());
            }
        }
        Self {
            scenario: scenario.clone(),
            plan,
            journal: MemoryJournal::new(),
            vcs: MemoryVcs::with(files),
            decisions: MemoryDecisions::new(),
            clock: StillClock::new(),
            run: RunId::new("run"),
            shared: Arc::new(Shared::default()),
        }
    }

    /// One life of the process, or several: to an end at which a person has nothing to say, or to the crash.
    pub(super) fn live(&self, faults: &FaultPlan) -> Result<Outcome, RunError> {
        for _ in 0..INVOCATIONS_MAX {
            let outcome = self.invoke(faults)?;
            if !self.answer_one() {
                return Ok(outcome);
            }
        }
        unreachable!("{:?} does not come to an end", self.scenario)
    }

    fn invoke(&self, faults: &FaultPlan) -> Result<Outcome, RunError> {
        let agent = SimAgent { world: self.parts() };
        let vcs = saboteurs::vcs(self.vcs.clone(), self.scenario.sabotage);
        let journal = saboteurs::journal(self.journal.clone(), self.scenario.sabotage);
        let decisions = saboteurs::decisions(self.decisions.clone(), self.scenario.sabotage);
        let (shared, stored, run) = (Arc::clone(&self.shared), self.journal.clone(), self.run.clone());
        let seen = AtomicU32::new(0);
        let watch = move |event: &Event| match event {
            Event::Recorded { record, .. } | Event::Replayed { record, .. } => {
                seen.store(u32::try_from(record.seq).unwrap_or(u32::MAX), Ordering::SeqCst);
                if stored.record(&run, record.seq).as_ref() != Some(record) {
                    shared.broken("L5", format!("record {} was told before it was durable", record.seq));
                }
            }
            Event::Began { step, .. } => {
                let seen = u64::from(seen.load(Ordering::SeqCst));
                if stored.record(&run, seen).is_none() || stored.record(&run, seen + 1).is_some() {
                    shared.broken("L5", format!("{step} begins before the fact before it is durable"));
                }
                if shared.alive.load(Ordering::SeqCst) != 0 {
                    shared.broken("L10", format!("something of an earlier step lives when {step} begins"));
                }
            }
            Event::Live { .. } | Event::Told { .. } => {}
        };
        let Scenario { mode, until, .. } = self.scenario;
        let (plan, judged): (Arc<dyn PlanSource>, bool) = match mode {
            Mode::Items | Mode::Goal => (Arc::new(self.plan.clone()), true),
            Mode::Every(every) => (Arc::new(Evergreen::new(self.plan.clone())), every.verified),
        };
        let verifier = SimVerifier { one_item: mode != Mode::Items };
        let mut ralph = Ralph::builder(
            Faulty::new(plan, faults),
            Faulty::new(Arc::new(agent), faults),
            Faulty::new(Arc::new(verifier), faults),
            Faulty::new(vcs, faults),
        )
        .mode(mode)
        .baseline(judged)
        .require_red(self.scenario.require_red)
        .gate(Faulty::new(Arc::new(SimPolicy), faults))
        .rebase(Faulty::new(Arc::new(self.vcs.clone()), faults))
        .journal(Faulty::new(journal, faults), self.run.clone())
        .decisions(Faulty::new(decisions, faults))
        .clock(self.clock.clone())
        .budget(self.scenario.budget.clone())
        .observe(watch);
        if let Some(rounds) = until {
            let until = SimUntil { journal: self.journal.clone(), run: self.run.clone(), rounds: rounds as usize };
            ralph = ralph.until(Faulty::new(Arc::new(until), faults));
        }
        if let Some(tidies) = self.scenario.tidies {
            ralph = ralph.cleanup(Faulty::new(Arc::new(SimTidy(tidies)), faults));
        }
        if let Some(says) = self.scenario.reviews {
            let reviewer = SimReviewer { says, shared: Arc::clone(&self.shared) };
            ralph = ralph.review(Faulty::new(Arc::new(reviewer), faults));
        }
        block_on(ralph.run())
    }

    fn parts(&self) -> Parts {
        Parts {
            plan: self.plan.clone(),
            vcs: self.vcs.clone(),
            shared: Arc::clone(&self.shared),
            mode: self.scenario.mode,
            notes: self.scenario.tidies.is_some(),
            sabotage: self.scenario.sabotage,
        }
    }

    pub(super) fn report(&self, outcome: &Outcome, faults: &FaultPlan, crashes: usize) -> Report {
        let mut book = LawBook::new();
        for record in self.journal.records(&self.run) {
            book.read(&record);
        }
        let mut violations = book.violations().to_vec();
        violations.extend(self.shared.violations.lock().unwrap_or_else(PoisonError::into_inner).clone());
        violations.extend(look_at(&self.vcs, &self.decisions, &self.journal.records(&self.run)));
        let untidied = self.untidied();
        Report { end: self.end(outcome), untidied, points: faults.points(), crashes, violations }
    }

    /// The items on the branch whose clean-up was cut short, and that no later one was accepted for.
    fn untidied(&self) -> BTreeSet<ItemRef> {
        let (mut untidied, mut item, mut clean_ups) = (BTreeSet::new(), None, BTreeMap::new());
        for record in self.journal.records(&self.run) {
            match (record.fact, &item) {
                (Fact::Began { attempt }, _) => {
                    if attempt.origin == Origin::Session {
                        clean_ups.remove(&attempt.id.item);
                    }
                    item = Some(attempt.id.item);
                }
                (Fact::Tidied { end, work, .. }, Some(item)) => {
                    clean_ups.insert(item.clone(), (end, work.is_some()));
                }
                (Fact::Accepted { .. }, Some(item)) => match clean_ups.get(item) {
                    Some((End::Interrupted, _)) => {
                        untidied.insert(item.clone());
                    }
                    Some((_, true)) => {
                        untidied.remove(item);
                    }
                    Some((_, false)) | None => {}
                },
                _ => {}
            }
        }
        untidied
    }

    fn end(&self, outcome: &Outcome) -> Final {
        let plan = self.plan.plan();
        let marks = plan
            .phases
            .iter()
            .flat_map(|phase| phase.items.iter().map(|item| (phase.name(item), item.status)))
            .collect();
        let files = self.vcs.files().into_iter().map(|(path, content)| (path, Digest::of(&content))).collect();
        // Without the number of the attempt, and without what an interruption alone leaves.
        let mut kept: Vec<String> = self
            .vcs
            .kept()
            .into_keys()
            .filter(|name| !name.starts_with("interrupted/"))
            .filter_map(|name| Some(name.rsplit_once('/')?.0.to_owned()))
            .collect();
        kept.sort();
        if matches!(outcome.stop.reason, StopReason::NoProgress | StopReason::BudgetExhausted) {
            kept.dedup();
        }
        let mut asked: Vec<String> = self.decisions.asked().into_iter().map(|asked| asked.question.text).collect();
        asked.sort();
        let mut machine = Machine::new();
        for record in self.journal.records(&self.run) {
            // What does not replay is found by the law book.
            let _ = machine.apply(&record.fact);
        }
        Final {
            reason: outcome.stop.reason,
            marks,
            files,
            commits: self.vcs.branch().len() - 1,
            kept,
            asked,
            finished: machine.finished().iter().cloned().collect(),
        }
    }
}

/// What only the world knows: the branch, the candidates, what is kept.
pub(in crate::testing) fn look_at(vcs: &MemoryVcs, decisions: &MemoryDecisions, records: &[Record]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut broken = |law, what| violations.push(Violation { law, what });
    let branch = vcs.branch();
    for revision in &branch[1..] {
        let accepted =
            records.iter().any(|record| matches!(&record.fact, Fact::Accepted { revision: by } if by == revision));
        let by_hand = vcs.message(revision).as_deref() == Some("by hand");
        if !accepted && !by_hand {
            broken("L2", format!("the branch held {revision}, which was never accepted"));
        }
    }
    let ledger = |files: &Files| files.get("ralph-loop/PRD.md").cloned();
    let operators = vcs.files_of(&branch[0]).as_ref().and_then(ledger);
    for revision in branch.iter().chain(vcs.kept().values()) {
        if vcs.files_of(revision).as_ref().and_then(ledger) != operators {
            broken("L4", format!("{revision} has an agent's copy of the ledger"));
        }
    }
    for record in records {
        if let Fact::TookIn { answer, .. } = &record.fact
            && decisions.answer_to(&answer.decision).as_ref() != Some(answer)
        {
            broken("L3", format!("nobody gave the answer {answer:?}"));
        }
        if let Fact::Kept { name, .. } = &record.fact
            && !vcs.kept().contains_key(name)
        {
            broken("L9", format!("{name} was kept and is gone"));
        }
    }
    violations
}

/// Runs a future whose parts never wait for anything but each other.
pub(in crate::testing) fn block_on<T>(future: impl Future<Output = T>) -> T {
    match tokio::runtime::Builder::new_current_thread().build() {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => unreachable!("no runtime for the simulation: {error}"),
    }
}
