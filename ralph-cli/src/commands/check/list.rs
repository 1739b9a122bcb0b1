//! `ralph check --list`: the checks of candidates.

use ralph_core::Item;
use serde::Serialize;

use crate::{args, error::CliError, output, project::Project, report::SCHEMA_VERSION, settings, wire};

/// One line of `ralph check --list`.
#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    on: bool,
    about: String,
}

/// What looks at candidates beside the verifiers. The policy of protected paths and the look at items before any work ask
/// where the others fail the attempt; they are listed with them, since people look for them here.
pub(super) fn list(project: &Project, args: &args::Check) -> Result<u8, CliError> {
    #[derive(Debug, Serialize)]
    struct List {
        schema_version: u32,
        checks: Vec<Listed>,
    }
    let settings = settings::load(&project.settings(), &args.overrides.set)?.settings;
    let listed = wire::checks(&settings)?.list().into_iter();
    let mut checks: Vec<Listed> =
        listed.map(|check| Listed { name: check.name, on: check.on, about: check.about }).collect();
    let says = |name: &str, about: &str, on| Listed { name: name.to_owned(), on, about: about.to_owned() };
    let evidence = "fewer tests than on the base, more ignored, runs without a result: a fail, whatever the exit";
    checks.push(says("test-evidence", evidence, wire::test_evidence(&settings)));
    let red = "an item's own `Verify:` must fail before there is any work; one that passes is a question";
    checks.push(says(Item::REQUIRE_RED, red, wire::requires_red(&settings)));
    checks.push(Listed {
        name: "protected".to_owned(),
        on: true,
        about: "changes of protected paths, which a person is asked about (`policy.protected`)".to_owned(),
    });
    if args.json {
        output::print_json(&List { schema_version: SCHEMA_VERSION, checks })?;
        return Ok(0);
    }
    let mut page = String::new();
    for Listed { name, on, about } in &checks {
        page.push_str(&format!("{} {name:<15} {about}\n", if *on { "on " } else { "off" }));
    }
    page.push_str(
        "\nAn item puts one in with `Checks: +name` and takes one out with `Checks: -name`; `verify.checks` says it for all.\n",
    );
    output::print(&page)?;
    Ok(0)
}
