//! A reviewer made of a real agent, held to the schema of opinions in the agent's own way.

use serde_json::{Value, json};

use super::{
    agents::{self, Agent},
    model::{Model, Turn, answers, says, writes},
    offline::offline,
};
use crate::e2e::support::Scratch;

fn opinion(verdict: &str, met: bool, evidence: &str) -> Value {
    let criterion = json!({"number": 1, "met": met, "evidence": evidence});
    json!({"verdict": verdict, "criteria": [criterion], "simpler": "", "objections": []})
}

/// A veto, then an approval; what the working session says about it is nothing.
fn story(mut agent: Agent, scratch: &Scratch, model: &Model) {
    agent.settings.push_str("[review]\nenabled = true\nrole = \"critic\"\n");
    let ended = agent.run(scratch, &[]).stopped("SUCCESS", 0);
    model.told_all();
    assert!(ended.stderr.contains("✗ review: critic ("), "{}", ended.stderr);
    assert!(ended.stderr.contains("✓ review: critic ("), "{}", ended.stderr);
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), ("x", 1));
    let sessions = model.first_asked();
    assert_eq!(sessions.len(), 4);
    let [work, review, again, _] = sessions.as_slice() else { panic!() };
    assert!(review.prompt.contains("You review one commit") && review.prompt.contains("+one"), "{}", review.prompt);
    assert!(!review.prompt.contains("It is approved."), "the working session's words are in none");
    assert!(!work.prompt.contains("nobody reads it") && again.prompt.contains("nobody reads it"), "{}", again.prompt);
}

fn repository() -> Scratch {
    let scratch = Scratch::new(0);
    scratch.prd("# PRD-P1 — Numbers\n\n- [ ] R01: write one into R01.txt\n  Verify: grep -qx one R01.txt\n");
    scratch
}

fn script(answer: fn(Value) -> Turn) -> Vec<Vec<Turn>> {
    let review = |opinion| vec![answer(opinion)];
    let approved = format!("It is approved.\n```ralph\n{}\n```", opinion("approve", true, "R01.txt:1"));
    vec![
        vec![writes("R01.txt", "one\n"), says(&approved)],
        review(opinion("reject", false, "R01.txt:1 is there, and nobody reads it")),
        vec![writes("R02.txt", "see R01.txt\n"), says(&approved)],
        review(opinion("approve", true, "R02.txt:1")),
    ]
}

#[test]
#[ignore = "the real Claude Code: set RALPH_REAL_CLIS=1"]
fn by_claude_code() {
    offline("real::review::by_claude_code", |clis| {
        let (model, scratch) = (Model::start(script(answers)), repository());
        story(agents::claude(clis, &model, "all"), &scratch, &model);
    });
}

#[test]
#[ignore = "the real Codex: set RALPH_REAL_CLIS=1"]
fn by_codex() {
    offline("real::review::by_codex", |clis| {
        let (model, scratch) = (Model::start(script(|opinion| says(&opinion.to_string()))), repository());
        story(agents::codex(clis, &model, "all"), &scratch, &model);
    });
}
