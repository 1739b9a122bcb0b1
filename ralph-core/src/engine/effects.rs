//! The effects: each is written once, on the seams, idempotent under its key. An effect never touches the journal.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::{
    artifacts::Artifacts,
    backoff::Backoff,
    bounds::{self, bounded},
    folders::Judged,
    queue::Known,
    setup::SetUps,
};
use crate::{
    agent::{AgentBackend, AgentError, Brief, Resume, SessionEnd},
    budget::Usage,
    clock::{Clock, millis},
    cx::{Cancel, Cx},
    decision::DecisionSink,
    error::{BoxError, chain},
    gate::Gate,
    id::{PhaseId, Revision, RunId},
    machine::{Asked, Attempt, CarriedOver, Effect, End, Fact, Failure, Iteration, Refusal, Spec},
    plan::{Item, ItemStatus, Marked, Phase, PlanError, PlanSource},
    prompt::{Prompt, PromptInput},
    review::Reviewer,
    signal::Signal,
    stop::{Stop, StopReason},
    tier::Tiering,
    vcs::{Accepted, Publish, Rebase, Rebased, Seal, Site, Snapshot, Tip, Vcs, VcsError},
    verify::{Stage, Target, Verifier},
};

/// An effect could not be performed. The run is left open, and the step is asked again when it is taken up.
#[derive(Debug, thiserror::Error)]
#[error("{step} could not be done")]
pub struct Fault {
    /// The step's key.
    pub step: String,
    /// Why.
    #[source]
    pub source: BoxError,
}

impl Fault {
    /// The end of the run, where what is wrong with the plan is why.
    pub(super) fn plan_trouble(&self) -> Option<Stop> {
        match self.source.downcast_ref::<PlanError>()? {
            error @ (PlanError::Invalid(_) | PlanError::Io { operation: "read", .. }) => {
                Some(Stop::new(StopReason::PlanInvalid, chain(error)))
            }
            PlanError::NotApproved(why) => Some(Stop::new(StopReason::NotApproved, why.clone())),
            // A full disk and the like.
            PlanError::Io { .. } => None,
        }
    }
}

/// Where earlier sessions' learnings come from.
pub(super) type Learnings = Arc<dyn Fn() -> String + Send + Sync>;

/// Everything that effects are performed on.
pub(super) struct Seams {
    pub(super) plan: Arc<dyn PlanSource>,
    pub(super) agent: Arc<dyn AgentBackend>,
    pub(super) verifier: Arc<dyn Verifier>,
    pub(super) vcs: Arc<dyn Vcs>,
    pub(super) rebase: Option<Arc<dyn Rebase>>,
    pub(super) publish: Option<Arc<dyn Publish>>,
    /// At the item boundary.
    pub(super) gates: Vec<Arc<dyn Gate>>,
    /// At the phase boundary, in order.
    pub(super) phase_gates: Vec<Arc<dyn Gate>>,
    /// Whether somebody added a gate to those that plans name.
    pub(super) every_phase_gated: bool,
    pub(super) decisions: Arc<dyn DecisionSink>,
    pub(super) setup: Option<Arc<dyn Verifier>>,
    pub(super) env_check: Option<Arc<dyn Verifier>>,
    pub(super) clock: Arc<dyn Clock>,
    /// What tidies work that passed twice.
    pub(super) cleanup: Option<Arc<dyn AgentBackend>>,
    /// What may veto it.
    pub(super) reviewer: Option<Arc<dyn Reviewer>>,
    /// Whether every item with a verifier of its own must see it fail first.
    pub(super) require_red: bool,
    /// What says that a loop at an interval has run long enough.
    pub(super) until: Option<Arc<dyn Verifier>>,
    pub(super) tiering: Tiering,
    pub(super) prompt: Prompt,
    pub(super) learnings: Learnings,
    pub(super) artifacts: Artifacts,
    pub(super) backoff: Backoff,
    pub(super) session_limit: Duration,
    pub(super) set_ups: SetUps,
}

/// What an effect is told besides itself.
pub(super) struct Call<'a> {
    pub(super) run: &'a RunId,
    pub(super) key: &'a str,
    /// When the attempt under way began: the date of its commit.
    pub(super) began: SystemTime,
    /// Ends waits, as the first request to stop does.
    pub(super) stop: &'a Cancel,
    pub(super) cx: Cx,
}

/// What a session is told of what came before.
struct Told<'a> {
    failure: Option<&'a Failure>,
    asked: &'a [Asked],
}

