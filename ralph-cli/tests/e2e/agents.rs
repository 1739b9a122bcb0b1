//! What the settings say about the agent: models for tiers, another agent, prices, sessions that go on, the prompt.

use super::support::{DILIGENT, Scratch};

/// An agent in the JSON protocol that did the item and used so many tokens.
fn in_json(input: u64, output: u64) -> String {
    format!(
        "echo '{{\"ralph\": 1}}'\n{DILIGENT}\n\
         echo '{{\"type\": \"usage\", \"tokens\": {{\"input\": {input}, \"output\": {output}}}}}'\n\
         echo '{{\"type\": \"result\", \"status\": \"ok\", \"said\": \"done\"}}'"
    )
}

#[test]
fn a_tier_is_a_model() {
    let scratch = Scratch::new(3);
    scratch.claude("success", &format!("{DILIGENT}; echo \"$*\" >>\"$NOTES/args\""));
    scratch.edit_prd("make the file 2", "make the file 2\n  Tier: high");
    scratch.edit_prd("make the file 3", "fix a typo: make the file 3");
    scratch.settings("model = \"usual\"\n[agent.tiers]\nlow = \"small\"\nhigh = \"big\"\nlow_words = [\"typo\"]\n");
    scratch.run(&[]).stopped("SUCCESS", 0);
    let models: Vec<String> = scratch
        .note("args")
        .lines()
        .map(|args| args.split_once("--model ").unwrap().1.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(models, ["usual", "big", "small"]);
}

#[test]
fn one_model_may_be_for_two_tiers() {
    let scratch = Scratch::new(2);
    scratch.claude("success", &format!("{DILIGENT}; echo \"$*\" >>\"$NOTES/args\""));
    scratch.edit_prd("make the file 1", "make the file 1\n  Tier: high");
    scratch.edit_prd("make the file 2", "make the file 2\n  Tier: low");
    scratch.settings("model = \"usual\"\n[agent.tiers]\nlow = \"other\"\nhigh = \"other\"\n");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.note("args").matches("--model other ").count(), 2, "{}", scratch.note("args"));
}

#[test]
fn a_model_without_a_price_is_named() {
    let scratch = Scratch::new(1);
    scratch.settings("model = \"m\"\nreports = [\"tokens\"]\n[agent.prices.other]\ninput = 1.5\n");
    scratch.run(&["--cost-usd", "0.50"]).refused(&["[agent.prices]", "no price is known for `m`"]);
}

#[test]
fn another_agent_takes_over_where_one_is_out() {
    let scratch = Scratch::new(2);
    scratch.claude("error-429-unified", "echo claude >>\"$NOTES/who\"");
    let other = scratch.script("other.sh", &format!("echo other >>\"$NOTES/who\"; {DILIGENT}"));
    let fallback = format!("[agent.fallback]\nbackend = \"command\"\ncommand = [{:?}]\n", other.to_str().unwrap());
    scratch.settings(&fallback);
    let ended = scratch.run(&[]).stopped("SUCCESS", 0);
    // Who is out is not asked again for each item, and nobody waits.
    assert_eq!(scratch.note("who"), "claude\nother\nother\n");
    assert!(!ended.stderr.contains("waiting"), "{}", ended.stderr);
    assert_eq!(scratch.outcomes(), ["P1/R01 done", "P1/R02 done"]);
}

#[test]
fn prices_of_ones_own_are_an_estimate_and_a_budget() {
    let scratch = Scratch::new(3);
    scratch.agent(&in_json(100_000, 10_000));
    let refused = scratch.run(&["--cost-usd", "0.50"]);
    refused.refused(&["budget.cost_usd", "does not report"]);
    scratch.settings("reports = [\"tokens\"]\n[agent.prices.default]\ninput = 1.5\noutput = 10\n");
    let ended = scratch.run(&["--cost-usd", "0.50"]).stopped("BUDGET_EXHAUSTED", 13);
    // 0.15 + 0.10 for each.
    assert!(ended.stdout.contains("cost_usd: $0.50 of $0.50"), "{}", ended.stdout);
    assert!(ended.stdout.contains("Cost $0.50 by your own prices"), "{}", ended.stdout);
    assert_eq!(scratch.outcomes(), ["P1/R01 done", "P1/R02 done"]);
    assert!(scratch.progress()[0].contains("cost=~$0.25"), "{:?}", scratch.progress());
    assert!(scratch.of_run("summary.md").contains("- cost: ~$0.50 (`~`: by your own prices)"));
    let json: serde_json::Value = serde_json::from_str(&scratch.ralph(&["status", "--json"]).stdout).unwrap();
    assert_eq!((&json["spent"]["cost_usd"], &json["spent"]["estimated_usd"]), (&"0.50".into(), &"0.50".into()));
    assert_eq!(json["items"][0]["cost"], "~0.25");
}

#[test]
fn a_session_that_goes_on_is_paid_once() {
    let scratch = Scratch::new(2);
    let transcripts = concat!(env!("CARGO_MANIFEST_DIR"), "/../ralph-agents/tests/transcripts/claude");
    // The second transcript counts on from where the first one was, as Claude Code does.
    scratch.claude("success", &format!(
        "{DILIGENT}; echo \"$*\" >>\"$NOTES/args\"\n\
         case \"$*\" in *--resume*) sed 's/\"total_cost_usd\":[0-9.]*/\"total_cost_usd\":0.0064/' {transcripts}/success.stdout; exit 0;; esac"
    ));
    scratch.settings("session = \"continue\"\n");
    scratch.run(&[]).stopped("SUCCESS", 0);
    let args = scratch.note("args");
    let args: Vec<&str> = args.lines().collect();
    assert!(!args[0].contains("--resume") && args[1].contains("--resume "), "{args:?}");
    let costs: Vec<String> = scratch
        .progress()
        .iter()
        .filter_map(|line| line.split(' ').find_map(|word| word.strip_prefix("cost=")).map(str::to_owned))
        .collect();
    assert_eq!(costs, ["$0.0024", "$0.004"]);
}

