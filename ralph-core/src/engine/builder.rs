//! Puts a run together.

use std::{sync::Arc, time::Duration};

use super::{
    artifacts::Artifacts,
    backoff::Backoff,
    effects::Seams,
    host::{Host, Outcome, RunError},
    setup::SetUps,
};
use crate::{
    agent::AgentBackend,
    budget::Budget,
    clock::{Clock, SystemClock},
    cx::Cancel,
    decision::DecisionSink,
    event::Observer,
    gate::Gate,
    gates::{AutoGate, ManualGate},
    id::RunId,
    journal::Journal,
    machine::{Carried, Mode, RetryFrom, Rules},
    memory::{MemoryDecisions, MemoryJournal},
    plan::PlanSource,
    prompt::Prompt,
    review::Reviewer,
    tier::Tiering,
    vcs::{Publish, Rebase, Vcs},
    verify::Verifier,
};

/// The two ways to end a run from outside. Clones are the same switches.
#[derive(Clone, Debug, Default)]
pub struct Switches {
    /// Ends the run after the effect under way.
    pub stop: Cancel,
    /// Ends the effect under way as well; a session is asked to report before it goes.
    pub now: Cancel,
}

/// A run of the loop, being put together.
///
/// What must be there is an argument, what may be there is a setter. There is no way to build a loop without a
/// verifier.
///
/// ```
/// # #[cfg(feature = "testing")] {
/// use ralph_core::{MemoryPlan, Ralph, StopReason, verifier, testing::{MemoryVcs, ScriptedAgent, turn}};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let plan = MemoryPlan::of(["add a greeting"]);
/// let agent = ScriptedAgent::new([turn().writes("greeting", "hello\n")]);
/// let check = verifier("greeting is there", |folder| Ok(folder.join("greeting").exists()));
/// let outcome = Ralph::builder(plan, agent, check, MemoryVcs::new()).run().await.unwrap();
/// assert_eq!(outcome.stop.reason, StopReason::Success);
/// # });
/// # }
/// ```
#[must_use = "nothing happens until `run` is awaited"]
pub struct Ralph {
    seams: Seams,
    journal: Arc<dyn Journal>,
    run: RunId,
    rules: Rules,
    carried: Carried,
    observers: Vec<Arc<dyn Observer>>,
    switches: Switches,
}

impl std::fmt::Debug for Ralph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ralph")
            .field("run", &self.run)
            .field("plan", &self.seams.plan)
            .field("agent", &self.seams.agent)
            .field("verifier", &self.seams.verifier)
            .field("vcs", &self.seams.vcs)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

impl Ralph {
    /// A loop over `plan`: `agent` works on one item after another, `verifier` judges, `vcs` holds the work.
    ///
    /// Without more being said, the journal and the decisions are in memory, and the budget is the default one. What is
    /// chosen at run time fits too: an `Arc<dyn Verifier>` is a verifier, and so with the other seams.
    pub fn builder(plan: impl PlanSource, agent: impl AgentBackend, verifier: impl Verifier, vcs: impl Vcs) -> Self {
        let verifier: Arc<dyn Verifier> = Arc::new(verifier);
        let seams = Seams {
            plan: Arc::new(plan),
            agent: Arc::new(agent),
            verifier: Arc::clone(&verifier),
            vcs: Arc::new(vcs),
            rebase: None,
            publish: None,
            gates: Vec::new(),
            phase_gates: vec![Arc::new(AutoGate::new(verifier)), Arc::new(ManualGate)],
            every_phase_gated: false,
            decisions: Arc::new(MemoryDecisions::new()),
            setup: None,
            env_check: None,
            clock: Arc::new(SystemClock::new()),
            cleanup: None,
            reviewer: None,
            require_red: false,
            until: None,
            tiering: Tiering::default(),
            prompt: Prompt::default(),
            learnings: Arc::new(String::new),
            artifacts: Artifacts::none(),
            backoff: Backoff::default(),
            session_limit: Duration::from_secs(45 * 60),
            set_ups: SetUps::default(),
        };
        Self {
            seams,
            journal: Arc::new(MemoryJournal::new()),
            run: RunId::new("run"),
            rules: Rules::default(),
            carried: Carried::default(),
            observers: Vec::new(),
            switches: Switches::default(),
        }
    }

