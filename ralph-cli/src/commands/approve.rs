//! `ralph approve`: a person's signature under a Master Plan.

use std::path::Path;

use crate::{args, error::CliError, operator, project::Project};

pub(crate) fn approve(directory: &Path, args: &args::Approve) -> Result<u8, CliError> {
    let project = Project::find(directory)?;
    operator::not_from_a_session([&project.ledger], "approve")?;
    let _ = (&args.plan, &args.by, &args.yes, &args.overrides);
    Err(CliError::usage("not yet"))
}
