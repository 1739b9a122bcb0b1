//! Test only: dies at the n-th durable operation, so that tests can take up what such a death leaves.
//!
//! With `RALPH_TEST_ABORT_AT=n` the process is aborted at the n-th point, counted from 1. Every operation of a seam
//! (branch, plan, decisions, journal, agent, verifier) has two points, one before and one after it. Without the
//! variable the seams are what they are, and nothing is wrapped.

use std::{env, sync::Arc};

use ralph_core::{
    AgentBackend, PlanSource, Ralph, RunId, Vcs, Verifier,
    ledger::{FileDecisions, JsonlJournal},
    testing::{FaultPlan, Faulty},
};

use crate::error::CliError;

const VARIABLE: &str = "RALPH_TEST_ABORT_AT";

/// Whether, and where, this process is to die.
#[derive(Debug)]
pub(crate) struct CrashPoint(Option<FaultPlan>);

impl CrashPoint {
    /// As the environment says.
    pub(crate) fn from_environment() -> Result<Self, CliError> {
        let Some(value) = env::var_os(VARIABLE) else { return Ok(Self(None)) };
        let point = value.to_str().and_then(|value| value.parse().ok());
        let point = point.ok_or_else(|| CliError::usage(format!("{VARIABLE} is the number of a point")))?;
        Ok(Self(Some(FaultPlan::aborts_at(point))))
    }

    /// A run over these seams.
    pub(crate) fn ralph(
        &self,
        plan: Arc<dyn PlanSource>,
        agent: Arc<dyn AgentBackend>,
        verifier: Arc<dyn Verifier>,
        vcs: Arc<dyn Vcs>,
    ) -> Ralph {
        let Some(faults) = &self.0 else { return Ralph::builder(plan, agent, verifier, vcs) };
        Ralph::builder(
            Faulty::new(plan, faults),
            Faulty::new(agent, faults),
            Faulty::new(verifier, faults),
            Faulty::new(vcs, faults),
        )
    }

    /// The same run with its records.
    pub(crate) fn records(
        &self,
        ralph: Ralph,
        journal: JsonlJournal,
        run: RunId,
        decisions: Arc<FileDecisions>,
    ) -> Ralph {
        let Some(faults) = &self.0 else { return ralph.journal(journal, run).decisions(decisions) };
        ralph.journal(Faulty::new(Arc::new(journal), faults), run).decisions(Faulty::new(decisions, faults))
    }
}
