//! A provider that is out for longer than the agent itself waits: Ralph waits, and no attempt is charged.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{
    agents::{self, Agent, KEY},
    model::{Model, Turn, overloaded, says, trouble, writes},
    offline::offline,
    three_items::repository,
};

/// The first session ends by `outage`; the next one does the item.
fn script(outage: Vec<Turn>) -> Vec<Vec<Turn>> {
    vec![outage, vec![writes("R01.txt", "one\n"), says("R01.txt says one.")]]
}

/// Runs one item; `words` are in what is said of the wait.
fn waits_it_out(agent: &Agent, model: &Model, words: &str) {
    let scratch = repository();
    let ended = agent.run(&scratch, &["--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
    model.told_all();
    let waits: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("waiting")).collect();
    assert_eq!(waits.len(), 1, "{}", ended.stderr);
    assert!(waits[0].contains(words), "{words:?}: {}", waits[0]);
    assert_eq!((scratch.marks().as_str(), scratch.outcomes()), ("x  ", vec!["P1/R01 done".to_owned()]));
    assert!(scratch.progress()[0].contains(" attempts=1 "), "{:?}", scratch.progress());
    // The second session is told of no failure, for there was none.
    assert!(model.first_asked().iter().all(|asked| !asked.prompt.contains("WHAT WENT WRONG BEFORE")));
}

/// Takes as long as Ralph's shortest wait, 15 to 30 seconds.
#[test]
#[ignore = "the real Claude Code: set RALPH_REAL_CLIS=1"]
fn overload_of_claude_code() {
    offline("real::outages::overload_of_claude_code", |clis| {
        let model = Model::start(script(vec![overloaded(), overloaded()]));
        let agent = agents::claude(clis, &model, "edits").with("CLAUDE_CODE_MAX_RETRIES", "1");
        waits_it_out(&agent, &model, "agent not available (provider overloaded or failing: ");
    });
}

/// Takes as long as Ralph's shortest wait, 15 to 30 seconds.
#[test]
#[ignore = "the real Codex: set RALPH_REAL_CLIS=1"]
fn overload_of_codex() {
    offline("real::outages::overload_of_codex", |clis| {
        // It asks four times more.
        let model = Model::start(script(vec![trouble(503, "server_is_overloaded", &[]); 5]));
        waits_it_out(
            &agents::codex(clis, &model, "edits"),
            &model,
            "agent not available (provider overloaded or failing: ",
        );
    });
}

#[test]
#[ignore = "the real Claude Code: set RALPH_REAL_CLIS=1"]
fn a_usage_window_of_claude_code() {
    offline("real::outages::a_usage_window_of_claude_code", |clis| {
        let opens = SystemTime::now() + Duration::from_secs(6);
        let opens = opens.duration_since(UNIX_EPOCH).unwrap().as_secs().to_string();
        let used_up = trouble(
            429,
            "rate_limit_error",
            &[
                ("anthropic-ratelimit-unified-status", "rejected"),
                ("anthropic-ratelimit-unified-representative-claim", "five_hour"),
                ("anthropic-ratelimit-unified-reset", &opens),
                ("anthropic-ratelimit-unified-overage-status", "rejected"),
            ],
        );
        let model = Model::start(script(vec![used_up]));
        // Windows are a matter of subscriptions, not of keys.
        let agent = agents::claude(clis, &model, "edits").without("ANTHROPIC_API_KEY");
        waits_it_out(
            &agent.with("CLAUDE_CODE_OAUTH_TOKEN", KEY),
            &model,
            "agent not available (usage window used up: ",
        );
    });
}
