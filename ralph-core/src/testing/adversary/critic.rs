//! Reviewers that approve or veto everything, have no opinion, are out or missing, and hang.

use std::{fs, sync::Arc, time::Duration};

use async_trait::async_trait;

use super::{
    bends::Bend,
    verifier::is_done,
    world::{Alive, Shared},
};
use crate::{
    AgentError, Candidate, Capabilities, Clock, Cx, Digest, Review, Reviewer, Revision, SessionEnd, Tokens, Trouble,
    Usage, Usd, testing::simulator::opinion,
};

/// How a reviewer behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Critic {
    /// It vetoes what is not really done.
    Honest,
    /// It approves everything.
    ApprovesEverything,
    /// It vetoes everything.
    VetoesEverything,
    /// It mostly comes to no opinion; else it is honest, as all that follow.
    NoOpinion,
    /// Its opinion mostly is not whole: what is not met goes without a word.
    HalfAnOpinion,
    /// Its provider is down half of the time.
    Out,
    /// It mostly is not installed.
    Missing,
    /// It mostly says that it was cancelled, and nobody cancelled it.
    SaysCancelled,
    /// It mostly comes to no end, and only dropping its future ends it.
    HangsUntilDropped,
    /// It does not say what it cost.
    CostsUnknown,
}

impl Critic {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Honest,
        Self::ApprovesEverything,
        Self::VetoesEverything,
        Self::NoOpinion,
        Self::HalfAnOpinion,
        Self::Out,
        Self::Missing,
        Self::SaysCancelled,
        Self::HangsUntilDropped,
        Self::CostsUnknown,
    ];

    /// Whether what it approves is really done.
    pub fn is_sound(self) -> bool {
        self != Self::ApprovesEverything
    }
}

/// One judgement, as the reviewer itself knows it.
#[derive(Clone, Debug)]
pub(super) struct Reviewed {
    pub(super) revision: Revision,
    /// The row that it was judged against.
    pub(super) row: Digest,
    /// Whether it was a whole opinion without a veto.
    pub(super) approved: bool,
}

/// The reviewer of a run.
#[derive(Debug)]
pub(super) struct ModelReviewer {
    pub(super) shared: Arc<Shared>,
    pub(super) critic: Critic,
}

impl ModelReviewer {
    fn says(&self, conduct: Critic, work: &Candidate) -> (Review, &'static str) {
        let silent = |end, why: &str| Review::none(end, why);
        let whole = |met| (Review::new(opinion(work, met)), if met { "approved" } else { "vetoed" });
        match conduct {
            Critic::ApprovesEverything => whole(true),
            Critic::VetoesEverything => whole(false),
            Critic::NoOpinion => (silent(SessionEnd::Finished, "APPROVED, says the text"), "no opinion"),
            Critic::HalfAnOpinion => {
                let mut half = opinion(work, true);
                match half.remarks.first_mut() {
                    Some(remark) if self.shared.roll_critic(50) => remark.evidence.clear(),
                    _ => half.remarks.clear(),
                }
                (Review::new(half), "half an opinion")
            }
            Critic::Out => {
                let end = SessionEnd::Unavailable { trouble: Trouble::Overload, detail: "529".to_owned(), until: None };
                // What it had said before counts for nothing.
                (Review { opinion: Some(opinion(work, true)), ..silent(end, "") }, "out")
            }
            Critic::SaysCancelled => {
                (Review { opinion: Some(opinion(work, true)), ..silent(SessionEnd::Cancelled, "") }, "cancelled")
            }
            Critic::Honest | Critic::Missing | Critic::HangsUntilDropped | Critic::CostsUnknown => {
                let files = self.shared.vcs.files_of(&work.revision).unwrap_or_default();
                whole(is_done(&files, &work.item.id))
            }
        }
    }

    /// Comes to no end by itself.
    async fn hang(&self) -> AgentError {
        let _alive = Alive::new(&self.shared, "reviewer behaved");
        self.shared.clock.sleep(Duration::from_secs(3600)).await;
        if self.shared.lose_patience() {
            std::future::pending::<()>().await;
        }
        AgentError::other("nobody is there to end it")
    }
}

#[async_trait]
impl Reviewer for ModelReviewer {
    fn name(&self) -> &str {
        "critic"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with_cost().with_tokens()
    }

    async fn review(&self, work: &Candidate, _cx: &Cx) -> Result<Review, AgentError> {
        let mostly = match self.critic {
            Critic::Honest | Critic::ApprovesEverything | Critic::VetoesEverything | Critic::CostsUnknown => 100,
            Critic::Out => 50,
            Critic::NoOpinion
            | Critic::HalfAnOpinion
            | Critic::Missing
            | Critic::SaysCancelled
            | Critic::HangsUntilDropped => 70,
        };
        let behaves = !self.shared.is_calm() && self.shared.roll_critic(mostly);
        let conduct = if behaves { self.critic } else { Critic::Honest };
        self.shared.saw("reviewer behaved", format!("{conduct:?}"));
        // It has its hands in the folder, which changes nothing.
        for name in [work.item.id.as_str(), "broken-build", "ignored-review"] {
            let _ = fs::write(work.folder.join(name), "good");
        }
        match conduct {
            Critic::Missing => {
                let advice = "install it".to_owned();
                return Err(AgentError::NotFound { program: "critic".to_owned(), advice });
            }
            Critic::HangsUntilDropped => return Err(self.hang().await),
            _ => {}
        }
        let (review, word) = self.says(conduct, work);
        self.shared.saw("reviews", word);
        self.shared.reviewed(Reviewed {
            revision: work.revision.clone(),
            row: work.item.digest.clone(),
            approved: word == "approved",
        });
        let tokens = Tokens { output: 50, ..Tokens::default() };
        let usual = Usage::unknown().with_cost(Usd::from_micros(100_000)).with_tokens(tokens);
        Ok(review.with_usage(if conduct == Critic::CostsUnknown { Usage::unknown() } else { usual }))
    }
}

/// A reviewer as a bent host hears it.
#[derive(Debug)]
pub(super) struct BentReviewer {
    pub(super) honest: Arc<dyn Reviewer>,
    pub(super) bend: Bend,
}

#[async_trait]
impl Reviewer for BentReviewer {
    fn name(&self) -> &str {
        self.honest.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.honest.capabilities()
    }

    async fn review(&self, work: &Candidate, cx: &Cx) -> Result<Review, AgentError> {
        let said = self.honest.review(work, cx).await;
        let judged = said.as_ref().ok().filter(|review| review.end == SessionEnd::Finished);
        let whole = judged.and_then(|review| review.opinion.as_ref());
        let whole = whole.filter(|opinion| opinion.incomplete(&work.criteria()).is_none());
        let vetoed = whole.is_some_and(crate::Opinion::vetoes);
        match self.bend {
            Bend::VetoApproves if vetoed => Ok(Review::new(opinion(work, true))),
            Bend::SilenceApproves if whole.is_none() => Ok(Review::new(opinion(work, true))),
            _ => said,
        }
    }
}
