//! How facts change the state: the only mutation, live and in replay alike.

use super::{
    fact::Fact,
    lane::{Cleaning, Ending, Fate, Lane, Matter, Round, Sense, Work},
    review::Told,
    state::{Current, Failure, Machine, Sitting},
    step::undecided,
    terms::{Attempt, Carried, End, Objection, Origin, Readiness, Rules, VerifyOutcome},
};
use crate::{
    agent::Resume,
    budget::{Cost, Usage},
    gate::Ruling,
    id::Revision,
    stop::{Stop, StopReason},
    verify::Stage,
};

/// A fact that does not follow from the state that the machine is in. The machine is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the fact `{fact}` does not follow from the state `{state}`")]
pub struct OutOfOrder {
    /// Which fact.
    pub fact: String,
    /// In which state.
    pub state: String,
}

impl Machine {
    /// Takes in a fact.
    ///
    /// # Errors
    /// [`OutOfOrder`] when the fact does not follow; nothing is changed then.
    pub fn apply(&mut self, fact: &Fact) -> Result<(), OutOfOrder> {
        match fact {
            Fact::Opened { rules, carried } => self.invoked(rules, carried),
            Fact::CancelAsked => self.cancel = true,
            Fact::Stopped { stop } if self.stopped.is_none() => self.stop(stop),
            _ if self.stopped.is_some() => return Err(self.out_of_order(fact)),
            _ => {
                let lane = std::mem::take(&mut self.lane);
                match self.reply(lane, fact) {
                    Ok(lane) => self.lane = lane,
                    Err(lane) => {
                        self.lane = *lane;
                        return Err(self.out_of_order(fact));
                    }
                }
                self.redelivered = false;
            }
        }
        self.facts += 1;
        Ok(())
    }

    fn out_of_order(&self, fact: &Fact) -> OutOfOrder {
        let name = |debug: String| {
            let end = debug.find([' ', '(', '{']).unwrap_or(debug.len());
            debug[..end].to_owned()
        };
        OutOfOrder { fact: name(format!("{fact:?}")), state: name(format!("{:?}", self.lane)) }
    }

    /// An invocation begins with a person's attention: what counts per invocation starts anew.
    fn invoked(&mut self, rules: &Rules, carried: &Carried) {
        if self.facts == 0 {
            self.phases.finished = carried.finished.iter().cloned().collect();
            self.phases.since_checkpoint = carried.since_checkpoint;
            self.unpublished = carried.unpublished;
            self.phases.retired = carried.retired.iter().cloned().collect();
        }
        self.rules = rules.clone();
        self.stopped = None;
        self.cancel = false;
        self.base_green = None;
        self.sitting = Sitting::default();
        if let Some(current) = &mut self.current {
            current.counted = false;
        }
        self.lane = match std::mem::take(&mut self.lane) {
            Lane::Halt { then, .. } => *then,
            // There may be other limits than before, and other gates.
            Lane::Chosen(_) => Lane::Idle,
            Lane::Trial(work, Round::Candidate) => self.to_gates(work),
            lane => lane,
        };
        self.redelivered = self.facts > 0;
    }

    fn stop(&mut self, stop: &Stop) {
        self.stopped = Some(stop.clone());
        let lane = std::mem::take(&mut self.lane);
        self.lane = self.at_rest(lane);
    }

    /// Where a run that ends in `lane` goes on when it is opened again.
    fn at_rest(&mut self, lane: Lane) -> Lane {
        match lane {
            Lane::Halt { then, .. } => *then,
            Lane::Resting { then, .. } => self.at_rest(*then),
            // Its session was not begun. There may be other judges by then.
            Lane::Tidying(work, _) | Lane::Reviewing { work, .. } => self.to_gates(work),
            // The session was not begun: as if the attempt had not been.
            Lane::Begun(attempt) | Lane::Ready(attempt, _) => {
                self.give_back(&attempt);
                Lane::Idle
            }
            Lane::Idle
            | Lane::Baseline { .. }
            | Lane::Undecided(_)
            | Lane::Untried(_)
            | Lane::Chosen(_)
            | Lane::Moving(..)
            | Lane::Confirming(_)
            | Lane::Taking(_)
            | Lane::Withdrawing { .. }
            | Lane::AtGates(_)
            | Lane::Publishing { .. }
            | Lane::Rounding { .. }
            | Lane::Closing => Lane::Idle,
            // Work under judgement goes on being judged when the run is opened again.
            Lane::Blame { work, round, .. } => Lane::Trial(work, round),
            lane @ (Lane::Left(..)
            | Lane::Trial(..)
            | Lane::Doubt(_)
            | Lane::Gated(..)
            | Lane::Proven(..)
            | Lane::Parting(..)
            | Lane::Asking(..)
            | Lane::Querying(_)
            | Lane::Finishing(_)
            | Lane::Marking { .. }) => lane,
        }
    }

