//! Every law's test is seen to fail: one saboteur each.

use ralph_core::{
    Boundary, Cx, DecisionKind, Digest, Event, Gate, GateError, ItemRef, ItemStatus, MemoryDecisions, MemoryJournal,
    Question, Ralph, Record, Reply, Ruling, RunId, Signal, SignalStatus, Stop, StopReason, Usd,
    machine::{Fact, Objection, Origin, VerifyOutcome},
    testing::{
        MemoryVcs, ScriptedAgent,
        laws::LawBook,
        simulator::{Behaviour, Sabotage, Scenario, enumerate_crashes, simulate},
        turn,
    },
    verifier,
};
use std::sync::{Arc, Mutex};

/// The record of an honest run: one item accepted, one blocked after two attempts, one parked.
fn honest() -> Vec<Record> {
    let records = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&records);
    let plan = ralph_core::MemoryPlan::of(["good", "bad", "ask"]);
    let agent = ScriptedAgent::new([
        turn().writes("R01", "good").costs("0.10"),
        turn().writes("R02", "bad").costs("0.10"),
        turn().writes("R02", "worse").costs("0.10"),
        turn().writes("R03", "half").signals("{\"status\":\"decision\",\"question\":\"which?\"}").costs("0.10"),
    ]);
    let check = verifier("R01 is good and R02 is not there", |folder| {
        Ok(folder.join("R01").exists() && !folder.join("R02").exists())
    });
    let budget = ralph_core::Budget::default();
    let mut budget = budget;
    budget.cost = Some(Usd::from_micros(5_000_000));
    let ralph =
        Ralph::builder(plan, agent.clone(), check, MemoryVcs::new()).budget(budget).observe(move |event: &Event| {
            if let Event::Recorded { record, .. } = event {
                sink.lock().unwrap().push(record.clone());
            }
        });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = runtime.block_on(ralph.run()).unwrap();
    assert_eq!(outcome.stop.reason, StopReason::AwaitingDecisions);
    agent.assert_played();
    records.lock().unwrap().clone()
}

pub(super) fn broken_laws(records: &[Record]) -> Vec<&'static str> {
    let mut book = LawBook::new();
    records.iter().for_each(|record| book.read(record));
    book.violations().iter().map(|violation| violation.law).collect()
}

#[track_caller]
fn assert_found(law: &str, records: &[Record]) {
    assert_eq!(broken_laws(&honest()), [] as [&str; 0], "the control");
    let found = broken_laws(records);
    assert!(found.contains(&law), "{law} was not found broken, only {found:?}");
}

pub(super) fn position(records: &[Record], wanted: impl Fn(&Fact) -> bool) -> usize {
    records.iter().position(|record| wanted(&record.fact)).expect("the honest run has such a fact")
}

fn is_candidate_pass(fact: &Fact) -> bool {
    matches!(fact, Fact::Verified { stage: ralph_core::Stage::Candidate, outcome: VerifyOutcome::Pass, .. })
}

#[test]
fn l1_a_commit_without_its_second_pass() {
    let mut records = honest();
    records.remove(position(&records, is_candidate_pass));
    assert_found("L1", &records);
}

#[test]
fn l1_a_pass_on_another_revision() {
    let mut records = honest();
    let at = position(&records, is_candidate_pass);
    if let Fact::Verified { revision, .. } = &mut records[at].fact {
        *revision = Some("other".into());
    }
    assert_found("L1", &records);
}

#[test]
fn l1_done_without_a_commit() {
    let mut records = honest();
    records.remove(position(&records, |fact| matches!(fact, Fact::Accepted { .. })));
    assert_found("L1", &records);
}

#[test]
fn l2_the_branch_is_elsewhere() {
    let mut records = honest();
    let accepted = position(&records, |fact| matches!(fact, Fact::Accepted { .. }));
    let look = accepted + position(&records[accepted..], |fact| matches!(fact, Fact::Looked { .. }));
    if let Fact::Looked { tip, .. } = &mut records[look].fact {
        *tip = ralph_core::Tip::At("elsewhere".into());
    }
    assert_found("L2", &records);
}

#[test]
fn l3_words_do_not_advance() {
    let mut records = honest();
    let at = position(&records, |fact| matches!(fact, Fact::Ended { .. }));
    if let Fact::Ended { signal, .. } = &mut records[at].fact {
        *signal = Some(Signal::new(SignalStatus::Decision));
    }
    assert_found("L3", &records);
}

