//! The PRD with what the settings add to it.

use async_trait::async_trait;
use ralph_core::{
    Cx, ItemRef, ItemStatus, Marked, Phase, Plan, PlanError, PlanSource,
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
        if phase.verify.is_empty() {
            let file = self.prd.path().display();
            let without: Vec<String> = phase
                .items
                .iter()
                .filter(|item| item.verify.is_empty())
                .map(|item| {
                    format!(
                        "{file}:{}: nothing verifies {}; add a `Verify:` line to it or above the items, or set `verify.command`",
                        item.line, item.id
                    )
                })
                .collect();
            if !without.is_empty() {
                return Err(PlanError::Invalid(without));
            }
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
}
