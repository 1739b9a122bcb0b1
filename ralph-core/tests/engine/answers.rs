//! Answers to questions about items, and work that comes back with them.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, Ordering},
};

use ralph_core::{
    Boundary, Cx, DecisionKind, DecisionSink, Digest, Gate, GateError, ItemStatus, MemoryDecisions, MemoryJournal,
    Publish, Question, Ralph, Revision, Ruling, RunId, StopReason, VcsError, async_trait,
    testing::{ScriptedAgent, Turn, turn},
};

use super::{World, run};

/// Asks about work that adds `dependency`.
#[derive(Debug)]
pub(super) struct Policy;

#[async_trait]
impl Gate for Policy {
    fn name(&self) -> &str {
        "policy"
    }
    async fn judge(&self, boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
        let Boundary::Item(at) = boundary else {
            return Ok(Ruling::Ask(Question::new(DecisionKind::Dependency, "what is this?")));
        };
        let new = at.changes.iter().any(|change| change.path == b"dependency");
        Ok(if new { Ruling::Ask(Question::new(DecisionKind::Dependency, "left-pad?")) } else { Ruling::Open })
    }
}

struct Desk {
    world: World,
    journal: MemoryJournal,
    decisions: MemoryDecisions,
}

impl Desk {
    fn new(items: usize) -> Self {
        Self { world: World::new(items, []), journal: MemoryJournal::new(), decisions: MemoryDecisions::new() }
    }

    fn ralph(&self, agent: &ScriptedAgent) -> Ralph {
        let seen = Arc::clone(&self.world.seen);
        Ralph::builder(self.world.plan.clone(), agent.clone(), super::no_bad_files(), self.world.vcs.clone())
            .gate(Policy)
            .rebase(self.world.vcs.clone())
            .journal(self.journal.clone(), RunId::new("run"))
            .decisions(self.decisions.clone())
            .observe(move |event: &ralph_core::Event| seen.lock().unwrap().push(event.clone()))
    }

    #[track_caller]
    fn go(&self, turns: impl IntoIterator<Item = Turn>) -> (StopReason, ScriptedAgent) {
        let agent = ScriptedAgent::new(turns);
        let stop = run(self.ralph(&agent)).stop;
        agent.assert_played();
        (stop.reason, agent)
    }

    fn say(&self, id: &str, said: &str) {
        self.decisions.answer(&id.into(), said, "lead", std::time::UNIX_EPOCH).unwrap();
    }
}

#[test]
fn approved_work_is_verified_twice_and_accepted_without_a_session() {
    let desk = Desk::new(2);
    let (reason, _) = desk.go([turn().writes("dependency", "left-pad"), turn().writes("b", "good")]);
    assert_eq!(reason, StopReason::AwaitingDecisions);
    assert!(!desk.world.vcs.files().contains_key("dependency"));
    desk.say("D-001", "approve");
    let before = desk.world.facts("verified").len();
    // The branch has R02 since: the work is carried over, and no session takes place.
    assert_eq!(desk.go([]).0, StopReason::Success);
    let verified = &desk.world.facts("verified")[before..];
    let stages: Vec<_> = verified.iter().map(|fact| fact["stage"].as_str().unwrap().to_owned()).collect();
    assert_eq!(stages, ["base", "workspace", "candidate"]);
    assert_eq!(desk.world.facts("rebased").len(), 1);
    assert!(desk.world.vcs.files().contains_key("dependency"));
    assert_eq!(desk.world.status("R01"), ItemStatus::Done);
}

#[test]
fn rejected_work_reopens_the_item_with_the_reason() {
    let desk = Desk::new(1);
    desk.go([turn().writes("dependency", "left-pad")]);
    desk.say("D-001", "no: write it yourself");
    let (reason, agent) = desk.go([turn().writes("own", "good")]);
    assert_eq!(reason, StopReason::Success);
    let prompt = &agent.briefs()[0].prompt;
    assert!(prompt.contains("D-001 (lead, 1970-01-01): reject: write it yourself"), "{prompt}");
    assert!(prompt.contains("its work was not wanted (D-001): reject: write it yourself"), "{prompt}");
    assert!(prompt.contains("  The question was:\n\n  > left-pad?"), "{prompt}");
    assert!(!desk.world.vcs.files().contains_key("dependency"), "it starts from the branch");
}

