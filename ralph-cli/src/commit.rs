//! The `[Decision]` commit in the operator's repository.

use ralph_core::{Answer, ledger::Queued};

use crate::{project::Project, settings::Settings};

/// Commits what an answer changed in the ledger, where git tracks it; answers why not, where a person should know.
pub(crate) async fn decision(
    _project: &Project,
    _settings: &Settings,
    _queued: &Queued,
    _answer: &Answer,
) -> Option<String> {
    None
}
