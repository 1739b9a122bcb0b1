//! The machine under random facts: whatever the world answers, the laws hold.

use proptest::prelude::*;
use ralph_core::{
    Budget, DecisionId, DecisionKind, DiffStat, Digest, Finding, FindingKind, ItemRef, Part, Question, Record,
    Revision, Ruling, Signal, SignalStatus, Tip, Tokens, Trouble, Usage, Usd,
    machine::{
        Counts, Effect, End, Fact, Machine, Pick, Readiness, Refusal, RetryFrom, Rules, Spec, Step, VerifyOutcome,
    },
    testing::laws::LawBook,
};

/// Choices of a seed: proptest shrinks the list, and a list that is used up says 0.
struct Dice<'a> {
    rolls: &'a [u32],
    at: usize,
}

impl Dice<'_> {
    fn roll(&mut self, sides: u32) -> u32 {
        let roll = self.rolls.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        roll % sides
    }

    fn spent(&self) -> bool {
        self.at >= self.rolls.len()
    }
}

/// A plan that only the test sees: the status of each item, and a world that answers within reason.
struct World<'a> {
    dice: Dice<'a>,
    status: Vec<char>,
    edits: u32,
    tip: u32,
    made: u32,
}

impl World<'_> {
    fn spec(&self, index: usize) -> Spec {
        Spec {
            item: ItemRef::new("P1", format!("R{index}").as_str()),
            title: format!("item {index}"),
            digest: Digest::new(format!("{index}/{}", self.edits)),
            last: self.status.iter().filter(|status| **status == ' ').count() == 1,
        }
    }

    fn revision(&mut self) -> Revision {
        self.made += 1;
        Revision::new(format!("r{}", self.made))
    }

    fn counts(&self) -> Counts {
        let count = |mark| self.status.iter().filter(|status| **status == mark).count() as u64;
        let mut counts = Counts::default();
        (counts.open, counts.done, counts.decision, counts.blocked) = (count(' '), count('x'), count('?'), count('!'));
        counts
    }

    fn answer(&mut self, effect: &Effect) -> Fact {
        let took_ms = u64::from(self.dice.roll(1000));
        match effect {
            Effect::Look { expect, parked } => {
                let at = expect.clone().unwrap_or_else(|| Revision::new("start"));
                let tip = match self.dice.roll(40) {
                    1 => {
                        self.tip += 1;
                        Tip::Ahead(Revision::new(format!("by-hand-{}", self.tip)))
                    }
                    2 => Tip::Lost("gone".to_owned()),
                    _ => Tip::At(at),
                };
                if self.dice.roll(10) == 1 {
                    let index = self.dice.roll(self.status.len() as u32) as usize;
                    self.status[index] = [' ', 'x', '?', '!'][self.dice.roll(4) as usize];
                }
                let find = |mark: char| self.status.iter().position(|status| *status == mark);
                let undecided = (0..self.status.len())
                    .find(|index| self.status[*index] == '?' && !parked.contains(&self.spec(*index).item));
                let pick = match (undecided, find(' '), self.dice.roll(60)) {
                    (_, _, 1) => Pick::Invalid("line 3".to_owned()),
                    (Some(index), _, _) => Pick::Undecided(self.spec(index)),
                    (None, Some(index), _) => Pick::Item(self.spec(index)),
                    (None, None, _) => Pick::Nothing,
                };
                Fact::Looked { tip, pick, counts: self.counts() }
            }
            Effect::Prepare { .. } => Fact::Prepared {
                readiness: match self.dice.roll(30) {
                    1 => Readiness::Environment("no database".to_owned()),
                    2 => Readiness::StartUnusable("conflict".to_owned()),
                    _ => Readiness::Ready(Digest::new("base")),
                },
                took_ms,
            },
            Effect::Session { .. } => self.session(took_ms),
            Effect::Capture { .. } => {
                let tree = Digest::new(format!("tree-{}", self.dice.roll(6)));
                let unchanged = self.dice.roll(5) == 1;
                let findings = match self.dice.roll(12) {
                    1 => vec![Finding { kind: FindingKind::SpecialFile, path: "pipe".to_owned() }],
                    _ => Vec::new(),
                };
                Fact::Captured {
                    revision: if unchanged { None } else { Some(self.revision()) },
                    tree: if unchanged { Digest::new("base") } else { tree },
                    stat: DiffStat::default(),
                    findings,
                    took_ms,
                }
            }
            Effect::Verify { stage, revision, .. } => {
                let outcome = match self.dice.roll(8) {
                    1..=2 => VerifyOutcome::Fail,
                    3 => VerifyOutcome::Broken,
                    4 => VerifyOutcome::Unready,
                    _ => VerifyOutcome::Pass,
                };
                let passed = outcome == VerifyOutcome::Pass;
                Fact::Verified {
                    stage: *stage,
                    revision: revision.clone(),
                    outcome,
                    summary: "s".to_owned(),
                    parts: vec![Part { name: "v".to_owned(), passed, tests: Some(u64::from(self.dice.roll(4))) }],
                    tail: String::new(),
                    took_ms,
                }
            }
            Effect::Judge { .. } => Fact::Judged {
                ruling: match self.dice.roll(4) {
                    1 => Ruling::Closed("no".to_owned()),
                    2 => Ruling::Ask(Question::new(DecisionKind::Dependency, "may it?")),
                    _ => Ruling::Open,
                },
            },
            Effect::Accept { revision, .. } => match self.dice.roll(12) {
                1 => {
                    self.edits += 1;
                    Fact::NotAccepted { why: Refusal::ItemChanged }
                }
                2 => Fact::NotAccepted { why: Refusal::Overtaken(Revision::new("other")) },
                3 => Fact::NotAccepted { why: Refusal::Lost("gone".to_owned()) },
                4 => Fact::NotAccepted { why: Refusal::Barred("checked out".to_owned()) },
                _ => Fact::Accepted { revision: revision.clone() },
            },
            Effect::Keep { kind, .. } => Fact::Kept { kind: *kind, name: format!("{kind}/x") },
            Effect::Ask { item, .. } => {
                Fact::Asked { id: DecisionId::new(format!("D-{}", self.made)), item: item.clone() }
            }
            Effect::Mark { iteration, .. } => {
                let index: usize = iteration.item.item.as_str()[1..].parse().unwrap();
                self.status[index] = match iteration.to {
                    ralph_core::ItemStatus::Done => 'x',
                    ralph_core::ItemStatus::Decision => '?',
                    _ => '!',
                };
                Fact::Marked { iteration: iteration.clone(), refused: None }
            }
            Effect::Wait { .. } => Fact::Waited { took_ms },
            other => unreachable!("{other:?}"),
        }
    }

    fn session(&mut self, took_ms: u64) -> Fact {
        let end = match self.dice.roll(14) {
            1 => End::Failed("exit 1".to_owned()),
            2 => End::Limit("time".to_owned()),
            3 => End::Cancelled,
            4 => End::Interrupted,
            5..=6 => End::Unavailable {
                trouble: Trouble::Overload,
                detail: "529".to_owned(),
                wait_ms: u64::from(self.dice.roll(100_000)),
                until: 0,
            },
            7 => End::NoAgent("not installed".to_owned()),
            8 => End::Unusable("no credit".to_owned()),
            _ => End::Finished,
        };
        let reports = !matches!(end, End::Interrupted | End::NoAgent(_));
        let mut usage = Usage::unknown();
        if reports && self.dice.roll(3) > 0 {
            usage = usage.with_cost(Usd::from_micros(u64::from(self.dice.roll(300_000))));
        }
        if reports && self.dice.roll(3) > 0 {
            usage = usage.with_tokens(Tokens { output: u64::from(self.dice.roll(3_000)), ..Tokens::default() });
        }
        let signal = match self.dice.roll(8) {
            1 => Some(Signal::new(SignalStatus::Blocked)),
            2 => Some(Signal::new(SignalStatus::Decision)),
            3 => Some(Signal::new(SignalStatus::Done)),
            _ => None,
        };
        Fact::Ended { end, usage, signal, session_id: None, compactions: 0, took_ms }
    }
}

