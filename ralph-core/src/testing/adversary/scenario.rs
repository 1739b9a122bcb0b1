//! From a seed to a plan, its people and its opponents.

use super::{
    agent::Act,
    critic::Critic,
    dice::Dice,
    verifier::{Conduct, SetUp},
};
use crate::{Budget, Item, ItemStatus, Phase, Plan, Usd, machine::Mode};

/// What is wrong with the plan from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// Nothing.
    None,
    /// No item is recognised, and the plan says so.
    NoItems,
    /// There is not even a phase, and the plan takes that for a plan, which its contract forbids.
    Empty,
    /// One phase is without items.
    EmptyPhase,
    /// One item has no verifier from anywhere.
    NoVerifier,
    /// One mark is unknown.
    UnknownMark,
    /// Two items have one id, which the contract forbids.
    SameId,
    /// Everything is marked done, and nothing is.
    AllTicked,
}

impl Trap {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::NoItems,
        Self::Empty,
        Self::EmptyPhase,
        Self::NoVerifier,
        Self::UnknownMark,
        Self::SameId,
        Self::AllTicked,
    ];
}

/// All that a seed decides before the run.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) seed: u64,
    pub(super) mode: Mode,
    pub(super) plan: Plan,
    pub(super) trap: Trap,
    pub(super) conduct: Conduct,
    /// The calls of the verifier, counted from 0, in which it behaves so; honest in all others.
    pub(super) active: (u32, u32),
    /// How many passes in a row are a pass.
    pub(super) repeated: u32,
    pub(super) set_up: SetUp,
    pub(super) env_check: SetUp,
    /// How often a session in a hundred does honest work.
    pub(super) honesty: u32,
    /// What most of the other sessions do.
    pub(super) habit: Act,
    /// How many in a hundred of them do that.
    pub(super) habitual: u32,
    /// What the branch holds from the start in place of the first item's work; empty: nothing.
    pub(super) there: &'static str,
    /// How often in a hundred steps a person does something.
    pub(super) people: u32,
    pub(super) budget: Budget,
    pub(super) attempts: u32,
    pub(super) from_base: bool,
    pub(super) require_signal: bool,
    pub(super) policy: bool,
    pub(super) rebase: bool,
    /// The reviewer, if there is one.
    pub(super) critic: Option<Critic>,
    /// Whether sessions tidy work that passed twice.
    pub(super) tidies: bool,
    /// Whether items have verifiers of their own, which must fail before there is any work.
    pub(super) red: bool,
    /// The points at which the process dies, one for each of its first lives.
    pub(super) crashes: Vec<u64>,
    /// Whether faults end at last, and a person puts right what there is.
    pub(super) ends_well: bool,
}

impl Scenario {
    pub(super) fn of(seed: u64) -> Self {
        let (mut dice, mut between) = (Dice::new(seed, 1), Dice::new(seed, 8));
        let trap = if dice.chance(70) { Trap::None } else { dice.pick(&Trap::ALL[1..]) };
        let mode = if trap == Trap::None && dice.chance(12) { Mode::Goal } else { Mode::Items };
        let conduct = dice.pick(&Conduct::ALL);
        let from = if dice.chance(40) { 0 } else { dice.between(0, 8) };
        let long = dice.chance(60);
        let length = if long { 10_000 } else { dice.between(1, 6) };
        let quiet = dice.chance(35);
        let critic = between.chance(28).then(|| between.pick(&Critic::ALL));
        let (tidies, red) = (between.chance(25), mode == Mode::Items && between.chance(25));
        let mut plan = plan(&mut dice, mode, trap);
        if red {
            own_verifiers(&mut between, &mut plan);
        }
        Self {
            seed,
            mode,
            plan,
            trap,
            conduct,
            active: (from, from + length),
            repeated: if dice.chance(15) { dice.between(2, 3) } else { 1 },
            set_up: if dice.chance(70) { SetUp::None } else { dice.pick(&SetUp::ALL) },
            env_check: if dice.chance(80) { SetUp::None } else { dice.pick(&SetUp::ALL) },
            honesty: dice.pick(&[0, 0, 20, 50, 80]),
            habit: if dice.chance(75) { dice.pick(&Act::CHEATS) } else { dice.pick(&Act::ALL) },
            habitual: 45,
            there: dice.pick(&["", "", "", "good", "bad"]),
            people: if quiet { 0 } else { dice.between(1, 3) },
            budget: budget(&mut dice),
            attempts: dice.between(1, 3),
            from_base: dice.chance(25),
            require_signal: dice.chance(15),
            policy: dice.chance(60),
            rebase: dice.chance(70),
            critic,
            tidies,
            red,
            crashes: {
                let count = if dice.chance(50) { 0 } else { dice.between(1, 3) };
                (0..count).map(|_| u64::from(dice.between(1, 150))).collect()
            },
            ends_well: dice.chance(50),
        }
    }

