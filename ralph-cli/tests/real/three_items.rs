//! Three items, one story for all agents: work, trouble of the provider, and a lie.

use std::path::Path;

use ralph_agents::{Exit, claude, codex};
use ralph_core::SessionEnd;

use super::{
    agents::{self, Agent, KEY},
    model::{Asked, Model, Turn, overloaded, runs, says, too_many, writes},
    offline::offline,
};
use crate::e2e::support::{Ended, Scratch};

/// Each item is a number in a file, and the verifier says what it misses.
pub(super) fn repository() -> Scratch {
    let scratch = Scratch::new(0);
    let item = |id: &str, number: &str| {
        let check = format!("grep -qx {number} {id}.txt || {{ echo \"{id}.txt does not say {number}\"; exit 1; }}");
        format!("- [ ] {id}: write {number} into {id}.txt\n  Verify: {check}\n")
    };
    scratch.prd(&format!("# PRD-P1 — Numbers\n\n{}{}{}", item("R01", "one"), item("R02", "two"), item("R03", "three")));
    scratch
}

fn script() -> Vec<Vec<Turn>> {
    let left = "setsid sleep 1000 >/dev/null 2>&1 & kill -0 $! && echo it lives";
    vec![
        vec![writes("R01.txt", "one\n"), runs(left), says("R01.txt says one.")],
        vec![says("R02.txt says two now, and every check passes.")],
        vec![too_many(), runs("echo two >R02.txt"), overloaded(), says("R02.txt says two.")],
        vec![writes("R03.txt", "three\n"), says("R03.txt says three.")],
    ]
}

/// What the sessions printed. Nothing of it should be new to the agent's reader.
const LOGS: [&str; 4] = [
    "iterations/0001/session.log",
    "iterations/0002/session.log",
    "iterations/0002/session-2.log",
    "iterations/0003/session.log",
];

/// What is the same whoever the agent is.
fn told(agent: &Agent, scratch: &Scratch, model: &Model) -> Ended {
    let before = scratch.operator();
    let ended = agent.run(scratch, &[]).stopped("SUCCESS", 0);
    model.told_all();
    assert_eq!(scratch.marks(), "xxx");
    assert_eq!(scratch.outcomes(), ["P1/R01 done", "P1/R02 done", "P1/R03 done"]);
    assert!(scratch.progress()[1].contains(" attempts=2 "), "{:?}", scratch.progress());
    assert_eq!(scratch.trailers("Ralph-Item"), ["P1/R01", "P1/R02", "P1/R03"]);
    let read = |id: &str| scratch.git(&["show", &format!("{}:{id}.txt", scratch.branch)]);
    assert_eq!([read("R01"), read("R02"), read("R03")], ["one", "two", "three"]);
    // The ledger is a run's to write.
    let changed = scratch.changed(&before);
    assert!(changed.iter().all(|change| change.starts_with("ralph-loop/")), "touched: {changed:#?}");

    // A session of its own for every attempt, which knows its item, and of the second one what went wrong before.
    let sessions = model.first_asked();
    let items = ["R01", "R02", "R02", "R03"];
    assert_eq!(sessions.len(), items.len());
    for (session, item) in sessions.iter().zip(items) {
        let of = |id: &str| session.prompt.contains(&format!("\nItem {id}: "));
        assert_eq!(["R01", "R02", "R03"].map(of), ["R01", "R02", "R03"].map(|id| id == item), "{}", session.prompt);
    }
    let missed: Vec<bool> =
        sessions.iter().map(|asked| asked.prompt.contains("\n> R02.txt does not say two\n")).collect();
    assert_eq!(missed, [false, false, true, false]);
    // Who asks is proved by the key, which the model is not told.
    let asked = model.asked();
    assert!(asked.iter().all(|asked| asked.credential.ends_with(KEY) && !asked.body.contains(KEY)));
    // What the first session left behind was alive, and is not: `offline` looks.
    let said = |asked: &&Asked| asked.last.contains("it lives");
    assert_eq!(asked.iter().filter(said).count(), 1);

    // Sessions are kept in the test's home, and not in that of whoever runs it.
    let files = agent.session_files(scratch);
    assert_eq!(files.len(), 4);
    let home = std::env::home_dir().unwrap();
    assert!(files.iter().all(|file| !home.join(file).exists()), "{files:?}");
    assert_ne!(home, Path::new(&scratch.path("home")));
    ended
}

#[test]
#[ignore = "the real Claude Code: set RALPH_REAL_CLIS=1"]
fn by_claude_code() {
    offline("real::three_items::by_claude_code", |clis| {
        let (model, scratch) = (Model::start(script()), repository());
        let ended = told(&agents::claude(clis, &model, "all"), &scratch, &model);
        // Eight replies; what is read from a cache is not counted.
        assert!(ended.stdout.contains("\nCost $0.0") && ended.stdout.contains(", 8560 tokens\n"), "{}", ended.stdout);
        assert!(scratch.progress()[..3].iter().all(|line| line.contains(" cost=$0.0")), "{:?}", scratch.progress());
        for log in LOGS {
            let mut transcript = claude::Transcript::new();
            transcript.push(scratch.of_run(log).as_bytes());
            assert_eq!(transcript.unknown(), [""; 0]);
            assert_eq!(transcript.outcome(Exit::Code(0), "").end.unwrap(), SessionEnd::Finished);
        }
    });
}

#[test]
#[ignore = "the real Codex: set RALPH_REAL_CLIS=1"]
fn by_codex() {
    offline("real::three_items::by_codex", |clis| {
        let (model, scratch) = (Model::start(script()), repository());
        let ended = told(&agents::codex(clis, &model, "all"), &scratch, &model);
        // It says what it used and not what that costs.
        assert!(scratch.of_run("summary.md").contains("\n- tokens reported: 8400\n"));
        assert!(ended.stdout.contains("\nCost unknown, 8400 tokens; 4 sessions"), "{}", ended.stdout);
        assert!(scratch.progress()[..3].iter().all(|line| line.contains(" cost=unknown")), "{:?}", scratch.progress());
        for log in LOGS {
            let mut transcript = codex::Transcript::new();
            transcript.push(scratch.of_run(log).as_bytes());
            assert_eq!(transcript.unknown(), [""; 0]);
            assert_eq!(transcript.outcome(Exit::Code(0), "").end.unwrap(), SessionEnd::Finished);
        }
    });
}
