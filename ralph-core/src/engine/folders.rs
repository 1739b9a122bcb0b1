//! The effects that need a folder: making one ready, and letting the verifiers judge what stands there.

use std::{
    error::Error,
    io::{self, ErrorKind},
    path::PathBuf,
    sync::Arc,
};

use super::{
    bounds::{self, bounded},
    effects::{CLEAN, Call, Done, Seams, WORK, seal},
    later_tree::LaterTree,
};
use crate::{
    error::{BoxError, chain},
    id::{ItemRef, PhaseId, Revision},
    machine::{Attempt, Fact, Readiness, VerifyOutcome},
    plan::Phase,
    vcs::{Caches, Placed, Site, VcsError},
    verify::{Evidence, Stage, Target, Verdict, Verifier, VerifyError},
};

/// How much of a verifier's output goes into a fact, in bytes.
const TAIL_MAX: usize = 4096;

/// What the verifiers are to judge.
pub(super) struct Judged<'a> {
    pub(super) stage: Stage,
    pub(super) attempt: Option<&'a Attempt>,
    /// The item whose own verifier alone is asked.
    pub(super) own: Option<&'a ItemRef>,
    pub(super) revision: Option<&'a Revision>,
    pub(super) caches: Caches,
}

/// What came of standing a revision in a folder.
pub(super) enum Standing {
    /// It is ready to be judged.
    Ready(PathBuf),
    /// Its set-up fails. Holds why.
    Unready(String),
    /// It cannot be checked out. Holds why.
    Unplaceable(String),
}

impl Seams {
    pub(super) async fn prepare(&self, attempt: &Attempt, caches: Caches, call: &Call<'_>) -> Done {
        let from = self.clock.monotonic();
        let on_base = attempt.start == attempt.base;
        let readiness = match self.vcs.place(WORK, &attempt.start, caches, &call.cx).await {
            Ok(placed) => self.make_ready(attempt, &placed, call).await?,
            Err(VcsError::Unplaceable(why)) if !on_base => Readiness::StartUnusable(why),
            Err(error @ VcsError::NoRevision(_)) if !on_base => Readiness::StartUnusable(error.to_string()),
            Err(error) => return Err(error.into()),
        };
        Ok(Fact::Prepared { readiness, took_ms: self.since(from) })
    }

    async fn make_ready(&self, attempt: &Attempt, placed: &Placed, call: &Call<'_>) -> Result<Readiness, BoxError> {
        let (phase, _) = self.item(attempt, &call.cx).await?;
        let commands_run = (self.setup.is_some() && self.set_ups.due(WORK, placed, &phase).is_some())
            || (self.env_check.is_some() && !phase.env_check.is_empty());
        if let Some(why) = self.set_up(WORK, placed, &phase, Some(attempt), call).await? {
            return Ok(if attempt.start == attempt.base {
                Readiness::Environment(why)
            } else {
                Readiness::StartUnusable(why)
            });
        }
        if let Some(env_check) = &self.env_check {
            let target = Target::new(&placed.folder, Stage::Setup, call.run.clone(), phase);
            if let Some(why) = objection(env_check.verify(&target, &call.cx).await)? {
                return Ok(Readiness::Environment(format!("the environment check says no: {why}")));
            }
        }
        // What these commands leave is there before the session, which must not be taken for its author.
        let tree = if commands_run {
            self.vcs.snapshot(WORK, &attempt.base, &seal(attempt, call), &call.cx).await?.tree
        } else {
            placed.tree.clone()
        };
        Ok(Readiness::Ready(tree))
    }

