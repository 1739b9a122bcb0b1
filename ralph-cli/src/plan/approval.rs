//! What an approval covers beside the plan and its PRDs: the settings that judge work.

use ralph_core::ledger::Coverage;

use crate::settings::Settings;

/// The texts of `ralph.toml` (or the user's settings) without which an approved plan would mean something else.
pub(crate) fn coverage(settings: &Settings) -> Coverage {
    let (verify, policy) = (&settings.verify, &settings.policy);
    let list = |globs: &[String]| globs.join("\n");
    Coverage::default()
        .with("verify.command", verify.command.clone().unwrap_or_default())
        .with("verify.setup", verify.setup.clone().unwrap_or_default())
        .with("verify.env_check", verify.env_check.clone().unwrap_or_default())
        .with("verify.confirm", verify.confirm.to_string())
        .with("verify.checks", list(&verify.checks))
        .with("verify.broken_exits", format!("{:?}", verify.broken_exits))
        .with("verify.keep", list(&verify.keep))
        .with("review", settings.review.words())
        .with("policy.dependencies", policy.dependencies.name())
        .with("policy.security", list(&policy.security))
        .with("policy.database", list(&policy.database))
        .with("policy.public_api", list(&policy.public_api))
        .with("policy.protected", list(&policy.protected))
}
