//! ORCHESTRATOR-STATE.md: where the phases of a plan stand, rendered whenever one is finished and when a run stops.

use std::sync::{Mutex, PoisonError};

use ralph_core::{
    Event, Observer, Stop,
    ledger::{Ledger, PhasesPage},
    machine::{Fact, Machine},
};

use crate::{plan::PlanFile, runs};

/// Writes the page while a run goes on.
#[derive(Debug)]
pub(crate) struct StatePage {
    ledger: Ledger,
    plan: PlanFile,
    name: String,
    machine: Mutex<Machine>,
}

impl StatePage {
    /// For the plan that records call `name`.
    pub(crate) fn new(ledger: Ledger, plan: PlanFile, name: String) -> Self {
        Self { ledger, plan, name, machine: Mutex::default() }
    }

    fn write(&self, machine: &Machine, stop: Option<&Stop>) {
        let Ok(read) = self.plan.read() else { return };
        let done = runs::phases_done(&self.ledger, &self.name);
        let page = PhasesPage {
            plan: &read.plan,
            finished: machine.finished(),
            done: &done,
            since_checkpoint: machine.since_checkpoint(),
            stop,
        };
        // The page is for looking at; what it says is in the journal, and the next one says it too.
        let _ = page.write(&self.ledger);
    }
}

impl Observer for StatePage {
    fn on_event(&self, event: &Event) {
        let (record, new) = match event {
            Event::Recorded { record, .. } => (record, true),
            Event::Replayed { record, .. } => (record, false),
            _ => return,
        };
        let mut machine = self.machine.lock().unwrap_or_else(PoisonError::into_inner);
        // The engine has applied it already.
        let _ = machine.apply(&record.fact);
        match &record.fact {
            Fact::PhaseDone { .. } if new => self.write(&machine, None),
            Fact::Stopped { stop } if new => self.write(&machine, Some(stop)),
            _ => {}
        }
    }
}
