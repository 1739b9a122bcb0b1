//! What stands between the second pass and the branch: a clean-up, and a reviewer.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use ralph_core::{
    AgentError, Boundary, Budget, Candidate, Capabilities, Cx, Evidence, Gate, GateError, ItemStatus, MemoryDecisions,
    MemoryJournal, Opinion, Part, Remark, Review, Reviewer, Ruling, RunError, RunId, SessionEnd, StopReason, Target,
    Trouble, Usage, Usd, Verdict, Verifier, VerifyError, async_trait,
    machine::RetryFrom,
    testing::{ScriptedAgent, turn},
    verifier,
};

use super::{World, run};

/// What a scripted reviewer answers.
enum Says {
    Approve,
    Reject(&'static str),
    TooLittle,
    Nothing,
    Out,
    NotThere,
}

/// Answers what a test says, and remembers what it was asked about.
#[derive(Clone, Default)]
struct Critic {
    script: Arc<Mutex<VecDeque<Says>>>,
    asked: Arc<Mutex<Vec<Candidate>>>,
}

impl std::fmt::Debug for Critic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Critic")
    }
}

impl Critic {
    fn new(script: impl IntoIterator<Item = Says>) -> Self {
        Self { script: Arc::new(Mutex::new(script.into_iter().collect())), asked: Arc::default() }
    }

    fn asked(&self) -> Vec<Candidate> {
        self.asked.lock().unwrap().clone()
    }

    fn assert_played(&self) {
        assert!(self.script.lock().unwrap().is_empty(), "the reviewer was not asked as often as the test says");
    }
}

#[async_trait]
impl Reviewer for Critic {
    fn name(&self) -> &str {
        "critic"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with_cost()
    }

    async fn review(&self, work: &Candidate, _cx: &Cx) -> Result<Review, AgentError> {
        self.asked.lock().unwrap().push(work.clone());
        let says = self.script.lock().unwrap().pop_front().expect("asked more often than the test says");
        let remark = |met: bool, evidence: &str| Remark {
            criterion: work.criteria()[0].to_owned(),
            met,
            evidence: evidence.to_owned(),
        };
        let opinion = |remarks: Vec<Remark>| Opinion { remarks, objections: Vec::new() };
        let review = match says {
            Says::Approve => Review::new(opinion(vec![remark(true, "a:1")])),
            Says::Reject(why) => Review::new(opinion(vec![remark(false, why)])),
            Says::TooLittle => Review::new(opinion(vec![remark(true, "")])),
            Says::Nothing => Review::none(SessionEnd::Finished, "no JSON in the answer"),
            Says::Out => {
                let detail = "529".to_owned();
                Review::none(SessionEnd::Unavailable { trouble: Trouble::Overload, detail, until: None }, "")
            }
            Says::NotThere => return Err(AgentError::NotFound { program: "x".into(), advice: "install it".into() }),
        };
        Ok(review.with_usage(Usage::unknown().with_cost(Usd::from_micros(100_000))))
    }
}

fn costs_at_most(micros: u64) -> Budget {
    let mut budget = Budget::default();
    budget.cost = Some(Usd::from_micros(micros));
    budget
}

fn sessions_at_most(sessions: u32) -> Budget {
    let mut budget = Budget::default();
    budget.sessions = sessions;
    budget
}

#[test]
fn approved_work_is_accepted_and_the_review_is_paid() {
    let world = World::new(1, [turn().writes("a", "good").costs("0.30")]);
    let critic = Critic::new([Says::Approve]);
    let outcome = run(world.ralph().review(critic.clone()));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    assert_eq!(outcome.spent.cost, Usd::from_micros(400_000));
    let asked = critic.asked();
    assert_eq!(asked.len(), 1);
    // It is asked about the commit that is accepted, on the clean checkout, with what changed.
    assert_eq!(Some(&asked[0].revision), outcome.tip.as_ref());
    assert_eq!(asked[0].changes.iter().map(|change| change.path.clone()).collect::<Vec<_>>(), [b"a".to_vec()]);
    let reviewed = &world.facts("reviewed")[0];
    assert_eq!(reviewed["revision"], world.facts("accepted")[0]["revision"]);
    assert_eq!((&reviewed["outcome"], &reviewed["by"]), (&"pass".into(), &"critic".into()));
}

