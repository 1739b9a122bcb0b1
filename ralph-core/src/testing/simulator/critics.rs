//! The session that tidies, and the reviewer, of a simulation.

use std::{
    fs,
    sync::{Arc, atomic::Ordering},
};

use async_trait::async_trait;

use super::world::Shared;
use crate::{
    AgentBackend, AgentError, Brief, Candidate, Capabilities, Cx, Opinion, Remark, Review, Reviewer, SessionEnd,
    SessionReport, Trouble, Usage, Usd,
};

/// What a session does that tidies the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tidies {
    /// It shortens a file of the work.
    Well,
    /// The same, and the work does not pass any more.
    Badly,
    /// The same, and it writes another file.
    Elsewhere,
}

impl Tidies {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Well, Self::Badly, Self::Elsewhere];
}

/// What a reviewer says of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reviews {
    /// Yes.
    Approves,
    /// No, until a session has heard of that.
    VetoesOnce,
    /// No.
    Vetoes,
    /// Its provider is down for two reviews, then yes.
    Outage,
    /// Nothing at first, then yes.
    NoOpinionOnce,
}

impl Reviews {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Approves, Self::VetoesOnce, Self::Vetoes, Self::Outage, Self::NoOpinionOnce];
}

/// The name of the file that can be tidied, and what is in it before and after.
pub(super) fn notes(item: &str) -> String {
    format!("{item}-notes")
}
pub(super) const LONG: &str = "long";
pub(super) const SHORT: &str = "short";

/// What a session adds that was told of a veto.
pub(super) fn revised(item: &str) -> String {
    format!("{item}-revised")
}

/// With which words it is told.
pub(super) const REJECTS: &str = "critic rejects it";

#[derive(Debug)]
pub(super) struct SimTidy(pub(super) Tidies);

#[async_trait]
impl AgentBackend for SimTidy {
    fn name(&self) -> &str {
        "tidy"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with_cost().with_tokens()
    }

    async fn run(&self, brief: &Brief, _cx: &Cx) -> Result<SessionReport, AgentError> {
        let item = brief.attempt.item.item.as_str();
        let write =
            |name: &str, content: &str| fs::write(brief.workspace.join(name), content).map_err(AgentError::other);
        write(&notes(item), SHORT)?;
        match self.0 {
            Tidies::Well => {}
            Tidies::Badly => write(item, "bad")?,
            Tidies::Elsewhere => write("elsewhere", "x")?,
        }
        // What it says is no signal.
        let said = "```ralph\n{\"status\":\"decision\",\"question\":\"which?\"}\n```";
        Ok(SessionReport::new(SessionEnd::Finished).with_said(said).with_usage(usage()))
    }
}

fn usage() -> Usage {
    let tokens = crate::Tokens { output: 50, ..crate::Tokens::default() };
    Usage::unknown().with_cost(Usd::from_micros(100_000)).with_tokens(tokens)
}

#[derive(Debug)]
pub(super) struct SimReviewer {
    pub(super) says: Reviews,
    pub(super) shared: Arc<Shared>,
}

#[async_trait]
impl Reviewer for SimReviewer {
    fn name(&self) -> &str {
        "critic"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with_cost().with_tokens()
    }

    async fn review(&self, work: &Candidate, _cx: &Cx) -> Result<Review, AgentError> {
        let before = || self.shared.reviews.fetch_add(1, Ordering::SeqCst);
        let heard = work.folder.join(revised(work.item.id.as_str())).exists();
        let review = match self.says {
            Reviews::Outage if before() < 2 => {
                let detail = "529".to_owned();
                Review::none(SessionEnd::Unavailable { trouble: Trouble::Overload, detail, until: None }, "")
            }
            Reviews::NoOpinionOnce if before() == 0 => Review::none(SessionEnd::Finished, "no JSON in the answer"),
            Reviews::VetoesOnce if !heard => Review::new(opinion(work, false)),
            Reviews::Vetoes => Review::new(opinion(work, false)),
            Reviews::Approves | Reviews::Outage | Reviews::NoOpinionOnce | Reviews::VetoesOnce => {
                Review::new(opinion(work, true))
            }
        };
        Ok(review.with_usage(usage()))
    }
}

/// The same of every criterion.
pub(in crate::testing) fn opinion(work: &Candidate, met: bool) -> Opinion {
    let evidence = if met { "it is there" } else { "it is missing" };
    let remark = |criterion: &str| Remark { criterion: criterion.to_owned(), met, evidence: evidence.to_owned() };
    Opinion { remarks: work.criteria().into_iter().map(remark).collect(), objections: Vec::new() }
}
