//! Backends around backends.
//!
//! Each takes any backend and is one, so that they nest: `Tiers` of `Fallback`s of `Retry`s of agents.
//!
//! | wrapper | what it adds |
//! | --- | --- |
//! | [`Named`] | a name of its own, to tell two backends of one kind apart |
//! | [`Retry`] | another session where one was lost to a short trouble |
//! | [`Fallback`] | the next backend where one cannot be used |
//! | [`Tiers`] | a backend for each [`Tier`](ralph_core::Tier) |
//! | [`Priced`] | an estimate of the cost from tokens and the user's own prices |
//! | [`Recorded`] | each session as a file, which [`Replay`] plays again |
//!
//! # Who it was
//!
//! Where one of several backends was chosen, [`SessionReport::agent`] has its name, and where that is a choice of its
//! own, both: `night/codex`. [`Brief::resume`] reaches the one backend that it names, by the same words; every other one
//! is given a fresh session. A prompt should therefore be enough by itself, resumed or not.
//!
//! # Several sessions in one call
//!
//! [`Retry`] and [`Fallback`] can begin more than one session. What these used is added up, and is unknown where it is of
//! one of them; a reported cost and an estimated one make an estimate. The brief's limits of time and cost bind all of
//! them together, the waits included, the cost as far as it is known. All find the same workspace: what a session that was
//! lost in the middle left there is there for the next one, as it is for the next attempt of a run. Their transcripts
//! are in the same log, one after the other.

mod cassette;
mod changes;
mod fallback;
mod named;
mod priced;
mod recorded;
mod replay;
mod retry;
mod several;
mod tiers;

use ralph_core::{AgentError, Brief, SessionReport};

pub use cassette::CassetteError;
pub use fallback::Fallback;
pub use named::Named;
pub use priced::{Priced, Prices};
pub use recorded::Recorded;
pub use replay::Replay;
pub use retry::Retry;
pub use tiers::Tiers;

/// The brief for the backend `name`: the session to resume is left in it only where it was of that one.
fn brief_for(brief: &Brief, name: &str) -> Brief {
    let mut own = brief.clone();
    own.resume = own.resume.and_then(|mut resume| {
        if resume.agent != name {
            resume.agent = resume.agent.strip_prefix(name)?.strip_prefix('/')?.to_owned();
        }
        Some(resume)
    });
    own
}

/// The report of the backend `name`, signed by it.
fn signed(mut report: SessionReport, name: &str) -> SessionReport {
    report.agent = Some(match report.agent {
        Some(inner) if inner != name => format!("{name}/{inner}"),
        _ => name.to_owned(),
    });
    report
}

/// Two backends of one name could not be told apart in records, and a session of one would be resumed by the other.
fn same_name(name: &str) -> AgentError {
    AgentError::Refused {
        detail: format!("two backends are called `{name}`"),
        advice: "give one of them another name, with `Named`".into(),
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::{AttemptId, ItemRef, Resume, RunId, SessionEnd, Usage};

    use super::*;

    #[test]
    fn a_session_to_resume_reaches_whose_it_was() {
        let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
        let mut brief = Brief::new("/w", "", RunId::new("run"), attempt);
        let mut resume = |agent: &str, name: &str| {
            let before = Usage::unknown();
            brief.resume = Some(Resume { agent: agent.into(), session_id: "s".into(), before });
            brief_for(&brief, name).resume.map(|resume| resume.agent)
        };
        assert_eq!(resume("codex", "codex").as_deref(), Some("codex"));
        assert_eq!(resume("night/codex", "night").as_deref(), Some("codex"));
        assert_eq!(resume("a/b", "a/b").as_deref(), Some("a/b"));
        for (agent, name) in [("codex", "claude"), ("codex2", "codex"), ("codex", "codex2"), ("night/codex", "codex")] {
            assert_eq!(resume(agent, name), None, "{agent} {name}");
        }
        // What a report is signed with leads back to where it came from.
        let report = signed(signed(SessionReport::new(SessionEnd::Finished), "codex"), "night");
        assert_eq!(resume(&report.agent.unwrap(), "night").as_deref(), Some("codex"));
    }
}