pub(super) const WORK: Site = Site::Work { lane: 0 };
pub(super) const CLEAN: Site = Site::Clean { lane: 0 };
pub(super) const REVIEW: Site = Site::Review { lane: 0 };

pub(super) type Done = Result<Fact, BoxError>;

impl Seams {
    pub(super) async fn perform(&self, effect: &Effect, call: &Call<'_>) -> Result<Fact, Fault> {
        let done = match effect {
            Effect::Look { expect, parked, pending, finished } => {
                let known = Known { parked, pending, finished };
                self.look(expect.as_ref(), &known, &call.cx).await
            }
            Effect::TakeIn { answer, change } => self.take_in(answer, change, &call.cx).await,
            Effect::Withdraw { ids, why } => self.withdraw(ids, why, &call.cx).await,
            Effect::Rebase { attempt, revision } => self.carry_over(attempt, revision, call).await,
            Effect::Prepare { attempt, caches } => self.prepare(attempt, *caches, call).await,
            Effect::Session { .. } if call.cx.redelivered() => Ok(ended(End::Interrupted, Usage::unknown(), None, 0)),
            Effect::Session { attempt, failure, asked, outages, resume } => {
                let told = Told { failure: failure.as_ref(), asked };
                self.session(attempt, &told, *outages, resume.as_ref(), call).await
            }
            Effect::Capture { attempt } => self.capture(attempt, call).await,
            Effect::Verify { stage, attempt, phase, revision, caches } => {
                let judged = Judged {
                    stage: *stage,
                    attempt: attempt.as_ref(),
                    own: None,
                    revision: revision.as_ref(),
                    caches: *caches,
                };
                self.verify(&judged, phase.as_ref(), call).await
            }
            Effect::VerifyOwn { item, revision, caches } => self.verify_own(item, revision, *caches, call).await,
            Effect::Tidy { attempt, revision, reserve, cost_limit } => {
                self.tidy(attempt, revision, (*reserve, *cost_limit), call).await
            }
            Effect::Review { .. } => self.review(effect, call).await,
            Effect::VerifyPlan { revision, retired } => self.verify_plan(revision, retired, call).await,
            Effect::Judge { attempt, revision, bases, opened } => {
                self.judge(attempt, (revision, bases), opened, call).await
            }
            Effect::JudgePhase { phase, revision, opened, retired } => {
                self.judge_phase(phase, revision, opened, retired, call).await
            }
            Effect::Accept { attempt, revision } => self.accept(attempt, revision, &call.cx).await,
            Effect::Keep { attempt, revision, kind } => {
                let kept = self.vcs.keep(revision, *kind, call.run, &attempt.id, &call.cx).await;
                kept.map(|name| Fact::Kept { kind: *kind, name }).map_err(Into::into)
            }
            Effect::Ask { request } => self.ask(request, call).await,
            Effect::Publish { revision } => Ok(self.make_known(revision, &call.cx).await),
            Effect::Mark { iteration, from } => self.mark(iteration, *from, &call.cx).await,
            Effect::Round { phase, wait_ms } => self.round(phase, *wait_ms, call).await,
            Effect::Wait { wait_ms, until } => Ok(self.wait(*wait_ms, *until, call).await),
        };
        done.map_err(|source| Fault { step: call.key.to_owned(), source })
    }

    async fn session(
        &self,
        attempt: &Attempt,
        told: &Told<'_>,
        outages: u32,
        resume: Option<&Resume>,
        call: &Call<'_>,
    ) -> Done {
        let (phase, item) = self.item(attempt, &call.cx).await?;
        let learnings = (self.learnings)();
        let mut input = PromptInput::new(&phase, &item);
        input.failure = told.failure;
        input.asked = told.asked;
        input.learnings = &learnings;
        let prompt = self.prompt.render(&input);
        self.artifacts.write(attempt, "prompt", "md", &prompt)?;

        let mut brief = Brief::new(self.vcs.folder(WORK), prompt, call.run.clone(), attempt.id.clone());
        brief.log = self.artifacts.path(attempt, "session", "log")?;
        brief.time_limit = Some(self.session_limit);
        brief.cost_limit = attempt.cost_limit;
        brief.tier = self.tiering.of(&phase, &item, attempt.charged);
        brief.resume = resume.cloned();
        let from = self.clock.monotonic();
        let cx = call.cx.clone().with_time_limit(self.session_limit, self.clock.now());
        let mut run = self.agent.run(&brief, &cx).await;
        if let (Err(AgentError::Refused { .. }), Some(_)) = (&run, &brief.resume) {
            // The session to go on with may be gone: nothing was spent, and a fresh one is as good.
            brief.resume = None;
            run = self.agent.run(&brief, &cx).await;
        }
        let report = match run {
            Ok(report) => report,
            Err(error @ AgentError::Other(_)) => return Err(error.into()),
            Err(error) => {
                return Ok(ended(End::NoAgent(chain(&error)), Usage::unknown(), None, self.since(from)));
            }
        };
        let signal = Signal::read(&report.said, report.structured.as_deref());
        let end = self.end(report.end, outages);
        let took_ms = self.since(from);
        Ok(Fact::Ended {
            end,
            usage: report.usage,
            signal,
            // Nobody goes on with a session whose name is a flood.
            session_id: report.session_id.filter(|id| bounded(id) == *id),
            resumed: brief.resume.is_some_and(|resume| report.agent.as_ref().is_none_or(|by| *by == resume.agent)),
            agent: Some(bounded(report.agent.as_deref().unwrap_or(self.agent.name()))),
            compactions: report.compactions,
            denied: report.denied,
            took_ms,
        })
    }

