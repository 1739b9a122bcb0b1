//! A verifier of your own: implement `Verifier`. This one knows three answers: pass, fail, and that it could not judge.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::{fs, io::ErrorKind};

use ralph_core::{
    BoxError, Cx, MemoryPlan, Ralph, StopReason, Target, Verdict, Verifier, VerifyError, async_trait,
    testing::{MemoryVcs, ScriptedAgent, turn},
};

/// Passes where the change log names the item.
#[derive(Debug)]
struct ChangeLog;

#[async_trait]
impl Verifier for ChangeLog {
    fn name(&self) -> &str {
        "change-log"
    }

    async fn verify(&self, target: &Target, _cx: &Cx) -> Result<Verdict, VerifyError> {
        // The base as such has no item: there is nothing that it should name.
        let Some(item) = &target.item else { return Ok(Verdict::new(true, "no item to look for")) };
        match fs::read_to_string(target.folder.join("CHANGELOG.md")) {
            Ok(text) => Ok(Verdict::new(text.contains(item.id.as_str()), format!("CHANGELOG.md and {}", item.id))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Verdict::new(false, "there is no CHANGELOG.md")),
            // Not a verdict: the run stops rather than blame the agent.
            Err(error) => Err(VerifyError::other(error)),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let plan = MemoryPlan::of(["a feature", "another"]);
    let agent = ScriptedAgent::new([
        turn().writes("CHANGELOG.md", "- R01: a feature\n"),
        turn().writes("feature.txt", "done").says("All done, and documented."),
        turn().writes("CHANGELOG.md", "- R01: a feature\n- R02: another\n"),
    ]);
    let outcome = Ralph::builder(plan, agent.clone(), ChangeLog, MemoryVcs::new()).run().await?;
    println!("{}", outcome.stop);
    assert_eq!(outcome.stop.reason, StopReason::Success);

    // The second session on R02 was told why the first one had failed.
    let told = &agent.briefs()[2].prompt;
    assert!(told.contains("Attempt 1 failed: CHANGELOG.md and R02"));
    agent.assert_played();
    Ok(())
}
