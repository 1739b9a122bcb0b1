//! The shortest loop: a plan of one item, an agent and a verifier that are functions, work in copies of a folder.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use ralph_core::{BoxError, MemoryPlan, Ralph, agent_fn, verifier};
use ralph_vcs::{FolderOptions, FolderVcs};

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let (project, own) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let plan = MemoryPlan::of(["write a greeting"]);
    let agent = agent_fn("greeter", |brief| {
        std::fs::write(brief.workspace.join("greeting"), "hello\n")?;
        Ok("I wrote it.".to_owned())
    });
    let check = verifier("there is a greeting", |folder| Ok(folder.join("greeting").exists()));
    let vcs = FolderVcs::open(FolderOptions::new(project.path(), own.path().join("state"), own.path().join("sites")))?;

    let outcome = Ralph::builder(plan, agent, check, vcs).run().await?;
    println!("{}: {} on the branch", outcome.stop.reason, outcome.accepted.len());
    assert_eq!(outcome.stop.reason.exit_code(), 0);
    Ok(())
}
