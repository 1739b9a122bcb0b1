//! An agent of your own: implement `AgentBackend`. This one counts what it did and reports what that cost, so that a cost
//! budget binds.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::fs;

use ralph_core::{
    AgentBackend, AgentError, BoxError, Brief, Budget, Capabilities, Cx, MemoryPlan, Ralph, SessionEnd, SessionReport,
    StopReason, Usage, Usd, async_trait, testing::MemoryVcs, verifier,
};

/// Appends a line to the log of the workspace for 30 cents.
#[derive(Debug)]
struct Scribe;

#[async_trait]
impl AgentBackend for Scribe {
    fn name(&self) -> &str {
        "scribe"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with_cost()
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        cx.live("thinking about what to write");
        let path = brief.workspace.join("log");
        let mut log = fs::read_to_string(&path).unwrap_or_default();
        log.push_str(&format!("{}\n", brief.attempt.item.item));
        fs::write(path, log).map_err(AgentError::other)?;
        let usage = Usage::unknown().with_cost(Usd::from_micros(300_000));
        Ok(SessionReport::new(SessionEnd::Finished).with_said("I wrote a line.").with_usage(usage))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let plan = MemoryPlan::of(["first line", "second line", "third line", "fourth line"]);
    let check = verifier("the log has grown", |folder| Ok(!fs::read_to_string(folder.join("log"))?.is_empty()));
    let mut budget = Budget::default();
    budget.cost = Some("0.90".parse()?);

    let outcome = Ralph::builder(plan, Scribe, check, MemoryVcs::with([("log".into(), Vec::new())].into()))
        .baseline(false)
        .budget(budget)
        .run()
        .await?;
    println!("{}, after {}", outcome.stop, outcome.spent.cost);
    assert_eq!(outcome.stop.reason, StopReason::BudgetExhausted);
    assert_eq!(outcome.accepted.len(), 3);
    Ok(())
}