    /// The lane after a reply; the same lane as an error where the fact is no reply to it.
    fn reply(&mut self, lane: Lane, fact: &Fact) -> Result<Lane, Box<Lane>> {
        Ok(match (lane, fact) {
            (Lane::Idle, Fact::Looked { tip, pick, counts, answers, moot, lost }) => match self.taking(answers) {
                // What is still to be decided is asked anew.
                Lane::Idle if self.forgets(lost) => Lane::Idle,
                Lane::Idle => match self.moot(moot) {
                    Some(withdrawing) => withdrawing,
                    None => self.looked(tip, pick, counts),
                },
                taking => taking,
            },
            (Lane::Taking(mut answers), Fact::TookIn { answer, refused }) if answers.first() == Some(answer) => {
                answers.remove(0);
                self.took_in(answer, refused.is_some());
                if answers.is_empty() { Lane::Idle } else { Lane::Taking(answers) }
            }
            (Lane::Withdrawing { ids: asked, then, .. }, Fact::Withdrawn { ids }) if *ids == asked => {
                self.withdrawn(ids);
                *then
            }
            (
                Lane::Baseline { spec, moved_to },
                Fact::Verified { stage: Stage::Base, outcome, summary, parts, took_ms, .. },
            ) => {
                self.sitting.took_ms += took_ms;
                self.baseline(spec, moved_to, (*outcome, parts), summary)
            }
            (Lane::Undecided(spec), Fact::Asked { id, .. }) => self.queried(undecided(&spec), id),
            (Lane::Querying(query), Fact::Asked { id, .. }) => self.queried(*query, id),
            (Lane::AtGates(spec), Fact::Judged { phase: Some(phase), ruling, by, took_ms, .. })
                if *phase == spec.phase =>
            {
                self.sitting.took_ms += took_ms;
                self.ruled(spec, ruling, by)
            }
            (Lane::AtGates(spec), Fact::NotJudged { phase, stop }) if *phase == spec.phase => halt(stop.clone()),
            (Lane::Finishing(spec), Fact::PhaseDone { phase, .. }) if *phase == spec.phase => self.phase_done(&spec),
            (Lane::Publishing { then }, Fact::Published { error, .. }) => {
                self.unpublished = error.is_some();
                *then
            }
            (lane @ Lane::Halt { .. }, Fact::Published { error, .. }) => {
                self.unpublished = error.is_some();
                self.sitting.published_last = true;
                lane
            }
            (Lane::Moving(attempt, held), Fact::Rebased { onto, conflicts }) => {
                self.moved(attempt, held, onto.as_ref(), conflicts)
            }
            (Lane::Confirming(attempt), Fact::Verified { stage: Stage::Candidate, outcome, summary, took_ms, .. }) => {
                self.sitting.took_ms += took_ms;
                self.confirmed(&attempt, *outcome, summary)
            }
            (Lane::Chosen(_), Fact::Began { attempt }) => self.began(attempt),
            (Lane::Begun(attempt), Fact::Prepared { readiness, took_ms }) => {
                self.sitting.took_ms += took_ms;
                self.prepared(attempt, readiness)
            }
            (
                Lane::Ready(attempt, tree),
                Fact::Ended { end, usage, signal, session_id, agent, resumed, took_ms, .. },
            ) => {
                self.sitting.took_ms += took_ms;
                self.thread = self.thread(session_id.as_ref(), agent.as_ref(), *resumed, *usage);
                self.ended(attempt, tree, end, usage, signal.as_ref())
            }
            (Lane::Resting { then, .. }, Fact::Waited { took_ms }) => {
                self.sitting.took_ms += took_ms;
                *then
            }
            (Lane::Untried(spec), Fact::Verified { stage: Stage::Base, outcome, summary, took_ms, .. }) => {
                self.sitting.took_ms += took_ms;
                self.red(spec, *outcome, summary)
            }
            (Lane::Tidying(work, revision), Fact::Tidied { end, work: tidy, usage, reserve, took_ms, .. }) => {
                self.sitting.took_ms += took_ms;
                let usage = Some(usage).filter(|_| !matches!(end, End::NoAgent(_)));
                self.tidied(work, revision, usage, *reserve, tidy.as_ref())
            }
            (
                Lane::Reviewing { work, revision: asked, unclear },
                Fact::Reviewed { revision, end, outcome, summary, tail, usage, reserve, took_ms, .. },
            ) if *revision == asked => {
                self.sitting.took_ms += took_ms;
                let told = Told { end, outcome: *outcome, summary, tail, usage, reserve: *reserve };
                self.reviewed(work, asked, unclear, &told)
            }
            // Nobody pays for a review against a row that was edited since.
            (Lane::Reviewing { work, revision, .. }, Fact::NotAccepted { why }) => {
                self.not_accepted(work, revision, why)
            }
            (Lane::Rounding { phase, wait_ms }, Fact::Rounded { enough, summary, until, took_ms }) => {
                self.sitting.took_ms += took_ms;
                self.rounded(phase, wait_ms, *enough, summary, *until)
            }
            (Lane::Left(attempt, start, ending), Fact::Captured { revision, tree, stat, findings, took_ms }) => {
                self.sitting.took_ms += took_ms;
                let (changed, signal) = (*tree != start, None);
                let (revision, tree, cleaning) = (revision.clone(), tree.clone(), Cleaning::Not);
                let work = Work { attempt, revision, tree, changed, stat: *stat, signal, cleaning, tests: None };
                match ending {
                    Ending::Judge(signal) => self.captured(Work { signal, ..work }, findings),
                    // Also what the session did not change: it may have begun with kept work, whose new snapshot is
                    // only pinned until it has a name.
                    Ending::Keep(next) => self.part(work, Fate::Interrupted(next)),
                }
            }
            (Lane::Trial(work, at), Fact::Verified { stage, outcome, summary, parts, tail, took_ms, .. })
                if *stage == at.stage() =>
            {
                self.sitting.took_ms += took_ms;
                let better = self.progress.observe(&work.attempt.id.item, at.stage(), parts);
                self.note_progress(better);
                self.tried(work, at, (*outcome, parts), summary, tail)
            }
            (
                Lane::Blame { work, round, unready },
                Fact::Verified { stage: Stage::Base, outcome, summary, took_ms, .. },
            ) => {
                self.sitting.took_ms += took_ms;
                self.blamed(work, round, unready, *outcome, summary)
            }
            (Lane::Doubt(work), Fact::Verified { stage: Stage::Candidate, outcome, summary, parts, took_ms, .. }) => {
                self.sitting.took_ms += took_ms;
                let at = (Stage::Candidate, Some(&work.attempt.spec));
                self.contradiction(&work.tree, at, *outcome, parts);
                let why = match outcome {
                    VerifyOutcome::Pass => format!(
                        "flaky: the verifier passed in the workspace, failed on a clean checkout, then passed there ({summary})"
                    ),
                    VerifyOutcome::Broken | VerifyOutcome::Unready => format!(
                        "the verifier passed in the workspace, failed on a clean checkout of the commit, and could not judge it again ({summary})"
                    ),
                    VerifyOutcome::Fail => format!(
                        "false completion: the verifier passed in the workspace and fails on a clean checkout of the commit ({summary})"
                    ),
                };
                let fate = self.refused(&work, why);
                self.part(work, fate)
            }
            (Lane::Gated(work, revision), Fact::Judged { phase: None, ruling, by, .. }) => {
                self.gated(work, revision, ruling, by)
            }
            (Lane::Proven(work, proven), Fact::Accepted { revision }) if *revision == proven => {
                self.landed(&work, revision)
            }
            (Lane::Proven(work, revision), Fact::NotAccepted { why }) => self.not_accepted(work, revision, why),
            (Lane::Parting(work, _, fate), Fact::Kept { name, .. }) => {
                if let Some(current) = &mut self.current {
                    current.kept = Some(name.clone());
                }
                self.parted(work, fate)
            }
            (Lane::Asking(work, matter), Fact::Asked { id, .. }) => self.asked_about(&work, *matter, id),
            (Lane::Marking { iteration: asked, .. }, Fact::Marked { iteration, .. }) if *iteration == asked => {
                self.marked(iteration)
            }
            (Lane::Closing, Fact::Verified { stage: Stage::Gate, outcome, summary, took_ms, .. }) => {
                self.sitting.took_ms += took_ms;
                halt(match outcome {
                    VerifyOutcome::Pass => Stop::new(StopReason::Success, "every item is done, and the branch passes"),
                    VerifyOutcome::Fail => Stop::new(
                        StopReason::AutoGateFailed,
                        format!("every item is marked done, but the branch does not pass: {summary}"),
                    ),
                    VerifyOutcome::Broken => Stop::new(StopReason::VerifierBroken, summary.clone()),
                    VerifyOutcome::Unready => Stop::new(StopReason::Environment, summary.clone()),
                })
            }
            (lane, _) => return Err(Box::new(lane)),
        })
    }

