//! Test only: dies at the n-th durable operation, so that tests can take up what such a death leaves.
//!
//! With `RALPH_TEST_ABORT_AT=n` the process is aborted at the n-th point, counted from 1. Every operation of a seam
//! (branch, plan, decisions, journal, agent, verifier) has two points, one before and one after it, and so do the steps
//! of an answer that are none of a seam ([`point`]). Without the variable the seams are what they are, and nothing is
//! wrapped.

use std::{
    env,
    sync::{Arc, OnceLock},
};

use ralph_core::{
    AgentBackend, PlanSource, Ralph, RunId, Vcs, Verifier,
    ledger::{FileDecisions, JsonlJournal},
    testing::{FaultPlan, Faulty},
};

use crate::error::CliError;

const VARIABLE: &str = "RALPH_TEST_ABORT_AT";

/// Where this process is to die, counted over everything that it does.
fn faults() -> Result<Option<&'static FaultPlan>, CliError> {
    static FAULTS: OnceLock<Option<FaultPlan>> = OnceLock::new();
    let point = match env::var_os(VARIABLE) {
        None => None,
        Some(value) => {
            let point = value.to_str().and_then(|value| value.parse().ok());
            Some(point.ok_or_else(|| CliError::usage(format!("{VARIABLE} is the number of a point")))?)
        }
    };
    Ok(FAULTS.get_or_init(|| point.map(FaultPlan::aborts_at)).as_ref())
}

/// A point between two steps.
pub(crate) fn point(step: &str) {
    if let Ok(Some(faults)) = faults() {
        // It ends the process, or nothing happens.
        let _ = faults.point(step);
    }
}

/// `plan` with points around what is done to it.
pub(crate) fn wrapped(plan: Arc<dyn PlanSource>) -> Arc<dyn PlanSource> {
    match faults() {
        Ok(Some(faults)) => Arc::new(Faulty::new(plan, faults)),
        Ok(None) | Err(_) => plan,
    }
}

/// Whether, and where, this process is to die.
#[derive(Debug)]
pub(crate) struct CrashPoint(Option<&'static FaultPlan>);

impl CrashPoint {
    /// As the environment says.
    pub(crate) fn from_environment() -> Result<Self, CliError> {
        faults().map(Self)
    }

    /// A run over these seams.
    pub(crate) fn ralph(
        &self,
        plan: Arc<dyn PlanSource>,
        agent: Arc<dyn AgentBackend>,
        verifier: Arc<dyn Verifier>,
        vcs: Arc<dyn Vcs>,
    ) -> Ralph {
        let Some(faults) = self.0 else { return Ralph::builder(plan, agent, verifier, vcs) };
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
        let Some(faults) = self.0 else { return ralph.journal(journal, run).decisions(decisions) };
        ralph.journal(Faulty::new(Arc::new(journal), faults), run).decisions(Faulty::new(decisions, faults))
    }
}
