//! What outlives a crash, and one life of the process in it.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use super::{
    agent::{Act, ModelAgent, ModelPolicy},
    bends::{Bend, BentPlan, BentVerifier},
    critic::{BentReviewer, ModelReviewer, Reviewed},
    dice::Dice,
    oracle::{Account, Proof},
    plan::{ModelPlan, PlanSeam},
    scenario::Scenario,
    tally::Tally,
    verifier::{Conduct, Judgement, ModelSetUp, ModelVerifier, SetUp},
};
use crate::{
    Budget, Digest, Event, ItemRef, ItemStatus, MemoryDecisions, MemoryJournal, Outcome, PlanSource, Ralph, Record,
    Reviewer, Revision, RunError, RunId, Verifier, VerifierExt,
    engine::{Backoff, Switches},
    machine::RetryFrom,
    testing::{FaultPlan, Faulty, Files, MemoryVcs, StillClock, laws::Violation, simulator},
};

/// Steps after which an invocation is taken for one without an end.
const STEPS_MAX: u32 = 3_000;

/// One stream of choices for each who makes some, so that one does not change another's.
#[derive(Debug)]
struct Rolls {
    agent: Dice,
    verifier: Dice,
    person: Dice,
    disk: Dice,
    critic: Dice,
}

/// What outlives a crash.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) scenario: Scenario,
    pub(super) plan: ModelPlan,
    pub(super) vcs: MemoryVcs,
    pub(super) decisions: MemoryDecisions,
    pub(super) clock: StillClock,
    journal: MemoryJournal,
    run: RunId,
    rolls: Mutex<Rolls>,
    tally: Mutex<Tally>,
    judgements: Mutex<Vec<Judgement>>,
    reviews: Mutex<Vec<Reviewed>>,
    account: Mutex<Account>,
    switches: Mutex<Option<Switches>>,
    calls: AtomicU32,
    life: AtomicU32,
    steps: AtomicU32,
    alive: AtomicU32,
    calm: AtomicBool,
    faulted: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something that lives until it is dropped.
pub(super) struct Alive<'a>(&'a Shared, &'static str);

impl<'a> Alive<'a> {
    /// Its end is counted in `group`.
    pub(super) fn new(shared: &'a Shared, group: &'static str) -> Self {
        shared.alive.fetch_add(1, Ordering::SeqCst);
        Self(shared, group)
    }
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::SeqCst);
        self.0.saw(self.1, "ended while it hung");
    }
}

impl Shared {
    pub(super) fn new(scenario: Scenario) -> Self {
        let mut files = Files::from([
            ("README".to_owned(), b"start".to_vec()),
            ("ralph-loop/PRD.md".to_owned(), b"- [ ] the operator's".to_vec()),
        ]);
        if !scenario.there.is_empty() {
            files.insert("R01".to_owned(), scenario.there.as_bytes().to_vec());
        }
        let seed = scenario.seed;
        let rolls = Rolls {
            agent: Dice::new(seed, 2),
            verifier: Dice::new(seed, 3),
            person: Dice::new(seed, 4),
            disk: Dice::new(seed, 5),
            critic: Dice::new(seed, 7),
        };
        let mut account = Account::default();
        for phase in &scenario.plan.phases {
            let ticked = phase.items.iter().filter(|item| item.status == ItemStatus::Done);
            account.proofs.extend(ticked.map(|item| (phase.name(item), Proof::ByHand)));
        }
        Self {
            plan: ModelPlan::new(scenario.plan.clone(), scenario.trap),
            scenario,
            vcs: MemoryVcs::with(files),
            decisions: MemoryDecisions::new(),
            clock: StillClock::new(),
            journal: MemoryJournal::new(),
            run: RunId::new("run"),
            rolls: Mutex::new(rolls),
            tally: Mutex::default(),
            judgements: Mutex::default(),
            reviews: Mutex::default(),
            account: Mutex::new(account),
            switches: Mutex::default(),
            calls: AtomicU32::new(0),
            life: AtomicU32::new(0),
            steps: AtomicU32::new(0),
            alive: AtomicU32::new(0),
            calm: AtomicBool::new(false),
            faulted: AtomicBool::new(false),
        }
    }

    pub(super) fn saw(&self, group: &'static str, what: impl Into<String>) {
        lock(&self.tally).saw(group, what);
    }

    pub(super) fn broken(&self, law: &'static str, what: String) {
        lock(&self.account).broken(law, what);
    }

    /// Something fails that is nobody's fault who works on the plan; the run may fail with it.
    pub(super) fn fault(&self, what: &'static str) {
        self.faulted.store(true, Ordering::SeqCst);
        self.saw("faults", what);
    }

