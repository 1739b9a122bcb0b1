//! The seam to reviewers: who may veto what the verifiers passed (SPEC §10.4).

use std::{fmt::Debug, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::{
    agent::{AgentError, Capabilities, SessionEnd},
    budget::{Usage, Usd},
    cx::Cx,
    id::{AttemptId, Revision, RunId},
    opinion::Opinion,
    plan::{Item, Phase},
    vcs::{Change, DiffStat, Tree},
};

/// What a reviewer judges: a commit that the verifiers passed twice, on a clean checkout.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Candidate {
    /// The clean checkout.
    pub folder: PathBuf,
    /// The run.
    pub run: RunId,
    /// The phase.
    pub phase: Arc<Phase>,
    /// The item.
    pub item: Arc<Item>,
    /// The attempt that made it.
    pub attempt: AttemptId,
    /// The commit.
    pub revision: Revision,
    /// Its files.
    pub tree: Arc<dyn Tree>,
    /// The files that it started from.
    pub base_tree: Arc<dyn Tree>,
    /// The paths that differ between the two.
    pub changes: Arc<[Change]>,
    /// How much differs.
    pub stat: DiffStat,
    /// How long the review may take.
    pub time_limit: Option<Duration>,
    /// What it may cost at most, where the run has a cost budget.
    pub cost_limit: Option<Usd>,
    /// Where to write what the reviewer prints, if anywhere.
    pub log: Option<PathBuf>,
}

impl Candidate {
    /// A commit of an item with nothing else known, for tests of reviewers.
    pub fn new(
        folder: impl Into<PathBuf>,
        run: RunId,
        (phase, item): (Arc<Phase>, Arc<Item>),
        attempt: AttemptId,
        revision: Revision,
        (base_tree, tree): (Arc<dyn Tree>, Arc<dyn Tree>),
    ) -> Self {
        let (changes, stat) = (Arc::from([]), DiffStat::default());
        let folder = folder.into();
        Self {
            folder,
            run,
            phase,
            item,
            attempt,
            revision,
            tree,
            base_tree,
            changes,
            stat,
            time_limit: None,
            cost_limit: None,
            log: None,
        }
    }

    /// What it is judged against: the item's criteria; its title, where it has none.
    pub fn criteria(&self) -> Vec<&str> {
        match self.item.criteria.as_slice() {
            [] => vec![self.item.title.as_str()],
            criteria => criteria.iter().map(String::as_str).collect(),
        }
    }
}

/// What came of a review.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Review {
    /// How its session ended.
    pub end: SessionEnd,
    /// The judgement; `None` where it came to none. Only counts where the session ended by itself.
    pub opinion: Option<Opinion>,
    /// Why there is no judgement, where there is none.
    pub why: String,
    /// What it used, whatever the end.
    pub usage: Usage,
}

impl Review {
    /// A judgement.
    pub fn new(opinion: Opinion) -> Self {
        Self { end: SessionEnd::Finished, opinion: Some(opinion), why: String::new(), usage: Usage::unknown() }
    }

    /// No judgement, and why.
    pub fn none(end: SessionEnd, why: impl Into<String>) -> Self {
        Self { end, opinion: None, why: why.into(), usage: Usage::unknown() }
    }

    /// The same with this usage.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }
}

/// Reviews what the verifiers passed: a second opinion that can only veto.
///
/// # Contract
/// - It is asked once about a commit, after the verifiers passed it twice. What it says is bound to that commit and to the
///   criteria as they are; other work, or an edited row, is reviewed anew.
/// - It never replaces a verifier. No opinion is no consent: it is asked once more, and then the run stops with
///   VERIFIER_BROKEN.
/// - It is a session of its own. Nothing that the working agent wrote about its work is an opinion.
/// - What it writes into [`Candidate::folder`] is thrown away.
/// - When the call returns, nothing that it started is alive.
///
/// # Cancellation
/// On [`Cx::cancel`] it ends everything it started, and the report says [`SessionEnd::Cancelled`], with the usage.
///
/// # Idempotence
/// It changes nothing. After a crash it is asked again, and what the interrupted review cost is estimated.
///
/// # Errors
/// As an agent's: `Err` means that no review took place and nothing was spent.
///
/// # Implementing
/// Run `ralph_core::reviewer_conformance!` (feature `testing`) on yours. `ralph_verify::AgentReviewer` makes one of any agent. One by hand:
/// ```
/// use ralph_core::{
///     AgentError, Candidate, Capabilities, Cx, Opinion, Remark, Review, Reviewer, async_trait,
/// };
///
/// /// Wants small commits.
/// #[derive(Debug)]
/// struct Small;
///
/// #[async_trait]
/// impl Reviewer for Small {
///     fn name(&self) -> &str {
///         "small"
///     }
///     fn capabilities(&self) -> Capabilities {
///         Capabilities::none()
///     }
///     async fn review(&self, work: &Candidate, _cx: &Cx) -> Result<Review, AgentError> {
///         let met = |criterion: &str| Remark {
///             criterion: criterion.to_owned(),
///             met: true,
///             evidence: "left to the verifiers".to_owned(),
///         };
///         let mut opinion = Opinion::default();
///         opinion.remarks = work.criteria().into_iter().map(met).collect();
///         if work.stat.files > 20 {
///             opinion.objections.push(format!("{} files in one commit", work.stat.files));
///         }
///         Ok(Review::new(opinion))
///     }
/// }
/// ```
#[async_trait]
pub trait Reviewer: Debug + Send + Sync + 'static {
    /// Its name, for people and records.
    fn name(&self) -> &str;
    /// What it reports of its sessions: a run with a budget of cost or tokens refuses a reviewer that does not.
    fn capabilities(&self) -> Capabilities;
    /// Judges `work`.
    async fn review(&self, work: &Candidate, cx: &Cx) -> Result<Review, AgentError>;
}
