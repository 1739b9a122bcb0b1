//! The checks of candidates.

use std::path::Path;

use ralph_core::Item;
use ralph_verify::checks::{Checks, UnknownCheck};

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
    says(settings, Item::REQUIRE_RED) && !says(settings, "-require-red")
}

/// Whether the list of checks has this entry.
pub(super) fn says(settings: &Settings, entry: &str) -> bool {
    settings.verify.checks.iter().any(|known| known.trim().trim_start_matches('+') == entry)
}

/// Items whose `Checks:` name what there is not, each with the file that it is in.
pub(crate) fn unknown<'a>(
    checks: &Checks,
    plan: &PlanFile,
    read: &'a ReadPlan,
) -> Vec<(String, &'a Item, UnknownCheck)> {
    let mut found = Vec::new();
    for phase in &read.plan.phases {
        let file = plan.prd_of(&phase.id, read.master.as_ref());
        for item in &phase.items {
            if let Err(unknown) = checks.validate(&item.checks) {
                found.push((file.clone(), &**item, unknown));
            }
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
