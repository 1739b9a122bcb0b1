//! A crash at every durable operation in turn, then the laws, and the same end as without the crash.

use proptest::prelude::*;
use ralph_core::{
    Digest, ItemStatus, StopReason,
    machine::{Every, Mode},
    testing::simulator::{Behaviour, PhaseGates, Reviews, Scenario, Tidies, enumerate_crashes, simulate},
};

/// Larger by an environment variable; small by default.
fn size(name: &str, default: u32) -> u32 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn every_behaviour_alone_survives_a_crash_anywhere() {
    for behaviour in Behaviour::ALL {
        let points = enumerate_crashes(&Scenario::of([behaviour])).unwrap_or_else(|why| panic!("{behaviour:?}: {why}"));
        assert!(points >= 30, "{behaviour:?} passed only {points} points");
    }
}

#[test]
fn behaviours_in_a_row_survive_a_crash_anywhere() {
    // Each behaviour is tried alone above; a row of them shows that one does not spoil the next.
    let row: &[Behaviour] = if size("RALPH_SIM_CASES", 0) > 0 {
        &Behaviour::ALL
    } else {
        &[Behaviour::SecondTry, Behaviour::Hidden, Behaviour::Asks, Behaviour::Overtaken]
    };
    let points = enumerate_crashes(&Scenario::of(row.iter().copied())).unwrap_or_else(|why| panic!("{why}"));
    assert!(points > 150, "only {points} points");
}

#[test]
fn behaviours_come_to_what_the_contract_says() {
    use Behaviour::*;
    let report = simulate(&Scenario::of(Behaviour::ALL), &[]).unwrap();
    assert_eq!(report.violations, []);
    let marks: Vec<ItemStatus> = report.end.marks.values().copied().collect();
    for (behaviour, mark) in Behaviour::ALL.iter().zip(marks) {
        let expected = match behaviour {
            Good | SecondTry | Outage | Crashes | RowEdited | Overtaken | Collides | AsksAnswered | PolicyApproved
            | PolicyApprovedLate | PolicyContradicted | PolicyRejected | AlreadyDoneApproved | Proposes => {
                ItemStatus::Done
            }
            Bad | Claims | Hidden | Blocks | BreaksVerifier | Link => ItemStatus::Blocked,
            AlreadyDone | Asks => ItemStatus::Decision,
        };
        assert_eq!(mark, expected, "{behaviour:?}");
    }
    assert_eq!(report.end.reason, StopReason::AwaitingDecisions);
    // Fourteen with work of their own, the one that was proposed, and what the person committed: during a session, and
    // before two answers.
    assert_eq!(report.end.commits, 17);
}

#[test]
fn phases_come_to_what_the_contract_says() {
    for gates in PhaseGates::ALL {
        let scenario = Scenario::of([Behaviour::Good, Behaviour::Good]).in_phases([gates, PhaseGates::Auto]);
        let report = simulate(&scenario, &[]).unwrap();
        assert_eq!(report.violations, [], "{gates:?}");
        assert_eq!((report.end.reason, report.end.finished.len()), (StopReason::Success, 2), "{gates:?}");
        let questions = match gates {
            PhaseGates::Auto => 0,
            PhaseGates::AutoReopened | PhaseGates::Manual => 1,
            PhaseGates::ManualRejected => 2,
        };
        assert_eq!(report.end.asked.len(), questions, "{gates:?}: {:?}", report.end.asked);
    }
}

#[test]
fn after_five_phases_a_person_is_asked_and_not_after_the_last() {
    for (phases, checkpoints) in [(5, 0), (6, 1), (10, 1), (11, 2)] {
        let scenario = Scenario::of(vec![Behaviour::Good; phases]).in_phases(vec![PhaseGates::Auto; phases]);
        let report = simulate(&scenario, &[]).unwrap();
        assert_eq!(report.violations, [], "{phases}");
        assert_eq!((report.end.reason, report.end.finished.len()), (StopReason::Success, phases));
        assert_eq!(report.end.asked.len(), checkpoints, "{phases} phases: {:?}", report.end.asked);
    }
}

