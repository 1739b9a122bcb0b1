//! What a failure of a provider means for the run.

use ralph_core::{AgentError, SessionEnd, Trouble};

use crate::outcome::{refused, unavailable};

/// What a failure of a provider means for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Login,
    /// It refuses what was asked for. Holds what to do.
    Refused(&'static str),
    Trouble(Trouble),
    /// The request itself: too long, cut off, not valid.
    Request,
    Unknown,
}

impl Cause {
    pub(crate) const CREDIT: Self = Self::Refused("see to the account's credit");
    pub(crate) const MODEL: Self = Self::Refused("name a model that this account may use");

    /// By the status of its answer.
    pub(crate) fn of_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::Login,
            402 => Self::CREDIT,
            404 => Self::MODEL,
            429 => Self::Trouble(Trouble::RateLimit),
            // Time-outs and conflicts are the server's as well.
            408 | 409 | 425 | 500.. => Self::Trouble(Trouble::Overload),
            400..500 => Self::Request,
            _ => Self::Unknown,
        }
    }

    /// How a session ends with it. `login` is what to do where the login is refused.
    pub(crate) fn end(self, detail: String, login: &str) -> Result<SessionEnd, AgentError> {
        let detail = if detail.is_empty() { "no reason given".to_owned() } else { detail };
        match self {
            Self::Login => Err(AgentError::Auth { detail, advice: login.into() }),
            Self::Refused(advice) => Err(refused(detail, advice)),
            Self::Trouble(trouble) => Ok(unavailable(trouble, detail, None)),
            Self::Request => Ok(SessionEnd::Failed(detail)),
            // More likely the provider's fault than the item's.
            Self::Unknown => Ok(unavailable(Trouble::Overload, detail, None)),
        }
    }
}
