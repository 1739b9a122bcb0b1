//! The real engine on doubles: scripted behaviours, a crash at every durable operation in turn, and the laws.
//!
//! No time passes and nothing is random but what a seed says: a scenario gives the same run every time.

mod critics;
mod doubles;
mod person;
mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use self::world::World;
use super::{FaultPlan, laws::Violation};
use crate::{Budget, Digest, ItemRef, ItemStatus, PhaseId, StopReason, Usd, machine::Mode};

pub(super) use self::critics::opinion;
pub(super) use self::world::{block_on, look_at};
pub use self::{
    critics::{Reviews, Tidies},
    doubles::Behaviour,
};

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// One item for each.
    pub items: Vec<Behaviour>,
    /// The gates of each phase; the items are dealt out to them in order. Empty: one phase without gates.
    pub phases: Vec<PhaseGates>,
    /// What is made of the plan. A goal, and a loop at an interval, is of one item.
    pub mode: Mode,
    /// After how many rounds a loop at an interval is enough. `None`: nothing says so, and a limit ends it.
    pub until: Option<u32>,
    /// What tidies work that passed twice, if anything does.
    pub tidies: Option<Tidies>,
    /// What reviews it, if anything does.
    pub reviews: Option<Reviews>,
    /// Whether every item of a plan has a verifier of its own, which must fail before there is any work.
    pub require_red: bool,
    /// The limits.
    pub budget: Budget,
    /// What is broken on purpose, so that a law has something to find.
    pub sabotage: Option<Sabotage>,
}

impl Scenario {
    /// Items that behave so, with ample limits.
    pub fn of(items: impl IntoIterator<Item = Behaviour>) -> Self {
        let budget = Budget {
            blockers_per_phase: 100,
            blockers_per_plan: 100,
            no_progress: 100,
            cost: Some(Usd::from_micros(1_000_000_000)),
            tokens: Some(1_000_000_000),
            ..Budget::default()
        };
        let items = items.into_iter().collect();
        Self {
            items,
            phases: Vec::new(),
            mode: Mode::Items,
            until: None,
            tidies: None,
            reviews: None,
            require_red: false,
            budget,
            sabotage: None,
        }
    }

    /// The same in phases with these gates.
    #[must_use]
    pub fn in_phases(mut self, phases: impl IntoIterator<Item = PhaseGates>) -> Self {
        self.phases = phases.into_iter().collect();
        self
    }

    /// The same with this made of it.
    #[must_use]
    pub fn in_mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The same, and it is enough after so many rounds.
    #[must_use]
    pub fn until(mut self, rounds: u32) -> Self {
        self.until = Some(rounds);
        self
    }

    /// The same with this between the second pass and the branch.
    #[must_use]
    pub fn with(mut self, tidies: Option<Tidies>, reviews: Option<Reviews>) -> Self {
        (self.tidies, self.reviews) = (tidies, reviews);
        self
    }

    /// The same, and every item's own verifier must fail first.
    #[must_use]
    pub fn red_first(mut self) -> Self {
        self.require_red = true;
        self
    }
}

/// A part that breaks one law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// Work that was rejected was on the branch for a moment.
    BranchHoldsRejected,
    /// The agent's copy of the ledger enters candidates.
    LedgerEnters,
    /// A record is acknowledged and written only with the next one.
    LateJournal,
    /// A decision that is submitted again is recorded again.
    DecisionsTwice,
    /// Kept work is forgotten.
    ForgetsKept,
    /// Something of a session stays alive.
    LeavesAlive,
    /// An answer is given that nobody gave.
    AnswersItself,
}

/// How a phase's gates behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseGates {
    /// The automatic gate opens.
    Auto,
    /// The automatic gate is closed until a person has the phase's first item worked on again.
    AutoReopened,
    /// A person approves.
    Manual,
    /// A person rejects, commits something, and then approves.
    ManualRejected,
}

impl PhaseGates {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::AutoReopened, Self::Manual, Self::ManualRejected];
}