#[test]
fn gates_and_answers_survive_a_crash_anywhere() {
    let scenarios = [
        Scenario::of([Behaviour::Good, Behaviour::PolicyApproved]).in_phases([PhaseGates::Manual, PhaseGates::Auto]),
        Scenario::of([Behaviour::Good, Behaviour::Good]).in_phases([PhaseGates::AutoReopened, PhaseGates::Auto]),
        Scenario::of([Behaviour::Good]).in_phases([PhaseGates::ManualRejected]),
    ];
    for scenario in scenarios {
        let points = enumerate_crashes(&scenario).unwrap_or_else(|why| panic!("{scenario:?}: {why}"));
        assert!(points > 60, "only {points} points");
    }
}

const MINUTE: u64 = 60_000;

fn every(verified: bool) -> Mode {
    Mode::Every(Every { usual_ms: MINUTE, min_ms: MINUTE, max_ms: MINUTE, verified })
}

/// A goal that is worked on so. Three sessions in a row that change nothing end it.
fn goal(behaviour: Behaviour) -> Scenario {
    let mut scenario = Scenario::of([behaviour]).in_mode(Mode::Goal);
    scenario.budget.no_progress = 3;
    scenario
}

/// All of them, or those that go through a loop on ways of their own.
fn looped_over(few: &[Behaviour]) -> &[Behaviour] {
    if size("RALPH_SIM_CASES", 0) > 0 { &Behaviour::ALL } else { few }
}

#[test]
fn a_goal_survives_a_crash_anywhere() {
    use Behaviour::*;
    for behaviour in looped_over(&[SecondTry, Hidden, Claims, AlreadyDone, Outage, Crashes, Overtaken, AsksAnswered]) {
        let points = enumerate_crashes(&goal(*behaviour)).unwrap_or_else(|why| panic!("{behaviour:?}: {why}"));
        assert!(points >= 30, "{behaviour:?} passed only {points} points");
    }
}

#[test]
fn a_loop_at_an_interval_survives_a_crash_anywhere() {
    use Behaviour::*;
    let verified = looped_over(&[SecondTry, Outage, Collides, AlreadyDoneApproved]).iter().map(|one| (one, true));
    let unverified = looped_over(&[Good, Outage, AsksAnswered]).iter().map(|one| (one, false));
    for (behaviour, verified) in verified.chain(unverified) {
        let scenario = Scenario::of([*behaviour]).in_mode(every(verified)).until(2);
        let points =
            enumerate_crashes(&scenario).unwrap_or_else(|why| panic!("{behaviour:?}, verified {verified}: {why}"));
        assert!(points >= 20, "{behaviour:?}, verified {verified}, passed only {points} points");
    }
}

#[test]
fn goals_come_to_what_the_contract_says() {
    use Behaviour::*;
    for behaviour in Behaviour::ALL {
        let report = simulate(&goal(behaviour), &[]).unwrap();
        assert_eq!(report.violations, [], "{behaviour:?}");
        let expected = match behaviour {
            // What is there already is asked about by nobody: the base passes.
            Good | SecondTry | Outage | Crashes | RowEdited | Overtaken | Collides | AsksAnswered | PolicyApproved
            | PolicyApprovedLate | PolicyContradicted | PolicyRejected | AlreadyDone | AlreadyDoneApproved
            | Proposes => (StopReason::Success, ItemStatus::Done),
            Bad | Claims | BreaksVerifier | Link => (StopReason::NoProgress, ItemStatus::Open),
            Blocks => (StopReason::ItemsBlocked, ItemStatus::Blocked),
            // The second session leaves what the first one hid, and what it hid passes where it stands.
            Hidden | Asks => (StopReason::AwaitingDecisions, ItemStatus::Decision),
        };
        let marks: Vec<ItemStatus> = report.end.marks.values().copied().collect();
        assert_eq!((report.end.reason, marks), (expected.0, vec![expected.1]), "{behaviour:?}");
    }
}