fn rules(dice: &mut Dice<'_>) -> Rules {
    let mut rules = Rules::default();
    rules.attempts = 1 + dice.roll(3);
    rules.retry_from = if dice.roll(2) == 0 { RetryFrom::Kept } else { RetryFrom::Base };
    rules.require_signal = dice.roll(4) == 1;
    rules.gates = dice.roll(2) == 1;
    rules.baseline = dice.roll(2) == 1;
    let mut budget = Budget::default();
    budget.iterations = 1 + dice.roll(8);
    budget.sessions = 1 + dice.roll(16);
    budget.blockers_per_phase = 1 + dice.roll(5);
    budget.no_progress = 1 + dice.roll(4);
    budget.outages = 1 + dice.roll(4);
    budget.cost = (dice.roll(2) == 1).then(|| Usd::from_micros(1 + u64::from(dice.roll(2_000_000))));
    budget.tokens = (dice.roll(2) == 1).then(|| 1 + u64::from(dice.roll(20_000)));
    rules.budget = budget;
    rules
}

/// A run of at most `rolls` choices: its facts.
fn run(rolls: &[u32]) -> (Vec<Record>, Machine) {
    let mut dice = Dice { rolls, at: 0 };
    let first = rules(&mut dice);
    let items = 1 + dice.roll(5) as usize;
    let mut world = World { dice, status: vec![' '; items], edits: 0, tip: 0, made: 0 };
    let (mut machine, mut records) = (Machine::new(), Vec::new());
    let mut push = |machine: &mut Machine, fact: Fact| {
        machine.apply(&fact).unwrap_or_else(|error| panic!("{error}: {fact:?}"));
        records.push(Record { seq: records.len() as u64 + 1, at: 0, fact });
    };
    push(&mut machine, Fact::Opened { rules: first.clone() });
    while !world.dice.spent() {
        match world.dice.roll(40) {
            // A crash, or the operator: the run is opened again.
            1 => push(&mut machine, Fact::Opened { rules: first.clone() }),
            2 if machine.stopped().is_none() => push(&mut machine, Fact::CancelAsked),
            _ => {}
        }
        assert_eq!(machine.step(), machine.step(), "the same state gives the same step");
        match machine.step() {
            Step::End(_) => push(&mut machine, Fact::Opened { rules: first.clone() }),
            Step::Record(fact) => push(&mut machine, *fact),
            Step::Do { effect, .. } => {
                let fact = world.answer(&effect);
                push(&mut machine, fact);
            }
        }
    }
    (records, machine)
}

