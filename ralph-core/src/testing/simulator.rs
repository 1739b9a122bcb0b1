//! The real engine on doubles: scripted behaviours, a crash at every durable operation in turn, and the laws.
//!
//! No time passes and nothing is random but what a seed says: a scenario gives the same run every time.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use async_trait::async_trait;

use super::{
    FaultPlan, Faulty, Files, MemoryVcs, StillClock,
    laws::{LawBook, Violation},
};
use crate::{
    AgentBackend, AgentError, Brief, Budget, Capabilities, Cx, Digest, Event, ItemRef, ItemStatus, MemoryDecisions,
    MemoryJournal, MemoryPlan, Outcome, Part, Ralph, RunError, RunId, SessionEnd, SessionReport, StopReason, Target,
    Tokens, Trouble, Usage, Usd, Verdict, Verifier, VerifyError,
};

/// What the sessions on an item do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// The work, at once.
    Good,
    /// Wrong work first; a session that finds it puts it right.
    SecondTry,
    /// Wrong work every time.
    Bad,
    /// Nothing but words.
    Claims,
    /// A file that git ignores makes the check pass.
    Hidden,
    /// The work is there already, and nothing is done.
    AlreadyDone,
    /// Asks a person.
    Asks,
    /// Gives up.
    Blocks,
    /// Work on which the verifier breaks.
    BreaksVerifier,
    /// A link that leaves the tree.
    Link,
    /// Its provider is down for two sessions, then the work.
    Outage,
    /// Dies after doing the work.
    Crashes,
    /// Changes its row in the plan, as a person would, then the work.
    RowEdited,
    /// Somebody commits on the branch meanwhile, then the work.
    Overtaken,
}

impl Behaviour {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Good,
        Self::SecondTry,
        Self::Bad,
        Self::Claims,
        Self::Hidden,
        Self::AlreadyDone,
        Self::Asks,
        Self::Blocks,
        Self::BreaksVerifier,
        Self::Link,
        Self::Outage,
        Self::Crashes,
        Self::RowEdited,
        Self::Overtaken,
    ];
}

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// One item for each.
    pub items: Vec<Behaviour>,
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
        Self { items: items.into_iter().collect(), budget, sabotage: None }
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
    /// The items whose work is kept, and why.
    pub kept: Vec<String>,
    /// The questions in the queue, in order of their items.
    pub asked: Vec<String>,
}