    fn gated(&mut self, work: Work, revision: Revision, ruling: &Ruling, by: &[Objection]) -> Lane {
        if let Some(untidied) = self.untidied(&work).filter(|_| *ruling != Ruling::Open) {
            return untidied;
        }
        match ruling {
            Ruling::Open => Lane::Trial(work, Round::Candidate),
            Ruling::Closed(why) => {
                let failure = Failure { attempt: work.attempt.id.number, why: why.clone(), tail: String::new() };
                self.part(work, Fate::Failed(failure))
            }
            Ruling::Ask(question) => {
                let matter = Matter { question: question.clone(), sense: Sense::Work, gates: by.to_vec() };
                Lane::Parting(work, revision, Fate::Parked(Box::new(matter)))
            }
        }
    }

    fn began(&mut self, attempt: &Attempt) -> Lane {
        let item = &attempt.id.item;
        self.numbers.insert(item.clone(), attempt.id.number);
        self.reserved.cost = self.reserved.cost + attempt.reserve.cost;
        self.reserved.tokens = self.reserved.tokens.saturating_add(attempt.reserve.tokens);
        let session = attempt.origin == Origin::Session;
        self.sitting.sessions += u32::from(session);
        let comeback = self.comebacks.get(item).cloned().unwrap_or_default();
        let current = self.current.get_or_insert_with(|| Current {
            item: item.clone(),
            number: attempt.iteration,
            counted: false,
            failed: 0,
            sessions: 0,
            cost: Cost::default(),
            interrupted: 0,
            stale: true,
            failure: comeback.failure,
            start: comeback.start,
            kept: None,
            proposed: Vec::new(),
            next_ms: None,
        });
        if session && !current.counted {
            current.counted = true;
            self.sitting.iterations += 1;
        }
        self.iterations = self.iterations.max(attempt.iteration);
        match (attempt.origin, comeback.work) {
            (Origin::Branch, _) => Lane::Confirming(attempt.clone()),
            (Origin::Kept, Some(held)) if held.base != attempt.base => Lane::Moving(attempt.clone(), held),
            (Origin::Kept | Origin::Session, _) => Lane::Begun(attempt.clone()),
        }
    }

