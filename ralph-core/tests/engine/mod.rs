//! The engine over doubles, where the laws alone do not say what must happen.

mod answers;
mod budgets;
mod ends;
mod forged;
mod gates;
mod phases;
mod red;
mod review;
mod rounds;
mod sessions;
mod setup;
mod targets;
mod unfit;

use std::{
    future::Future,
    sync::{Arc, Mutex},
};

use ralph_core::{
    Event, ItemRef, ItemStatus, MemoryPlan, Outcome, Ralph, RunError, Verifier,
    testing::{MemoryVcs, ScriptedAgent, StillClock, Turn},
    verifier,
};

/// A small world: a plan of items `R01`, …, an agent that plays turns, a check that each item's file says `good`.
struct World {
    plan: MemoryPlan,
    agent: ScriptedAgent,
    vcs: MemoryVcs,
    clock: StillClock,
    seen: Arc<Mutex<Vec<Event>>>,
}

impl World {
    fn new(items: usize, turns: impl IntoIterator<Item = Turn>) -> Self {
        Self {
            plan: MemoryPlan::of((0..items).map(|index| format!("item {index}"))),
            agent: ScriptedAgent::new(turns),
            vcs: MemoryVcs::new(),
            clock: StillClock::new(),
            seen: Arc::default(),
        }
    }

    fn ralph(&self) -> Ralph {
        self.ralph_with(no_bad_files())
    }

    fn ralph_with(&self, check: impl Verifier) -> Ralph {
        let seen = Arc::clone(&self.seen);
        Ralph::builder(self.plan.clone(), self.agent.clone(), check, self.vcs.clone())
            .clock(self.clock.clone())
            .observe(move |event: &Event| seen.lock().unwrap().push(event.clone()))
    }

    fn status(&self, item: &str) -> ItemStatus {
        self.plan.status(&ItemRef::new("P1", item)).unwrap()
    }

    /// The facts of one kind, as JSON.
    fn facts(&self, kind: &str) -> Vec<serde_json::Value> {
        let seen = self.seen.lock().unwrap();
        let facts = seen.iter().filter_map(|event| match event {
            Event::Recorded { record, .. } => Some(serde_json::to_value(&record.fact).unwrap()),
            _ => None,
        });
        facts.filter(|fact| fact["type"] == kind).collect()
    }
}

/// Passes where no file says `bad`.
fn no_bad_files() -> impl Verifier {
    verifier("no bad files", |folder| {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_file() && std::fs::read_to_string(&path)? == "bad" {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn run(ralph: Ralph) -> Outcome {
    block_on(ralph.run()).unwrap()
}

fn refused(ralph: Ralph) -> String {
    match block_on(ralph.run()) {
        Err(RunError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}
