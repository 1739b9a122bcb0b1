//! Phases, their gates, and the forced pause.

use ralph_core::{
    Budget, DecisionKind, Item, ItemRef, ItemStatus, MemoryDecisions, MemoryJournal, MemoryPlan, Phase, Plan, Ralph,
    RunId, StopReason, Verdict, Verifier, VerifyError, async_trait,
    machine::Carried,
    testing::{Files, MemoryVcs, ScriptedAgent, turn},
};

use super::run;

/// What outlives an invocation.
struct Operator {
    plan: MemoryPlan,
    vcs: MemoryVcs,
    journal: MemoryJournal,
    decisions: MemoryDecisions,
}

impl Operator {
    /// One phase for each of `phases`, with one item `R01` each.
    fn new(phases: impl IntoIterator<Item = Phase>) -> Self {
        Self {
            plan: MemoryPlan::new(Plan::new(phases)),
            vcs: MemoryVcs::new(),
            journal: MemoryJournal::new(),
            decisions: MemoryDecisions::new(),
        }
    }

    /// An invocation of the run with an agent whose sessions write a new file each.
    fn ralph(&self, sessions: usize) -> (Ralph, ScriptedAgent) {
        let turns = (0..sessions).map(|index| turn().writes(format!("f{}-{index}", self.vcs.branch().len()), "x"));
        let agent = ScriptedAgent::new(turns);
        let ralph = Ralph::builder(self.plan.clone(), agent.clone(), GateFile, self.vcs.clone())
            .journal(self.journal.clone(), RunId::new("run"))
            .decisions(self.decisions.clone());
        (ralph, agent)
    }

    /// Runs to the next stop, in which exactly so many sessions take place.
    #[track_caller]
    fn go(&self, sessions: usize) -> (StopReason, String) {
        let (ralph, agent) = self.ralph(sessions);
        let stop = run(ralph).stop;
        agent.assert_played();
        (stop.reason, stop.detail)
    }

    fn say(&self, id: &str, said: &str) {
        self.decisions.answer(&id.into(), said, "lead", std::time::UNIX_EPOCH).unwrap();
    }

    fn finished(&self) -> usize {
        let records = self.journal.records(&RunId::new("run"));
        let is_end = |record: &&ralph_core::Record| serde_json::to_value(&record.fact).unwrap()["type"] == "phase_done";
        records.iter().filter(is_end).count()
    }
}

fn phase(id: &str) -> Phase {
    let mut phase = Phase::new(id, [Item::new("R01", "do it")]);
    phase.auto_gate.push("check".to_owned());
    phase
}

fn manual(id: &str) -> Phase {
    let mut phase = Phase::new(id, [Item::new("R01", "do it")]);
    phase.manual_gate = Some(format!("lead approves {id}"));
    phase
}

/// Closed where the branch holds a file `closed`, broken where it holds `broken`.
#[derive(Debug)]
struct GateFile;

#[async_trait]
impl Verifier for GateFile {
    fn name(&self) -> &str {
        "gate-file"
    }
    async fn verify(&self, target: &ralph_core::Target, _cx: &ralph_core::Cx) -> Result<Verdict, VerifyError> {
        if target.stage != ralph_core::Stage::Gate {
            return Ok(Verdict::new(true, "an item's verifier"));
        }
        if target.folder.join("broken").exists() {
            return Err(VerifyError::broken("exit 127"));
        }
        // An item's own verifier objects, until somebody retires it.
        let own = target.phase.items.iter().any(|item| item.verify.contains(&"false".to_owned()));
        let mut verdict = Verdict::new(!target.folder.join("closed").exists() && !own, "the gate's verifier");
        if let Verdict::Fail(evidence) = &mut verdict {
            evidence.tail = "assertion failed\nat line 3\n".to_owned();
        }
        Ok(verdict)
    }
}

fn commit(operator: &Operator, name: &str) {
    let mut files: Files = operator.vcs.files();
    files.insert(name.to_owned(), b"by hand".to_vec());
    operator.vcs.commit_by_hand(files);
}

