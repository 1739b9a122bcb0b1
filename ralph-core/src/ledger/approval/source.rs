//! A plan that is read only while it is approved.

use std::{
    io,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;

use super::{Approval, Approvals, Coverage};
use crate::{
    clock::Clock,
    cx::Cx,
    id::{ItemRef, PhaseId},
    ledger::{
        layout::Ledger,
        master_plan::{ApprovedBy, MarkdownPlan, ReadPlan},
    },
    plan::{ItemStatus, Marked, Plan, PlanError, PlanSource, Proposal},
};

/// A [`MarkdownPlan`] whose approval is checked whenever it is read: what is not approved is
/// [`PlanError::NotApproved`].
///
/// Items that a person approved during a run bring their own commands; these are taken into the approval as they are
/// added.
#[derive(Debug)]
pub struct ApprovedPlan {
    plan: MarkdownPlan,
    approvals: Approvals,
    settings: Coverage,
    clock: Arc<dyn Clock>,
    has_run: AtomicBool,
    by_hand: Mutex<Option<ApprovedBy>>,
}

impl ApprovedPlan {
    /// `plan`, approved in `ledger`. `settings` is what an approval covers beside the plan and its PRDs; `has_run` says
    /// whether the plan ever ran.
    pub fn new(plan: MarkdownPlan, ledger: Ledger, settings: Coverage, clock: Arc<dyn Clock>, has_run: bool) -> Self {
        let approvals = Approvals::new(ledger, plan.name());
        Self { plan, approvals, settings, clock, has_run: AtomicBool::new(has_run), by_hand: Mutex::default() }
    }

    /// The plan itself.
    pub fn plan(&self) -> &MarkdownPlan {
        &self.plan
    }

    /// Its approvals.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// The line written by hand that was recorded here, for people.
    pub fn recorded_by_hand(&self) -> Option<ApprovedBy> {
        self.by_hand.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What an approval of `read` covers.
    pub fn coverage(&self, read: &ReadPlan) -> Coverage {
        Coverage::of(&self.plan.name(), read).and(&self.settings)
    }

    /// Whether what is there now is approved. Records nothing.
    pub fn check(&self) -> Result<(ReadPlan, Approval), PlanError> {
        let read = self.plan.read()?;
        let covered = self.coverage(&read);
        let has_run = self.has_run.load(Ordering::SeqCst);
        let approval = self
            .approvals
            .check(&read.master.signature, &covered, self.clock.now(), has_run)
            .map_err(|error| failed("read", &self.approvals.path(), &error))?;
        Ok((read, approval))
    }

    /// Reads the plan, if it is approved. A line written by hand is recorded.
    pub fn read(&self) -> Result<ReadPlan, PlanError> {
        let (read, approval) = self.check()?;
        match approval {
            Approval::Valid(_) => {}
            Approval::ByHand(by) => {
                self.approvals
                    .record_by_hand(&by, &self.coverage(&read), self.clock.now())
                    .map_err(|error| failed("written", &self.approvals.path(), &error))?;
                *self.by_hand.lock().unwrap_or_else(PoisonError::into_inner) = Some(by);
            }
            Approval::NotApproved(why) => return Err(PlanError::NotApproved(why)),
        }
        self.has_run.store(true, Ordering::SeqCst);
        Ok(read)
    }
}

fn failed(operation: &'static str, path: &Path, error: &io::Error) -> PlanError {
    PlanError::Io { operation, source: format!("{}: {error}", path.display()).into() }
}

#[async_trait]
impl PlanSource for ApprovedPlan {
    async fn load(&self, _cx: &Cx) -> Result<Plan, PlanError> {
        Ok(self.read()?.plan)
    }

    async fn mark(&self, item: &ItemRef, from: ItemStatus, to: ItemStatus, cx: &Cx) -> Result<Marked, PlanError> {
        self.plan.mark(item, from, to, cx).await
    }

    async fn note(&self, item: &ItemRef, decision: &str, cx: &Cx) -> Result<(), PlanError> {
        self.plan.note(item, decision, cx).await
    }

    async fn extend(&self, phase: &PhaseId, items: &[Proposal], decision: &str, cx: &Cx) -> Result<(), PlanError> {
        self.plan.extend(phase, items, decision, cx).await?;
        // A plan that was broken meanwhile, or that does not fit what is recorded, is told by the next read.
        let Ok(read) = self.plan.read() else { return Ok(()) };
        let approved = read.plan.phases.iter().filter(|known| known.id == *phase).flat_map(|phase| {
            let new = phase.items.iter().filter(|item| item.decisions.iter().any(|known| known == decision));
            new.map(|item| phase.name(item))
        });
        let approved: Vec<ItemRef> = approved.collect();
        self.approvals
            .grow(&self.coverage(&read), &approved, self.clock.now())
            .map_err(|error| failed("written", &self.approvals.path(), &error))?;
        Ok(())
    }
}
