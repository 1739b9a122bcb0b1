//! Every seam behind an `Arc` is that seam: what is chosen at run time goes where an implementation is asked for.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;

use crate::{
    agent::{AgentBackend, AgentError, Brief, Capabilities, SessionReport},
    answer::Answer,
    cx::Cx,
    decision::{Decision, DecisionError, DecisionSink},
    gate::{Boundary, Gate, GateError, Ruling},
    id::{AttemptId, DecisionId, ItemRef, PhaseId, Revision, RunId},
    journal::{Journal, JournalError, Opened},
    plan::{ItemStatus, Marked, Plan, PlanError, PlanSource, Proposal},
    vcs::{
        Accepted, Caches, Change, KeepKind, Placed, Publish, Rebase, Rebased, Seal, Site, Snapshot, Tip, Tree, Vcs,
        VcsError,
    },
    verify::{Target, Verdict, Verifier, VerifyError},
};

#[async_trait]
impl<T: AgentBackend + ?Sized> AgentBackend for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }
    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        (**self).run(brief, cx).await
    }
}

#[async_trait]
impl<T: Verifier + ?Sized> Verifier for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }
    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        (**self).verify(target, cx).await
    }
}

#[async_trait]
impl<T: Gate + ?Sized> Gate for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }
    async fn judge(&self, boundary: &Boundary, cx: &Cx) -> Result<Ruling, GateError> {
        (**self).judge(boundary, cx).await
    }
}

#[async_trait]
impl<T: DecisionSink + ?Sized> DecisionSink for Arc<T> {
    async fn submit(&self, decision: &Decision, cx: &Cx) -> Result<DecisionId, DecisionError> {
        (**self).submit(decision, cx).await
    }
    async fn answers(&self, ids: &[DecisionId], cx: &Cx) -> Result<Vec<Answer>, DecisionError> {
        (**self).answers(ids, cx).await
    }
    async fn close(&self, id: &DecisionId, why: &str, cx: &Cx) -> Result<(), DecisionError> {
        (**self).close(id, why, cx).await
    }
    async fn lost(&self, ids: &[DecisionId], cx: &Cx) -> Result<Vec<DecisionId>, DecisionError> {
        (**self).lost(ids, cx).await
    }
}

#[async_trait]
impl<T: PlanSource + ?Sized> PlanSource for Arc<T> {
    async fn load(&self, cx: &Cx) -> Result<Plan, PlanError> {
        (**self).load(cx).await
    }
    async fn mark(&self, item: &ItemRef, from: ItemStatus, to: ItemStatus, cx: &Cx) -> Result<Marked, PlanError> {
        (**self).mark(item, from, to, cx).await
    }
    async fn note(&self, item: &ItemRef, decision: &str, cx: &Cx) -> Result<(), PlanError> {
        (**self).note(item, decision, cx).await
    }
    async fn extend(&self, phase: &PhaseId, items: &[Proposal], decision: &str, cx: &Cx) -> Result<(), PlanError> {
        (**self).extend(phase, items, decision, cx).await
    }
}

#[async_trait]
impl<T: Journal + ?Sized> Journal for Arc<T> {
    async fn open(&self, run: &RunId) -> Result<Opened, JournalError> {
        (**self).open(run).await
    }
}

#[async_trait]
impl<T: Vcs + ?Sized> Vcs for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }
    fn folder(&self, site: Site) -> PathBuf {
        (**self).folder(site)
    }
    async fn tip(&self, since: Option<&Revision>, cx: &Cx) -> Result<Tip, VcsError> {
        (**self).tip(since, cx).await
    }
    async fn place(&self, site: Site, revision: &Revision, caches: Caches, cx: &Cx) -> Result<Placed, VcsError> {
        (**self).place(site, revision, caches, cx).await
    }
    async fn snapshot(&self, site: Site, base: &Revision, seal: &Seal, cx: &Cx) -> Result<Snapshot, VcsError> {
        (**self).snapshot(site, base, seal, cx).await
    }
    async fn tree(&self, revision: &Revision, cx: &Cx) -> Result<Arc<dyn Tree>, VcsError> {
        (**self).tree(revision, cx).await
    }
    async fn changes(&self, base: &Revision, revision: &Revision, cx: &Cx) -> Result<Vec<Change>, VcsError> {
        (**self).changes(base, revision, cx).await
    }
    async fn accept(&self, revision: &Revision, expected: &Revision, cx: &Cx) -> Result<Accepted, VcsError> {
        (**self).accept(revision, expected, cx).await
    }
    async fn keep(
        &self,
        revision: &Revision,
        kind: KeepKind,
        run: &RunId,
        attempt: &AttemptId,
        cx: &Cx,
    ) -> Result<String, VcsError> {
        (**self).keep(revision, kind, run, attempt, cx).await
    }
}

#[async_trait]
impl<T: Rebase + ?Sized> Rebase for Arc<T> {
    async fn rebase(&self, revision: &Revision, onto: &Revision, seal: &Seal, cx: &Cx) -> Result<Rebased, VcsError> {
        (**self).rebase(revision, onto, seal, cx).await
    }
}

#[async_trait]
impl<T: Publish + ?Sized> Publish for Arc<T> {
    async fn publish(&self, revision: &Revision, cx: &Cx) -> Result<(), VcsError> {
        (**self).publish(revision, cx).await
    }
}

/// All seams are dyn-compatible, and futures over them can be spawned.
const _: fn() = || {
    fn is_sync<T: ?Sized + Send + Sync>() {}
    is_sync::<dyn AgentBackend>();
    is_sync::<dyn Verifier>();
    is_sync::<dyn Vcs>();
    is_sync::<dyn Tree>();
    is_sync::<dyn Rebase>();
    is_sync::<dyn Publish>();
    is_sync::<dyn Gate>();
    is_sync::<dyn DecisionSink>();
    is_sync::<dyn PlanSource>();
    is_sync::<dyn Journal>();
    is_sync::<dyn crate::Clock>();
    is_sync::<dyn crate::Observer>();
};