    /// Where the run is recorded, and under which name. A name that the journal knows is taken up where it stood.
    pub fn journal(mut self, journal: impl Journal, run: RunId) -> Self {
        self.journal = Arc::new(journal);
        self.run = run;
        self
    }

    /// The limits.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.rules.budget = budget;
        self
    }

    /// What is made of the plan: its items are walked, unless something else is said.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.rules.mode = mode;
        self
    }

    /// What says that a loop at an interval ([`Mode::Every`]) has run long enough: judged after each session, where it
    /// worked.
    pub fn until(mut self, enough: impl Verifier) -> Self {
        self.seams.until = Some(Arc::new(enough));
        self
    }

    /// Whether each session goes on with the one before it, instead of beginning afresh. Needs an agent that can resume.
    pub fn continue_session(mut self, goes_on: bool) -> Self {
        self.rules.continue_session = goes_on;
        self
    }

    /// How strong a model each item gets; the usual one, unless the plan says otherwise.
    pub fn tiering(mut self, tiering: Tiering) -> Self {
        self.seams.tiering = tiering;
        self
    }

    /// Sessions that an item gets before it is blocked; at least 1.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.rules.attempts = attempts;
        self
    }

    /// Where a second attempt starts.
    pub fn retry_from(mut self, from: RetryFrom) -> Self {
        self.rules.retry_from = from;
        self
    }

    /// Whether an attempt without a signal has failed.
    pub fn require_signal(mut self, require: bool) -> Self {
        self.rules.require_signal = require;
        self
    }

    /// Whether the verifier judges the base once before any money is spent; on by default.
    pub fn baseline(mut self, baseline: bool) -> Self {
        self.rules.baseline = baseline;
        self
    }

    /// Whether the own verifier of an item, where it has one, must fail before its first session: one that passes already
    /// proves nothing, and a person is asked. An item's `Checks:` may say otherwise ([`Item::requires_red`]).
    ///
    /// [`Item::requires_red`]: crate::Item::requires_red
    pub fn require_red(mut self, require: bool) -> Self {
        self.seams.require_red = require;
        self
    }

    /// What tidies work that passed twice, in a session of its own. What it leaves is verified from the beginning, and
    /// dropped where anything speaks against it, or where it touches other files than the work does.
    pub fn cleanup(mut self, agent: impl AgentBackend) -> Self {
        self.seams.cleanup = Some(Arc::new(agent));
        self.rules.cleanup = true;
        self
    }

    /// What may veto work that passed twice. A veto is a failed attempt, and the next one is told why.
    pub fn review(mut self, reviewer: impl Reviewer) -> Self {
        self.seams.reviewer = Some(Arc::new(reviewer));
        self.rules.review = true;
        self
    }

    /// Adds a gate at the item boundary.
    pub fn gate(mut self, gate: impl Gate) -> Self {
        self.seams.gates.push(Arc::new(gate));
        self.rules.gates = true;
        self
    }

    /// Adds a gate at the phase boundary: from then on every phase has to pass it. It is asked after the gates that plans
    /// name, which are always there: what [`AutoGate`] and [`ManualGate`] stand for.
    pub fn phase_gate(mut self, gate: impl Gate) -> Self {
        self.seams.phase_gates.push(Arc::new(gate));
        self.seams.every_phase_gated = true;
        self
    }

    /// What carries kept work over to a branch that moved on.
    pub fn rebase(mut self, rebase: impl Rebase) -> Self {
        self.seams.rebase = Some(Arc::new(rebase));
        self.rules.rebase = true;
        self
    }

    /// What makes the branch known elsewhere after each accepted item, and once more at the end where that failed.
    pub fn publish(mut self, publish: impl Publish) -> Self {
        self.seams.publish = Some(Arc::new(publish));
        self.rules.publish = true;
        self
    }

    /// What earlier runs of the plan came to; counts where the run begins.
    pub fn carried(mut self, carried: Carried) -> Self {
        self.carried = carried;
        self
    }

    /// Where decisions go, and where answers come from.
    pub fn decisions(mut self, sink: impl DecisionSink) -> Self {
        self.seams.decisions = Arc::new(sink);
        self
    }

    /// What makes a folder usable (`Setup:`). Runs where a phase names commands for it: in a fresh folder, and when a
    /// lock file changed.
    pub fn setup(mut self, setup: impl Verifier) -> Self {
        self.seams.setup = Some(Arc::new(setup));
        self
    }

    /// What tells whether the surroundings are fit for work (`Env-Check:`), before each session.
    pub fn env_check(mut self, check: impl Verifier) -> Self {
        self.seams.env_check = Some(Arc::new(check));
        self
    }

    /// The source of time.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.seams.clock = Arc::new(clock);
        self
    }

    /// The template of prompts.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.seams.prompt = prompt;
        self
    }

    /// Where notes of earlier sessions come from; asked before each session. Keep them short.
    pub fn learnings(mut self, source: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.seams.learnings = Arc::new(source);
        self
    }

    /// Where prompts, transcripts and verifier output go.
    pub fn artifacts(mut self, artifacts: Artifacts) -> Self {
        self.seams.artifacts = artifacts;
        self
    }

    /// The waits for an agent that is not available.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.seams.backoff = backoff;
        self
    }

    /// How long one session may take.
    pub fn session_limit(mut self, limit: Duration) -> Self {
        self.seams.session_limit = limit;
        self
    }

    /// Adds a watcher.
    pub fn observe(mut self, observer: impl Observer) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// The switches that end the run; clone them before [`Ralph::run`].
    pub fn switches(&self) -> Switches {
        self.switches.clone()
    }

    /// Runs to a stop.
    ///
    /// # Errors
    /// [`RunError`] where the run could not begin or go on; it is left open then, and running again takes it up.
    ///
    /// # Cancellation
    /// Dropping the future ends the effect under way and leaves nothing alive; the run is taken up as after a crash.
    pub async fn run(self) -> Result<Outcome, RunError> {
        self.check()?;
        let opened = self.journal.open(&self.run).await.map_err(RunError::Journal)?;
        let host = Host {
            seams: self.seams,
            run: self.run,
            rules: self.rules,
            carried: self.carried,
            observers: self.observers,
            switches: self.switches,
        };
        host.drive(opened).await
    }

    /// What cannot be honoured is refused before anything happens.
    fn check(&self) -> Result<(), RunError> {
        let (budget, can) = (&self.rules.budget, self.seams.agent.capabilities());
        let name = self.seams.agent.name();
        let refuse = |why: String| Err(RunError::Refused(why));
        let cleanup = self.seams.cleanup.as_ref().map(|agent| ("agent", agent.name(), agent.capabilities()));
        let reviewer = self.seams.reviewer.as_ref().map(|it| ("reviewer", it.name(), it.capabilities()));
        for (what, name, can) in [Some(("agent", name, can)), cleanup, reviewer].into_iter().flatten() {
            if budget.cost.is_some() && !can.cost {
                return refuse(format!("there is a cost budget, and the {what} `{name}` does not report its cost"));
            }
            if budget.tokens.is_some() && !can.tokens {
                return refuse(format!("there is a token budget, and the {what} `{name}` does not report its tokens"));
            }
        }
        if self.rules.continue_session && !can.resume {
            return refuse(format!("sessions are to go on with the one before, and the agent `{name}` cannot resume"));
        }
        if self.rules.attempts == 0 {
            return refuse("an item needs at least one attempt".to_owned());
        }
        let limits = [budget.iterations, budget.sessions, budget.blockers_per_phase, budget.blockers_per_plan];
        let limits = limits.into_iter().chain([budget.no_progress, budget.outages, budget.checkpoint_every]);
        if limits.into_iter().any(|limit| limit == 0) {
            return refuse("a budget of 0 leaves nothing to run".to_owned());
        }
        Ok(())
    }
}
