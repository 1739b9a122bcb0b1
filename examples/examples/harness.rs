//! A test harness: scripted sessions, in-memory version control, time that stands still, and a crash in the middle.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use ralph_core::{
    BoxError, ItemRef, ItemStatus, MemoryJournal, MemoryPlan, Ralph, RunId, StopReason, Trouble,
    testing::{FaultPlan, Faulty, MemoryVcs, ScriptedAgent, StillClock, turn},
    verifier,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    // What outlives a crash.
    let (plan, journal, vcs) = (MemoryPlan::of(["survive"]), MemoryJournal::new(), MemoryVcs::new());
    let agent = ScriptedAgent::new([
        turn().is_unavailable(Trouble::Overload, None),
        turn().writes("proof", "alive").costs("0.25"),
        turn().writes("proof", "alive").costs("0.25"),
    ]);
    let ralph = |faults: &FaultPlan| {
        Ralph::builder(
            plan.clone(),
            agent.clone(),
            verifier("there is a proof", |folder| Ok(folder.join("proof").exists())),
            Faulty::new(Arc::new(vcs.clone()), faults),
        )
        .journal(journal.clone(), RunId::new("night"))
        .clock(StillClock::new())
    };

    // It dies at the 15th operation on version control ...
    let crashed = ralph(&FaultPlan::dies_at(15)).run().await;
    println!("crashed: {}", crashed.is_err());
    assert!(crashed.is_err());

    // ... and goes on where it stood.
    let outcome = ralph(&FaultPlan::none()).run().await?;
    println!("{} at {}", outcome.stop.reason, outcome.spent.cost);
    assert_eq!(outcome.stop.reason, StopReason::Success);
    assert_eq!(plan.status(&ItemRef::new("P1", "R01")), Some(ItemStatus::Done));
    assert_eq!(vcs.branch().len(), 2, "one commit, crash or not");
    Ok(())
}