/// The state that a run leaves, without what may differ between a run with and one without a crash (revision ids and
/// the numbers of attempts).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Final {
    /// Why it ended.
    pub reason: StopReason,
    /// Each item's mark.
    pub marks: BTreeMap<ItemRef, ItemStatus>,
    /// The branch's files.
    pub files: BTreeMap<String, Digest>,
    /// How many commits the run put on the branch.
    pub commits: usize,
    /// The items whose work is kept, and why; each once where a limit ended sessions that came to nothing, since an
    /// invocation after a crash has a count of its own.
    pub kept: Vec<String>,
    /// The questions that were asked.
    pub asked: Vec<String>,
    /// The phases that are done.
    pub finished: Vec<PhaseId>,
}

impl Final {
    /// The same where the clean-up of these items' work was cut short: it is dropped and not tried again, so that their
    /// work is on the branch as it was before. Nothing else of the end may differ.
    #[must_use]
    pub fn untidied(mut self, items: &BTreeSet<ItemRef>) -> Self {
        for item in items {
            if let Some(content) = self.files.get_mut(&critics::notes(item.item.as_str())) {
                *content = Digest::of(critics::LONG.as_bytes());
            }
        }
        self
    }
}

/// What was seen in a simulation.
#[derive(Debug)]
pub struct Report {
    /// The end.
    pub end: Final,
    /// The items whose work is on the branch untidied, because its clean-up was cut short.
    pub untidied: BTreeSet<ItemRef>,
    /// How many points at which it could have crashed were passed, in the last life.
    pub points: u64,
    /// How often it crashed.
    pub crashes: usize,
    /// Every law that was broken.
    pub violations: Vec<Violation>,
}

/// Something that should not happen in a simulation at all.
#[derive(Debug)]
pub struct Stuck(pub String);

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Runs `scenario`, dying at each of `crashes` in turn (counted in points from the start of that life), to its end.
///
/// # Errors
/// [`Stuck`] where the run fails without a crash.
pub fn simulate(scenario: &Scenario, crashes: &[u64]) -> Result<Report, Stuck> {
    let world = World::new(scenario);
    let mut died = 0;
    for life in 0..=crashes.len() {
        let faults = crashes.get(life).map_or_else(FaultPlan::none, |point| FaultPlan::dies_at(*point));
        match world.live(&faults) {
            Ok(outcome) => {
                // A crash after the end of the last step is a run that is over.
                return Ok(world.report(&outcome, &faults, died));
            }
            Err(_) if faults.struck() => died += 1,
            Err(error) => return Err(Stuck(format!("{scenario:?} after {died} crashes: {}", crate::chain(&error)))),
        }
    }
    Err(Stuck(format!("{scenario:?}: crashed in its last life too")))
}

/// Crashes `scenario` at every point in turn, and compares each end with the end of the run that did not crash.
///
/// # Errors
/// A description of the first difference or broken law.
pub fn enumerate_crashes(scenario: &Scenario) -> Result<u64, String> {
    let reference = simulate(scenario, &[]).map_err(|stuck| stuck.0)?;
    law_abiding(&reference, "without a crash")?;
    let mut point = 1;
    loop {
        let report = simulate(scenario, &[point]).map_err(|stuck| stuck.0)?;
        law_abiding(&report, &format!("crash at point {point}"))?;
        let expected = reference.end.clone().untidied(&report.untidied);
        if report.end != expected {
            return Err(format!(
                "crash at point {point}: the end differs\nwithout: {expected:#?}\nwith: {:#?}",
                report.end
            ));
        }
        if report.crashes == 0 {
            // The plan asked for a point that the run never reached: all have been tried.
            return Ok(point - 1);
        }
        point += 1;
    }
}

fn law_abiding(report: &Report, when: &str) -> Result<(), String> {
    if report.violations.is_empty() { Ok(()) } else { Err(format!("{when}: {:?}", report.violations)) }
}