    /// Wrong work on three items, nothing else goes wrong, and a verifier that passes so many times in a hundred,
    /// whatever it is shown, has to pass so often in a row.
    pub(super) fn flaky(seed: u64, times: u32) -> Self {
        let mut phase = Phase::new("P1", ["R01", "R02", "R03"].map(|id| Item::new(id, "an item")));
        phase.verify.push("check".to_owned());
        Self {
            mode: Mode::Items,
            plan: Plan::new([phase]),
            trap: Trap::None,
            conduct: Conduct::Flaky,
            active: (0, u32::MAX),
            repeated: times,
            set_up: SetUp::None,
            env_check: SetUp::None,
            honesty: 0,
            habit: Act::Bad,
            habitual: 100,
            there: "",
            people: 0,
            budget: Budget { no_progress: 100, blockers_per_phase: 100, blockers_per_plan: 100, ..Budget::default() },
            attempts: 1,
            from_base: false,
            require_signal: false,
            policy: false,
            rebase: false,
            critic: None,
            tidies: false,
            red: false,
            crashes: Vec::new(),
            ends_well: false,
            ..Self::of(seed)
        }
    }
}

impl Scenario {
    /// What stands between the second pass and the branch.
    pub(super) fn in_between(&self) -> &'static str {
        match (self.tidies, self.critic) {
            (false, None) => "nothing",
            (true, None) => "a clean-up",
            (false, Some(_)) => "a reviewer",
            (true, Some(_)) => "a clean-up, then a reviewer",
        }
    }
}

/// Most items get a verifier of their own.
fn own_verifiers(dice: &mut Dice, plan: &mut Plan) {
    for phase in &mut plan.phases {
        for item in &mut std::sync::Arc::make_mut(phase).items {
            if dice.chance(70) {
                std::sync::Arc::make_mut(item).verify.push("own check".to_owned());
            }
        }
    }
}

fn plan(dice: &mut Dice, mode: Mode, trap: Trap) -> Plan {
    if trap == Trap::Empty {
        return Plan::new([]);
    }
    let goal = mode == Mode::Goal;
    let phases = if goal { 1 } else { dice.between(1, 3) as usize };
    let mut number = 0;
    let mut made: Vec<Phase> = Vec::new();
    for phase in 0..phases {
        let count = if goal { 1 } else { dice.between(1, 2) };
        let items = (0..count).map(|_| {
            number += 1;
            Item::new(format!("R{number:02}").as_str(), format!("item {number}"))
        });
        let mut phase = Phase::new(format!("P{}", phase + 1).as_str(), items);
        phase.verify.push("check".to_owned());
        if !goal && dice.chance(35) {
            phase.auto_gate.push("gate".to_owned());
        }
        if !goal && dice.chance(25) {
            phase.manual_gate = Some(format!("lead approves {}", phase.id));
        }
        phase.setup.push("install".to_owned());
        phase.env_check.push("look around".to_owned());
        if dice.chance(10) {
            phase.max_blockers = Some(dice.between(1, 3));
        }
        made.push(phase);
    }
    let at = dice.below(made.len());
    spring(dice, &mut made, at, trap);
    Plan::new(made)
}

fn spring(dice: &mut Dice, phases: &mut [Phase], at: usize, trap: Trap) {
    let mark = |phase: &mut Phase, index: usize, status| {
        if let Some(item) = phase.items.get_mut(index) {
            std::sync::Arc::make_mut(item).status = status;
        }
    };
    match trap {
        Trap::None | Trap::Empty => {}
        Trap::NoItems => phases.iter_mut().for_each(|phase| phase.items.clear()),
        Trap::EmptyPhase => phases[at].items.clear(),
        Trap::NoVerifier => {
            let phase = &mut phases[at];
            phase.verify.clear();
            // The others of the phase have one of their own.
            for item in phase.items.iter_mut().skip(1) {
                std::sync::Arc::make_mut(item).verify.push("own check".to_owned());
            }
        }
        Trap::UnknownMark => {
            let index = dice.below(phases[at].items.len());
            mark(&mut phases[at], index, ItemStatus::Unknown);
        }
        Trap::SameId => {
            let twin = phases[at].items[0].id.clone();
            phases[at].items.push(Item::new(twin, "the other one").into());
        }
        Trap::AllTicked => {
            for phase in phases {
                (0..phase.items.len()).for_each(|index| mark(phase, index, ItemStatus::Done));
            }
        }
    }
}

fn budget(dice: &mut Dice) -> Budget {
    let mut budget = Budget { iterations: dice.between(2, 10), sessions: dice.between(2, 14), ..Budget::default() };
    if dice.chance(60) {
        budget.cost = Some(Usd::from_micros(u64::from(dice.between(5, 400)) * 10_000));
    }
    if dice.chance(30) {
        budget.tokens = Some(u64::from(dice.between(100, 3_000)));
    }
    budget.no_progress = dice.pick(&[1, 1, 2, 4]);
    budget.blockers_per_phase = dice.between(1, 4);
    budget.blockers_per_plan = dice.between(1, 8);
    budget.checkpoint_every = dice.between(1, 4);
    budget.outages = dice.between(1, 3);
    budget
}