#[test]
fn a_manual_gate_stops_until_it_is_approved() {
    let operator = Operator::new([manual("P1"), manual("P2")]);
    let (reason, detail) = operator.go(1);
    assert_eq!((reason, detail.as_str()), (StopReason::ManualGate, "D-001: Manual-Gate awaits: lead approves P1"));
    // Nothing has changed: nothing is asked again, and nothing is done.
    assert_eq!(operator.go(0).0, StopReason::ManualGate);
    assert_eq!(operator.decisions.asked().len(), 1);
    operator.say("D-001", "approve");
    let (reason, detail) = operator.go(1);
    assert_eq!((reason, detail.as_str()), (StopReason::ManualGate, "D-002: Manual-Gate awaits: lead approves P2"));
    assert_eq!(operator.finished(), 1);
    operator.say("D-002", "yes");
    assert_eq!(operator.go(0).0, StopReason::Success);
    assert_eq!(operator.finished(), 2);
}

#[test]
fn a_rejected_phase_stays_with_the_reason_and_is_asked_again_once_the_branch_has_moved() {
    let operator = Operator::new([manual("P1")]);
    operator.go(1);
    operator.say("D-001", "reject: the text is too long");
    for _ in 0..2 {
        let (reason, detail) = operator.go(0);
        assert_eq!(reason, StopReason::ManualGate);
        assert!(detail.contains("lead said: reject: the text is too long"), "{detail}");
    }
    commit(&operator, "shorter");
    assert_eq!(operator.go(0).1, "D-002: Manual-Gate awaits: lead approves P1");
    operator.say("D-002", "approve");
    assert_eq!(operator.go(0).0, StopReason::Success);
}

#[test]
fn a_gate_that_says_something_else_is_asked_again() {
    for said in ["", "reject: too early", "approve"] {
        let operator = Operator::new([manual("P1")]);
        assert_eq!(operator.go(1).0, StopReason::ManualGate);
        if !said.is_empty() {
            operator.say("D-001", said);
        }
        operator.plan.edit(|plan| {
            std::sync::Arc::make_mut(&mut plan.phases[0]).manual_gate = Some("two leads approve P1".to_owned());
        });
        let detail = "D-002: Manual-Gate awaits: two leads approve P1";
        assert_eq!(operator.go(0), (StopReason::ManualGate, detail.to_owned()), "{said}");
        let waits: Vec<_> = operator.decisions.pending().into_iter().map(|(id, _)| id.to_string()).collect();
        assert_eq!(waits, ["D-002"], "{said}");
        operator.say("D-002", "approve");
        assert_eq!(operator.go(0).0, StopReason::Success, "{said}");
    }
}

/// Whoever approves what was asked before an item was worked on again has not seen that work.
#[test]
fn an_approval_is_of_the_work_that_was_asked_about() {
    for (answered, began) in [("before the work", ""), ("during the session", "/session"), ("after it", "/mark/")] {
        let operator = Operator::new([manual("P1")]);
        assert_eq!(operator.go(1).0, StopReason::ManualGate);
        operator.plan.edit(|plan| {
            let phase = std::sync::Arc::make_mut(&mut plan.phases[0]);
            std::sync::Arc::make_mut(&mut phase.items[0]).status = ItemStatus::Open;
        });
        let late = operator.decisions.clone();
        let say = move || late.answer(&"D-001".into(), "approve", "lead", std::time::UNIX_EPOCH);
        if answered == "before the work" {
            say().unwrap();
        }
        let (ralph, _) = operator.ralph(1);
        let ralph = ralph.observe(move |event: &ralph_core::Event| match event {
            ralph_core::Event::Began { step, .. } if !began.is_empty() && step.contains(began) => {
                // It may have been taken back by then.
                let _ = say();
            }
            _ => {}
        });
        assert_eq!(run(ralph).stop.reason, StopReason::ManualGate, "{answered}");
        assert_eq!((operator.finished(), operator.vcs.branch().len()), (0, 3), "{answered}");
        let waits: Vec<_> = operator.decisions.pending().into_iter().map(|(id, _)| id.to_string()).collect();
        assert_eq!(waits, ["D-002"], "{answered}");
        operator.say("D-002", "approve");
        assert_eq!(operator.go(0).0, StopReason::Success, "{answered}");
    }
}