fn cases() -> u32 {
    std::env::var("RALPH_LAW_CASES").ok().and_then(|value| value.parse().ok()).unwrap_or(500)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn whatever_the_world_answers_the_laws_hold(rolls in prop::collection::vec(any::<u32>(), 20..600)) {
        let (records, machine) = run(&rolls);
        let mut book = LawBook::new();
        records.iter().for_each(|record| book.read(record));
        prop_assert_eq!(book.violations(), &[], "{:#?}", records);

        // L13: facts that went through JSON fold to the state in memory.
        let mut replayed = Machine::new();
        for record in &records {
            let json = serde_json::to_string(record).unwrap();
            replayed.apply(&serde_json::from_str::<Record>(&json).unwrap().fact).unwrap();
        }
        prop_assert_eq!(replayed, machine);
    }

    /// A fact that does not follow changes nothing.
    #[test]
    fn a_fact_out_of_order_changes_nothing(
        rolls in prop::collection::vec(any::<u32>(), 20..200),
        other in prop::collection::vec(any::<u32>(), 20..200),
    ) {
        let (_, machine) = run(&rolls);
        for record in run(&other).0 {
            let mut tried = machine.clone();
            if tried.apply(&record.fact).is_err() {
                prop_assert_eq!(&tried, &machine);
            }
        }
    }
}

#[test]
fn a_reply_that_nobody_asked_for_is_refused() {
    let mut machine = Machine::new();
    machine.apply(&Fact::Opened { rules: Rules::default() }).unwrap();
    let error = machine.apply(&Fact::Waited { took_ms: 1 }).unwrap_err();
    assert_eq!(error.to_string(), "the fact `Waited` does not follow from the state `Idle`");
}