/// What was seen in a simulation.
#[derive(Debug)]
pub struct Report {
    /// The end.
    pub end: Final,
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
        if report.end != reference.end {
            return Err(format!(
                "crash at point {point}: the end differs\nwithout: {:#?}\nwith: {:#?}",
                reference.end, report.end
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

/// What outlives a crash.
struct World {
    scenario: Scenario,
    plan: MemoryPlan,
    journal: MemoryJournal,
    vcs: MemoryVcs,
    decisions: MemoryDecisions,
    clock: StillClock,
    run: RunId,
    shared: Arc<Shared>,
}

/// What the doubles share across lives.
#[derive(Debug, Default)]
struct Shared {
    outages: AtomicU32,
    overtaken: AtomicU32,
    alive: AtomicU32,
    violations: Mutex<Vec<Violation>>,
}

impl Shared {
    fn broken(&self, law: &'static str, what: String) {
        let mut violations = self.violations.lock().unwrap_or_else(PoisonError::into_inner);
        if !violations.iter().any(|known| known.law == law) {
            violations.push(Violation { law, what });
        }
    }
}

fn item_name(index: usize) -> String {
    format!("R{:02}", index + 1)
}

impl World {
    fn new(scenario: &Scenario) -> Self {
        let plan = MemoryPlan::of(scenario.items.iter().map(|behaviour| format!("{behaviour:?}")));
        let mut files = Files::from([
            ("README".to_owned(), b"start".to_vec()),
            ("ralph-loop/PRD.md".to_owned(), b"- [ ] the operator's".to_vec()),
        ]);
        for (index, behaviour) in scenario.items.iter().enumerate() {
            if *behaviour == Behaviour::AlreadyDone {
                files.insert(item_name(index), b"good".to_vec());
            }
        }
        Self {
            scenario: scenario.clone(),
            plan,
            journal: MemoryJournal::new(),
            vcs: MemoryVcs::with(files),
            decisions: MemoryDecisions::new(),
            clock: StillClock::new(),
            run: RunId::new("run"),
            shared: Arc::new(Shared::default()),
        }
    }

    /// One life of the process: to the end, or to the crash.
    fn live(&self, faults: &FaultPlan) -> Result<Outcome, RunError> {
        let agent = SimAgent { world: self.parts(), items: self.scenario.items.clone() };
        let vcs = super::saboteurs::vcs(self.vcs.clone(), self.scenario.sabotage);
        let journal = super::saboteurs::journal(self.journal.clone(), self.scenario.sabotage);
        let decisions = super::saboteurs::decisions(self.decisions.clone(), self.scenario.sabotage);
        let (shared, stored, run) = (Arc::clone(&self.shared), self.journal.clone(), self.run.clone());
        let seen = AtomicU32::new(0);
        let watch = move |event: &Event| match event {
            Event::Recorded { record, .. } | Event::Replayed { record, .. } => {
                seen.store(u32::try_from(record.seq).unwrap_or(u32::MAX), Ordering::SeqCst);
                if stored.record(&run, record.seq).as_ref() != Some(record) {
                    shared.broken("L5", format!("record {} was told before it was durable", record.seq));
                }
            }
            Event::Began { step, .. } => {
                let seen = u64::from(seen.load(Ordering::SeqCst));
                if stored.record(&run, seen).is_none() || stored.record(&run, seen + 1).is_some() {
                    shared.broken("L5", format!("{step} begins before the fact before it is durable"));
                }
                if shared.alive.load(Ordering::SeqCst) != 0 {
                    shared.broken("L10", format!("something of an earlier step lives when {step} begins"));
                }
            }
            Event::Live { .. } | Event::Told { .. } => {}
        };
        let ralph = Ralph::builder(
            Faulty::new(Arc::new(self.plan.clone()), faults),
            Faulty::new(Arc::new(agent), faults),
            Faulty::new(Arc::new(SimVerifier), faults),
            Faulty::new(vcs, faults),
        )
        .journal(Faulty::new(journal, faults), self.run.clone())
        .decisions(Faulty::new(decisions, faults))
        .clock(self.clock.clone())
        .budget(self.scenario.budget.clone())
        .observe(watch);
        block_on(ralph.run())
    }

    fn parts(&self) -> Parts {
        Parts {
            plan: self.plan.clone(),
            vcs: self.vcs.clone(),
            shared: Arc::clone(&self.shared),
            sabotage: self.scenario.sabotage,
        }
    }

    fn report(&self, outcome: &Outcome, faults: &FaultPlan, crashes: usize) -> Report {
        let mut book = LawBook::new();
        for record in self.journal.records(&self.run) {
            book.read(&record);
        }
        let mut violations = book.violations().to_vec();
        violations.extend(self.shared.violations.lock().unwrap_or_else(PoisonError::into_inner).clone());
        violations.extend(self.look_at_the_world());
        Report { end: self.end(outcome), points: faults.points(), crashes, violations }
    }

    /// What only the world knows: the branch, the candidates, what is kept.
    fn look_at_the_world(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut broken = |law, what| violations.push(Violation { law, what });
        let (branch, records) = (self.vcs.branch(), self.journal.records(&self.run));
        for revision in &branch[1..] {
            let accepted = records.iter().any(
                |record| matches!(&record.fact, crate::machine::Fact::Accepted { revision: by } if by == revision),
            );
            let by_hand = self.vcs.message(revision).is_some_and(|message| message == "by hand");
            if !accepted && !by_hand {
                broken("L2", format!("the branch held {revision}, which was never accepted"));
            }
        }
        let ledger = |files: &Files| files.get("ralph-loop/PRD.md").cloned();
        let operators = self.vcs.files_of(&branch[0]).as_ref().and_then(ledger);
        for revision in branch.iter().chain(self.vcs.kept().values()) {
            if self.vcs.files_of(revision).as_ref().and_then(ledger) != operators {
                broken("L4", format!("{revision} has an agent's copy of the ledger"));
            }
        }
        for record in &records {
            if let crate::machine::Fact::Kept { name, .. } = &record.fact
                && !self.vcs.kept().contains_key(name)
            {
                broken("L9", format!("{name} was kept and is gone"));
            }
        }
        violations
    }

    fn end(&self, outcome: &Outcome) -> Final {
        let plan = self.plan.plan();
        let marks = plan
            .phases
            .iter()
            .flat_map(|phase| phase.items.iter().map(|item| (phase.name(item), item.status)))
            .collect();
        let files = self.vcs.files().into_iter().map(|(path, content)| (path, Digest::of(&content))).collect();
        // Without the number of the attempt, and without what an interruption alone leaves.
        let mut kept: Vec<String> = self
            .vcs
            .kept()
            .into_keys()
            .filter(|name| !name.starts_with("interrupted/"))
            .filter_map(|name| Some(name.rsplit_once('/')?.0.to_owned()))
            .collect();
        kept.sort();
        let mut asked: Vec<String> = self.decisions.asked().into_iter().map(|asked| asked.question.text).collect();
        asked.sort();
        Final { reason: outcome.stop.reason, marks, files, commits: self.vcs.branch().len() - 1, kept, asked }
    }
}

/// Runs a future whose parts never wait for anything but each other.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    match tokio::runtime::Builder::new_current_thread().build() {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => unreachable!("no runtime for the simulation: {error}"),
    }
}

/// What the agent of a simulation can reach, the operator's things included: it plays both.
#[derive(Debug)]
struct Parts {
    plan: MemoryPlan,
    vcs: MemoryVcs,
    shared: Arc<Shared>,
    sabotage: Option<Sabotage>,
}

#[derive(Debug)]
struct SimAgent {
    world: Parts,
    items: Vec<Behaviour>,
}

impl SimAgent {
    fn behaviour(&self, brief: &Brief) -> Behaviour {
        let number: usize = brief.attempt.item.item.as_str()[1..].parse().unwrap_or(1);
        self.items[number - 1]
    }

    fn play(&self, behaviour: Behaviour, brief: &Brief) -> std::io::Result<SessionReport> {
        let (workspace, item) = (&brief.workspace, brief.attempt.item.item.as_str());
        let write = |name: &str, content: &str| fs::write(workspace.join(name), content);
        // Every session tries to tick its own item.
        fs::create_dir_all(workspace.join("ralph-loop"))?;
        write("ralph-loop/PRD.md", "- [x] done, says the agent")?;
        let finished = |said: &str| SessionReport::new(SessionEnd::Finished).with_said(said);
        let usage = Usage::unknown()
            .with_cost(Usd::from_micros(250_000))
            .with_tokens(Tokens { output: 100, ..Tokens::default() });
        let report = match behaviour {
            Behaviour::Good => {
                write(item, "good")?;
                finished("done")
            }
            Behaviour::SecondTry => {
                let before = workspace.join(item).exists();
                write(item, if before { "good" } else { "bad" })?;
                finished("done")
            }
            Behaviour::Bad => {
                write(item, "bad")?;
                finished("ALL TESTS PASS")
            }
            Behaviour::Claims | Behaviour::AlreadyDone => finished("```ralph\n{\"status\":\"done\"}\n```"),
            Behaviour::Hidden => {
                write(&format!("ignored-{item}"), "good")?;
                write(item, "bad")?;
                finished("done")
            }
            Behaviour::Asks => {
                write(item, "good")?;
                finished("```ralph\n{\"status\":\"decision\",\"question\":\"which?\",\"options\":[\"a\",\"b\"]}\n```")
            }
            Behaviour::Blocks => {
                write(item, "half")?;
                finished("```ralph\n{\"status\":\"blocked\",\"summary\":\"no access\"}\n```")
            }
            Behaviour::BreaksVerifier => {
                write(item, "break")?;
                finished("done")
            }
            Behaviour::Link => {
                write(item, "good")?;
                link(&workspace.join("out"))?;
                finished("done")
            }
            Behaviour::Outage if self.world.shared.outages.fetch_add(1, Ordering::SeqCst) < 2 => {
                let detail = "529".to_owned();
                SessionReport::new(SessionEnd::Unavailable { trouble: Trouble::Overload, detail, until: None })
            }
            Behaviour::Outage => {
                write(item, "good")?;
                finished("done")
            }
            Behaviour::Crashes => {
                write(item, "good")?;
                SessionReport::new(SessionEnd::Failed("exit 1".to_owned()))
            }
            Behaviour::RowEdited => {
                let name = brief.attempt.item.clone();
                // Once: the row is then as the person wants it.
                self.world.plan.edit(|plan| {
                    for phase in &mut plan.phases {
                        for row in &mut Arc::make_mut(phase).items {
                            if row.id == name.item && row.criteria.is_empty() {
                                let row = Arc::make_mut(row);
                                row.criteria.push("and more".to_owned());
                                row.digest = Digest::of(b"edited");
                            }
                        }
                    }
                });
                write(item, "good")?;
                if brief.prompt.contains("and more") {
                    write(&format!("{item}-more"), "more")?;
                }
                finished("done")
            }
            Behaviour::Overtaken => {
                if self.world.shared.overtaken.fetch_add(1, Ordering::SeqCst) == 0 {
                    let mut files = self.world.vcs.files();
                    files.insert("by-hand".to_owned(), b"the operator's".to_vec());
                    self.world.vcs.commit_by_hand(files);
                }
                write(item, "good")?;
                finished("done")
            }
        };
        Ok(report.with_usage(usage))
    }
}

#[cfg(unix)]
fn link(at: &Path) -> std::io::Result<()> {
    // The kept work of a first attempt has no link, but a folder that was not emptied may.
    match std::os::unix::fs::symlink("/etc", at) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[async_trait]
impl AgentBackend for SimAgent {
    fn name(&self) -> &str {
        "simulated"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with_cost().with_tokens()
    }

    async fn run(&self, brief: &Brief, _cx: &Cx) -> Result<SessionReport, AgentError> {
        if self.world.sabotage == Some(Sabotage::LeavesAlive) {
            self.world.shared.alive.fetch_add(1, Ordering::SeqCst);
        }
        self.play(self.behaviour(brief), brief).map_err(|error| AgentError::Other(error.into()))
    }
}

/// Passes where the item's file says `good`, or an ignored one does.
#[derive(Debug)]
struct SimVerifier;

#[async_trait]
impl Verifier for SimVerifier {
    fn name(&self) -> &str {
        "simulated"
    }

    async fn verify(&self, target: &Target, _cx: &Cx) -> Result<Verdict, VerifyError> {
        let Some(item) = &target.item else { return Ok(Verdict::new(true, "the base")) };
        let read = |name: String| fs::read_to_string(target.folder.join(name)).unwrap_or_default();
        let content = read(item.id.to_string());
        if content == "break" {
            return Err(VerifyError::broken("exit 127"));
        }
        let passed = content == "good" || read(format!("ignored-{}", item.id)) == "good";
        let mut verdict = Verdict::new(passed, format!("the file says `{content}`"));
        let (Verdict::Pass(evidence) | Verdict::Fail(evidence)) = &mut verdict;
        evidence.tail.clone_from(&content);
        evidence.parts.push(Part { name: "file".to_owned(), passed, tests: None });
        Ok(verdict)
    }
}
