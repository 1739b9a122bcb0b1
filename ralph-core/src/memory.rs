//! A plan, a journal and a queue that live in memory: for embedders without a control folder, and for tests.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;

use crate::{
    cx::Cx,
    decision::{Decision, DecisionError, DecisionSink},
    id::{DecisionId, ItemRef, RunId},
    journal::{Journal, JournalError, JournalWriter, Opened, Record},
    plan::{Item, ItemStatus, Marked, Phase, Plan, PlanError, PlanSource},
};

/// Data behind a mutex is whole after every statement here, so a panic elsewhere while it was held does no harm.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A plan in memory. Clones share it.
#[derive(Clone, Debug)]
pub struct MemoryPlan(Arc<Mutex<Plan>>);

impl MemoryPlan {
    /// Holds `plan`.
    pub fn new(plan: Plan) -> Self {
        Self(Arc::new(Mutex::new(plan)))
    }

    /// One phase `P1` with an item for each title: `R01`, `R02`, …
    pub fn of<T: Into<String>>(titles: impl IntoIterator<Item = T>) -> Self {
        let items = titles
            .into_iter()
            .enumerate()
            .map(|(index, title)| Item::new(format!("R{:02}", index + 1).as_str(), title));
        Self::new(Plan::new([Phase::new("P1", items)]))
    }

    /// The plan as it is now.
    pub fn plan(&self) -> Plan {
        lock(&self.0).clone()
    }

    /// What `item` stands at now; `None` where it is not in the plan.
    pub fn status(&self, item: &ItemRef) -> Option<ItemStatus> {
        self.plan().find(item).map(|(_, item)| item.status)
    }

    /// Changes the plan, as a person would edit a file.
    pub fn edit(&self, change: impl FnOnce(&mut Plan)) {
        change(&mut lock(&self.0));
    }
}

#[async_trait]
impl PlanSource for MemoryPlan {
    async fn load(&self, _cx: &Cx) -> Result<Plan, PlanError> {
        let plan = self.plan();
        if plan.phases.iter().all(|phase| phase.items.is_empty()) {
            return Err(PlanError::Invalid(vec!["the plan has no items".to_owned()]));
        }
        Ok(plan)
    }

    async fn mark(&self, item: &ItemRef, from: ItemStatus, to: ItemStatus, _cx: &Cx) -> Result<Marked, PlanError> {
        let mut plan = lock(&self.0);
        let found = plan
            .phases
            .iter_mut()
            .find(|phase| phase.id == item.phase)
            .and_then(|phase| Arc::make_mut(phase).items.iter_mut().find(|found| found.id == item.item));
        Ok(match found {
            Some(found) if found.status == to => Marked::AlreadySo,
            Some(found) if found.status == from => {
                Arc::make_mut(found).status = to;
                Marked::Written
            }
            Some(found) => Marked::Refused(Some(found.status)),
            None => Marked::Refused(None),
        })
    }
}

/// Journals in memory, by run. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal(Arc<Mutex<BTreeMap<RunId, Held>>>);

#[derive(Debug, Default)]
struct Held {
    records: Vec<Record>,
    taken: bool,
}

impl MemoryJournal {
    /// Without any run.
    pub fn new() -> Self {
        Self::default()
    }

    /// The record of `run` with the number `seq`, if there is one.
    pub fn record(&self, run: &RunId, seq: u64) -> Option<Record> {
        let index = usize::try_from(seq.checked_sub(1)?).ok()?;
        lock(&self.0).get(run)?.records.get(index).cloned()
    }

    /// What is recorded of `run`.
    pub fn records(&self, run: &RunId) -> Vec<Record> {
        lock(&self.0).get(run).map(|held| held.records.clone()).unwrap_or_default()
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn open(&self, run: &RunId) -> Result<Opened, JournalError> {
        let mut runs = lock(&self.0);
        let held = runs.entry(run.clone()).or_default();
        if held.taken {
            return Err(JournalError::Held("this process".to_owned()));
        }
        held.taken = true;
        let writer = MemoryWriter { journal: self.clone(), run: run.clone() };
        Ok(Opened::new(held.records.clone(), Box::new(writer)))
    }
}

#[derive(Debug)]
struct MemoryWriter {
    journal: MemoryJournal,
    run: RunId,
}

#[async_trait]
impl JournalWriter for MemoryWriter {
    async fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        lock(&self.journal.0).entry(self.run.clone()).or_default().records.push(record.clone());
        Ok(())
    }
}

impl Drop for MemoryWriter {
    fn drop(&mut self) {
        if let Some(held) = lock(&self.journal.0).get_mut(&self.run) {
            held.taken = false;
        }
    }
}

/// A queue of decisions in memory. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryDecisions(Arc<Mutex<Vec<Decision>>>);

impl MemoryDecisions {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was asked so far, in the order of the ids `D-001`, `D-002`, …
    pub fn asked(&self) -> Vec<Decision> {
        lock(&self.0).clone()
    }
}

#[async_trait]
impl DecisionSink for MemoryDecisions {
    async fn submit(&self, decision: &Decision, _cx: &Cx) -> Result<DecisionId, DecisionError> {
        let mut queue = lock(&self.0);
        let known = queue.iter().position(|asked| asked.key == decision.key);
        let index = known.unwrap_or_else(|| {
            queue.push(decision.clone());
            queue.len() - 1
        });
        Ok(DecisionId::new(format!("D-{:03}", index + 1)))
    }
}
