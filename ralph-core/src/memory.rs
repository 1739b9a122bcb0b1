//! A plan, a journal and a queue that live in memory: for embedders without a control folder, and for tests.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use async_trait::async_trait;

use crate::{
    answer::Answer,
    cx::Cx,
    decision::{Decision, DecisionError, DecisionSink},
    id::{DecisionId, ItemId, ItemRef, PhaseId, RunId},
    journal::{Journal, JournalError, JournalWriter, Opened, Record},
    plan::{Item, ItemStatus, Marked, Phase, Plan, PlanError, PlanSource, Proposal},
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
        let items = titles.into_iter().enumerate().map(|(index, title)| Item::new(name(index + 1), title));
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

    async fn note(&self, item: &ItemRef, decision: &str, _cx: &Cx) -> Result<(), PlanError> {
        let mut plan = lock(&self.0);
        let phase = plan.phases.iter_mut().find(|phase| phase.id == item.phase);
        let found = phase.and_then(|phase| Arc::make_mut(phase).items.iter_mut().find(|found| found.id == item.item));
        if let Some(found) = found.filter(|found| !found.decisions.iter().any(|known| known == decision)) {
            Arc::make_mut(found).decisions.push(decision.to_owned());
        }
        Ok(())
    }

    async fn extend(&self, phase: &PhaseId, items: &[Proposal], decision: &str, _cx: &Cx) -> Result<(), PlanError> {
        let mut plan = lock(&self.0);
        // Unique in the whole plan, so that an id alone says which item is meant.
        let taken: BTreeSet<ItemId> =
            plan.phases.iter().flat_map(|phase| &phase.items).map(|item| item.id.clone()).collect();
        let mut free = (1..).map(name).filter(|id| !taken.contains(id));
        let Some(phase) = plan.phases.iter_mut().find(|known| known.id == *phase) else { return Ok(()) };
        let phase = Arc::make_mut(phase);
        if phase.items.iter().any(|item| item.decisions.iter().any(|known| known == decision)) {
            return Ok(());
        }
        for (proposal, id) in items.iter().zip(&mut free) {
            let mut item = Item::new(id, proposal.title.clone());
            item.criteria.clone_from(&proposal.criteria);
            item.verify.extend(proposal.verify.clone());
            item.decisions.push(decision.to_owned());
            phase.items.push(Arc::new(item));
        }
        Ok(())
    }
}

/// The id of the `number`th item.
fn name(number: usize) -> ItemId {
    ItemId::new(format!("R{number:02}"))
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
pub struct MemoryDecisions(Arc<Mutex<Vec<Asked>>>);

#[derive(Debug)]
struct Asked {
    decision: Decision,
    answer: Option<Answer>,
    closed: Option<String>,
}

fn decision_id(index: usize) -> DecisionId {
    DecisionId::new(format!("D-{:03}", index + 1))
}

impl MemoryDecisions {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was asked so far, in the order of the ids `D-001`, `D-002`, …
    pub fn asked(&self) -> Vec<Decision> {
        lock(&self.0).iter().map(|asked| asked.decision.clone()).collect()
    }

    /// What waits for an answer, with the ids.
    pub fn pending(&self) -> Vec<(DecisionId, Decision)> {
        let queue = lock(&self.0);
        let pending = queue.iter().enumerate().filter(|(_, asked)| asked.answer.is_none() && asked.closed.is_none());
        pending.map(|(index, asked)| (decision_id(index), asked.decision.clone())).collect()
    }

    /// What a person answered to `id`, if anything.
    pub fn answer_to(&self, id: &DecisionId) -> Option<Answer> {
        lock(&self.0).iter().find_map(|asked| asked.answer.clone().filter(|answer| answer.decision == *id))
    }

    /// What a person says to `id`, understood by [`Question::reply`](crate::Question::reply).
    ///
    /// # Errors
    /// What is wrong with the answer, or that the question is not known or no longer open. Nothing is changed then.
    pub fn answer(&self, id: &DecisionId, said: &str, by: &str, at: SystemTime) -> Result<Answer, String> {
        let mut queue = lock(&self.0);
        let found = queue.iter_mut().enumerate().find(|(index, _)| decision_id(*index) == *id);
        let Some((_, asked)) = found else { return Err(format!("there is no decision {id}")) };
        if asked.answer.is_some() || asked.closed.is_some() {
            return Err(format!("{id} is no longer open"));
        }
        let reply = asked.decision.question.reply(said).map_err(|error| error.to_string())?;
        let answer = Answer::new(id.clone(), reply, by, at);
        asked.answer = Some(answer.clone());
        Ok(answer)
    }
}

#[async_trait]
impl DecisionSink for MemoryDecisions {
    async fn submit(&self, decision: &Decision, _cx: &Cx) -> Result<DecisionId, DecisionError> {
        let mut queue = lock(&self.0);
        let known = queue.iter().position(|asked| asked.decision.key == decision.key);
        let index = known.unwrap_or_else(|| {
            queue.push(Asked { decision: decision.clone(), answer: None, closed: None });
            queue.len() - 1
        });
        Ok(decision_id(index))
    }

    async fn answers(&self, ids: &[DecisionId], _cx: &Cx) -> Result<Vec<Answer>, DecisionError> {
        let queue = lock(&self.0);
        Ok(queue
            .iter()
            .filter_map(|asked| asked.answer.clone())
            .filter(|answer| ids.contains(&answer.decision))
            .collect())
    }

    async fn close(&self, id: &DecisionId, why: &str, _cx: &Cx) -> Result<(), DecisionError> {
        let mut queue = lock(&self.0);
        let found = queue.iter_mut().enumerate().find(|(index, _)| decision_id(*index) == *id);
        if let Some((_, asked)) = found.filter(|(_, asked)| asked.answer.is_none() && asked.closed.is_none()) {
            asked.closed = Some(why.to_owned());
        }
        Ok(())
    }

    async fn lost(&self, ids: &[DecisionId], _cx: &Cx) -> Result<Vec<DecisionId>, DecisionError> {
        let queue = lock(&self.0);
        let there: BTreeSet<DecisionId> = queue
            .iter()
            .enumerate()
            .filter(|(_, asked)| asked.closed.is_none())
            .map(|(index, _)| decision_id(index))
            .collect();
        Ok(ids.iter().filter(|id| !there.contains(id)).cloned().collect())
    }
}
