//! What a session is given besides its prompt: one to go on with, and a tier.

use ralph_core::{
    Item, MemoryPlan, Phase, Plan, Ralph, Resume, StopReason, Tier, TierRule, Tiering, Usage, Usd, agent_fn,
    testing::{ScriptedAgent, turn},
};

use super::{World, no_bad_files, refused, run};

fn resumed(agent: &ScriptedAgent) -> Vec<Option<Resume>> {
    agent.briefs().into_iter().map(|brief| brief.resume).collect()
}

fn from(session_id: &str, micros: u64) -> Option<Resume> {
    let before = Usage::unknown().with_cost(Usd::from_micros(micros));
    Some(Resume { agent: "scripted".to_owned(), session_id: session_id.to_owned(), before })
}

#[test]
fn each_session_is_fresh_unless_something_else_is_said() {
    let turns = || [turn().writes("a", "1").in_session("s1"), turn().writes("b", "2").in_session("s2")];
    let world = World::new(2, turns());
    run(world.ralph());
    assert_eq!(resumed(&world.agent), [None, None]);
    // The control.
    let world = World::new(2, turns().map(|turn| turn.costs("0.25")));
    run(world.ralph().continue_session(true));
    assert_eq!(resumed(&world.agent), [None, from("s1", 250_000)]);
}

#[test]
fn what_a_session_used_is_counted_from_where_it_goes_on() {
    let turns = (1..=3).map(|n| turn().writes(format!("f{n}"), "x").in_session("s").costs("0.25"));
    let world = World::new(3, turns);
    let outcome = run(world.ralph().continue_session(true));
    assert_eq!(resumed(&world.agent), [None, from("s", 250_000), from("s", 500_000)]);
    // Each report is of its own session: nothing is counted twice.
    assert_eq!(outcome.spent.cost, Usd::from_micros(750_000));
}

#[test]
fn a_session_that_is_gone_is_begun_afresh() {
    let turns =
        [turn().writes("a", "1").in_session("gone"), turn().refuses(), turn().writes("b", "2").in_session("new")];
    let world = World::new(2, turns);
    let outcome = run(world.ralph().continue_session(true));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    let asked: Vec<bool> = resumed(&world.agent).iter().map(Option::is_some).collect();
    assert_eq!(asked, [false, true, false]);
    assert_eq!(world.facts("ended")[1].get("resumed"), None, "the report is of a fresh one");
    // The control: who refuses a fresh session is not asked again.
    let world = World::new(2, [turn().refuses(), turn().writes("a", "1")]);
    assert_eq!(run(world.ralph().continue_session(true)).stop.reason, StopReason::AgentUnavailable);
}

#[test]
fn an_agent_that_cannot_resume_is_refused() {
    let world = World::new(1, []);
    let forgetful = agent_fn("forgetful", |_| Ok(String::new()));
    let ralph = |goes_on| {
        let agent = agent_fn("forgetful", |_| Ok(String::new()));
        Ralph::builder(world.plan.clone(), agent, no_bad_files(), world.vcs.clone()).continue_session(goes_on)
    };
    drop(forgetful);
    assert!(refused(ralph(true)).contains("`forgetful` cannot resume"));
    run(ralph(false));
}

#[test]
fn the_tier_comes_from_the_item_a_rule_or_the_attempt() {
    let mut high = Item::new("R01", "first");
    high.tier = Some(Tier::High);
    let plan = MemoryPlan::new(Plan::new([Phase::new("P1", [high, Item::new("R02", "fix a typo")])]));
    let turns = [turn().writes("a", "1"), turn().writes("b", "bad"), turn().writes("b", "2")];
    let world = World { plan, ..World::new(0, turns) };
    let rules = vec![TierRule::new(Tier::Low, ["typo"])];
    run(world.ralph().tiering(Tiering { rules, step_up: true, ..Tiering::default() }));
    let tiers: Vec<Tier> = world.agent.briefs().iter().map(|brief| brief.tier).collect();
    assert_eq!(tiers, [Tier::High, Tier::Low, Tier::Standard]);
}
