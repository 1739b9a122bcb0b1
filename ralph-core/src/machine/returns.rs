//! Work that comes back without a session: a person approved it, or the branch overtook it.

use super::{
    apply::halt,
    lane::{Cleaning, Lane, Round, Work},
    state::{Failure, Held, Machine},
    terms::{Attempt, CarriedOver, Mode, RetryFrom, Spec, VerifyOutcome},
};
use crate::{
    id::{Digest, Revision},
    plan::ItemStatus,
    stop::{Stop, StopReason},
    vcs::DiffStat,
};

impl Machine {
    /// Proven work that the branch overtook is carried over to the new tip and verified there.
    pub(super) fn carry_over(&mut self, work: &Work, revision: &Revision) {
        let comeback = self.comebacks.entry(work.attempt.id.item.clone()).or_default();
        let gates = comeback.work.take().map(|held| held.gates).unwrap_or_default();
        comeback.work = Some(Held::of(work, revision, gates));
    }

    /// Kept work was carried over to the tip, or could not be.
    pub(super) fn moved(
        &mut self,
        attempt: Attempt,
        held: Held,
        onto: Option<&CarriedOver>,
        conflicts: &[String],
    ) -> Lane {
        let Some(onto) = onto else {
            let named: Vec<&str> = conflicts.iter().take(20).map(String::as_str).collect();
            let why = if named.is_empty() {
                "the branch holds all of this work already".to_owned()
            } else {
                format!("the branch moved on, and the work no longer fits it: {}", named.join(", "))
            };
            return self.comes_to_nothing(&attempt, why, "");
        };
        let held = Held {
            revision: onto.revision.clone(),
            tree: onto.tree.clone(),
            stat: onto.stat,
            base: attempt.base.clone(),
            ..held
        };
        let start = held.revision.clone();
        self.comebacks.entry(attempt.id.item.clone()).or_default().work = Some(held);
        Lane::Begun(Attempt { start, ..attempt })
    }

    /// Kept work stands in the workspace: it is judged as any other.
    pub(super) fn on_trial(&mut self, attempt: Attempt, tree: &Digest) -> Lane {
        let held = self.comebacks.get(&attempt.id.item).and_then(|comeback| comeback.work.as_ref());
        // Its content, without what its set-up left.
        let (tree, stat) = held.map_or((tree, DiffStat::default()), |held| (&held.tree, held.stat));
        let (tree, revision) = (tree.clone(), Some(attempt.start.clone()));
        let work =
            Work { attempt, revision, tree, changed: true, stat, signal: None, cleaning: Cleaning::Not, tests: None };
        Lane::Trial(work, Round::Workspace)
    }

    /// Work that a person approved, or that was proven before, is not accepted after all: the item gets a session that is
    /// told why.
    pub(super) fn comes_to_nothing(&mut self, attempt: &Attempt, why: String, tail: &str) -> Lane {
        self.comebacks.remove(&attempt.id.item);
        if let Some(current) = &mut self.current {
            current.start = None;
            current.failure = Some(Failure { attempt: attempt.id.number, why, tail: tail.to_owned() });
        }
        Lane::Idle
    }

    /// What a person approved was for the row as it was: where that was edited since, the item gets a session.
    pub(super) fn outdated(&mut self, spec: &Spec) {
        let Some(comeback) = self.comebacks.get_mut(&spec.item) else { return };
        comeback.on_branch.take_if(|row| *row != spec.digest);
        let Some(held) = comeback.work.take_if(|held| held.row != spec.digest) else { return };
        let why = "the item was edited after this work was made, which is therefore not accepted as it is".to_owned();
        let failure = Some(Failure { attempt: held.attempt, why, tail: String::new() });
        let start = Some((held.revision, held.base)).filter(|_| self.rules.retry_from == RetryFrom::Kept);
        if let Some(current) = &mut self.current {
            (current.failure, current.start) = (failure, start);
        } else {
            (comeback.failure, comeback.start) = (failure, start);
        }
    }

    /// The verifiers have judged the branch, on which a person says that the item is done.
    pub(super) fn confirmed(&mut self, attempt: &Attempt, outcome: VerifyOutcome, summary: &str) -> Lane {
        match outcome {
            VerifyOutcome::Pass => {
                self.comebacks.remove(&attempt.id.item);
                // It is where the branch is.
                let iteration = self.summary(attempt, Some(attempt.base.clone()), ItemStatus::Done, String::new());
                Lane::Marking { iteration, from: ItemStatus::Open }
            }
            VerifyOutcome::Fail => {
                let claim = match self.rules.mode {
                    Mode::Goal => "the verifier passed on the branch as it is",
                    Mode::Items | Mode::Every(_) => "a person took the item for done",
                };
                let why = format!("{claim}, and a clean checkout of the branch fails: {summary}");
                self.comes_to_nothing(attempt, why, "")
            }
            VerifyOutcome::Broken => halt(Stop::new(StopReason::VerifierBroken, summary)),
            VerifyOutcome::Unready => halt(Stop::new(StopReason::Environment, summary)),
        }
    }
}