/// The record of an honest run of two phases: work that a policy asks about and a person approves, a gate that a person
/// opens, and a checkpoint after the first phase.
fn honest_phases() -> Vec<Record> {
    let phase = |id: &str| {
        let mut phase = ralph_core::Phase::new(id, [ralph_core::Item::new("R01", "good")]);
        phase.manual_gate = Some("lead approves".to_owned());
        phase
    };
    let plan = ralph_core::MemoryPlan::new(ralph_core::Plan::new([phase("P1"), phase("P2")]));
    let (vcs, journal, decisions) = (MemoryVcs::new(), MemoryJournal::new(), MemoryDecisions::new());
    for _ in 0..5 {
        let made = format!("f{}", vcs.branch().len());
        let agent = ScriptedAgent::new([turn().writes(made, "good").writes("dependency", "x").costs("0.10")]);
        let mut budget = ralph_core::Budget::default();
        budget.checkpoint_every = 1;
        let ralph = Ralph::builder(plan.clone(), agent, verifier("fine", |_| Ok(true)), vcs.clone())
            .gate(NewDependency)
            .budget(budget)
            .journal(journal.clone(), RunId::new("run"))
            .decisions(decisions.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(ralph.run()).unwrap();
        for (id, decision) in decisions.pending() {
            let said = if decision.question.kind == DecisionKind::Checkpoint { "continue" } else { "approve" };
            decisions.answer(&id, said, "lead", std::time::UNIX_EPOCH).unwrap();
        }
    }
    let records = journal.records(&RunId::new("run"));
    assert!(matches!(&records.last().unwrap().fact, Fact::Stopped { stop } if stop.reason == StopReason::Success));
    records
}

#[derive(Debug)]
struct NewDependency;

#[ralph_core::async_trait]
impl Gate for NewDependency {
    fn name(&self) -> &str {
        "dependency"
    }
    async fn judge(&self, boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
        let Boundary::Item(at) = boundary else { return Ok(Ruling::Open) };
        let new = at.changes.iter().any(|change| change.path == b"dependency" && change.before.is_none());
        let ask = || Ruling::Ask(Question::new(DecisionKind::Dependency, "a new one?"));
        Ok(if new { ask() } else { Ruling::Open })
    }
}

#[track_caller]
fn assert_found_in_phases(law: &str, spoil: impl FnOnce(&mut Vec<Record>)) {
    let mut records = honest_phases();
    assert_eq!(broken_laws(&records), [] as [&str; 0], "the control");
    spoil(&mut records);
    let found = broken_laws(&records);
    assert!(found.contains(&law), "{law} was not found broken, only {found:?}");
}

#[test]
fn l3_work_comes_back_without_a_word() {
    assert_found_in_phases("L3", |records| {
        records.remove(position(records, |fact| matches!(fact, Fact::TookIn { .. })));
    });
}

#[test]
fn l3_a_gate_is_opened_by_nobody() {
    assert_found_in_phases("L3", |records| {
        let is_open = |fact: &Fact| matches!(fact, Fact::Judged { phase: None, ruling: Ruling::Ask(_), .. });
        let at = position(records, is_open);
        if let Fact::Judged { opened, .. } = &mut records[at].fact {
            opened.push(Objection::new("dependency", "may it?"));
        }
    });
}

#[test]
fn l3_a_gate_is_opened_by_who_was_asked_before_the_work() {
    assert_found_in_phases("L3", |records| {
        let opened = |fact: &Fact| matches!(fact, Fact::Judged { phase: Some(_), opened, .. } if !opened.is_empty());
        let judged = position(records, opened);
        let is_answer = |record: &Record| matches!(record.fact, Fact::TookIn { .. });
        let answer = records[..judged].iter().rposition(is_answer).unwrap();
        let began = position(records, |fact| matches!(fact, Fact::Began { .. }));
        records.insert(answer, records[began].clone());
    });
}

#[test]
fn l3_work_comes_back_for_another_row() {
    assert_found_in_phases("L3", |records| {
        let returns = |fact: &Fact| matches!(fact, Fact::Began { attempt } if attempt.origin == Origin::Kept);
        let at = position(records, returns);
        if let Fact::Began { attempt } = &mut records[at].fact {
            attempt.spec.digest = Digest::of(b"edited");
        }
    });
}

#[test]
fn l4_work_that_a_gate_objects_to_is_accepted() {
    assert_found_in_phases("L4", |records| {
        let is_open = |fact: &Fact| matches!(fact, Fact::Judged { phase: None, ruling: Ruling::Open, .. });
        let at = position(records, is_open);
        if let Fact::Judged { ruling, .. } = &mut records[at].fact {
            *ruling = Ruling::Closed("no".to_owned());
        }
    });
}

#[test]
fn l6_an_answer_is_taken_in_twice() {
    assert_found_in_phases("L6", |records| {
        let at = position(records, |fact| matches!(fact, Fact::TookIn { .. }));
        records.insert(at, records[at].clone());
    });
}

#[test]
fn l8_a_phase_is_done_without_its_gate() {
    assert_found_in_phases("L8", |records| {
        let is_open = |fact: &Fact| matches!(fact, Fact::Judged { phase: Some(_), ruling: Ruling::Open, .. });
        records.remove(position(records, is_open));
    });
}

#[test]
fn l8_the_run_goes_on_beyond_a_checkpoint() {
    assert_found_in_phases("L8", |records| {
        let goes_on = |fact: &Fact| matches!(fact, Fact::TookIn { answer, .. } if answer.reply == Reply::Continue);
        records.remove(position(records, goes_on));
    });
}

#[test]
fn l8_success_with_a_question_in_the_queue() {
    assert_found_in_phases("L8", |records| {
        let at = records.len() - 1;
        let asked = Fact::Asked { id: "D-099".into(), item: None };
        records.insert(at, Record { fact: asked, ..records[at].clone() });
    });
}

#[test]
fn l3_an_answer_that_nobody_gave() {
    let mut scenario = Scenario::of([Behaviour::PolicyApproved]);
    assert_eq!(simulate(&scenario, &[]).unwrap().violations, [], "the control");
    scenario.sabotage = Some(Sabotage::AnswersItself);
    let laws: Vec<_> = simulate(&scenario, &[]).unwrap().violations.iter().map(|violation| violation.law).collect();
    assert!(laws.contains(&"L3"), "{laws:?}");
}

#[test]
fn l6_an_attempt_begins_twice() {
    let mut records = honest();
    let at = position(&records, |fact| matches!(fact, Fact::Began { .. }));
    records.insert(at, records[at].clone());
    assert_found("L6", &records);
}

#[test]
fn l7_a_session_beyond_the_budget() {
    let mut records = honest();
    if let Fact::Opened { rules, .. } = &mut records[0].fact {
        rules.budget.cost = Some(Usd::from_micros(150_000));
    }
    assert_found("L7", &records);
    let mut records = honest();
    if let Fact::Opened { rules, .. } = &mut records[0].fact {
        rules.budget.sessions = 1;
    }
    assert_found("L7", &records);
}

#[test]
fn l8_success_with_something_open() {
    let mut records = honest();
    let at = position(&records, |fact| matches!(fact, Fact::Stopped { .. }));
    records[at].fact = Fact::Stopped { stop: Stop::new(StopReason::Success, "") };
    assert_found("L8", &records);
}

#[test]
fn l8_two_ends() {
    let mut records = honest();
    records.push(records.last().unwrap().clone());
    assert_found("L8", &records);
}

#[test]
fn l9_rejected_work_that_nobody_kept() {
    let mut records = honest();
    records.retain(|record| !matches!(record.fact, Fact::Kept { .. }));
    assert_found("L9", &records);
}

#[test]
fn l11_a_fact_without_bound() {
    let mut records = honest();
    let at = position(&records, |fact| matches!(fact, Fact::Verified { .. }));
    if let Fact::Verified { tail, .. } = &mut records[at].fact {
        *tail = "x".repeat(1 << 20);
    }
    assert_found("L11", &records);
}

#[test]
fn l12_a_status_that_nobody_decided() {
    let mut records = honest();
    records.retain(|record| !matches!(record.fact, Fact::Asked { .. }));
    assert_found("L12", &records);
    let mut records = honest();
    let at = position(&records, |fact| matches!(fact, Fact::Marked { .. }));
    if let Fact::Marked { iteration, .. } = &mut records[at].fact {
        iteration.to = ItemStatus::Unknown;
        iteration.item = ItemRef::new("P1", "R01");
    }
    assert_found("L12", &records);
}

#[test]
fn l13_a_record_that_does_not_replay() {
    let mut records = honest();
    records.remove(position(&records, |fact| matches!(fact, Fact::Prepared { .. })));
    assert_found("L13", &records);
}

/// A part that breaks a law is found in the world, where the facts alone look honest.
#[track_caller]
fn assert_world_finds(law: &str, sabotage: Sabotage) {
    let mut scenario = Scenario::of([Behaviour::Bad, Behaviour::Good]);
    assert_eq!(simulate(&scenario, &[]).unwrap().violations, [], "the control");
    scenario.sabotage = Some(sabotage);
    let found = simulate(&scenario, &[]).unwrap().violations;
    assert!(found.iter().any(|violation| violation.law == law), "{law} was not found broken, only {found:?}");
}

#[test]
fn l2_the_branch_held_rejected_work() {
    assert_world_finds("L2", Sabotage::BranchHoldsRejected);
}

#[test]
fn l4_a_copy_of_the_ledger_enters() {
    assert_world_finds("L4", Sabotage::LedgerEnters);
}

#[test]
fn l5_a_fact_that_is_not_durable() {
    assert_world_finds("L5", Sabotage::LateJournal);
}

#[test]
fn l9_kept_work_is_forgotten() {
    assert_world_finds("L9", Sabotage::ForgetsKept);
}

#[test]
fn l10_something_lives_on() {
    assert_world_finds("L10", Sabotage::LeavesAlive);
}

#[test]
fn l6_an_effect_that_is_not_idempotent() {
    let mut scenario = Scenario::of([Behaviour::Asks]);
    enumerate_crashes(&scenario).expect("the control");
    scenario.sabotage = Some(Sabotage::DecisionsTwice);
    let why = enumerate_crashes(&scenario).unwrap_err();
    assert!(why.contains("the end differs"), "{why}");
}