    async fn round(&self, phase: &PhaseId, wait_ms: u64, call: &Call<'_>) -> Done {
        let from = self.clock.monotonic();
        let plan = self.plan.load(&call.cx).await?;
        let phase = plan.phases.iter().find(|known| known.id == *phase).cloned();
        let (enough, summary) = match (&self.until, phase) {
            (Some(until), Some(phase)) => {
                let mut target = Target::new(self.vcs.folder(WORK), Stage::Gate, call.run.clone(), phase);
                target.log = self.artifacts.loose("until")?;
                let (outcome, summary, _) = self.verdict_of(&**until, &target, call).await?;
                (Some(outcome), bounded(&summary))
            }
            (None, _) | (_, None) => (None, String::new()),
        };
        let until = millis(self.clock.now()).saturating_add(wait_ms);
        Ok(Fact::Rounded { enough, summary, until, took_ms: self.since(from) })
    }

    pub(super) fn end(&self, end: SessionEnd, outages: u32) -> End {
        match end {
            SessionEnd::Finished => End::Finished,
            SessionEnd::Failed(why) => End::Failed(bounded(&why)),
            SessionEnd::Limit(which) => End::Limit(bounded(&which)),
            SessionEnd::Cancelled => End::Cancelled,
            SessionEnd::Unusable(why) => End::Unusable(bounded(&why)),
            SessionEnd::Unavailable { trouble, detail, until } => {
                let now = self.clock.now();
                let wait = self.backoff.wait(outages, until, now);
                let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                let until = millis(now).saturating_add(wait_ms);
                End::Unavailable { trouble, detail: bounded(&detail), wait_ms, until }
            }
        }
    }

    async fn capture(&self, attempt: &Attempt, call: &Call<'_>) -> Done {
        let from = self.clock.monotonic();
        let snapshot = self.vcs.snapshot(WORK, &attempt.base, &seal(attempt, call), &call.cx).await?;
        Ok(Fact::Captured {
            revision: snapshot.revision,
            tree: snapshot.tree,
            stat: snapshot.stat,
            findings: bounds::findings(snapshot.findings),
            took_ms: self.since(from),
        })
    }

    async fn accept(&self, attempt: &Attempt, revision: &Revision, cx: &Cx) -> Done {
        let landed = || Fact::Accepted { revision: revision.clone() };
        // A crash may have come between the move and its record: what has landed has landed, whatever the row says now.
        if cx.redelivered() && self.vcs.tip(Some(&attempt.base), cx).await? == Tip::Ahead(revision.clone()) {
            return Ok(landed());
        }
        let plan = self.plan.load(cx).await?;
        let spec = &attempt.spec;
        if !plan.find(&spec.item).is_some_and(|(_, item)| unchanged(item, spec)) {
            return Ok(Fact::NotAccepted { why: Refusal::ItemChanged });
        }
        let why = match self.vcs.accept(revision, &attempt.base, cx).await {
            Ok(Accepted::Landed) => return Ok(landed()),
            Ok(Accepted::Overtaken(by)) => Refusal::Overtaken(by),
            Ok(Accepted::Lost(found)) => Refusal::Lost(found),
            Err(VcsError::Refused(why)) => Refusal::Barred(why),
            Err(error) => return Err(error.into()),
        };
        Ok(Fact::NotAccepted { why })
    }