    /// The session that the next one may go on with, and what it has used in all.
    fn thread(
        &self,
        session_id: Option<&String>,
        agent: Option<&String>,
        resumed: bool,
        usage: Usage,
    ) -> Option<Resume> {
        let before = self.thread.as_ref().filter(|_| resumed).map(|thread| thread.before);
        Some(Resume {
            agent: agent.cloned().unwrap_or_default(),
            session_id: session_id?.clone(),
            before: before.map_or(usage, |before| before.plus(usage)),
        })
    }

    /// As if the session had not been thought of.
    pub(super) fn give_back(&mut self, attempt: &Attempt) {
        self.release(attempt);
        if attempt.origin == Origin::Session {
            self.sitting.sessions = self.sitting.sessions.saturating_sub(1);
        }
    }

    pub(super) fn release(&mut self, attempt: &Attempt) {
        self.reserved.cost = self.reserved.cost.saturating_sub(attempt.reserve.cost);
        self.reserved.tokens = self.reserved.tokens.saturating_sub(attempt.reserve.tokens);
    }

    fn prepared(&mut self, attempt: Attempt, readiness: &Readiness) -> Lane {
        self.tainted.work = false;
        match readiness {
            Readiness::Ready(tree) if attempt.origin == Origin::Kept => self.on_trial(attempt, tree),
            Readiness::Ready(tree) => Lane::Ready(attempt, tree.clone()),
            Readiness::StartUnusable(why) if attempt.origin == Origin::Kept => {
                self.comes_to_nothing(&attempt, why.clone(), "")
            }
            Readiness::StartUnusable(_) if attempt.start != attempt.base => {
                if let Some(current) = &mut self.current {
                    current.start = None;
                }
                Lane::Begun(Attempt { start: attempt.base.clone(), ..attempt })
            }
            Readiness::Environment(why) | Readiness::StartUnusable(why) => {
                self.give_back(&attempt);
                halt(Stop::new(StopReason::Environment, why.clone()))
            }
        }
    }
}

pub(super) fn halt(stop: Stop) -> Lane {
    Lane::Halt { stop, then: Box::default() }
}
