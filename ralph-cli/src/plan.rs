//! The PRD with what the settings add to it.

use async_trait::async_trait;
use ralph_core::{
    Cx, Item, ItemRef, ItemStatus, Marked, Phase, PhaseId, Plan, PlanError, PlanSource, Proposal,
    ledger::{MarkdownPrd, Note},
};
use std::sync::Arc;

use crate::settings::Verify;

/// A PRD whose common verifier, set-up and environment check come from the settings where it names none itself.
#[derive(Clone, Debug)]
pub(crate) struct Configured {
    pub(crate) prd: MarkdownPrd,
    verify: Option<String>,
    setup: Option<String>,
    env_check: Option<String>,
}

impl Configured {
    pub(crate) fn new(prd: MarkdownPrd, settings: &Verify) -> Self {
        Self {
            prd,
            verify: settings.command.clone(),
            setup: settings.setup.clone(),
            env_check: settings.env_check.clone(),
        }
    }

    /// The phase with everything in it, and what is odd about the file.
    pub(crate) fn read(&self) -> Result<(Phase, Vec<Note>), PlanError> {
        let read = self.prd.read()?;
        let mut phase = read.phase;
        let fill = |own: &mut Vec<String>, usual: &Option<String>| {
            if own.is_empty() {
                own.extend(usual.clone());
            }
        };
        fill(&mut phase.verify, &self.verify);
        fill(&mut phase.setup, &self.setup);
        fill(&mut phase.env_check, &self.env_check);
        let open = || phase.items.iter().filter(|item| item.status == ItemStatus::Open);
        let at = |item: &Item, what: &str| format!("{}:{}: {what}", self.prd.path().display(), item.line);
        // An item that still says what to write in its place is nobody's wish.
        let unedited = open().filter(|item| item.title.starts_with('<') && item.title.ends_with('>'));
        let mut problems: Vec<String> = unedited
            .map(|item| at(item, &format!("{} is still a placeholder; say what is to be done", item.id)))
            .collect();
        if phase.verify.is_empty() {
            let advice = "add a `Verify:` line to it or above the items, or set `verify.command`";
            let without = phase.items.iter().filter(|item| item.verify.is_empty());
            problems.extend(without.map(|item| at(item, &format!("nothing verifies {}; {advice}", item.id))));
        }
        if !problems.is_empty() {
            return Err(PlanError::Invalid(problems));
        }
        Ok((phase, read.notes))
    }
}

#[async_trait]
impl PlanSource for Configured {
    async fn load(&self, _cx: &Cx) -> Result<Plan, PlanError> {
        let mut plan = Plan::new([]);
        plan.phases.push(Arc::new(self.read()?.0));
        Ok(plan)
    }

    async fn mark(&self, item: &ItemRef, from: ItemStatus, to: ItemStatus, cx: &Cx) -> Result<Marked, PlanError> {
        self.prd.mark(item, from, to, cx).await
    }

    async fn note(&self, item: &ItemRef, decision: &str, cx: &Cx) -> Result<(), PlanError> {
        self.prd.note(item, decision, cx).await
    }

    async fn extend(&self, phase: &PhaseId, items: &[Proposal], decision: &str, cx: &Cx) -> Result<(), PlanError> {
        self.prd.extend(phase, items, decision, cx).await
    }
}