#[test]
fn approved_work_that_no_longer_fits_gets_a_session_that_is_told_why() {
    let desk = Desk::new(1);
    desk.go([turn().writes("dependency", "left-pad")]);
    let mut files = desk.world.vcs.files();
    files.insert("dependency".to_owned(), b"right-pad".to_vec());
    desk.world.vcs.commit_by_hand(files);
    desk.say("D-001", "approve");
    let (reason, agent) = desk.go([turn().writes("other", "good")]);
    assert_eq!(reason, StopReason::Success);
    let prompt = &agent.briefs()[0].prompt;
    assert!(prompt.contains("the branch moved on, and the work no longer fits it: dependency"), "{prompt}");
}

#[test]
fn approved_work_of_a_row_that_was_edited_since_is_where_the_next_session_starts() {
    let desk = Desk::new(1);
    desk.go([turn().writes("dependency", "left-pad")]);
    desk.say("D-001", "approve");
    desk.world.plan.edit(|plan| {
        let item = &mut Arc::make_mut(&mut plan.phases[0]).items[0];
        Arc::make_mut(item).digest = Digest::of(b"edited");
    });
    // Its gate has an approval for other work only.
    let (reason, agent) = desk.go([turn().writes("more", "good")]);
    assert_eq!(reason, StopReason::AwaitingDecisions);
    let prompt = &agent.briefs()[0].prompt;
    assert!(prompt.contains("the item was edited after this work was made"), "{prompt}");
    desk.say("D-002", "approve");
    assert_eq!(desk.go([]).0, StopReason::Success);
    assert!(desk.world.vcs.files().contains_key("dependency"));
}

/// Asks something else each time.
#[derive(Debug, Default)]
struct Fickle(AtomicU32);

#[async_trait]
impl Gate for Fickle {
    fn name(&self) -> &str {
        "fickle"
    }
    async fn judge(&self, _boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
        let text = match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => "left-pad?",
            1..=3 => "left-pad, and curl?",
            _ => return Ok(Ruling::Open),
        };
        Ok(Ruling::Ask(Question::new(DecisionKind::Dependency, text)))
    }
}

#[test]
fn an_approval_opens_a_gate_for_what_was_asked_and_for_nothing_else() {
    let desk = Desk::new(1);
    let gate: Arc<dyn Gate> = Arc::new(Fickle::default());
    let go = |turns: Vec<Turn>| {
        let agent = ScriptedAgent::new(turns);
        let stop = run(desk.ralph(&agent).gate(Arc::clone(&gate))).stop;
        agent.assert_played();
        stop.reason
    };
    assert_eq!(go(vec![turn().writes("a", "good")]), StopReason::AwaitingDecisions);
    desk.say("D-001", "approve");
    assert_eq!(go(vec![]), StopReason::AwaitingDecisions, "it asks something else now");
    let asked = desk.decisions.asked();
    assert_eq!(
        asked.iter().map(|one| one.question.text.as_str()).collect::<Vec<_>>(),
        ["left-pad?", "left-pad, and curl?"]
    );
    desk.say("D-002", "approve");
    assert_eq!(go(vec![]), StopReason::Success);
}

#[test]
fn approved_work_that_fails_now_gets_a_session_and_is_kept() {
    let desk = Desk::new(1);
    desk.go([turn().writes("dependency", "left-pad")]);
    // Since then the branch has something on which every verdict fails, until a session removes it.
    let mut files = desk.world.vcs.files();
    files.insert("spoiled".to_owned(), b"bad".to_vec());
    desk.world.vcs.commit_by_hand(files);
    desk.say("D-001", "approve");
    let (reason, agent) = desk.go([turn().writes("spoiled", "good")]);
    assert_eq!(reason, StopReason::Success);
    assert!(agent.briefs()[0].prompt.contains("no bad files"), "{}", agent.briefs()[0].prompt);
    assert!(desk.world.vcs.kept().keys().any(|name| name.starts_with("rejected/")));
}

#[test]
fn an_agents_question_is_answered_in_the_next_prompt_and_its_work_goes_on() {
    let desk = Desk::new(1);
    let question =
        "{\"status\":\"decision\",\"question\":\"Resend or Postmark?\",\"options\":[\"Resend\",\"Postmark\"]}";
    let (reason, _) = desk.go([turn().writes("half", "done").signals(question)]);
    assert_eq!(reason, StopReason::AwaitingDecisions);
    desk.say("D-001", "a");
    let (reason, agent) = desk.go([turn().writes("whole", "done")]);
    assert_eq!(reason, StopReason::Success);
    assert!(agent.briefs()[0].prompt.contains("D-001 (lead, 1970-01-01): Resend"));
    assert!(desk.world.vcs.files().contains_key("half"), "the next session started from what was there");
}

