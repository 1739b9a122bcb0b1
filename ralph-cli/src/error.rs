//! What went wrong, and with which exit code the program says so.

use std::{error::Error, fmt};

use ralph_core::{PlanError, StopReason, VcsError, chain};

/// An error for a person: what, where, what to do.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) code: u8,
    message: String,
}

impl CliError {
    /// Bad usage, settings or plan: nothing was changed.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: StopReason::PlanInvalid.exit_code(), message: message.into() }
    }

    /// Ralph or the machine is at fault.
    pub(crate) fn fault(message: impl Into<String>) -> Self {
        Self { code: StopReason::Fault.exit_code(), message: message.into() }
    }

    /// The surroundings are not fit for work.
    pub(crate) fn environment(message: impl Into<String>) -> Self {
        Self { code: StopReason::Environment.exit_code(), message: message.into() }
    }

    /// Somebody pressed Ctrl-C.
    pub(crate) fn cancelled() -> Self {
        Self { code: StopReason::Cancelled.exit_code(), message: "cancelled".to_owned() }
    }

    /// [`CliError::usage`] of an error with all its causes.
    pub(crate) fn refused(error: &dyn Error) -> Self {
        Self::usage(chain(error))
    }

    /// What is wrong with a plan: it does not read, or it is not approved.
    pub(crate) fn plan(error: &PlanError) -> Self {
        let code = match error {
            PlanError::NotApproved(_) => StopReason::NotApproved.exit_code(),
            _ => StopReason::PlanInvalid.exit_code(),
        };
        Self { code, message: chain(error) }
    }

    /// [`CliError::fault`] of an error with all its causes, while `what`.
    pub(crate) fn failed(what: impl fmt::Display, error: &dyn Error) -> Self {
        Self::fault(format!("{what}: {}", chain(error)))
    }
}

/// The repository is not as it has to be, or git cannot answer.
impl From<VcsError> for CliError {
    fn from(error: VcsError) -> Self {
        Self::refused(&error)
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