#[test]
fn loops_at_an_interval_come_to_what_the_contract_says() {
    use Behaviour::*;
    let end = |behaviour, verified| {
        let report = simulate(&Scenario::of([behaviour]).in_mode(every(verified)).until(3), &[]).unwrap();
        assert_eq!(report.violations, [], "{behaviour:?}, verified {verified}");
        (report.end.reason, report.end.commits)
    };
    for behaviour in Behaviour::ALL {
        // Three rounds; what a person commits meanwhile is one more.
        let verified = match behaviour {
            Good | Outage | Crashes | RowEdited | AsksAnswered | PolicyApproved | PolicyRejected | Proposes => {
                (StopReason::Success, 3)
            }
            Overtaken | Collides | PolicyApprovedLate | PolicyContradicted => (StopReason::Success, 4),
            SecondTry => (StopReason::Success, 2),
            // A round in which there was nothing to do is a good one.
            Bad | Claims | BreaksVerifier | Link | AlreadyDone | AlreadyDoneApproved => (StopReason::Success, 0),
            Hidden | Asks => (StopReason::AwaitingDecisions, 0),
            Blocks => (StopReason::ItemsBlocked, 0),
        };
        assert_eq!(end(behaviour, true), verified, "{behaviour:?}, verified");
        // Only what a person commits is on the branch.
        let unverified = match behaviour {
            Overtaken | Collides => (StopReason::Success, 1),
            Asks => (StopReason::AwaitingDecisions, 0),
            Blocks => (StopReason::ItemsBlocked, 0),
            Good | SecondTry | Bad | Claims | Hidden | AlreadyDone | BreaksVerifier | Link | Outage | Crashes
            | RowEdited | AsksAnswered | PolicyApproved | PolicyApprovedLate | PolicyContradicted | PolicyRejected
            | AlreadyDoneApproved | Proposes => (StopReason::Success, 0),
        };
        assert_eq!(end(behaviour, false), unverified, "{behaviour:?}, not verified");
    }
}

#[test]
fn clean_ups_and_reviews_come_to_what_the_contract_says() {
    let end = |tidies, reviews| {
        let report = simulate(&Scenario::of([Behaviour::Good]).with(tidies, reviews), &[]).unwrap();
        assert_eq!(report.violations, [], "{tidies:?}, {reviews:?}");
        assert!(report.untidied.is_empty(), "nothing was cut short");
        report.end
    };
    for tidies in Tidies::ALL {
        let end = end(Some(tidies), None);
        let notes = match tidies {
            Tidies::Well => "short",
            Tidies::Badly | Tidies::Elsewhere => "long",
        };
        assert_eq!((end.reason, end.commits, end.kept.len()), (StopReason::Success, 1, 0), "{tidies:?}");
        assert_eq!(end.files["R01-notes"], Digest::of(notes.as_bytes()), "{tidies:?}");
        assert!(!end.files.contains_key("elsewhere"));
    }
    for reviews in Reviews::ALL {
        let (reason, rejected) = match reviews {
            Reviews::Approves | Reviews::Outage | Reviews::NoOpinionOnce => (StopReason::Success, 0),
            Reviews::VetoesOnce => (StopReason::Success, 1),
            Reviews::Vetoes => (StopReason::ItemsBlocked, 2),
        };
        for tidies in [None, Some(Tidies::Well)] {
            let end = end(tidies, Some(reviews));
            assert_eq!((end.reason, end.kept.len()), (reason, rejected), "{reviews:?}: {:?}", end.kept);
        }
    }
}