#[test]
fn an_item_that_is_done_already_is_verified_on_the_branch() {
    for (said, sessions, reason) in
        [("approve", 0, StopReason::Success), ("reject: look again", 1, StopReason::Success)]
    {
        let desk = Desk::new(1);
        assert_eq!(desk.go([turn()]).0, StopReason::AwaitingDecisions);
        desk.say("D-001", said);
        let turns = (0..sessions).map(|_| turn().writes("more", "good"));
        assert_eq!(desk.go(turns).0, reason, "{said}");
        assert_eq!(desk.world.status("R01"), ItemStatus::Done);
    }
}

#[test]
fn proposed_items_are_added_when_a_person_approves() {
    for (said, items) in [("approve", 2), ("reject", 1)] {
        let desk = Desk::new(1);
        let report =
            "{\"status\":\"done\",\"proposed\":[{\"title\":\"Also the footer\",\"criteria\":[\"it is there\"]}]}";
        let (reason, _) = desk.go([turn().writes("a", "good").signals(report)]);
        assert_eq!(reason, StopReason::AwaitingDecisions, "nothing is added in silence");
        let asked = desk.decisions.asked();
        assert_eq!(
            (asked[0].question.kind, asked[0].proposed[0].title.as_str()),
            (DecisionKind::Scope, "Also the footer")
        );
        desk.say("D-001", said);
        let (reason, _) = desk.go((1..items).map(|_| turn().writes("footer", "good")));
        assert_eq!(reason, StopReason::Success);
        assert_eq!(desk.world.plan.plan().phases[0].items.len(), items);
    }
}

#[test]
fn a_person_who_changes_the_mark_takes_the_question_back() {
    let desk = Desk::new(1);
    desk.go([turn().writes("dependency", "left-pad")]);
    desk.world.plan.edit(|plan| {
        let phase = Arc::make_mut(&mut plan.phases[0]);
        Arc::make_mut(&mut phase.items[0]).status = ItemStatus::Open;
    });
    assert_eq!(desk.go([turn().writes("own", "good")]).0, StopReason::Success);
    assert!(desk.decisions.pending().is_empty());
    let late = desk.decisions.answer(&"D-001".into(), "approve", "lead", std::time::UNIX_EPOCH);
    assert!(late.unwrap_err().contains("no longer open"));
}

#[test]
fn what_is_lost_from_the_queue_is_asked_anew() {
    let desk = Desk::new(1);
    desk.go([turn().writes("dependency", "left-pad")]);
    let withdrawn = async { desk.decisions.close(&"D-001".into(), "by mistake", &Cx::new()).await.unwrap() };
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(withdrawn);
    assert_eq!(desk.go([]).0, StopReason::AwaitingDecisions);
    let waits = desk.decisions.pending();
    assert_eq!(waits.iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>(), ["D-002"]);
    desk.say("D-002", "write it yourself");
    let (reason, agent) = desk.go([turn().writes("own", "good")]);
    assert_eq!(reason, StopReason::Success);
    assert!(agent.briefs()[0].prompt.contains("D-002 (lead, 1970-01-01): write it yourself"));
}

/// Fails so often, then takes what it is given.
#[derive(Debug)]
struct Remote {
    fails: AtomicU32,
    got: Arc<Mutex<Vec<Revision>>>,
}

#[async_trait]
impl Publish for Remote {
    async fn publish(&self, revision: &Revision, _cx: &Cx) -> Result<(), VcsError> {
        if self.fails.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(VcsError::other("pushing", "no network"));
        }
        self.got.lock().unwrap().push(revision.clone());
        Ok(())
    }
}

#[test]
fn a_failed_push_is_tried_again_and_fails_nothing() {
    for (fails, tries, pushed) in [(0, 2, 2), (1, 2, 1), (2, 3, 1), (9, 3, 0)] {
        let world = World::new(2, [turn().writes("a", "good"), turn().writes("b", "good")]);
        let got = Arc::<Mutex<Vec<Revision>>>::default();
        let remote = Remote { fails: AtomicU32::new(fails), got: Arc::clone(&got) };
        let outcome = run(world.ralph().publish(remote));
        assert_eq!(outcome.stop.reason, StopReason::Success, "{fails} failures");
        assert_eq!(world.facts("published").len(), tries, "{fails} failures");
        let got = got.lock().unwrap();
        assert_eq!(got.len(), pushed, "{fails} failures");
        assert!(got.last().is_none_or(|last| Some(last) == outcome.tip.as_ref()));
    }
}
