//! The real engine among opponents: verifiers that lie, flake, break and hang, sessions that cheat, people who change
//! everything at any time, and a process that dies. A seed decides all of it.
//!
//! The laws are read from the records after every step ([`laws`](super::laws)); beside them a reader that knows what the
//! verifier and the reviewer really said, what really stood in the plan and what people really answered looks at L1 (two
//! passes, no veto) and L12
//! (unknown is no). No time passes, and one seed is one run.
//!
//! ```
//! use ralph_core::testing::adversary::play;
//! let played = play(7, None);
//! assert_eq!(played.violations, []);
//! assert_eq!(played.journal, play(7, None).journal);
//! ```

mod agent;
mod bends;
mod critic;
mod dice;
mod oracle;
mod people;
mod plan;
mod scenario;
mod tally;
mod verifier;
mod world;

use std::{ops::Range, sync::Arc};

pub use self::{
    agent::Act,
    bends::Bend,
    critic::Critic,
    people::Deed,
    plan::Trouble,
    scenario::Trap,
    tally::Tally,
    verifier::{Conduct, SetUp},
};
use self::{dice::Dice, scenario::Scenario, world::Shared};
use super::{FaultPlan, laws::Violation};
use crate::{
    Stage, StopReason, chain,
    machine::{Fact, VerifyOutcome},
};

/// Invocations among opponents, crashes not counted.
const HOSTILE: usize = 4;

/// Invocations after that in which everybody does their best.
const CALM: usize = 10;

/// What came of a seed.
#[derive(Debug)]
pub struct Played {
    /// Which.
    pub seed: u64,
    /// Every law that was broken.
    pub violations: Vec<Violation>,
    /// What happened.
    pub tally: Tally,
    /// The whole journal, one record of JSON per line.
    pub journal: String,
}

/// Plays the run that `seed` decides, on a host that is bent so, if at all.
///
/// It has several invocations, some of which die; people answer, edit and put right in between, and in half of the runs
/// the faults end at last. A run that breaks a law is played to its end all the same.
pub fn play(seed: u64, bend: Option<Bend>) -> Played {
    let shared = Arc::new(Shared::new(Scenario::of(seed)));
    shared.saw("runs", format!("{:?}", shared.scenario.mode));
    shared.saw("plans", format!("{:?}", shared.scenario.trap));
    shared.saw("in between", shared.scenario.in_between());
    let mut dice = Dice::new(seed, 6);
    let over = hostile(&shared, &mut dice, bend);
    if !over && shared.scenario.ends_well {
        let end = calm(&shared, bend);
        shared.saw("once everybody does their best", end.map_or("a fault", StopReason::name));
    }
    let mut journal = String::new();
    for record in shared.records() {
        // What cannot be written is found by the law book.
        journal.push_str(&serde_json::to_string(&record).unwrap_or_default());
        journal.push('\n');
    }
    Played { seed, violations: shared.violations(), tally: shared.tally(), journal }
}

/// What a verifier that is flaky lets through: it passes eight times in ten whatever it is shown, a pass is `times` passes
/// in a row, and all work is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LetThrough {
    /// Verdicts on work, each of up to `times` runs.
    pub verdicts: u64,
    /// Those that were a pass.
    pub passes: u64,
    /// Attempts that were judged.
    pub attempts: u64,
    /// Those that were accepted, which takes two verdicts.
    pub accepted: u64,
}

/// Measures that in the runs of these seeds.
pub fn flaky(seeds: Range<u64>, times: u32) -> LetThrough {
    let mut sum = LetThrough::default();
    for seed in seeds {
        let shared = Arc::new(Shared::new(Scenario::flaky(seed, times)));
        // What it comes to is in the record.
        let _ = shared.invoke(&FaultPlan::none(), None);
        for record in shared.records() {
            match record.fact {
                Fact::Verified { stage: stage @ (Stage::Workspace | Stage::Candidate), outcome, .. } => {
                    sum.verdicts += 1;
                    sum.passes += u64::from(outcome == VerifyOutcome::Pass);
                    sum.attempts += u64::from(stage == Stage::Workspace);
                }
                Fact::Accepted { .. } => sum.accepted += 1,
                _ => {}
            }
        }
    }
    sum
}

/// Whether it came to a success, and nobody wants more.
fn hostile(shared: &Arc<Shared>, dice: &mut Dice, bend: Option<Bend>) -> bool {
    let crashes = shared.scenario.crashes.clone();
    for life in 0..HOSTILE + crashes.len() {
        let faults = crashes.get(life).map_or_else(FaultPlan::none, |point| FaultPlan::dies_at(*point));
        match shared.invoke(&faults, bend) {
            Ok(outcome) if outcome.stop.reason == StopReason::Success && dice.chance(60) => return true,
            Ok(_) => {
                for _ in 0..dice.between(0, 2) {
                    if !shared.answer_one() || dice.chance(40) {
                        shared.whim();
                    }
                }
            }
            Err(_) if faults.struck() => {
                shared.saw("faults", "the process dies");
                if dice.chance(30) {
                    shared.whim();
                }
            }
            Err(_) if shared.take_fault() => {}
            Err(error) => {
                shared.broken("L8", format!("the run fails, and nothing was wrong: {}", chain(&error)));
                return false;
            }
        }
    }
    false
}

/// What it comes to now.
fn calm(shared: &Arc<Shared>, bend: Option<Bend>) -> Option<StopReason> {
    shared.calms_down();
    let mut last = None;
    for _ in 0..CALM {
        shared.puts_right();
        match shared.invoke(&FaultPlan::none(), bend) {
            Ok(outcome) => {
                last = Some(outcome.stop.reason);
                match outcome.stop.reason {
                    // Nobody here can make up items, or a branch that was rewritten.
                    StopReason::Success | StopReason::PlanInvalid | StopReason::BranchMoved => return last,
                    // Somebody refused it before, and that holds until the branch has moved.
                    StopReason::ManualGate if shared.decisions.pending().is_empty() => shared.does(Deed::Commits),
                    _ => {}
                }
                while shared.answer_one() {}
            }
            Err(error) => {
                shared.broken("L8", format!("the run fails among friends: {}", chain(&error)));
                return None;
            }
        }
    }
    last
}