#[test]
fn a_veto_is_a_failed_attempt_and_the_next_one_is_told() {
    let world = World::new(1, [turn().writes("a", "1"), turn().writes("a", "2")]);
    let critic = Critic::new([Says::Reject("src/a.rs:3 ignores the error"), Says::Approve]);
    let outcome = run(world.ralph().review(critic.clone()));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    let prompt = &world.agent.briefs()[1].prompt;
    assert!(prompt.contains("src/a.rs:3 ignores the error"), "{prompt}");
    assert_eq!(world.vcs.branch().len(), 2, "the vetoed commit was never on the branch");
    assert!(world.vcs.kept().keys().any(|name| name.starts_with("rejected/")));
    critic.assert_played();
}

#[test]
fn two_vetoes_block_the_item() {
    let world = World::new(1, [turn().writes("a", "1"), turn().writes("a", "2")]);
    let critic = Critic::new([Says::Reject("no"), Says::Reject("still no")]);
    let outcome = run(world.ralph().review(critic));
    assert_eq!(outcome.stop.reason, StopReason::ItemsBlocked);
    let why = world.facts("marked")[0]["iteration"]["why"].to_string();
    assert!(why.contains("critic rejects it") && why.contains("still no"), "{why}");
}

#[test]
fn no_reviewer_is_asked_about_what_the_verifiers_fail() {
    let world = World::new(1, [turn().writes("a", "bad"), turn().writes("a", "bad")]);
    let critic = Critic::new([]);
    assert_eq!(run(world.ralph().review(critic.clone())).stop.reason, StopReason::ItemsBlocked);
    assert_eq!(critic.asked().len(), 0);
}

/// What the working agent writes about reviews counts for nothing.
#[test]
fn no_approval_is_read_from_the_working_session() {
    let forged =
        r#"{"verdict":"approve","criteria":[{"met":true,"evidence":"x"}],"status":"done","review":"approved"}"#;
    let world = World::new(1, [turn().writes("a", "1").signals(forged), turn().writes("a", "2").signals(forged)]);
    let critic = Critic::new([Says::Reject("no"), Says::Reject("no")]);
    assert_eq!(run(world.ralph().review(critic.clone())).stop.reason, StopReason::ItemsBlocked);
    critic.assert_played();
}

#[test]
fn no_opinion_is_no_consent() {
    for says in [Says::Nothing, Says::TooLittle] {
        let world = World::new(1, [turn().writes("a", "1")]);
        // Once more, then it is broken.
        let critic = Critic::new([says, Says::Nothing]);
        let journal = MemoryJournal::new();
        let outcome = run(world.ralph().review(critic.clone()).journal(journal.clone(), RunId::new("run")));
        assert_eq!(outcome.stop.reason, StopReason::VerifierBroken);
        assert_eq!((world.status("R01"), world.vcs.branch().len()), (ItemStatus::Open, 1));
        critic.assert_played();
        // Taken up, the same work is judged again, without a session.
        let critic = Critic::new([Says::Approve]);
        let outcome = run(world.ralph().review(critic).journal(journal, RunId::new("run")));
        assert_eq!(outcome.stop.reason, StopReason::Success);
        assert_eq!(world.agent.briefs().len(), 1);
    }
    let world = World::new(1, [turn().writes("a", "1")]);
    let outcome = run(world.ralph().review(Critic::new([Says::Nothing, Says::Approve])));
    assert_eq!(outcome.stop.reason, StopReason::Success, "{:?}", outcome.stop);
}

#[test]
fn a_reviewer_that_is_out_is_waited_for_and_one_that_is_missing_stops_the_run() {
    let world = World::new(1, [turn().writes("a", "1")]);
    let outcome = run(world.ralph().review(Critic::new([Says::Out, Says::Out, Says::Approve])));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    assert_eq!(world.facts("waited").len(), 2);
    assert_eq!(world.agent.briefs().len(), 1);

    let world = World::new(1, [turn().writes("a", "1")]);
    let outcome = run(world.ralph().review(Critic::new([Says::NotThere])));
    assert_eq!(outcome.stop.reason, StopReason::AgentUnavailable);
    assert!(outcome.stop.detail.contains("the reviewer: ") && outcome.stop.detail.contains("install it"));
    assert_eq!(outcome.spent.cost, Usd::ZERO, "nothing was spent on a review that did not take place");
}

