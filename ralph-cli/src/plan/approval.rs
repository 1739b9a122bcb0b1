//! Whether a Master Plan is approved.

use ralph_core::{Plan, PlanError, ledger::MasterPlan};

use crate::{error::CliError, project::Project, settings::Settings};

/// Asks before each load.
#[derive(Debug)]
pub(crate) struct Approving;

impl Approving {
    pub(crate) fn new(_project: &Project, _name: &str, _settings: &Settings) -> Self {
        Self
    }

    pub(crate) fn check(&self, _master: &MasterPlan, _plan: &Plan) -> Result<(), PlanError> {
        Ok(())
    }

    pub(crate) fn check_first(&self, _master: &MasterPlan, _plan: &Plan) -> Result<(), CliError> {
        Ok(())
    }

    pub(crate) fn begin(&self) -> Result<Option<String>, CliError> {
        Ok(None)
    }
}