#[test]
fn what_an_agent_cannot_do_is_refused_before_anything_is_spent() {
    let scratch = Scratch::new(1);
    scratch.settings("session = \"continue\"\n");
    scratch.run(&[]).refused(&["agent.session", "`command` cannot go on"]);
    assert!(scratch.sessions().is_empty());
    // The control: its user says that it can.
    scratch.settings("reports = [\"resume\"]\n");
    scratch.run(&[]).stopped("SUCCESS", 0);
}

#[test]
fn the_template_of_prompts_can_be_replaced() {
    let scratch = Scratch::new(1);
    scratch.agent(&format!("{DILIGENT}; cat >\"$NOTES/prompt\""));
    scratch.settings("prompt = \"ralph-loop/prompt.md\"\n");
    scratch.run(&[]).refused(&["agent.prompt", "ralph-loop/prompt.md"]);
    scratch.write("ralph-loop/prompt.md", "Do {{itme}}.\n");
    scratch.run(&[]).refused(&["agent.prompt", "itme"]);
    scratch.write("ralph-loop/prompt.md", "Please do {{item}}: {{title}}.\n");
    assert!(scratch.run(&["--dry-run"]).stdout.contains("Please do R01: make the file 1."));
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.note("prompt"), "Please do R01: make the file 1.\n");
}

#[test]
fn a_stated_time_is_waited_for_and_one_beyond_the_budget_stops_at_once() {
    let transcripts = concat!(env!("CARGO_MANIFEST_DIR"), "/../ralph-agents/tests/transcripts/claude");
    let limited = |seconds: &str| {
        format!(
            "if [ ! -e \"$NOTES/limited\" ]; then : >\"$NOTES/limited\"\n\
             sed \"s/\\\"resetsAt\\\":[0-9]*/\\\"resetsAt\\\":$(($(date +%s) + {seconds}))/g\" {transcripts}/oauth-usage-limit.stdout; exit 1; fi\n\
             {DILIGENT}"
        )
    };
    let scratch = Scratch::new(1);
    scratch.claude("success", &limited("36000"));
    let ended = scratch.run(&[]).stopped("AGENT_UNAVAILABLE", 16);
    assert!(
        ended.stdout.contains("beyond the time budget") || ended.stdout.contains("more than the limit"),
        "{}",
        ended.stdout
    );
    assert_eq!((scratch.sessions().len(), scratch.marks()), (1, " ".to_owned()));

    let scratch = Scratch::new(1);
    scratch.claude("success", &limited("600"));
    let run = scratch.start(&["run"]);
    super::support::until("the wait", || run.stderr().contains("waiting 10 min, until "));
    let status = || scratch.ralph(&["status"]).stdout;
    super::support::until("what is kept before", || scratch.of_run("journal.jsonl").contains("\"captured\""));
    let page = status();
    let head = page.lines().next().unwrap();
    let until =
        head.split_once("; waiting for the agent (usage window used up) until ").unwrap_or_else(|| panic!("{page}")).1;
    assert!(head.contains(" — at work: ") && until.ends_with(|last: char| last.is_ascii_digit()), "{head}");
    let json: serde_json::Value = serde_json::from_str(&scratch.ralph(&["status", "--json"]).stdout).unwrap();
    assert_eq!(json["waiting"], format!("waiting for the agent (usage window used up) until {until}"));
    run.signal(rustix::process::Signal::INT);
    run.end().stopped("CANCELLED", 130);
    // One record says that it waits: neither an attempt nor an iteration was spent.
    assert_eq!((scratch.marks(), scratch.sessions().len()), (" ".to_owned(), 1));
    // Nobody is at work any more, and nothing is waited for.
    assert!(!status().contains("waiting for the agent"), "{}", status());
}

#[test]
fn recorded_sessions_are_played_without_an_agent() {
    let scratch = Scratch::new(2);
    scratch.agent(&format!("mkdir -p node_modules; echo built >node_modules/built.ignored; {}", in_json(10, 1)));
    scratch.settings("reports = [\"tokens\"]\nrecord = \"ralph-loop/cassettes\"\n");
    scratch.run(&[]).stopped("SUCCESS", 0);
    let cassettes = scratch.root.join("ralph-loop/cassettes");

    let first = std::fs::read_to_string(cassettes.join("0001.json")).unwrap();
    assert!(first.contains("R01.txt") && !first.contains("built"), "what is built is left out: {first}");

    let again = Scratch::new(2);
    let scripted = format!("[agent]\nbackend = \"scripted\"\ncommand = [{:?}]\n", cassettes.to_str().unwrap());
    again.write("ralph-loop/ralph.toml", scripted);
    again.run(&["--tokens", "1000"]).stopped("SUCCESS", 0);
    assert!(again.sessions().is_empty(), "no agent was started");
    assert_eq!(again.files(super::support::BRANCH), scratch.files(super::support::BRANCH));
    // The control: without its cassettes there is no such agent.
    std::fs::remove_dir_all(&cassettes).unwrap();
    again.run(&["--new"]).refused(&["scripted", "cassettes"]);
}