    /// Runs `Setup:` where it is due; answers why it failed, if it did.
    async fn set_up(
        &self,
        site: Site,
        placed: &Placed,
        phase: &Arc<Phase>,
        attempt: Option<&Attempt>,
        call: &Call<'_>,
    ) -> Result<Option<String>, BoxError> {
        let Some(setup) = &self.setup else { return Ok(None) };
        let Some(stamp) = self.set_ups.due(site, placed, phase) else { return Ok(None) };
        self.set_ups.forget(site);
        let mut target = Target::new(&placed.folder, Stage::Setup, call.run.clone(), Arc::clone(phase));
        target.log = match attempt {
            Some(attempt) => self.artifacts.path(attempt, "setup", "log")?,
            None => self.artifacts.loose("setup-base")?,
        };
        let why = objection(setup.verify(&target, &call.cx).await)?;
        if why.is_none() {
            self.set_ups.done(site, stamp);
        }
        Ok(why.map(|why| format!("set-up failed: {why}")))
    }

    pub(super) async fn verify(&self, judged: &Judged<'_>, phase: Option<&PhaseId>, call: &Call<'_>) -> Done {
        let from = self.clock.monotonic();
        let (outcome, summary, evidence) = self.judged(judged, phase, call).await?;
        let mut fact = verified(judged.stage, judged.revision, outcome, &summary, evidence, self.since(from));
        if let Fact::Verified { own, .. } = &mut fact {
            *own = judged.own.cloned();
        }
        Ok(fact)
    }

    pub(super) async fn verify_own(
        &self,
        item: &ItemRef,
        revision: &Revision,
        caches: Caches,
        call: &Call<'_>,
    ) -> Done {
        let judged = Judged { stage: Stage::Base, attempt: None, own: Some(item), revision: Some(revision), caches };
        self.verify(&judged, Some(&item.phase), call).await
    }

    /// Stands `revision` in `site`, set up.
    pub(super) async fn stand(
        &self,
        site: Site,
        revision: &Revision,
        caches: Caches,
        phase: &Arc<Phase>,
        attempt: Option<&Attempt>,
        call: &Call<'_>,
    ) -> Result<Standing, BoxError> {
        let placed = match self.vcs.place(site, revision, caches, &call.cx).await {
            Ok(placed) => placed,
            Err(VcsError::Unplaceable(why)) => return Ok(Standing::Unplaceable(why)),
            Err(error) => return Err(error.into()),
        };
        Ok(match self.set_up(site, &placed, phase, attempt, call).await? {
            Some(why) => Standing::Unready(why),
            None => Standing::Ready(placed.folder),
        })
    }

    async fn judged(
        &self,
        judged: &Judged<'_>,
        phase: Option<&PhaseId>,
        call: &Call<'_>,
    ) -> Result<(VerifyOutcome, String, Evidence), BoxError> {
        let plain = |outcome, summary| Ok((outcome, summary, Evidence::default()));
        let plan = self.plan.load(&call.cx).await?;
        let found = match judged.own.or(judged.attempt.map(|attempt| &attempt.id.item)) {
            Some(item) => plan.find(item).map(|(phase, item)| (phase, Some(item))),
            None => {
                let mut phases = plan.phases.iter();
                phases.find(|known| phase.is_none_or(|phase| known.id == *phase)).map(|phase| (phase, None))
            }
        };
        let Some((phase, item)) = found else {
            return plain(VerifyOutcome::Fail, "the item is no longer in the plan".to_owned());
        };
        let folder = match judged.revision {
            None => self.vcs.folder(WORK),
            Some(revision) => match self.stand(CLEAN, revision, judged.caches, phase, judged.attempt, call).await? {
                Standing::Ready(folder) => folder,
                Standing::Unready(why) => return plain(VerifyOutcome::Unready, why),
                Standing::Unplaceable(why) => return plain(VerifyOutcome::Fail, why),
            },
        };
        let mut target = Target::new(folder, judged.stage, call.run.clone(), Arc::clone(phase));
        if judged.own.is_some() {
            target.phase = Arc::new(Phase { verify: Vec::new(), ..Phase::clone(phase) });
        }
        target.item = item.cloned();
        target.attempt = judged.attempt.map(|attempt| attempt.id.clone());
        target.revision = judged.revision.cloned();
        target.base = judged.attempt.map(|attempt| attempt.base.clone());
        let later = |revision: &Revision| LaterTree::of(Arc::clone(&self.vcs), revision, &call.cx);
        target.tree = target.revision.as_ref().map(later);
        target.base_tree = target.base.as_ref().map(later);
        target.log = match judged.attempt {
            Some(attempt) => self.artifacts.path(attempt, &format!("verify-{}", judged.stage), "log")?,
            None => self.artifacts.loose(&format!("verify-{}", judged.stage))?,
        };
        let items_only = phase.verify.is_empty() && phase.items.iter().any(|item| !item.verify.is_empty());
        if judged.stage == Stage::Base && target.item.is_none() && items_only {
            // Every item brings its own verifier, which its work has yet to satisfy: nothing to be said about the base.
            return plain(VerifyOutcome::Pass, "no common verifier".to_owned());
        }
        self.verdict(&target, call).await
    }