    /// Whether something failed since it was last asked.
    pub(super) fn take_fault(&self) -> bool {
        self.faulted.swap(false, Ordering::SeqCst)
    }

    /// From now on nothing is faulty but what is there already.
    pub(super) fn calms_down(&self) {
        self.calm.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_calm(&self) -> bool {
        self.calm.load(Ordering::SeqCst)
    }

    pub(super) fn life(&self) -> u32 {
        self.life.load(Ordering::SeqCst)
    }

    pub(super) fn roll_agent(&self, percent: u32) -> bool {
        lock(&self.rolls).agent.chance(percent)
    }

    pub(super) fn roll_verifier(&self, percent: u32) -> bool {
        lock(&self.rolls).verifier.chance(percent)
    }

    pub(super) fn roll_critic(&self, percent: u32) -> bool {
        lock(&self.rolls).critic.chance(percent)
    }

    pub(super) fn roll_person(&self, sides: usize) -> usize {
        lock(&self.rolls).person.below(sides)
    }

    /// Whether a write fails.
    pub(super) fn roll_disk(&self) -> bool {
        !self.is_calm() && lock(&self.rolls).disk.chance(1)
    }

    /// What the next session does.
    pub(super) fn act(&self) -> Act {
        if self.is_calm() {
            return Act::Good;
        }
        let dice = &mut lock(&self.rolls).agent;
        if dice.chance(self.scenario.honesty) {
            Act::Good
        } else if dice.chance(self.scenario.habitual) {
            self.scenario.habit
        } else {
            dice.pick(&Act::ALL)
        }
    }

    /// How the verifier behaves in this call, and which one it is.
    pub(super) fn conduct(&self) -> (Conduct, u32) {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let (from, to) = self.scenario.active;
        let active = !self.is_calm() && (from..to).contains(&call);
        (if active { self.scenario.conduct } else { Conduct::Honest }, call)
    }

    pub(super) fn judged(&self, judgement: Judgement) {
        lock(&self.judgements).push(judgement);
    }

    pub(super) fn reviewed(&self, reviewed: Reviewed) {
        lock(&self.reviews).push(reviewed);
    }

    /// What the reviewer said last of that commit for that row.
    pub(super) fn last_review(&self, revision: &Revision, row: &Digest) -> Option<Reviewed> {
        let reviews = lock(&self.reviews);
        reviews.iter().rfind(|one| one.revision == *revision && one.row == *row).cloned()
    }

    /// Whether a reviewer had anything against work for this row.
    pub(super) fn vetoed(&self, row: &Digest) -> bool {
        lock(&self.reviews).iter().any(|one| one.row == *row && !one.approved)
    }

    /// The last judgements of that kind: all of one life, since a crash may have asked again.
    pub(super) fn last_words(&self, which: impl Fn(&Judgement) -> bool) -> Vec<Judgement> {
        let judgements = lock(&self.judgements);
        let found: Vec<&Judgement> = judgements.iter().filter(|one| which(one)).collect();
        let life = found.last().map(|one| one.life);
        found.into_iter().filter(|one| Some(one.life) == life).cloned().collect()
    }

    pub(super) fn switch(&self, throw: impl FnOnce(&Switches)) {
        if let Some(switches) = &*lock(&self.switches) {
            throw(switches);
        }
    }

    /// A person ends a run that hangs; whether there is one.
    pub(super) fn lose_patience(&self) -> bool {
        let mut there = false;
        self.switch(|switches| {
            switches.now.cancel();
            there = true;
        });
        there
    }

    /// A person changed a mark.
    pub(super) fn marked_by_hand(&self, item: &ItemRef, from: ItemStatus, to: ItemStatus) {
        let proofs = &mut lock(&self.account).proofs;
        if to == ItemStatus::Done {
            proofs.insert(item.clone(), Proof::ByHand);
        } else if from == ItemStatus::Done {
            proofs.remove(item);
        }
    }

    fn on_event(&self, event: &Event) {
        match event {
            Event::Recorded { record, .. } | Event::Replayed { record, .. } => {
                if self.journal.record(&self.run, record.seq).as_ref() != Some(record) {
                    self.broken("L5", format!("record {} was told before it was durable", record.seq));
                }
                lock(&self.account).read(record, self);
            }
            Event::Began { step, .. } => self.step_begins(step),
            Event::Live { .. } | Event::Told { .. } => {}
        }
    }

    fn step_begins(&self, step: &str) {
        let seq = lock(&self.account).seq();
        if self.journal.record(&self.run, seq + 1).is_some() {
            self.broken("L5", format!("{step} begins before the record before it was told"));
        }
        if self.alive.load(Ordering::SeqCst) != 0 {
            self.broken("L10", format!("something of an earlier step lives when {step} begins"));
        }
        let steps = self.steps.fetch_add(1, Ordering::SeqCst) + 1;
        if steps == STEPS_MAX {
            self.broken("L8", format!("no end after {steps} steps"));
        }
        if steps >= STEPS_MAX {
            self.switch(|switches| switches.now.cancel());
        }
        if !self.is_calm() && self.roll_person(100) < self.scenario.people as usize {
            self.whim();
        }
    }

    /// One life of the process.
    pub(super) fn invoke(self: &Arc<Self>, faults: &FaultPlan, bend: Option<Bend>) -> Result<Outcome, RunError> {
        self.life.fetch_add(1, Ordering::SeqCst);
        self.steps.store(0, Ordering::SeqCst);
        self.take_fault();
        let ralph = self.ralph(faults, bend);
        *lock(&self.switches) = Some(ralph.switches());
        let outcome = simulator::block_on(ralph.run());
        *lock(&self.switches) = None;
        outcome
    }

    fn ralph(self: &Arc<Self>, faults: &FaultPlan, bend: Option<Bend>) -> Ralph {
        let shared = || Arc::clone(self);
        let scenario = &self.scenario;
        let model = ModelVerifier { shared: shared() };
        let mut verifier: Arc<dyn Verifier> =
            if scenario.repeated > 1 { Arc::new(model.repeated(scenario.repeated)) } else { Arc::new(model) };
        let mut plan: Arc<dyn PlanSource> = Arc::new(PlanSeam { plan: self.plan.clone(), shared: shared() });
        if let Some(bend) = bend {
            verifier = Arc::new(BentVerifier { honest: verifier, bend, passed: AtomicBool::new(false) });
            plan = Arc::new(BentPlan { honest: plan, bend, shared: shared() });
        }
        let watch = shared();
        let mut ralph = Ralph::builder(
            Faulty::new(plan, faults),
            Faulty::new(Arc::new(ModelAgent { shared: shared(), tidies: false }), faults),
            Faulty::new(verifier, faults),
            Faulty::new(Arc::new(self.vcs.clone()), faults),
        )
        .mode(scenario.mode)
        .attempts(scenario.attempts)
        .retry_from(if scenario.from_base { RetryFrom::Base } else { RetryFrom::Kept })
        .require_red(scenario.red)
        .require_signal(scenario.require_signal && !self.is_calm())
        .journal(Faulty::new(Arc::new(self.journal.clone()), faults), self.run.clone())
        .decisions(Faulty::new(Arc::new(self.decisions.clone()), faults))
        .clock(self.clock.clone())
        .backoff(Backoff { jitter: false, ..Backoff::default() })
        .budget(if self.is_calm() { ample() } else { scenario.budget.clone() })
        .observe(move |event: &Event| watch.on_event(event));
        if scenario.policy {
            ralph = ralph.gate(Faulty::new(Arc::new(ModelPolicy { shared: shared() }), faults));
        }
        if scenario.tidies {
            let agent = ModelAgent { shared: shared(), tidies: true };
            ralph = ralph.cleanup(Faulty::new(Arc::new(agent), faults));
        }
        if let Some(critic) = scenario.critic {
            let mut reviewer: Arc<dyn Reviewer> = Arc::new(ModelReviewer { shared: shared(), critic });
            if let Some(bend) = bend {
                reviewer = Arc::new(BentReviewer { honest: reviewer, bend });
            }
            ralph = ralph.review(Faulty::new(reviewer, faults));
        }
        if scenario.rebase {
            ralph = ralph.rebase(Faulty::new(Arc::new(self.vcs.clone()), faults));
        }
        let set_up = |kind, conduct| ModelSetUp { shared: shared(), kind, conduct };
        if scenario.set_up != SetUp::None {
            ralph = ralph.setup(Faulty::new(Arc::new(set_up("set-up", scenario.set_up)), faults));
        }
        if scenario.env_check != SetUp::None {
            ralph = ralph.env_check(Faulty::new(Arc::new(set_up("env-check", scenario.env_check)), faults));
        }
        ralph
    }

    /// What is recorded.
    pub(super) fn records(&self) -> Vec<Record> {
        self.journal.records(&self.run)
    }

    /// Every law that was broken, in the records or in the world.
    pub(super) fn violations(&self) -> Vec<Violation> {
        let mut violations = lock(&self.account).violations();
        violations.extend(simulator::look_at(&self.vcs, &self.decisions, &self.records()));
        violations
    }

    pub(super) fn tally(&self) -> Tally {
        lock(&self.tally).clone()
    }
}

/// Limits that end nothing but what goes round in circles.
fn ample() -> Budget {
    Budget { no_progress: 20, blockers_per_phase: 50, blockers_per_plan: 50, iterations: 60, ..Budget::default() }
}