#[test]
fn items_that_must_fail_first_come_to_what_the_contract_says() {
    use Behaviour::*;
    for (behaviour, mark, questions) in [
        (Good, ItemStatus::Done, 0),
        (AlreadyDone, ItemStatus::Decision, 1),
        (AlreadyDoneApproved, ItemStatus::Done, 1),
        (PolicyApproved, ItemStatus::Done, 1),
    ] {
        let report = simulate(&Scenario::of([behaviour]).red_first(), &[]).unwrap();
        assert_eq!(report.violations, [], "{behaviour:?}");
        assert_eq!(report.end.marks.into_values().collect::<Vec<_>>(), [mark], "{behaviour:?}");
        assert_eq!(report.end.asked.len(), questions, "{behaviour:?}: {:?}", report.end.asked);
    }
}

/// A person who opens an item again is not asked whether it is done.
#[test]
fn an_item_that_was_opened_again_need_not_fail_first() {
    let scenario = Scenario::of([Behaviour::Good]).in_phases([PhaseGates::AutoReopened]).red_first();
    let report = simulate(&scenario, &[]).unwrap();
    assert_eq!(report.violations, []);
    assert_eq!((report.end.reason, report.end.asked.len()), (StopReason::Success, 1), "{:?}", report.end.asked);
}

/// A clean-up that is cut short is dropped, and a review that is cut short takes place again.
#[test]
fn clean_ups_and_reviews_survive_a_crash_anywhere() {
    use Behaviour::*;
    let mut scenarios = Vec::new();
    for behaviour in looped_over(&[Good]) {
        let one = Scenario::of([*behaviour]);
        scenarios.extend(Tidies::ALL.map(|tidies| one.clone().with(Some(tidies), None)));
        scenarios.extend(Reviews::ALL.map(|reviews| one.clone().with(None, Some(reviews))));
    }
    let both = |one: Scenario| one.with(Some(Tidies::Well), Some(Reviews::VetoesOnce));
    let row: &[Behaviour] = &[Overtaken, RowEdited];
    scenarios.extend(looped_over(row).iter().map(|behaviour| both(Scenario::of([*behaviour]))));
    if size("RALPH_SIM_CASES", 0) > 0 {
        scenarios.push(Scenario::of([Good, SecondTry]).with(Some(Tidies::Well), Some(Reviews::Vetoes)));
        scenarios.extend(Behaviour::ALL.map(|behaviour| both(goal(behaviour))));
        scenarios.push(both(Scenario::of([Good]).in_mode(every(true)).until(2)));
    }
    for scenario in scenarios {
        let points = enumerate_crashes(&scenario).unwrap_or_else(|why| panic!("{scenario:?}: {why}"));
        assert!(points >= 30, "{scenario:?} passed only {points} points");
    }
}

/// What a clean-up that was cut short leaves is what the comparison is told, and nothing else.
#[test]
fn a_clean_up_that_is_cut_short_leaves_the_work_as_it_was() {
    let scenario = Scenario::of([Behaviour::Good]).with(Some(Tidies::Well), None);
    let whole = simulate(&scenario, &[]).unwrap();
    let reports = (1..=whole.points).map(|point| simulate(&scenario, &[point]).unwrap());
    let (cut, others): (Vec<_>, Vec<_>) = reports.partition(|report| !report.untidied.is_empty());
    assert!(cut.len() >= 4, "only {} crashes hit the clean-up", cut.len());
    for report in cut {
        assert_eq!(report.end.files["R01-notes"], Digest::of(b"long"));
        assert_ne!(report.end, whole.end);
    }
    assert!(others.into_iter().all(|report| report.end == whole.end));
}

#[test]
fn items_that_must_fail_first_survive_a_crash_anywhere() {
    use Behaviour::*;
    for behaviour in looped_over(&[Good, SecondTry, AlreadyDoneApproved]) {
        let scenario = Scenario::of([*behaviour]).red_first();
        let points = enumerate_crashes(&scenario).unwrap_or_else(|why| panic!("{behaviour:?}: {why}"));
        assert!(points >= 20, "{behaviour:?} passed only {points} points");
    }
}

#[test]
fn the_same_scenario_gives_the_same_run() {
    let [one, two] = [(); 2].map(|()| simulate(&Scenario::of(Behaviour::ALL), &[]).unwrap());
    assert_eq!((one.end, one.points), (two.end, two.points));
}