#[test]
fn a_closed_auto_gate_asks_once_and_is_tried_again_by_every_run() {
    let operator = Operator::new([phase("P1")]);
    commit(&operator, "closed");
    let (reason, detail) = operator.go(1);
    assert_eq!(reason, StopReason::AutoGateFailed);
    assert!(detail.contains("The gate of P1 is closed: the gate's verifier"), "{detail}");
    let asked = operator.decisions.asked();
    assert_eq!(
        (asked[0].question.kind, asked[0].output.as_str()),
        (DecisionKind::AutoGate, "assertion failed\nat line 3\n")
    );
    assert_eq!(operator.go(0).0, StopReason::AutoGateFailed);
    assert_eq!(operator.decisions.asked().len(), 1, "the question is in the queue already");
    // A person puts it right on the branch: the pass closes the question.
    let mut files = operator.vcs.files();
    files.remove("closed");
    operator.vcs.commit_by_hand(files);
    assert_eq!(operator.go(0).0, StopReason::Success);
    assert!(operator.decisions.pending().is_empty());
}

#[test]
fn an_auto_gate_has_an_item_worked_on_again() {
    let operator = Operator::new([phase("P1")]);
    commit(&operator, "closed");
    operator.go(1);
    operator.say("D-001", "reopen R01");
    let agent = ScriptedAgent::new([turn().removes("closed").writes("more", "x")]);
    let ralph = Ralph::builder(operator.plan.clone(), agent.clone(), GateFile, operator.vcs.clone())
        .journal(operator.journal.clone(), RunId::new("run"))
        .decisions(operator.decisions);
    assert_eq!(run(ralph).stop.reason, StopReason::Success);
    agent.assert_played();
    let prompt = &agent.briefs()[0].prompt;
    assert!(prompt.contains("D-001 (lead, 1970-01-01): reopen R01"), "{prompt}");
    assert!(prompt.contains("  > assertion failed\n  > at line 3"), "the gate's output: {prompt}");
}

#[test]
fn an_items_own_verifier_can_be_retired_and_the_gate_cannot() {
    let mut overtaken = phase("P1");
    let mut item = Item::new("R01", "do it");
    item.verify.push("false".to_owned());
    overtaken.items = vec![item.into()];
    let operator = Operator::new([overtaken]);
    assert_eq!(operator.go(1).0, StopReason::AutoGateFailed);
    for waived in ["approve", "continue", "yes", "open"] {
        let refused = operator.decisions.answer(&"D-001".into(), waived, "lead", std::time::UNIX_EPOCH);
        assert!(refused.is_err(), "{waived}");
    }
    operator.say("D-001", "retire R01");
    assert_eq!(operator.go(0).0, StopReason::Success);
    let noted = operator.plan.plan().find(&ItemRef::new("P1", "R01")).unwrap().1.decisions.clone();
    assert_eq!(noted, ["D-001 (lead, 1970-01-01): retire R01"]);
    // Worked on again, it counts again.
    let carried = Carried { retired: vec![ItemRef::new("P1", "R01")], ..Carried::default() };
    operator.plan.edit(|plan| {
        let phase = std::sync::Arc::make_mut(&mut plan.phases[0]);
        std::sync::Arc::make_mut(&mut phase.items[0]).status = ItemStatus::Open;
    });
    let (ralph, _) = operator.ralph(1);
    let again = ralph.journal(operator.journal, RunId::new("again")).carried(carried);
    assert_eq!(run(again).stop.reason, StopReason::AutoGateFailed);
}

#[test]
fn a_gate_that_cannot_judge_is_a_broken_verifier() {
    let operator = Operator::new([phase("P1")]);
    commit(&operator, "broken");
    assert_eq!(operator.go(1), (StopReason::VerifierBroken, "P1: exit 127".to_owned()));
    assert!(operator.decisions.asked().is_empty());
}

#[test]
fn seven_phases_stop_after_five_and_a_crash_changes_nothing() {
    let operator = Operator::new((1..=7).map(|number| phase(&format!("P{number}"))));
    // Stopped at the third, as by a person.
    let (ralph, _) = operator.ralph(3);
    let mut budget = Budget::default();
    budget.iterations = 3;
    assert_eq!(run(ralph.budget(budget)).stop.reason, StopReason::BudgetExhausted);
    assert_eq!(operator.finished(), 3);
    assert_eq!(operator.go(2).0, StopReason::Checkpoint);
    assert_eq!(operator.finished(), 5);
    assert_eq!(operator.go(0).0, StopReason::Checkpoint);
    operator.say("D-001", "stop");
    assert_eq!(
        operator.go(0),
        (StopReason::Checkpoint, "D-002: 5 phases were finished without a pause. Go on with P6?".to_owned())
    );
    operator.say("D-002", "continue");
    assert_eq!(operator.go(2).0, StopReason::Success);
    assert_eq!(operator.finished(), 7);
}

