//! Failing and dying at the n-th operation.

use std::{
    fmt::Debug,
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use async_trait::async_trait;

use crate::{
    Accepted, AgentBackend, AgentError, Answer, AttemptId, Boundary, Brief, Caches, Candidate, Capabilities, Change,
    Cx, Decision, DecisionError, DecisionId, DecisionSink, Gate, GateError, ItemRef, ItemStatus, Journal, JournalError,
    JournalWriter, KeepKind, Marked, Opened, PhaseId, Placed, Plan, PlanError, PlanSource, Proposal, Publish, Rebase,
    Rebased, Record, Review, Reviewer, Revision, Ruling, RunId, Seal, SessionReport, Site, Snapshot, Target, Tip, Tree,
    Vcs, VcsError, Verdict, Verifier, VerifyError,
};

/// A counter that all wrapped seams share. Each operation passes two points, one before it and one after; at the chosen
/// point the process "dies": that operation fails, and so does everything after it.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan(Arc<State>);

#[derive(Debug, Default)]
struct State {
    points: AtomicU64,
    die_at: Option<u64>,
    how: How,
    dead: AtomicBool,
}

/// What happens at the chosen point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum How {
    /// The operation fails, and so does everything after it.
    #[default]
    Dies,
    /// Only the chosen operation fails, and the process lives.
    Fails,
    /// The process really ends.
    Aborts,
}

impl FaultPlan {
    /// Nothing happens; counts the points.
    pub fn none() -> Self {
        Self::default()
    }

    /// Dies at the `n`-th point, counted from 1.
    pub fn dies_at(n: u64) -> Self {
        Self(Arc::new(State { die_at: Some(n), ..State::default() }))
    }

    /// The operation at the `n`-th point fails, counted from 1, and the process lives.
    pub fn fails_at(n: u64) -> Self {
        Self(Arc::new(State { die_at: Some(n), how: How::Fails, ..State::default() }))
    }

    /// The process is aborted at the `n`-th point, counted from 1: nothing is flushed, dropped or cleaned up.
    pub fn aborts_at(n: u64) -> Self {
        Self(Arc::new(State { die_at: Some(n), how: How::Aborts, ..State::default() }))
    }

    /// How many points were passed.
    pub fn points(&self) -> u64 {
        self.0.points.load(Ordering::SeqCst)
    }

    /// Whether the chosen point was reached.
    pub fn struck(&self) -> bool {
        self.0.dead.load(Ordering::SeqCst)
    }

    /// Passes a point of its own, for what is no operation of a seam.
    ///
    /// # Errors
    /// At the chosen point, and where that is the process' death, after it.
    pub fn point(&self, operation: &str) -> Result<(), io::Error> {
        let state = &self.0;
        if state.dead.load(Ordering::SeqCst) && state.how != How::Fails {
            return Err(io::Error::other(format!("{operation} after the crash")));
        }
        let point = state.points.fetch_add(1, Ordering::SeqCst) + 1;
        if state.die_at == Some(point) {
            if state.how == How::Aborts {
                std::process::abort();
            }
            state.dead.store(true, Ordering::SeqCst);
            return Err(io::Error::other(format!("{operation}: injected at point {point}")));
        }
        Ok(())
    }
}

/// A seam under a [`FaultPlan`].
#[derive(Debug)]
pub struct Faulty<T: ?Sized> {
    plan: FaultPlan,
    inner: Arc<T>,
}

impl<T: ?Sized> Faulty<T> {
    /// Wraps `inner`.
    pub fn new(inner: Arc<T>, plan: &FaultPlan) -> Self {
        Self { plan: plan.clone(), inner }
    }
}

/// `operation` between its two points; `$wrap` makes the seam's error of an injected one.
macro_rules! between {
    ($self:ident, $name:literal, $wrap:expr, $operation:expr) => {{
        $self.plan.point($name).map_err($wrap)?;
        let result = $operation?;
        $self.plan.point($name).map_err($wrap)?;
        Ok(result)
    }};
}

fn vcs_error(error: io::Error) -> VcsError {
    VcsError::Other { operation: "an injected fault".to_owned(), source: error.into() }
}

#[async_trait]
impl<T: Vcs + ?Sized> Vcs for Faulty<T> {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn folder(&self, site: Site) -> PathBuf {
        self.inner.folder(site)
    }
    async fn tip(&self, since: Option<&Revision>, cx: &Cx) -> Result<Tip, VcsError> {
        between!(self, "tip", vcs_error, self.inner.tip(since, cx).await)
    }
    async fn place(&self, site: Site, revision: &Revision, caches: Caches, cx: &Cx) -> Result<Placed, VcsError> {
        between!(self, "place", vcs_error, self.inner.place(site, revision, caches, cx).await)
    }
    async fn snapshot(&self, site: Site, base: &Revision, seal: &Seal, cx: &Cx) -> Result<Snapshot, VcsError> {
        between!(self, "snapshot", vcs_error, self.inner.snapshot(site, base, seal, cx).await)
    }
    async fn tree(&self, revision: &Revision, cx: &Cx) -> Result<Arc<dyn Tree>, VcsError> {
        between!(self, "tree", vcs_error, self.inner.tree(revision, cx).await)
    }
    async fn changes(&self, base: &Revision, revision: &Revision, cx: &Cx) -> Result<Vec<Change>, VcsError> {
        between!(self, "changes", vcs_error, self.inner.changes(base, revision, cx).await)
    }
    async fn accept(&self, revision: &Revision, expected: &Revision, cx: &Cx) -> Result<Accepted, VcsError> {
        between!(self, "accept", vcs_error, self.inner.accept(revision, expected, cx).await)
    }
    async fn keep(
        &self,
        revision: &Revision,
        kind: KeepKind,
        run: &RunId,
        attempt: &AttemptId,
        cx: &Cx,
    ) -> Result<String, VcsError> {
        between!(self, "keep", vcs_error, self.inner.keep(revision, kind, run, attempt, cx).await)
    }
}

