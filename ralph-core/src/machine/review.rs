//! What stands between the second pass and the branch: a session that tidies the work, and a reviewer.

use super::{
    lane::{Cleaning, Fate, Lane, Round, Work},
    state::{Failure, Machine},
    terms::{CarriedOver, End, Origin, VerifyOutcome},
};
use crate::{
    budget::{Spent, Usage},
    id::Revision,
    stop::{Stop, StopReason},
};

/// Reviews in a row that came to no opinion after which the reviewer counts as broken.
const UNCLEAR_MAX: u32 = 2;

impl Machine {
    /// What passed twice: tidied once, where that is wanted and can be paid; then reviewed.
    pub(super) fn passed_twice(&self, work: Work, revision: Revision) -> Lane {
        let untouched = work.cleaning == Cleaning::Not && work.attempt.origin == Origin::Session;
        // Nobody needs it: where a budget is spent, the work goes on as it is.
        if self.rules.cleanup && untouched && self.exhausted(true).is_none() {
            return Lane::Tidying(work, revision);
        }
        self.to_review(work, revision)
    }

    fn to_review(&self, work: Work, revision: Revision) -> Lane {
        let approved = self.approved.as_ref() == Some(&(revision.clone(), work.attempt.spec.digest.clone()));
        if self.rules.review && !approved {
            Lane::Reviewing { work, revision, unclear: 0 }
        } else {
            Lane::Proven(work, revision)
        }
    }

    /// The clean-up is over: what it made is judged from the beginning, and nothing else of it counts.
    pub(super) fn tidied(
        &mut self,
        work: Work,
        revision: Revision,
        usage: Option<&Usage>,
        reserve: Spent,
        tidy: Option<&CarriedOver>,
    ) -> Lane {
        if let Some(usage) = usage {
            self.charge(usage, reserve);
        }
        let Some(tidy) = tidy else {
            return self.to_review(Work { cleaning: Cleaning::Dropped, ..work }, revision);
        };
        let tidy = Work {
            attempt: work.attempt.clone(),
            revision: Some(tidy.revision.clone()),
            tree: tidy.tree.clone(),
            changed: true,
            stat: tidy.stat,
            signal: work.signal.clone(),
            tests: None,
            cleaning: Cleaning::Done(Box::new(work)),
        };
        Lane::Trial(tidy, Round::Workspace)
    }

    /// Where the work as it was before a clean-up goes, once anything speaks against what was made of it. `None`: it was
    /// not tidied.
    pub(super) fn untidied(&self, work: &Work) -> Option<Lane> {
        let Cleaning::Done(before) = &work.cleaning else { return None };
        let revision = before.revision.clone()?;
        Some(self.to_review(Work { cleaning: Cleaning::Dropped, ..Work::clone(before) }, revision))
    }

    pub(super) fn reviewed(&mut self, work: Work, revision: Revision, unclear: u32, told: &Told<'_>) -> Lane {
        if !matches!(told.end, End::NoAgent(_)) {
            self.charge(told.usage, told.reserve);
        }
        match told.end {
            End::Finished | End::Failed(_) | End::Limit(_) => {
                self.answered();
                match told.outcome {
                    VerifyOutcome::Pass => {
                        self.approved = Some((revision.clone(), work.attempt.spec.digest.clone()));
                        Lane::Proven(work, revision)
                    }
                    VerifyOutcome::Fail => {
                        let (why, tail) = (told.summary.to_owned(), told.tail.to_owned());
                        self.vetoed.insert(work.tree.clone(), (work.attempt.spec.digest.clone(), why.clone()));
                        let failure = Failure { attempt: work.attempt.id.number, why, tail };
                        self.part(work, Fate::Failed(failure))
                    }
                    VerifyOutcome::Broken | VerifyOutcome::Unready if unclear + 1 < UNCLEAR_MAX => {
                        Lane::Reviewing { work, revision, unclear: unclear + 1 }
                    }
                    VerifyOutcome::Broken | VerifyOutcome::Unready => {
                        self.halt_before(work, Stop::new(StopReason::VerifierBroken, told.summary))
                    }
                }
            }
            End::Cancelled if self.cancel => self.halt_before(work, Stop::new(StopReason::Cancelled, "")),
            // The work is proven all the same: it waits.
            End::Cancelled | End::Interrupted => match self.interrupted() {
                Some(why) => {
                    self.answered();
                    self.halt_before(work, Stop::new(StopReason::AgentUnavailable, format!("the review was {why}")))
                }
                None => Lane::Reviewing { work, revision, unclear },
            },
            End::Unusable(why) | End::NoAgent(why) => {
                let stop = Stop::new(StopReason::AgentUnavailable, format!("the reviewer: {why}"));
                self.halt_before(work, stop)
            }
            End::Unavailable { trouble, detail, wait_ms, until } => {
                let why = format!("the reviewer: {trouble}: {detail}");
                match self.outage(*wait_ms, &why) {
                    Some(stop) => self.halt_before(work, stop),
                    None => {
                        let then = Box::new(Lane::Reviewing { work, revision, unclear });
                        Lane::Resting { wait_ms: *wait_ms, until: *until, then }
                    }
                }
            }
        }
    }

    /// The run ends, and the work is judged again when it is taken up: there may be other judges then.
    fn halt_before(&self, work: Work, stop: Stop) -> Lane {
        Lane::Halt { stop, then: Box::new(self.to_gates(work)) }
    }
}

/// What a review came to, as its fact says.
pub(super) struct Told<'a> {
    pub(super) end: &'a End,
    pub(super) outcome: VerifyOutcome,
    pub(super) summary: &'a str,
    pub(super) tail: &'a str,
    pub(super) usage: &'a Usage,
    pub(super) reserve: Spent,
}
