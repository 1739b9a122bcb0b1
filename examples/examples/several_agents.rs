//! Several agents as one: a model for each tier, another agent while one is out, prices of one's own; and a session that
//! is recorded once and replayed without any agent.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use ralph_agents::{
    CommandAgent,
    wrap::{Fallback, Named, Priced, Prices, Recorded, Replay, Tiers},
};
use ralph_core::{
    AgentBackend, BoxError, Item, MemoryPlan, Outcome, Phase, Plan, Ralph, StopReason, Tier, testing::MemoryVcs,
    verifier,
};

/// An agent in the JSON protocol: it writes its name, and says how many tokens that took.
fn agent(name: &str, tokens: u32) -> CommandAgent {
    let script = format!(
        r#"echo '{{"ralph": 1}}'; cat >/dev/null; echo {name} >>made-by
           echo '{{"type": "usage", "tokens": {{"input": {tokens}, "output": 0}}}}'
           echo '{{"type": "result", "status": "ok", "said": "done"}}'"#
    );
    CommandAgent::new("sh").args(["-c", &script]).reports_tokens()
}

/// A run over one easy and one hard item.
async fn run(agent: impl AgentBackend) -> Result<Outcome, BoxError> {
    let mut hard = Item::new("R02", "prove it");
    hard.tier = Some(Tier::High);
    let plan = MemoryPlan::new(Plan::new([Phase::new("P1", [Item::new("R01", "say it"), hard])]));
    let check = verifier("somebody was there", |folder| Ok(folder.join("made-by").exists()));
    Ok(Ralph::builder(plan, agent, check, MemoryVcs::new()).baseline(false).run().await?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let cassettes = tempfile::tempdir()?;
    let prices = Prices { input: "3".parse()?, ..Prices::default() };
    let small = Named::new("small", Priced::new(agent("small", 100_000), prices));
    let big = Named::new("big", Priced::new(agent("big", 400_000), prices));
    // The first one is not installed, so that it is always the second.
    let gone = Named::new("gone", CommandAgent::new("no-such-agent").reports_cost().reports_tokens());
    let agents = Fallback::new(gone).or(Tiers::new(small).high(big)?)?;

    let live = run(Recorded::new(agents, cassettes.path())).await?;
    println!("live: {} at {}, all of it estimated", live.stop.reason, live.spent.cost);
    assert_eq!((live.stop.reason, live.spent.cost.to_string().as_str()), (StopReason::Success, "$1.50"));
    assert_eq!(live.spent.estimated, live.spent.cost);

    let replay = Replay::open(cassettes.path())?;
    let again = run(replay.clone()).await?;
    println!("replayed: {} at {}", again.stop.reason, again.spent.cost);
    replay.assert_played();
    assert_eq!((again.stop.reason, again.spent), (live.stop.reason, live.spent));
    Ok(())
}