#[async_trait]
impl<T: PlanSource + ?Sized> PlanSource for Faulty<T> {
    async fn load(&self, cx: &Cx) -> Result<Plan, PlanError> {
        let wrap = |error: io::Error| PlanError::Io { operation: "read", source: error.into() };
        between!(self, "load", wrap, self.inner.load(cx).await)
    }
    async fn mark(&self, item: &ItemRef, from: ItemStatus, to: ItemStatus, cx: &Cx) -> Result<Marked, PlanError> {
        let wrap = |error: io::Error| PlanError::Io { operation: "written", source: error.into() };
        between!(self, "mark", wrap, self.inner.mark(item, from, to, cx).await)
    }
    async fn note(&self, item: &ItemRef, decision: &str, cx: &Cx) -> Result<(), PlanError> {
        let wrap = |error: io::Error| PlanError::Io { operation: "written", source: error.into() };
        between!(self, "note", wrap, self.inner.note(item, decision, cx).await)
    }
    async fn extend(&self, phase: &PhaseId, items: &[Proposal], decision: &str, cx: &Cx) -> Result<(), PlanError> {
        let wrap = |error: io::Error| PlanError::Io { operation: "written", source: error.into() };
        between!(self, "extend", wrap, self.inner.extend(phase, items, decision, cx).await)
    }
}

#[async_trait]
impl<T: Rebase + ?Sized> Rebase for Faulty<T> {
    async fn rebase(&self, revision: &Revision, onto: &Revision, seal: &Seal, cx: &Cx) -> Result<Rebased, VcsError> {
        between!(self, "rebase", vcs_error, self.inner.rebase(revision, onto, seal, cx).await)
    }
}

#[async_trait]
impl<T: Publish + ?Sized> Publish for Faulty<T> {
    async fn publish(&self, revision: &Revision, cx: &Cx) -> Result<(), VcsError> {
        between!(self, "publish", vcs_error, self.inner.publish(revision, cx).await)
    }
}

#[async_trait]
impl<T: Gate + ?Sized> Gate for Faulty<T> {
    fn name(&self) -> &str {
        self.inner.name()
    }
    async fn judge(&self, boundary: &Boundary, cx: &Cx) -> Result<Ruling, GateError> {
        between!(self, "judge", GateError::other, self.inner.judge(boundary, cx).await)
    }
}

#[async_trait]
impl<T: DecisionSink + ?Sized> DecisionSink for Faulty<T> {
    async fn submit(&self, decision: &Decision, cx: &Cx) -> Result<DecisionId, DecisionError> {
        let wrap = |error: io::Error| DecisionError::Io { operation: "recorded", source: error.into() };
        between!(self, "submit", wrap, self.inner.submit(decision, cx).await)
    }
    async fn answers(&self, ids: &[DecisionId], cx: &Cx) -> Result<Vec<Answer>, DecisionError> {
        let wrap = |error: io::Error| DecisionError::Io { operation: "looked up", source: error.into() };
        between!(self, "answers", wrap, self.inner.answers(ids, cx).await)
    }
    async fn close(&self, id: &DecisionId, why: &str, cx: &Cx) -> Result<(), DecisionError> {
        let wrap = |error: io::Error| DecisionError::Io { operation: "recorded", source: error.into() };
        between!(self, "close", wrap, self.inner.close(id, why, cx).await)
    }
    async fn lost(&self, ids: &[DecisionId], cx: &Cx) -> Result<Vec<DecisionId>, DecisionError> {
        let wrap = |error: io::Error| DecisionError::Io { operation: "looked up", source: error.into() };
        between!(self, "lost", wrap, self.inner.lost(ids, cx).await)
    }
}

#[async_trait]
impl<T: AgentBackend + ?Sized> AgentBackend for Faulty<T> {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        let wrap = |error: io::Error| AgentError::Other(error.into());
        between!(self, "session", wrap, self.inner.run(brief, cx).await)
    }
}

#[async_trait]
impl<T: Reviewer + ?Sized> Reviewer for Faulty<T> {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
    async fn review(&self, work: &Candidate, cx: &Cx) -> Result<Review, AgentError> {
        let wrap = |error: io::Error| AgentError::Other(error.into());
        between!(self, "review", wrap, self.inner.review(work, cx).await)
    }
}

#[async_trait]
impl<T: Verifier + ?Sized> Verifier for Faulty<T> {
    fn name(&self) -> &str {
        self.inner.name()
    }
    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        // A verifier that is struck did not judge; the process died with it.
        let wrap = |_: io::Error| VerifyError::Cancelled;
        between!(self, "verify", wrap, self.inner.verify(target, cx).await)
    }
}

#[async_trait]
impl<T: Journal + ?Sized> Journal for Faulty<T> {
    async fn open(&self, run: &RunId) -> Result<Opened, JournalError> {
        let opened = self.inner.open(run).await?;
        let writer = FaultyWriter { plan: self.plan.clone(), inner: opened.writer };
        Ok(Opened { writer: Box::new(writer), ..opened })
    }
}

#[derive(Debug)]
struct FaultyWriter {
    plan: FaultPlan,
    inner: Box<dyn JournalWriter>,
}

#[async_trait]
impl JournalWriter for FaultyWriter {
    async fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        let wrap = |error: io::Error| JournalError::Io { operation: "written", source: error.into() };
        between!(self, "append", wrap, self.inner.append(record).await)
    }
}
