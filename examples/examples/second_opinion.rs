//! A second opinion: a session tidies what the verifier passed twice, and a reviewer made of another agent may veto it.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use ralph_core::{
    BoxError, MemoryPlan, Ralph, StopReason,
    testing::{MemoryVcs, ScriptedAgent, turn},
    verifier,
};
use ralph_verify::{AgentReviewer, Role};

/// What a reviewing session ends with.
fn says(verdict: &str, met: bool, evidence: &str) -> String {
    format!(
        r#"{{"verdict": "{verdict}", "criteria": [{{"number": 1, "met": {met}, "evidence": "{evidence}"}}], "simpler": ""}}"#
    )
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let plan = MemoryPlan::of(["greet people by their names"]);
    let check = verifier("there is a greeting", |folder| Ok(folder.join("greeting.txt").exists()));

    let worker = ScriptedAgent::new([
        turn().writes("greeting.txt", "hello\n").says("Done."),
        turn().writes("greeting.txt", "hello   {name}\n"),
    ]);
    let tidier = ScriptedAgent::new([
        // It leaves nothing of the first work, which passed: this is dropped.
        turn().removes("greeting.txt"),
        turn().writes("greeting.txt", "hello {name}\n"),
    ]);
    let critic = ScriptedAgent::new([
        turn().signals(&says("reject", false, "greeting.txt:1 greets nobody by name")),
        turn().signals(&says("approve", true, "greeting.txt:1")),
    ]);

    let vcs = MemoryVcs::new();
    let outcome = Ralph::builder(plan, worker.clone(), check, vcs.clone())
        .cleanup(tidier.clone())
        .review(AgentReviewer::new(critic.clone()).role(Role::Critic))
        .run()
        .await?;
    println!("{}", outcome.stop);
    assert_eq!(outcome.stop.reason, StopReason::Success);

    // The second session was told what the critic had found; the branch has one commit, tidied and approved.
    assert!(worker.briefs()[1].prompt.contains("greets nobody by name"));
    assert_eq!((vcs.branch().len(), vcs.files()["greeting.txt"].as_slice()), (2, &b"hello {name}\n"[..]));
    [worker, tidier, critic].iter().for_each(ScriptedAgent::assert_played);
    Ok(())
}