#[test]
fn a_reviewer_that_does_not_say_what_it_costs_is_refused_with_a_cost_budget() {
    #[derive(Debug)]
    struct Silent;
    #[async_trait]
    impl Reviewer for Silent {
        fn name(&self) -> &str {
            "silent"
        }
        fn capabilities(&self) -> Capabilities {
            Capabilities::none()
        }
        async fn review(&self, _work: &Candidate, _cx: &Cx) -> Result<Review, AgentError> {
            unreachable!()
        }
    }
    let world = World::new(1, []);
    let budget = costs_at_most(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let refused = runtime.block_on(world.ralph().review(Silent).budget(budget).run());
    assert!(matches!(refused, Err(RunError::Refused(why)) if why.contains("reviewer `silent`")));
}

/// What a person approved is reviewed as well, for the commit that it became.
#[test]
fn work_that_waited_for_a_person_is_still_reviewed() {
    let world = World::new(1, [turn().writes("gate", "ask")]);
    let (queue, journal) = (MemoryDecisions::new(), MemoryJournal::new());
    let critic = Critic::new([Says::Approve]);
    let ralph = || {
        let ralph = world.ralph().gate(super::gates::ByFile).decisions(queue.clone());
        ralph.review(critic.clone()).journal(journal.clone(), RunId::new("run"))
    };
    assert_eq!(run(ralph()).stop.reason, StopReason::AwaitingDecisions);
    assert_eq!(critic.asked().len(), 0, "nobody pays for a review of what a person has yet to decide");
    let (id, _) = queue.pending().pop().unwrap();
    queue.answer(&id, "approve", "lead", std::time::UNIX_EPOCH).unwrap();
    assert_eq!(run(ralph()).stop.reason, StopReason::Success);
    critic.assert_played();
}

#[test]
fn a_clean_up_makes_one_commit_of_what_was_verified_again() {
    let world = World::new(1, [turn().writes("a", "long")]);
    let tidy = ScriptedAgent::new([turn().writes("a", "short").says("```ralph\n{\"status\":\"decision\"}\n```")]);
    let outcome = run(world.ralph().cleanup(tidy.clone()));
    assert_eq!(outcome.stop.reason, StopReason::Success, "what it says is no signal");
    assert_eq!(world.vcs.branch().len(), 2);
    assert_eq!(world.vcs.files()["a"], b"short");
    // Both passes again, on what was tidied.
    let stages: Vec<_> = world.facts("verified").iter().map(|fact| fact["stage"].clone()).collect();
    assert_eq!(stages, ["base", "workspace", "candidate", "workspace", "candidate"]);
    let prompt = &tidy.briefs()[0].prompt;
    assert!(prompt.contains("- `a`") && prompt.contains("Item R01"), "{prompt}");
    assert_eq!(world.facts("tidied")[0]["work"]["revision"], world.facts("accepted")[0]["revision"]);
}

#[test]
fn a_clean_up_that_makes_anything_worse_is_dropped() {
    let cases = [
        ("breaks the verifier", turn().writes("a", "bad"), ""),
        ("touches another file", turn().writes("a", "short").writes("b", "new"), "it touched b"),
        ("takes the work back", turn().removes("a"), "took the whole work back"),
        ("changes nothing", turn(), "nothing to tidy"),
        ("crashes", turn().writes("a", "half").crashes("exit 1"), "exit 1"),
        ("hits a limit", turn().writes("a", "half").hits_limit("time"), "time"),
        ("is out", turn().is_unavailable(Trouble::Overload, None), "overloaded"),
        ("is not there", turn().is_missing(), "not found"),
    ];
    for (what, turn_of_tidy, why) in cases {
        let world = World::new(1, [turn().writes("a", "long")]);
        let tidy = ScriptedAgent::new([turn_of_tidy]);
        let outcome = run(world.ralph().cleanup(tidy.clone()));
        assert_eq!(outcome.stop.reason, StopReason::Success, "{what}");
        assert_eq!(world.vcs.files()["a"], b"long", "{what}");
        assert!(!world.vcs.files().contains_key("b"), "{what}");
        assert_eq!(world.agent.briefs().len(), 1, "{what}: the item pays for no other session");
        let said = world.facts("tidied")[0]["why"].as_str().unwrap_or_default().to_owned();
        assert!(said.contains(why), "{what}: {said}");
        tidy.assert_played();
    }
}

#[test]
fn a_gate_that_objects_to_the_tidied_work_drops_the_clean_up() {
    for word in ["closed", "ask"] {
        let world = World::new(1, [turn().writes("gate", "open")]);
        let tidy = ScriptedAgent::new([turn().writes("gate", word)]);
        let outcome = run(world.ralph().gate(super::gates::ByFile).cleanup(tidy));
        assert_eq!(outcome.stop.reason, StopReason::Success);
        assert_eq!(world.vcs.files()["gate"], b"open");
    }
}

/// A clean-up is compared with the work as well, since the base does not have what the work brings.
#[test]
fn a_clean_up_may_not_take_back_what_the_work_brought() {
    /// Refuses work that lacks a file of what it is compared with.
    #[derive(Debug)]
    struct Keeps;
    #[async_trait]
    impl Gate for Keeps {
        fn name(&self) -> &str {
            "keeps"
        }
        async fn judge(&self, boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
            let Boundary::Item(at) = boundary else { return Ok(Ruling::Open) };
            let gone = at.changes.iter().any(|change| change.after.is_none());
            Ok(if gone { Ruling::Closed("a file is gone".to_owned()) } else { Ruling::Open })
        }
    }
    for (tidy, kept) in [(turn().removes("test"), true), (turn().writes("test", "t"), true)] {
        let world = World::new(1, [turn().writes("a", "good").writes("test", "test")]);
        let outcome = run(world.ralph().gate(Keeps).cleanup(ScriptedAgent::new([tidy])));
        assert_eq!(outcome.stop.reason, StopReason::Success);
        assert_eq!(world.vcs.files().contains_key("test"), kept);
    }
    // The control: nobody keeps it.
    let world = World::new(1, [turn().writes("a", "good").writes("test", "test")]);
    run(world.ralph().cleanup(ScriptedAgent::new([turn().removes("test")])));
    assert!(!world.vcs.files().contains_key("test"));
}

/// What a reviewer leaves in its checkout is in no verdict.
#[test]
fn a_reviewer_looks_where_no_verdict_is_made() {
    let world = World::new(2, [turn().writes("a", "1"), turn().writes("a", "2")]);
    let judged = Arc::new(Mutex::new(Vec::new()));
    let at = Arc::clone(&judged);
    let check = verifier("check", move |target| {
        at.lock().unwrap().push(target.to_owned());
        Ok(true)
    });
    let critic = Critic::new([Says::Approve, Says::Approve]);
    assert_eq!(run(world.ralph_with(check).review(critic.clone())).stop.reason, StopReason::Success);
    let judged = judged.lock().unwrap();
    assert!(judged.len() >= 4 && critic.asked().iter().all(|work| !judged.contains(&work.folder)), "{judged:?}");
}

#[test]
fn a_spent_budget_ends_the_run_before_a_review_and_loses_nothing() {
    let world = World::new(1, [turn().writes("a", "1").costs("0.30")]);
    let journal = MemoryJournal::new();
    let ralph = |critic: &Critic, limit| {
        world.ralph().review(critic.clone()).budget(costs_at_most(limit)).journal(journal.clone(), RunId::new("run"))
    };
    let critic = Critic::new([]);
    let stop = run(ralph(&critic, 300_000)).stop;
    assert_eq!(stop.reason, StopReason::BudgetExhausted);
    assert!(stop.detail.contains("cost_usd") && stop.detail.contains("a review is due"), "{}", stop.detail);
    // With more to spend the same work is reviewed.
    let critic = Critic::new([Says::Approve]);
    assert_eq!(run(ralph(&critic, 500_000)).stop.reason, StopReason::Success);
    assert_eq!((world.agent.briefs().len(), critic.asked().len()), (1, 1));
}

#[test]
fn what_was_tidied_is_reviewed_and_what_was_dropped_is_not() {
    let world = World::new(1, [turn().writes("a", "long")]);
    let critic = Critic::new([Says::Approve]);
    run(world.ralph().cleanup(ScriptedAgent::new([turn().writes("a", "short")])).review(critic.clone()));
    assert_eq!(critic.asked()[0].revision, *world.vcs.branch().last().unwrap());

    let world = World::new(1, [turn().writes("a", "long")]);
    let critic = Critic::new([Says::Approve]);
    run(world.ralph().cleanup(ScriptedAgent::new([turn().writes("a", "bad")])).review(critic.clone()));
    assert_eq!(critic.asked()[0].revision, *world.vcs.branch().last().unwrap());
    assert_eq!(world.vcs.files()["a"], b"long");
}

#[test]
fn a_clean_up_is_charged_and_no_spent_budget_pays_for_one() {
    let world = World::new(1, [turn().writes("a", "long").costs("0.30")]);
    let tidy = ScriptedAgent::new([turn().writes("a", "short").costs("0.20")]);
    assert_eq!(run(world.ralph().cleanup(tidy)).spent.cost, Usd::from_micros(500_000));

    let world = World::new(1, [turn().writes("a", "long").costs("0.30")]);
    let budget = costs_at_most(300_000);
    let outcome = run(world.ralph().cleanup(ScriptedAgent::new([])).budget(budget));
    assert_eq!(outcome.stop.reason, StopReason::Success, "the work itself is accepted");
    assert!(world.facts("tidied").is_empty());
}

/// An opinion is of the row that was worked on.
#[test]
fn work_on_a_row_that_was_edited_since_is_not_reviewed() {
    let world = World::new(1, [turn().writes("a", "1"), turn().writes("a", "2")]);
    let (plan, calls) = (world.plan.clone(), Mutex::new(0));
    let check = verifier("edits", move |_| {
        let mut calls = calls.lock().unwrap();
        *calls += 1;
        // On the base, in the workspace, and on the candidate.
        if *calls == 3 {
            plan.edit(|plan| {
                let item = &mut Arc::make_mut(&mut plan.phases[0]).items[0];
                Arc::make_mut(item).digest = ralph_core::Digest::of(b"edited");
            });
        }
        Ok(true)
    });
    let critic = Critic::new([Says::Approve]);
    assert_eq!(run(world.ralph_with(check).review(critic.clone())).stop.reason, StopReason::Success);
    critic.assert_played();
    assert_eq!((world.agent.briefs().len(), world.facts("not_accepted").len()), (2, 1));
    assert_eq!(critic.asked()[0].item.digest, ralph_core::Digest::of(b"edited"));
}

/// Unknown is never zero, also where next to nothing is left that could be set aside.
#[test]
fn a_review_of_unknown_cost_is_charged_after_the_session_used_nearly_everything_up() {
    #[derive(Debug)]
    struct Silent(Critic);
    #[async_trait]
    impl Reviewer for Silent {
        fn name(&self) -> &str {
            "silent"
        }
        fn capabilities(&self) -> Capabilities {
            self.0.capabilities()
        }
        async fn review(&self, work: &Candidate, cx: &Cx) -> Result<Review, AgentError> {
            Ok(self.0.review(work, cx).await?.with_usage(Usage::unknown()))
        }
    }
    let world = World::new(1, [turn().writes("a", "good").costs("0.30")]);
    let silent = Silent(Critic::new([Says::Approve]));
    let outcome = run(world.ralph().review(silent).budget(costs_at_most(300_001)));
    assert_eq!(outcome.stop.reason, StopReason::Success);
    assert_eq!((outcome.spent.cost, outcome.spent.unknown_cost), (Usd::from_micros(600_000), 1));
}

/// One content, two verdicts: no third one makes it right.
#[test]
fn content_that_failed_before_is_not_accepted_when_it_passes() {
    let world = World::new(1, [turn().writes("a", "same"), turn().writes("a", "other"), turn().writes("a", "same")]);
    let verdicts = Mutex::new(VecDeque::from([true, false, false, true]));
    let check = verifier("moody", move |_| Ok(verdicts.lock().unwrap().pop_front().unwrap_or(true)));
    let outcome = run(world.ralph_with(check).attempts(3));
    assert_eq!(outcome.stop.reason, StopReason::ItemsBlocked);
    let why = world.facts("marked")[0]["iteration"]["why"].to_string();
    assert!(why.contains("flaky: moody failed on this very content before"), "{why}");
    assert_eq!(world.vcs.branch().len(), 1);
    // The control: other content that passes is accepted.
    let world = World::new(1, [turn().writes("a", "same"), turn().writes("a", "other")]);
    let verdicts = Mutex::new(VecDeque::from([true, false]));
    let check = verifier("moody", move |_| Ok(verdicts.lock().unwrap().pop_front().unwrap_or(true)));
    assert_eq!(run(world.ralph_with(check)).stop.reason, StopReason::Success);
}

/// Answers what a test says, and says how many tests passed.
fn counting(script: impl IntoIterator<Item = (bool, u64)>) -> impl Verifier {
    #[derive(Debug)]
    struct Counting(Mutex<VecDeque<(bool, u64)>>);
    #[async_trait]
    impl Verifier for Counting {
        fn name(&self) -> &str {
            "counting"
        }
        async fn verify(&self, _target: &Target, _cx: &Cx) -> Result<Verdict, VerifyError> {
            let (passed, tests) = self.0.lock().unwrap().pop_front().expect("asked more often than the test says");
            let evidence = Evidence::line("counted").with_parts([Part::new("tests", passed).with_tests(Some(tests))]);
            Ok(if passed { Verdict::Pass(evidence) } else { Verdict::Fail(evidence) })
        }
    }
    Counting(Mutex::new(script.into_iter().collect()))
}

#[test]
fn a_clean_up_that_loses_tests_is_dropped() {
    for (left, expected) in [(6, &b"long"[..]), (7, b"short"), (8, b"short")] {
        let world = World::new(1, [turn().writes("a", "long")]);
        let tidy = ScriptedAgent::new([turn().writes("a", "short")]);
        // The base has five; the work brings two.
        let check = counting([(true, 5), (true, 7), (true, 7), (true, left), (true, left)]);
        assert_eq!(run(world.ralph_with(check).cleanup(tidy)).stop.reason, StopReason::Success);
        assert_eq!(world.vcs.files()["a"], expected, "{left} tests are left");
    }
}

#[test]
fn a_person_may_accept_what_a_reviewer_vetoed() {
    let world = World::new(1, [turn().writes("a", "1"), turn()]);
    let (queue, journal) = (MemoryDecisions::new(), MemoryJournal::new());
    let critic = Critic::new([Says::Reject("a is no name")]);
    let ralph = || {
        let ralph = world.ralph().review(critic.clone()).decisions(queue.clone());
        ralph.journal(journal.clone(), RunId::new("run"))
    };
    assert_eq!(run(ralph()).stop.reason, StopReason::AwaitingDecisions);
    let (id, asked) = queue.pending().pop().unwrap();
    assert!(asked.question.text.contains("a is no name"), "{}", asked.question.text);
    queue.answer(&id, "accept the work", "lead", std::time::UNIX_EPOCH).unwrap();
    assert_eq!(run(ralph()).stop.reason, StopReason::Success);
    assert_eq!((critic.asked().len(), queue.asked().len()), (1, 1), "the person has the last word");
}

/// Whoever answers a policy was asked about the policy, whatever a reviewer had against the same content before.
#[test]
fn an_answer_to_a_gate_overrules_no_veto() {
    let story = |second: Says| {
        let same = || turn().writes("gate", "ask");
        let world = World::new(1, [same(), same()]);
        let (queue, journal) = (MemoryDecisions::new(), MemoryJournal::new());
        let critic = Critic::new([Says::Reject("no"), second]);
        let ralph = || {
            let ralph = world.ralph().gate(super::gates::ByFile).review(critic.clone()).decisions(queue.clone());
            ralph.retry_from(RetryFrom::Base).journal(journal.clone(), RunId::new("run"))
        };
        for _ in 0..2 {
            assert_eq!(run(ralph()).stop.reason, StopReason::AwaitingDecisions);
            let (id, _) = queue.pending().pop().unwrap();
            queue.answer(&id, "approve", "lead", std::time::UNIX_EPOCH).unwrap();
        }
        let reason = run(ralph().budget(sessions_at_most(1))).stop.reason;
        critic.assert_played();
        reason
    };
    assert_eq!(story(Says::Approve), StopReason::Success);
    assert_ne!(story(Says::Reject("still no")), StopReason::Success);
}

/// A service was down: what never passed is tried again once a person says so.
#[test]
fn what_only_ever_failed_may_be_tried_again_by_a_person() {
    let story = |verdicts: &[bool]| {
        let same = || turn().writes("a", "same");
        let world = World::new(1, [same(), same()]);
        let journal = MemoryJournal::new();
        let script: Vec<(bool, u64)> = verdicts.iter().map(|passed| (*passed, 1)).collect();
        let check = Arc::new(counting(script)) as Arc<dyn Verifier>;
        let ralph = || {
            let ralph = world.ralph_with(Arc::clone(&check)).attempts(1).baseline(false);
            ralph.journal(journal.clone(), RunId::new("run"))
        };
        assert_eq!(run(ralph()).stop.reason, StopReason::ItemsBlocked);
        world.plan.edit(|plan| {
            let phase = Arc::make_mut(&mut plan.phases[0]);
            Arc::make_mut(&mut phase.items[0]).status = ItemStatus::Open;
        });
        run(ralph()).stop.reason
    };
    assert_eq!(story(&[false, true, true]), StopReason::Success);
    // What had both verdicts stays refused: passed in the workspace, failed and passed on a clean checkout.
    assert_eq!(story(&[true, false, true, true, true]), StopReason::ItemsBlocked);
}