    async fn carry_over(&self, attempt: &Attempt, revision: &Revision, call: &Call<'_>) -> Done {
        let Some(rebase) = &self.rebase else {
            return Ok(Fact::Rebased { onto: None, conflicts: vec!["(nothing here can carry it over)".to_owned()] });
        };
        let rebased = rebase.rebase(revision, &attempt.base, &seal(attempt, call), &call.cx).await?;
        Ok(match rebased {
            Rebased::Conflict(mut conflicts) => {
                bounds::paths(&mut conflicts);
                Fact::Rebased { onto: None, conflicts }
            }
            Rebased::Onto(Snapshot { revision, tree, stat, .. }) => {
                let onto = revision.map(|revision| CarriedOver { revision, tree, stat });
                Fact::Rebased { onto, conflicts: Vec::new() }
            }
        })
    }

    /// A failure is told and never fails the run.
    async fn make_known(&self, revision: &Revision, cx: &Cx) -> Fact {
        let error = match &self.publish {
            Some(publish) => publish.publish(revision, cx).await.err().map(|error| bounded(&chain(&error))),
            None => None,
        };
        Fact::Published { revision: revision.clone(), error }
    }

    async fn mark(&self, iteration: &Iteration, from: ItemStatus, cx: &Cx) -> Done {
        let refused = match self.plan.mark(&iteration.item, from, iteration.to, cx).await? {
            Marked::Written | Marked::AlreadySo => None,
            Marked::Refused(Some(found)) => Some(format!("it is marked {found} by hand")),
            Marked::Refused(None) => Some("it is no longer in the plan".to_owned()),
        };
        Ok(Fact::Marked { iteration: iteration.clone(), refused })
    }

    async fn wait(&self, wait_ms: u64, until: u64, call: &Call<'_>) -> Fact {
        // After a restart only the rest is waited for; a clock that jumped back cannot make it longer.
        let left = wait_ms.min(until.saturating_sub(millis(self.clock.now())));
        let from = self.clock.monotonic();
        tokio::select! {
            biased;
            () = call.stop.cancelled() => {}
            () = call.cx.cancel().cancelled() => {}
            () = self.clock.sleep(Duration::from_millis(left)) => {}
        }
        Fact::Waited { took_ms: self.since(from) }
    }

    /// The attempt's item as the plan has it now; as it was picked, where it is gone.
    pub(super) async fn item(&self, attempt: &Attempt, cx: &Cx) -> Result<(Arc<Phase>, Arc<Item>), BoxError> {
        let plan = self.plan.load(cx).await?;
        if let Some((phase, item)) = plan.find(&attempt.id.item) {
            return Ok((Arc::clone(phase), Arc::clone(item)));
        }
        let item = Item::new(attempt.id.item.item.clone(), attempt.spec.title.clone());
        let phase = Phase::new(attempt.id.item.phase.clone(), []);
        Ok((Arc::new(phase), Arc::new(item)))
    }

    pub(super) fn since(&self, from: Duration) -> u64 {
        u64::try_from(self.clock.monotonic().saturating_sub(from).as_millis()).unwrap_or(u64::MAX)
    }
}

/// Whether the row is still the one that was worked on.
pub(super) fn unchanged(item: &Item, spec: &Spec) -> bool {
    let same = item.digest == spec.digest && item.decisions.len() == spec.decisions;
    same && item.status == ItemStatus::Open
}

/// What makes a snapshot of an attempt the same one on every redo.
pub(super) fn seal(attempt: &Attempt, call: &Call<'_>) -> Seal {
    Seal {
        run: call.run.clone(),
        attempt: attempt.id.clone(),
        message: message(attempt, call.run),
        at: call.began,
        cleanup: false,
    }
}

/// The commit message of an attempt's candidate.
fn message(attempt: &Attempt, run: &RunId) -> String {
    let item = &attempt.id.item.item;
    // A title is one line by construction; should it ever not be, the rest must not become a trailer.
    let title = attempt.spec.title.lines().next().unwrap_or_default();
    format!(
        "{item}: {title}\n\nRalph-Item: {}\nRalph-Run: {run}\nRalph-Attempt: {}\n",
        attempt.id.item, attempt.id.number
    )
}

fn ended(end: End, usage: Usage, signal: Option<Signal>, took_ms: u64) -> Fact {
    Fact::Ended {
        end,
        usage,
        signal,
        session_id: None,
        agent: None,
        resumed: false,
        compactions: 0,
        denied: 0,
        took_ms,
    }
}
