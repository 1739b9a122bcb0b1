//! A plan whose items stay open.

use async_trait::async_trait;

use crate::{
    cx::Cx,
    id::{ItemRef, PhaseId},
    plan::{ItemStatus, Marked, Plan, PlanError, PlanSource, Proposal},
};

/// A plan whose items stay open however often they are done: for loops at an interval
/// ([`Mode::Every`](crate::machine::Mode::Every)).
///
/// ```
/// use ralph_core::{Cx, Evergreen, ItemRef, ItemStatus, MemoryPlan, PlanSource};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (plan, item) = (MemoryPlan::of(["look after the queue"]), ItemRef::new("P1", "R01"));
/// let evergreen = Evergreen::new(plan.clone());
/// evergreen.mark(&item, ItemStatus::Open, ItemStatus::Done, &Cx::new()).await.unwrap();
/// assert_eq!(plan.status(&item), Some(ItemStatus::Open));
/// # });
/// ```
#[derive(Debug)]
pub struct Evergreen<P>(P);

impl<P: PlanSource> Evergreen<P> {
    /// Over `plan`, which is told of everything but that an item is done.
    pub fn new(plan: P) -> Self {
        Self(plan)
    }
}

#[async_trait]
impl<P: PlanSource> PlanSource for Evergreen<P> {
    async fn load(&self, cx: &Cx) -> Result<Plan, PlanError> {
        self.0.load(cx).await
    }

    async fn mark(&self, item: &ItemRef, from: ItemStatus, to: ItemStatus, cx: &Cx) -> Result<Marked, PlanError> {
        if to == ItemStatus::Done {
            return Ok(Marked::AlreadySo);
        }
        self.0.mark(item, from, to, cx).await
    }

    async fn note(&self, item: &ItemRef, decision: &str, cx: &Cx) -> Result<(), PlanError> {
        self.0.note(item, decision, cx).await
    }

    async fn extend(&self, phase: &PhaseId, items: &[Proposal], decision: &str, cx: &Cx) -> Result<(), PlanError> {
        self.0.extend(phase, items, decision, cx).await
    }
}
