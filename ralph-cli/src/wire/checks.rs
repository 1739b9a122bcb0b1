//! The checks of candidates.

use std::path::Path;

use ralph_core::Item;
use ralph_verify::checks::Checks;

use crate::{
    error::CliError,
    plan::{PlanFile, ReadPlan},
    settings::Settings,
};

/// What names of variables say that their values are secrets.
const SECRET: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// The gate that finds what no honest change needs.
pub(crate) fn checks(settings: &Settings) -> Result<Checks, CliError> {
    Checks::new(&settings.verify.checks, secrets())
        .map_err(|unknown| CliError::usage(format!("`verify.checks`: {unknown}")))
}

/// Whether every item with a verifier of its own must see it fail first.
pub(crate) fn requires_red(settings: &Settings) -> bool {
    is_on(settings, Item::REQUIRE_RED, false)
}

/// Whether what test runners say may lower a verdict.
pub(crate) fn test_evidence(settings: &Settings) -> bool {
    is_on(settings, "test-evidence", true)
}

/// Whether what is no check of candidates is on, by the rules of [`Checks`].
fn is_on(settings: &Settings, name: &str, by_default: bool) -> bool {
    let entries: Vec<&str> = settings.verify.checks.iter().map(|entry| entry.trim()).collect();
    let changes = !entries.is_empty() && entries.iter().all(|entry| entry.starts_with(['-', '+']));
    entries.iter().fold(changes && by_default, |on, entry| {
        let (out, named) = match entry.strip_prefix('-') {
            Some(named) => (true, named.trim()),
            None => (false, entry.trim_start_matches('+').trim()),
        };
        match named {
            "default" if by_default => !out,
            named if named == name => !out,
            _ => on,
        }
    })
}

/// Items whose `Checks:` mean nothing, each with the file that it is in and why: a name that no check has, or one that is
/// about a verifier of the item's own where it has none.
pub(crate) fn bad<'a>(checks: &Checks, plan: &PlanFile, read: &'a ReadPlan) -> Vec<(String, &'a Item, String)> {
    let mut found = Vec::new();
    for phase in &read.plan.phases {
        let file = plan.prd_of(&phase.id, read.master.as_ref());
        for item in &phase.items {
            let unknown = checks.validate(&item.checks).err().map(|unknown| unknown.to_string());
            let idle = item.requires_red() == Some(true) && item.verify.is_empty();
            let idle = idle.then(|| "`require-red` is about the item's own `Verify:`, and it has none".to_owned());
            found.extend(unknown.or(idle).map(|why| (file.clone(), &**item, why)));
        }
    }
    found
}

/// The operator's secrets, as far as names tell: what must be in no candidate. A path is where a secret is.
fn secrets() -> Vec<(String, String)> {
    let is_secret = |name: &str| SECRET.iter().any(|word| name.to_ascii_uppercase().contains(word));
    let all =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    all.filter(|(name, value)| is_secret(name) && !Path::new(value).exists()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_check_follows_the_rules_of_checks() {
        let on = |checks: &[&str]| {
            let mut settings = Settings::default();
            settings.verify.checks = checks.iter().map(|&check| check.to_owned()).collect();
            (test_evidence(&settings), requires_red(&settings))
        };
        for (checks, expected) in [
            (&["default"][..], (true, false)),
            (&[], (false, false)),
            (&["secrets"], (false, false)),
            (&["-secrets"], (true, false)),
            (&["+require-red"], (true, true)),
            (&["default", "require-red", "-test-evidence"], (false, true)),
            (&["test-evidence"], (true, false)),
            (&["default", " require-red ", "- require-red"], (true, false)),
        ] {
            assert_eq!(on(checks), expected, "{checks:?}");
        }
    }
}