    /// The verifier's word on `target`.
    pub(super) async fn verdict(
        &self,
        target: &Target,
        call: &Call<'_>,
    ) -> Result<(VerifyOutcome, String, Evidence), BoxError> {
        self.verdict_of(&*self.verifier, target, call).await
    }

    pub(super) async fn verdict_of(
        &self,
        verifier: &dyn Verifier,
        target: &Target,
        call: &Call<'_>,
    ) -> Result<(VerifyOutcome, String, Evidence), BoxError> {
        Ok(match verifier.verify(target, &call.cx).await {
            Ok(Verdict::Pass(evidence)) => (VerifyOutcome::Pass, evidence.summary.clone(), evidence),
            Ok(Verdict::Fail(evidence)) => (VerifyOutcome::Fail, evidence.summary.clone(), evidence),
            Err(VerifyError::Broken { why, evidence }) => (VerifyOutcome::Broken, why, *evidence),
            Err(error @ VerifyError::Cancelled) => return Err(error.into()),
            Err(error @ VerifyError::Other(_)) if out_of_space(&error) => return Err(error.into()),
            Err(error @ VerifyError::Other(_)) => (VerifyOutcome::Broken, chain(&error), Evidence::default()),
        })
    }
}

/// The fact that a verifier judged.
pub(super) fn verified(
    stage: Stage,
    revision: Option<&Revision>,
    outcome: VerifyOutcome,
    summary: &str,
    evidence: Evidence,
    took_ms: u64,
) -> Fact {
    Fact::Verified {
        stage,
        revision: revision.cloned(),
        own: None,
        outcome,
        summary: bounded(summary),
        tail: match outcome {
            VerifyOutcome::Pass => String::new(),
            VerifyOutcome::Fail | VerifyOutcome::Broken | VerifyOutcome::Unready => end_of(&evidence.tail),
        },
        parts: bounds::parts(evidence.parts),
        took_ms,
    }
}

/// Why a set-up or environment check does not pass, if so.
fn objection(judged: Result<Verdict, VerifyError>) -> Result<Option<String>, BoxError> {
    match judged {
        Ok(Verdict::Pass(_)) => Ok(None),
        Ok(Verdict::Fail(evidence)) => Ok(Some(bounded(&evidence.summary))),
        Err(VerifyError::Broken { why, .. }) => Ok(Some(bounded(&why))),
        Err(error @ VerifyError::Cancelled) => Err(error.into()),
        Err(error @ VerifyError::Other(_)) if out_of_space(&error) => Err(error.into()),
        Err(error @ VerifyError::Other(_)) => Ok(Some(bounded(&chain(&error)))),
    }
}

/// Whether a disk is full: that is the machine's fault, which an operator mends, and says nothing about the verifier.
fn out_of_space(error: &VerifyError) -> bool {
    let first: Option<&(dyn Error + 'static)> = Some(error);
    std::iter::successors(first, |&error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}

/// The end of a text, bounded, from the start of a line where possible.
pub(crate) fn end_of(text: &str) -> String {
    let mut from = text.len().saturating_sub(TAIL_MAX);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let cut = &text[from..];
    match cut.find('\n') {
        Some(line) if from > 0 => cut[line + 1..].to_owned(),
        _ => cut.to_owned(),
    }
}
