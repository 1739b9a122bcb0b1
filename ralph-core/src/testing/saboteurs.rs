//! Parts that break one law each, so that the test of the law is seen to fail.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::UNIX_EPOCH,
};

use async_trait::async_trait;

use super::{Files, MemoryVcs, simulator::Sabotage};
use crate::{
    Accepted, Answer, AttemptId, Caches, Change, Cx, Decision, DecisionError, DecisionId, DecisionSink, Journal,
    JournalError, JournalWriter, KeepKind, MemoryDecisions, MemoryJournal, Opened, Placed, Record, Reply, Revision,
    RunId, Seal, Site, Snapshot, Tip, Tree, Vcs, VcsError,
};

pub(super) fn vcs(honest: MemoryVcs, sabotage: Option<Sabotage>) -> Arc<dyn Vcs> {
    match sabotage {
        Some(which @ (Sabotage::BranchHoldsRejected | Sabotage::LedgerEnters | Sabotage::ForgetsKept)) => {
            Arc::new(BadVcs { honest, which })
        }
        Some(Sabotage::LateJournal | Sabotage::DecisionsTwice | Sabotage::LeavesAlive | Sabotage::AnswersItself)
        | None => Arc::new(honest),
    }
}

pub(super) fn journal(honest: MemoryJournal, sabotage: Option<Sabotage>) -> Arc<dyn Journal> {
    if sabotage == Some(Sabotage::LateJournal) { Arc::new(LateJournal(honest)) } else { Arc::new(honest) }
}

pub(super) fn decisions(honest: MemoryDecisions, sabotage: Option<Sabotage>) -> Arc<dyn DecisionSink> {
    match sabotage {
        Some(Sabotage::DecisionsTwice) => Arc::new(Forgetful(honest)),
        Some(Sabotage::AnswersItself) => Arc::new(Obliging(honest)),
        _ => Arc::new(honest),
    }
}

#[derive(Debug)]
struct BadVcs {
    honest: MemoryVcs,
    which: Sabotage,
}

#[async_trait]
impl Vcs for BadVcs {
    fn name(&self) -> &str {
        self.honest.name()
    }
    fn folder(&self, site: Site) -> PathBuf {
        self.honest.folder(site)
    }
    async fn tip(&self, since: Option<&Revision>, cx: &Cx) -> Result<Tip, VcsError> {
        self.honest.tip(since, cx).await
    }
    async fn place(&self, site: Site, revision: &Revision, caches: Caches, cx: &Cx) -> Result<Placed, VcsError> {
        self.honest.place(site, revision, caches, cx).await
    }
    async fn snapshot(&self, site: Site, base: &Revision, seal: &Seal, cx: &Cx) -> Result<Snapshot, VcsError> {
        if self.which == Sabotage::LedgerEnters {
            let folder = self.honest.folder(site);
            let copy = std::fs::read(folder.join("ralph-loop/PRD.md")).unwrap_or_default();
            return self.honest.snapshot_with_ledger(site, base, seal, copy, cx).await;
        }
        self.honest.snapshot(site, base, seal, cx).await
    }
    async fn tree(&self, revision: &Revision, cx: &Cx) -> Result<Arc<dyn Tree>, VcsError> {
        self.honest.tree(revision, cx).await
    }
    async fn changes(&self, base: &Revision, revision: &Revision, cx: &Cx) -> Result<Vec<Change>, VcsError> {
        self.honest.changes(base, revision, cx).await
    }
    async fn accept(&self, revision: &Revision, expected: &Revision, cx: &Cx) -> Result<Accepted, VcsError> {
        self.honest.accept(revision, expected, cx).await
    }
    async fn keep(
        &self,
        revision: &Revision,
        kind: KeepKind,
        run: &RunId,
        attempt: &AttemptId,
        cx: &Cx,
    ) -> Result<String, VcsError> {
        match self.which {
            Sabotage::BranchHoldsRejected => {
                let files: Files = self.honest.files_of(revision).unwrap_or_default();
                self.honest.hold_for_a_moment(files);
                self.honest.keep(revision, kind, run, attempt, cx).await
            }
            Sabotage::ForgetsKept => Ok(format!("{kind}/{run}/{}/{}", attempt.item, attempt.number)),
            Sabotage::LedgerEnters
            | Sabotage::LateJournal
            | Sabotage::DecisionsTwice
            | Sabotage::LeavesAlive
            | Sabotage::AnswersItself => self.honest.keep(revision, kind, run, attempt, cx).await,
        }
    }
}

/// Says `durable` and writes with the next record.
#[derive(Debug)]
struct LateJournal(MemoryJournal);

#[async_trait]
impl Journal for LateJournal {
    async fn open(&self, run: &RunId) -> Result<Opened, JournalError> {
        let opened = self.0.open(run).await?;
        Ok(Opened { writer: Box::new(LateWriter { inner: opened.writer, waiting: None }), ..opened })
    }
}

#[derive(Debug)]
struct LateWriter {
    inner: Box<dyn JournalWriter>,
    waiting: Option<Record>,
}

#[async_trait]
impl JournalWriter for LateWriter {
    async fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        if let Some(before) = self.waiting.replace(record.clone()) {
            self.inner.append(&before).await?;
        }
        Ok(())
    }
}

/// A queue that does not know what it has already.
#[derive(Debug)]
struct Forgetful(MemoryDecisions);

#[async_trait]
impl DecisionSink for Forgetful {
    async fn submit(&self, decision: &Decision, cx: &Cx) -> Result<DecisionId, DecisionError> {
        static CALLS: Mutex<u64> = Mutex::new(0);
        let call = {
            let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
            *calls += 1;
            *calls
        };
        let again = Decision { key: format!("{} call {call}", decision.key), ..decision.clone() };
        self.0.submit(&again, cx).await
    }
    async fn answers(&self, ids: &[DecisionId], cx: &Cx) -> Result<Vec<Answer>, DecisionError> {
        self.0.answers(ids, cx).await
    }
    async fn close(&self, id: &DecisionId, why: &str, cx: &Cx) -> Result<(), DecisionError> {
        self.0.close(id, why, cx).await
    }
    async fn lost(&self, ids: &[DecisionId], cx: &Cx) -> Result<Vec<DecisionId>, DecisionError> {
        self.0.lost(ids, cx).await
    }
}

/// A queue that takes everything for approved.
#[derive(Debug)]
struct Obliging(MemoryDecisions);

#[async_trait]
impl DecisionSink for Obliging {
    async fn submit(&self, decision: &Decision, cx: &Cx) -> Result<DecisionId, DecisionError> {
        self.0.submit(decision, cx).await
    }
    async fn answers(&self, ids: &[DecisionId], _cx: &Cx) -> Result<Vec<Answer>, DecisionError> {
        let yes = |id: &DecisionId| Answer::new(id.clone(), Reply::Approve, "nobody", UNIX_EPOCH);
        Ok(ids.iter().map(yes).collect())
    }
    async fn close(&self, id: &DecisionId, why: &str, cx: &Cx) -> Result<(), DecisionError> {
        self.0.close(id, why, cx).await
    }
}
