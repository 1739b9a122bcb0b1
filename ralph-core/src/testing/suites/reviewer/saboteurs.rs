//! The laws of reviewers, tried on one that keeps them, and on some that break them.

use std::sync::Arc;

use async_trait::async_trait;

use super::{super::run_law, Behaviour, ReviewerFixture};
use crate::{AgentError, Candidate, Capabilities, Cx, Opinion, Remark, Review, Reviewer, SessionEnd};

/// What is wrong with a reviewer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    ForgetsCriteria,
    NoEvidence,
    OtherOrder,
    ForgetsTitles,
    SilentVeto,
    MakesOneUp,
    NothingIsAnError,
    Deaf,
    ApprovesWhenCancelled,
}

#[derive(Debug)]
struct Model(Behaviour, Fault);

#[async_trait]
impl Reviewer for Model {
    fn name(&self) -> &str {
        "model"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none()
    }

    async fn review(&self, work: &Candidate, cx: &Cx) -> Result<Review, AgentError> {
        let Self(behaviour, fault) = self;
        let criteria = if *fault == Fault::ForgetsTitles {
            work.item.criteria.iter().map(String::as_str).collect()
        } else {
            work.criteria()
        };
        let evidence = if *fault == Fault::NoEvidence { "" } else { "greeting:1" };
        let mut remarks: Vec<Remark> = criteria
            .into_iter()
            .map(|criterion| Remark { criterion: criterion.to_owned(), met: true, evidence: evidence.to_owned() })
            .collect();
        match fault {
            Fault::ForgetsCriteria => remarks.truncate(1),
            Fault::OtherOrder => remarks.reverse(),
            _ => {}
        }
        let approval = |remarks| Review::new(Opinion { remarks, objections: Vec::new() });
        Ok(match behaviour {
            Behaviour::Vetoes if *fault == Fault::SilentVeto => {
                Review::new(Opinion { remarks, objections: vec![String::new()] })
            }
            Behaviour::Vetoes => {
                remarks.iter_mut().for_each(|remark| remark.met = false);
                approval(remarks)
            }
            Behaviour::SaysNothing if *fault == Fault::NothingIsAnError => {
                return Err(AgentError::other(std::io::Error::other("no opinion")));
            }
            Behaviour::SaysNothing if *fault != Fault::MakesOneUp => Review::none(SessionEnd::Finished, "it is silent"),
            Behaviour::Hangs => {
                if *fault == Fault::Deaf {
                    std::future::pending::<()>().await;
                }
                cx.cancel().cancelled().await;
                if *fault == Fault::ApprovesWhenCancelled {
                    return Ok(approval(remarks));
                }
                Review::none(SessionEnd::Cancelled, "it was cancelled")
            }
            _ => approval(remarks),
        })
    }
}

fn fixture(fault: Fault) -> ReviewerFixture {
    ReviewerFixture::new(move |behaviour| Some(Arc::new(Model(behaviour, fault))))
}

crate::reviewer_conformance!(async || fixture(Fault::None));

/// One test for each fault: the law finds it, and says so.
macro_rules! found {
    ($($name:ident: $law:ident, $fault:ident, $words:literal;)*) => { $(
        #[test]
        #[should_panic(expected = $words)]
        fn $name() {
            run_law(super::$law(fixture(Fault::$fault)));
        }
    )* };
}

found! {
    forgets_criteria: an_approval_is_whole, ForgetsCriteria, "the approval is not whole";
    has_no_evidence: an_approval_is_whole, NoEvidence, "the approval is not whole";
    mixes_criteria_up: an_approval_is_whole, OtherOrder, "on other criteria, or in another order";
    forgets_titles: a_title_is_a_criterion, ForgetsTitles, "the title was not judged";
    vetoes_silently: a_veto_says_why, SilentVeto, "does not say why";
    makes_an_opinion_up: no_opinion_is_none, MakesOneUp, "made of nothing";
    takes_silence_for_an_error: no_opinion_is_none, NothingIsAnError, "is no error";
    is_deaf: cancel_ends_it, Deaf, "waited in vain";
    approves_when_cancelled: cancel_ends_it, ApprovesWhenCancelled, "a review that was cancelled";
}
