//! Hosts that are bent on purpose, so that the laws are seen to be looked at.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;

use super::world::Shared;
use crate::{
    Cx, Item, ItemRef, ItemStatus, Marked, Phase, PhaseId, Plan, PlanError, PlanSource, Proposal, Site, Stage, Target,
    Vcs, Verdict, Verifier, VerifyError,
};

/// One way to cheat, between the engine and what it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bend {
    /// The second verdict is taken from the first.
    AcceptsOnFirstPass,
    /// A verifier that broke has passed.
    BrokenPasses,
    /// A verifier that was out of time has passed.
    HangPasses,
    /// A verifier that fails is asked again until it passes.
    AsksUntilGreen,
    /// A plan in which nothing is recognised is done.
    EmptyPlanSucceeds,
    /// A mark that nobody knows is done.
    UnknownIsDone,
    /// What cannot be read is not there.
    DropsUnread,
    /// No gate is recognised.
    SkipsGates,
    /// The agent's copy of the ledger is read.
    TrustsCopies,
    /// A reviewer that vetoes has approved.
    VetoApproves,
    /// A reviewer that comes to no opinion has approved.
    SilenceApproves,
}

impl Bend {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::AcceptsOnFirstPass,
        Self::BrokenPasses,
        Self::HangPasses,
        Self::AsksUntilGreen,
        Self::EmptyPlanSucceeds,
        Self::UnknownIsDone,
        Self::DropsUnread,
        Self::SkipsGates,
        Self::TrustsCopies,
        Self::VetoApproves,
        Self::SilenceApproves,
    ];

    /// The law that finds it.
    pub fn law(self) -> &'static str {
        match self {
            Self::AcceptsOnFirstPass
            | Self::BrokenPasses
            | Self::HangPasses
            | Self::AsksUntilGreen
            | Self::VetoApproves
            | Self::SilenceApproves => "L1",
            Self::EmptyPlanSucceeds
            | Self::UnknownIsDone
            | Self::DropsUnread
            | Self::SkipsGates
            | Self::TrustsCopies => "L12",
        }
    }
}

/// How often a verifier is asked that is to pass.
const UNTIL_GREEN: u32 = 5;

/// A verifier as a bent host asks it.
#[derive(Debug)]
pub(super) struct BentVerifier {
    pub(super) honest: Arc<dyn Verifier>,
    pub(super) bend: Bend,
    pub(super) passed: AtomicBool,
}

#[async_trait]
impl Verifier for BentVerifier {
    fn name(&self) -> &str {
        self.honest.name()
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let yes = || Ok(Verdict::new(true, "it passes"));
        if self.bend == Bend::AcceptsOnFirstPass
            && target.stage == Stage::Candidate
            && self.passed.load(Ordering::SeqCst)
        {
            return yes();
        }
        if self.bend == Bend::EmptyPlanSucceeds && target.phase.item(&NOTHING.into()).is_some() {
            return yes();
        }
        let mut said = self.honest.verify(target, cx).await;
        self.passed.store(said.as_ref().is_ok_and(Verdict::passed), Ordering::SeqCst);
        let broken = |said: &Result<Verdict, VerifyError>, hung: bool| matches!(said, Err(VerifyError::Broken { why, .. }) if why.starts_with("out of time") == hung);
        match self.bend {
            Bend::BrokenPasses if broken(&said, false) => yes(),
            Bend::HangPasses if broken(&said, true) => yes(),
            Bend::AsksUntilGreen => {
                for _ in 1..UNTIL_GREEN {
                    if !matches!(said, Ok(Verdict::Fail(_))) {
                        break;
                    }
                    said = self.honest.verify(target, cx).await;
                }
                said
            }
            _ => said,
        }
    }
}

const NOTHING: &str = "R00";

/// A plan as a bent host reads it.
#[derive(Debug)]
pub(super) struct BentPlan {
    pub(super) honest: Arc<dyn PlanSource>,
    pub(super) bend: Bend,
    pub(super) shared: Arc<Shared>,
}

impl BentPlan {
    fn each(mut plan: Plan, change: impl Fn(&mut Phase)) -> Plan {
        plan.phases.iter_mut().for_each(|phase| change(Arc::make_mut(phase)));
        plan
    }

    fn ticked() -> Plan {
        let mut item = Item::new(NOTHING, "nothing to do");
        item.status = ItemStatus::Done;
        Plan::new([Phase::new("P0", [item])])
    }
}

#[async_trait]
impl PlanSource for BentPlan {
    async fn load(&self, cx: &Cx) -> Result<Plan, PlanError> {
        let read = self.honest.load(cx).await;
        let none = |plan: &Plan| plan.phases.iter().all(|phase| phase.items.is_empty());
        let tick = |phase: &mut Phase, which: &dyn Fn(&Item) -> bool| {
            for item in phase.items.iter_mut().filter(|item| which(item)) {
                Arc::make_mut(item).status = ItemStatus::Done;
            }
        };
        match (self.bend, read) {
            (Bend::EmptyPlanSucceeds, Ok(plan)) if none(&plan) => Ok(Self::ticked()),
            (Bend::EmptyPlanSucceeds, Err(_)) => Ok(Self::ticked()),
            (Bend::DropsUnread, Err(_)) => Ok(Self::each(self.shared.plan.held.plan(), |phase| {
                phase.items.retain(|item| item.status == ItemStatus::Done);
            })),
            (Bend::UnknownIsDone, Ok(plan)) => {
                Ok(Self::each(plan, |phase| tick(phase, &|item| item.status == ItemStatus::Unknown)))
            }
            (Bend::SkipsGates, Ok(plan)) => Ok(Self::each(plan, |phase| {
                phase.auto_gate.clear();
                phase.manual_gate = None;
            })),
            (Bend::TrustsCopies, Ok(plan)) => {
                let copy = self.shared.vcs.folder(Site::Work { lane: 0 }).join("ralph-loop/PRD.md");
                let says = std::fs::read_to_string(copy).unwrap_or_default();
                let ticked = says.contains("[x]");
                Ok(Self::each(plan, |phase| tick(phase, &|_| ticked)))
            }
            (_, read) => read,
        }
    }

    async fn mark(&self, item: &ItemRef, from: ItemStatus, to: ItemStatus, cx: &Cx) -> Result<Marked, PlanError> {
        self.honest.mark(item, from, to, cx).await
    }

    async fn note(&self, item: &ItemRef, decision: &str, cx: &Cx) -> Result<(), PlanError> {
        self.honest.note(item, decision, cx).await
    }

    async fn extend(&self, phase: &PhaseId, items: &[Proposal], decision: &str, cx: &Cx) -> Result<(), PlanError> {
        self.honest.extend(phase, items, decision, cx).await
    }
}
