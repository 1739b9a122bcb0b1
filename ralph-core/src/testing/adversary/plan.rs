//! A plan that cannot always be read, with what it really says beside it.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::{scenario::Trap, world::Shared};
use crate::{Cx, ItemRef, ItemStatus, Marked, MemoryPlan, PhaseId, Plan, PlanError, PlanSource, Proposal};

/// Why a plan cannot be read now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It says something that nobody may guess about.
    Invalid,
    /// Its file cannot be read.
    Unreadable,
    /// What was approved is not what it says: a gate was lost.
    NotApproved,
}

impl Trouble {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Invalid, Self::Unreadable, Self::NotApproved];
}

/// What stood in the plan when it was last looked at, whatever the engine was told of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) plan: Plan,
    pub(super) trouble: Option<Trouble>,
}

/// The plan of a run.
#[derive(Clone, Debug)]
pub(super) struct ModelPlan {
    pub(super) held: MemoryPlan,
    pub(super) trap: Trap,
    state: Arc<Mutex<Seen>>,
}

impl ModelPlan {
    pub(super) fn new(plan: Plan, trap: Trap) -> Self {
        Self { held: MemoryPlan::new(plan), trap, state: Arc::default() }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As it stood when it was last looked at.
    pub(super) fn seen(&self) -> Seen {
        self.state().clone()
    }

    /// From now on it cannot be read, or can again.
    pub(super) fn trouble(&self, trouble: Option<Trouble>) {
        self.state().trouble = trouble;
    }
}

/// The plan as the engine sees it.
#[derive(Debug)]
pub(super) struct PlanSeam {
    pub(super) plan: ModelPlan,
    pub(super) shared: Arc<Shared>,
}

#[async_trait]
impl PlanSource for PlanSeam {
    async fn load(&self, cx: &Cx) -> Result<Plan, PlanError> {
        let plan = self.plan.held.plan();
        let trouble = {
            let mut state = self.plan.state();
            state.plan = plan.clone();
            state.trouble
        };
        if let Some(trouble) = trouble {
            self.shared.saw("plan is not to be read", format!("{trouble:?}"));
        }
        match trouble {
            Some(Trouble::Invalid) => Err(PlanError::Invalid(vec!["PRD.md:3: a box that nobody knows".to_owned()])),
            Some(Trouble::Unreadable) => Err(PlanError::Io { operation: "read", source: "no such file".into() }),
            Some(Trouble::NotApproved) => Err(PlanError::NotApproved("a gate is missing".to_owned())),
            None if self.plan.trap == Trap::Empty => Ok(plan),
            None => self.plan.held.load(cx).await,
        }
    }

    async fn mark(&self, item: &ItemRef, from: ItemStatus, to: ItemStatus, cx: &Cx) -> Result<Marked, PlanError> {
        if self.shared.roll_disk() {
            self.shared.fault("a mark cannot be written");
            return Err(PlanError::Io { operation: "written", source: "the disk is full".into() });
        }
        self.plan.held.mark(item, from, to, cx).await
    }

    async fn note(&self, item: &ItemRef, decision: &str, cx: &Cx) -> Result<(), PlanError> {
        self.plan.held.note(item, decision, cx).await
    }

    async fn extend(&self, phase: &PhaseId, items: &[Proposal], decision: &str, cx: &Cx) -> Result<(), PlanError> {
        self.plan.held.extend(phase, items, decision, cx).await
    }
}