#[test]
fn a_new_run_goes_on_from_what_earlier_ones_came_to() {
    let operator = Operator::new([manual("P1"), phase("P2")]);
    operator.go(1);
    operator.say("D-001", "approve");
    assert_eq!(operator.go(1).0, StopReason::Success);
    let records = operator.journal.records(&RunId::new("run"));
    let mut machine = ralph_core::machine::Machine::new();
    records.iter().for_each(|record| machine.apply(&record.fact).unwrap());
    let carried = machine.carried();
    assert_eq!(
        carried,
        Carried { finished: vec!["P1".into(), "P2".into()], since_checkpoint: 2, retired: vec![], unpublished: false }
    );
    // Nothing to do: verified all the same, and nobody is asked what they said already.
    let (ralph, _) = operator.ralph(0);
    let again = ralph.journal(operator.journal.clone(), RunId::new("again")).carried(carried.clone());
    let stop = run(again).stop;
    assert_eq!((stop.reason, stop.detail.as_str()), (StopReason::Success, "every item is done, and the branch passes"));
    // An item that is opened again takes its phase through its gates again.
    operator.plan.edit(|plan| {
        let phase = std::sync::Arc::make_mut(&mut plan.phases[0]);
        std::sync::Arc::make_mut(&mut phase.items[0]).status = ItemStatus::Open;
    });
    let (ralph, _) = operator.ralph(1);
    let third = ralph.journal(operator.journal, RunId::new("third")).carried(carried);
    assert_eq!(run(third).stop.reason, StopReason::ManualGate);
}

#[test]
fn a_phase_whose_rest_waits_or_is_blocked_does_not_come_to_its_gates() {
    for (mark, reason) in
        [(ItemStatus::Blocked, StopReason::ItemsBlocked), (ItemStatus::Decision, StopReason::AwaitingDecisions)]
    {
        let mut first = phase("P1");
        let mut item = Item::new("R02", "the rest");
        item.status = mark;
        first.items.push(item.into());
        let operator = Operator::new([first, phase("P2")]);
        assert_eq!(operator.go(1).0, reason);
        assert_eq!(operator.finished(), 0);
    }
}

/// Asks wherever it is asked.
#[derive(Debug)]
struct Window;

#[async_trait]
impl ralph_core::Gate for Window {
    fn name(&self) -> &str {
        "window"
    }
    async fn judge(
        &self,
        _boundary: &ralph_core::Boundary,
        _cx: &ralph_core::Cx,
    ) -> Result<ralph_core::Ruling, ralph_core::GateError> {
        let question = ralph_core::Question::new(DecisionKind::Choice, "Now?").with_options(["now", "later"]);
        Ok(ralph_core::Ruling::Ask(question))
    }
}

#[test]
fn a_gate_that_was_added_stands_before_every_phase_and_its_first_option_opens_it() {
    let operator = Operator::new([Phase::new("P1", [Item::new("R01", "do it")])]);
    let go = |sessions| {
        let (ralph, _) = operator.ralph(sessions);
        run(ralph.phase_gate(Window)).stop.reason
    };
    assert_eq!(go(1), StopReason::AwaitingDecisions);
    operator.say("D-001", "later");
    assert_eq!(go(0), StopReason::ManualGate, "refused until the branch has moved");
    commit(&operator, "more");
    assert_eq!(go(0), StopReason::AwaitingDecisions);
    operator.say("D-002", "a");
    assert_eq!(go(0), StopReason::Success);
}

#[test]
fn a_checkpoint_that_is_due_binds_a_new_run() {
    let operator = Operator::new((1..=3).map(|number| phase(&format!("P{number}"))));
    let (ralph, _) = operator.ralph(0);
    let carried = Carried { since_checkpoint: 5, ..Carried::default() };
    assert_eq!(run(ralph.carried(carried)).stop.reason, StopReason::Checkpoint);
    operator.say("D-001", "continue");
    assert_eq!(operator.go(3).0, StopReason::Success);
}
