//! What came of a session of an agent that prints events.

use std::time::SystemTime;

use ralph_core::{AgentError, Cx, SessionEnd, SessionReport, Trouble, Usage, Usd, chain};

use crate::{exit::Exit, session::How};

/// How much of the agent's own words for a failure is kept, in characters.
pub(crate) const DETAIL_MAX: usize = 300;

/// What came of a session.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// How it ended, or why there was none.
    pub end: Result<SessionEnd, AgentError>,
    /// What it used, as far as it says; of a resumed session, what it used in all.
    pub usage: Usage,
    /// The final message, or the last text of the main agent where there is none.
    pub said: String,
    /// The structured output, as JSON text.
    pub structured: Option<String>,
    /// The id under which the agent keeps the session.
    pub session_id: Option<String>,
    /// How often the context was compacted, where the agent shows it.
    pub compactions: u32,
    /// How many tool calls were not permitted, where the agent shows it.
    pub denied: u32,
    /// Whether the model has answered at all, where the agent reports no cost of a session that failed.
    pub(crate) answered: bool,
}

impl Outcome {
    /// The same where it was we who ended the session, as far as `how` says so.
    ///
    /// What the backend itself ended it for is in the transcript, and an agent that was waiting for its provider
    /// (`in_trouble`) when a limit was reached is not to blame: there the transcript says more.
    pub(crate) fn ended(mut self, how: How, in_trouble: bool, cx: &Cx) -> Self {
        match how {
            How::Cancelled if cx.cancel().is_cancelled() => self.end = Ok(SessionEnd::Cancelled),
            How::Limit(which) if !in_trouble => self.end = Ok(SessionEnd::Limit(which)),
            How::Exit(_) | How::Cancelled | How::Limit(_) => {}
        }
        self
    }

    /// The same as the report of a backend.
    ///
    /// # Errors
    /// That no session took place: the login is refused, the settings are. Where something was spent before that became
    /// clear, it is a report with [`SessionEnd::Unusable`].
    pub fn into_report(self) -> Result<SessionReport, AgentError> {
        let spent = self.answered || self.usage.cost.is_some_and(|cost| cost > Usd::ZERO);
        let end = match self.end {
            Err(error) if spent => SessionEnd::Unusable(chain(&error)),
            end => end?,
        };
        let mut report = SessionReport::new(end).with_said(self.said).with_usage(self.usage);
        report.structured = self.structured;
        report.session_id = self.session_id;
        report.compactions = self.compactions;
        report.denied = self.denied;
        Ok(report)
    }
}

/// It ended without a word on what came of it; `complaint` is what it said on stderr, on one line.
pub(crate) fn no_result(exit: Exit, complaint: &str) -> SessionEnd {
    let detail = if complaint.is_empty() {
        format!("{exit} without a result")
    } else {
        format!("{exit} without a result: {complaint}")
    };
    unavailable(Trouble::NoResult, detail, None)
}

pub(crate) fn unavailable(trouble: Trouble, detail: String, until: Option<SystemTime>) -> SessionEnd {
    SessionEnd::Unavailable { trouble, detail, until }
}

pub(crate) fn refused(detail: String, advice: &str) -> AgentError {
    AgentError::Refused { detail, advice: advice.into() }
}
