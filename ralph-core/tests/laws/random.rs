//! The machine under random facts: whatever the world answers, the laws hold.

mod world;

use std::collections::BTreeSet;

use proptest::prelude::*;
use ralph_core::{
    Budget, Record, Usd,
    machine::{Carried, Every, Fact, Machine, Mode, RetryFrom, Rules, Step},
    testing::laws::LawBook,
};

use self::world::{Dice, World};

fn rules(dice: &mut Dice<'_>) -> Rules {
    let mut rules = Rules::default();
    rules.attempts = 1 + dice.roll(3);
    rules.retry_from = if dice.roll(2) == 0 { RetryFrom::Kept } else { RetryFrom::Base };
    rules.require_signal = dice.roll(4) == 1;
    rules.gates = dice.roll(2) == 1;
    rules.baseline = dice.roll(2) == 1;
    rules.rebase = dice.roll(2) == 1;
    rules.publish = dice.roll(2) == 1;
    rules.cleanup = dice.roll(2) == 1;
    rules.review = dice.roll(2) == 1;
    rules.continue_session = dice.roll(3) == 1;
    let every = |verified| Every { usual_ms: 60_000, min_ms: 1_000, max_ms: 600_000, verified };
    rules.mode = match dice.roll(8) {
        5 => Mode::Goal,
        6 => Mode::Every(every(true)),
        7 => Mode::Every(every(false)),
        _ => Mode::Items,
    };
    let mut budget = Budget::default();
    budget.iterations = 1 + dice.roll(8);
    budget.sessions = 1 + dice.roll(16);
    budget.blockers_per_phase = 1 + dice.roll(5);
    budget.no_progress = 1 + dice.roll(4);
    budget.outages = 1 + dice.roll(4);
    budget.checkpoint_every = 1 + dice.roll(3);
    budget.cost = (dice.roll(2) == 1).then(|| Usd::from_micros(1 + u64::from(dice.roll(2_000_000))));
    budget.tokens = (dice.roll(2) == 1).then(|| 1 + u64::from(dice.roll(20_000)));
    rules.budget = budget;
    rules
}

/// A run of at most `rolls` choices: its facts.
fn run(rolls: &[u32]) -> (Vec<Record>, Machine) {
    let mut dice = Dice { rolls, at: 0 };
    let first = rules(&mut dice);
    let items = 1 + dice.roll(6) as usize;
    let phases = 1 + dice.roll(items as u32) as usize;
    let gated = dice.roll(3) > 0;
    let status = vec![' '; items];
    let answered = BTreeSet::new();
    let every = matches!(first.mode, Mode::Every(_));
    let mut world = World { dice, status, phases, gated, asked: 0, answered, edits: 0, tip: 0, made: 0, every };
    let (mut machine, mut records) = (Machine::new(), Vec::new());
    let mut push = |machine: &mut Machine, fact: Fact| {
        machine.apply(&fact).unwrap_or_else(|error| panic!("{error}: {fact:?}"));
        records.push(Record { seq: records.len() as u64 + 1, at: 0, fact });
    };
    let carried =
        Carried { since_checkpoint: world.dice.roll(4), unpublished: world.dice.roll(4) == 1, ..Carried::default() };
    push(&mut machine, Fact::Opened { rules: first.clone(), carried });
    while !world.dice.spent() {
        match world.dice.roll(40) {
            // A crash, or the operator: the run is opened again.
            1 => push(&mut machine, Fact::Opened { rules: first.clone(), carried: Carried::default() }),
            2 if machine.stopped().is_none() => push(&mut machine, Fact::CancelAsked),
            _ => {}
        }
        assert_eq!(machine.step(), machine.step(), "the same state gives the same step");
        match machine.step() {
            Step::End(_) => push(&mut machine, Fact::Opened { rules: first.clone(), carried: Carried::default() }),
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
    machine.apply(&Fact::Opened { rules: Rules::default(), carried: Carried::default() }).unwrap();
    let error = machine.apply(&Fact::Waited { took_ms: 1 }).unwrap_err();
    assert_eq!(error.to_string(), "the fact `Waited` does not follow from the state `Idle`");
}
