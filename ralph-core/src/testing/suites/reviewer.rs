//! The laws of [`Reviewer`].
//!
//! ```no_run,test_harness
//! # use std::sync::Arc;
//! # use ralph_core::{Reviewer, testing::suites::reviewer::{Behaviour, ReviewerFixture}};
//! # fn my_reviewer(_: Behaviour) -> Arc<dyn Reviewer> { unimplemented!() }
//! ralph_core::reviewer_conformance!(async || ReviewerFixture::new(|behaviour| Some(my_reviewer(behaviour))));
//! ```

#[cfg(test)]
mod saboteurs;

use std::{fmt, path::PathBuf, sync::Arc};

use super::{gate::Held, heartbeat::patiently};
use crate::{
    AttemptId, Cancel, Candidate, Change, Cx, EntryKind, Item, ItemRef, Opinion, Phase, Review, Reviewer, Revision,
    RunId, SessionEnd, testing::Files,
};

/// What the reviewer under test makes of the work of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Behaviour {
    /// It has nothing against it. *Required.*
    Approves,
    /// It says of the first criterion that it is not met, and why. *Required.*
    Vetoes,
    /// It ends, and says nothing that is an opinion. [`None`] where it always has one.
    SaysNothing,
    /// It comes to no end by itself. [`None`] where it always does.
    Hangs,
}

type Make = Box<dyn Fn(Behaviour) -> Option<Arc<dyn Reviewer>> + Send + Sync>;

/// The reviewers to try.
pub struct ReviewerFixture {
    make: Make,
}

impl ReviewerFixture {
    /// `make` gives a reviewer that behaves so, or [`None`] where [`Behaviour`] allows it; the law is then not tried.
    pub fn new(make: impl Fn(Behaviour) -> Option<Arc<dyn Reviewer>> + Send + Sync + 'static) -> Self {
        Self { make: Box::new(make) }
    }

    fn reviewer(&self, behaviour: Behaviour) -> Arc<dyn Reviewer> {
        match (self.make)(behaviour) {
            Some(reviewer) => reviewer,
            None => panic!("the fixture gave no reviewer for {behaviour:?}, which is required of every one"),
        }
    }
}

impl fmt::Debug for ReviewerFixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReviewerFixture")
    }
}

/// A commit of an item with these criteria.
fn work(criteria: &[&str]) -> Candidate {
    let mut item = Item::new("R42", "Greet people");
    item.criteria = criteria.iter().map(|&criterion| criterion.to_owned()).collect();
    let phase = Arc::new(Phase::new("P7", []));
    let file = (b"greeting".to_vec(), "greeting".to_owned());
    let tree = Files::from([(file.1, b"hello\n".to_vec())]);
    let mut work = Candidate::new(
        PathBuf::from("no-such-folder"),
        RunId::new("run-of-the-suite"),
        (phase, Arc::new(item)),
        AttemptId { item: ItemRef::new("P7", "R42"), number: 2 },
        Revision::new("4f2c9ab"),
        (Arc::new(Held(Files::new())), Arc::new(Held(tree))),
    );
    work.changes = Arc::from([Change { path: file.0, before: None, after: Some(EntryKind::File) }]);
    work.stat.files = 1;
    work
}

async fn review(reviewer: &dyn Reviewer, work: &Candidate, cx: &Cx) -> Review {
    match patiently("a review", reviewer.review(work, cx)).await {
        Ok(review) => review,
        Err(error) => panic!("a review that took place is no error: {error}"),
    }
}

async fn opinion(fixture: &ReviewerFixture, behaviour: Behaviour, work: &Candidate) -> Opinion {
    let review = review(&*fixture.reviewer(behaviour), work, &Cx::new()).await;
    assert_eq!(review.end, SessionEnd::Finished, "the end of a review that came to a judgement");
    match review.opinion {
        Some(opinion) => opinion,
        None => panic!("it should have an opinion, and has none: {}", review.why),
    }
}

/// Who has nothing against the work says so of every criterion, with evidence.
pub async fn an_approval_is_whole(fixture: ReviewerFixture) {
    let work = work(&["it greets", "in three languages"]);
    let opinion = opinion(&fixture, Behaviour::Approves, &work).await;
    assert!(!opinion.vetoes(), "it should approve, and says: {opinion}");
    assert_eq!(opinion.incomplete(&work.criteria()), None, "the approval is not whole");
    let named: Vec<&str> = opinion.remarks.iter().map(|remark| remark.criterion.as_str()).collect();
    assert_eq!(named, work.criteria(), "the remarks are on other criteria, or in another order");
}

/// An item without criteria is judged by its title.
pub async fn a_title_is_a_criterion(fixture: ReviewerFixture) {
    let opinion = opinion(&fixture, Behaviour::Approves, &work(&[])).await;
    assert_eq!(opinion.incomplete(&["Greet people"]), None, "the title was not judged");
}

/// A veto says why, in words that the next session can use.
pub async fn a_veto_says_why(fixture: ReviewerFixture) {
    let opinion = opinion(&fixture, Behaviour::Vetoes, &work(&["it greets"])).await;
    assert!(opinion.vetoes(), "it should veto, and does not");
    assert!(opinion.to_string().trim().len() > 5, "it vetoes and does not say why: `{opinion}`");
}

/// Having no opinion is no error and no opinion.
pub async fn no_opinion_is_none(fixture: ReviewerFixture) {
    let Some(reviewer) = (fixture.make)(Behaviour::SaysNothing) else { return };
    let review = review(&*reviewer, &work(&["it greets"]), &Cx::new()).await;
    assert_eq!(review.opinion, None, "an opinion was made of nothing");
    assert!(!review.why.trim().is_empty(), "it does not say why it has no opinion");
}

/// A review that is cancelled ends, and says so.
pub async fn cancel_ends_it(fixture: ReviewerFixture) {
    let Some(reviewer) = (fixture.make)(Behaviour::Hangs) else { return };
    let cancel = Cancel::new();
    let cx = Cx::new().with_cancel(cancel.clone());
    let work = work(&["it greets"]);
    let (review, ()) = tokio::join!(review(&*reviewer, &work, &cx), async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert_eq!((review.end, review.opinion), (SessionEnd::Cancelled, None), "the end of a review that was cancelled");
}

/// One test for each law of [`suites::reviewer`](crate::testing::suites::reviewer) on the fixture that
/// `async || ReviewerFixture` makes.
#[macro_export]
macro_rules! reviewer_conformance {
    ($make:expr) => {
        $crate::__conformance!(reviewer, $make;
            an_approval_is_whole, a_title_is_a_criterion, a_veto_says_why, no_opinion_is_none, cancel_ends_it);
    };
}