/// Plans mostly; else a goal, or a loop at an interval.
fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![6 => Just(Mode::Items), 2 => Just(Mode::Goal), 1 => Just(every(true)), 1 => Just(every(false))]
}

/// `items` in `phases`; or its first one, where sessions are rounds.
fn scenario(mode: Mode, items: Vec<Behaviour>, phases: Vec<PhaseGates>) -> Scenario {
    if mode == Mode::Items {
        let phases: Vec<PhaseGates> = phases.into_iter().take(items.len()).collect();
        return Scenario::of(items).in_phases(phases);
    }
    Scenario::of(items.into_iter().take(1)).in_mode(mode)
}

/// What stands between the second pass and the branch, and whether items must fail first; nothing mostly.
fn in_between() -> impl Strategy<Value = (Option<Tidies>, Option<Reviews>, bool)> {
    let tidies = prop::option::weighted(0.3, prop::sample::select(Tidies::ALL.as_slice()));
    let reviews = prop::option::weighted(0.3, prop::sample::select(Reviews::ALL.as_slice()));
    (tidies, reviews, prop::bool::weighted(0.3))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(size("RALPH_SIM_CASES", 150)))]

    /// Crashes in recovery, and in the recovery of that.
    #[test]
    fn any_plan_survives_several_crashes(
        mode in modes(),
        rounds in 1u32..4,
        items in prop::collection::vec(prop::sample::select(Behaviour::ALL.as_slice()), 1..5),
        phases in prop::collection::vec(prop::sample::select(PhaseGates::ALL.as_slice()), 0..4),
        crashes in prop::collection::vec(1u64..160, 0..4),
        (tidies, reviews, red) in in_between(),
    ) {
        let mut scenario = scenario(mode, items, phases).until(rounds).with(tidies, reviews);
        scenario.require_red = red && mode == Mode::Items;
        if mode == Mode::Goal {
            scenario.budget.no_progress = 3;
        }
        let whole = simulate(&scenario, &[]).map_err(|stuck| TestCaseError::fail(stuck.0))?;
        let report = simulate(&scenario, &crashes).map_err(|stuck| TestCaseError::fail(stuck.0))?;
        prop_assert_eq!(&report.violations, &[]);
        // Three interruptions in a row block an item: only then may the end differ.
        if crashes.len() < 3 {
            prop_assert_eq!(report.end, whole.end.untidied(&report.untidied));
        }
    }

    /// Whatever the limits, the laws hold and there is one end.
    #[test]
    fn any_limits_keep_the_laws(
        mode in modes(),
        until in prop::option::of(1u32..6),
        items in prop::collection::vec(prop::sample::select(Behaviour::ALL.as_slice()), 1..7),
        phases in prop::collection::vec(prop::sample::select(PhaseGates::ALL.as_slice()), 0..4),
        checkpoint in 1u32..4,
        iterations in 1u32..8,
        sessions in 1u32..12,
        blockers in 1u32..5,
        no_progress in 1u32..4,
        cents in 1u64..400,
        tokens in 1u64..1000,
        crash in 1u64..200,
        (tidies, reviews, red) in in_between(),
    ) {
        let mut scenario = scenario(mode, items, phases).with(tidies, reviews);
        scenario.require_red = red && mode == Mode::Items;
        scenario.until = until;
        scenario.budget.checkpoint_every = checkpoint;
        scenario.budget.iterations = iterations;
        scenario.budget.sessions = sessions;
        scenario.budget.blockers_per_phase = blockers;
        scenario.budget.no_progress = no_progress;
        scenario.budget.cost = Some(ralph_core::Usd::from_micros(cents * 10_000));
        scenario.budget.tokens = Some(tokens);
        let report = simulate(&scenario, &[crash]).map_err(|stuck| TestCaseError::fail(stuck.0))?;
        prop_assert_eq!(&report.violations, &[]);
    }
}
