//! The seam to coding agents: one fresh session on one item.

use std::{
    fmt::{self, Debug},
    path::PathBuf,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    budget::{Usage, Usd},
    cx::Cx,
    error::{BoxError, Retry},
    id::{AttemptId, RunId},
    tier::Tier,
};

/// What a backend can do. The engine refuses at the start what a backend cannot honour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Reports what a session cost.
    pub cost: bool,
    /// Reports the tokens of a session.
    pub tokens: bool,
    /// Can resume an earlier session of its own ([`Brief::resume`]).
    pub resume: bool,
    /// Keeps to [`Brief::cost_limit`] by itself, in the middle of a session.
    pub cost_limit: bool,
    /// Can be asked for structured output ([`Brief::schema`], [`SessionReport::structured`]).
    pub structured: bool,
}

impl Capabilities {
    /// Reports nothing, resumes nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// The same, reporting cost.
    #[must_use]
    pub fn with_cost(mut self) -> Self {
        self.cost = true;
        self
    }

    /// The same, reporting tokens.
    #[must_use]
    pub fn with_tokens(mut self) -> Self {
        self.tokens = true;
        self
    }

    /// The same, able to resume.
    #[must_use]
    pub fn with_resume(mut self) -> Self {
        self.resume = true;
        self
    }

    /// The same, keeping to a cost limit.
    #[must_use]
    pub fn with_cost_limit(mut self) -> Self {
        self.cost_limit = true;
        self
    }

    /// The same, with structured output.
    #[must_use]
    pub fn with_structured(mut self) -> Self {
        self.structured = true;
        self
    }

    /// What both can do.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            cost: self.cost && other.cost,
            tokens: self.tokens && other.tokens,
            resume: self.resume && other.resume,
            cost_limit: self.cost_limit && other.cost_limit,
            structured: self.structured && other.structured,
        }
    }
}

/// Everything one session is given.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Brief {
    /// The folder to work in: the branch's files with a disposable `.git`.
    pub workspace: PathBuf,
    /// The whole prompt.
    pub prompt: String,
    /// The run.
    pub run: RunId,
    /// The attempt that this session is of.
    pub attempt: AttemptId,
    /// Where to write the transcript (what the agent prints), if anywhere.
    pub log: Option<PathBuf>,
    /// How long the session may take, by a monotonic clock.
    pub time_limit: Option<Duration>,
    /// What the session may cost at most, where the run has a cost budget. A backend whose agent can enforce it passes
    /// it on.
    pub cost_limit: Option<Usd>,
    /// How strong a model the item deserves. A backend that was given names for tiers chooses by it.
    pub tier: Tier,
    /// The session to go on with instead of a fresh one; only where [`Capabilities::resume`] says that it can.
    pub resume: Option<Resume>,
    /// The JSON schema that the final answer should have; only where [`Capabilities::structured`] says that it can.
    pub schema: Option<String>,
    /// More variables for the session's environment, such as those of a spawn budget.
    pub vars: Vec<(String, String)>,
}

/// An earlier session that a new one goes on with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// Which backend it was of, as [`SessionReport::agent`] had it: no other can resume it.
    pub agent: String,
    /// The agent's own id of it.
    pub session_id: String,
    /// What it had used by then, in all. Agents count on from there, and a backend takes it off again: what a report
    /// says is what *this* session used.
    pub before: Usage,
}

impl Brief {
    /// A brief with neither log nor limits, for a fresh session.
    pub fn new(workspace: impl Into<PathBuf>, prompt: impl Into<String>, run: RunId, attempt: AttemptId) -> Self {
        Self {
            workspace: workspace.into(),
            prompt: prompt.into(),
            run,
            attempt,
            log: None,
            time_limit: None,
            cost_limit: None,
            tier: Tier::Standard,
            resume: None,
            schema: None,
            vars: Vec::new(),
        }
    }

    /// What a session is told about itself: `RALPH_RUN_ID`, `RALPH_ITEM_ID`, `RALPH_ATTEMPT`, and [`Brief::vars`]. A
    /// backend that starts a process puts these in its environment.
    pub fn env(&self) -> impl Iterator<Item = (&str, String)> {
        let own = [
            ("RALPH_RUN_ID", self.run.to_string()),
            ("RALPH_ITEM_ID", self.attempt.item.item.to_string()),
            ("RALPH_ATTEMPT", self.attempt.number.to_string()),
        ];
        self.vars.iter().map(|(name, value)| (name.as_str(), value.clone())).chain(own)
    }
}

/// What kind of trouble kept an agent from working. None of it is the item's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Trouble {
    /// Too many requests for now.
    RateLimit,
    /// The provider is overloaded or failing.
    Overload,
    /// A quota that resets at a certain time is used up.
    UsageWindow,
    /// The provider could not be reached.
    Network,
    /// The agent ended without a result.
    NoResult,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RateLimit => "rate limit",
            Self::Overload => "provider overloaded or failing",
            Self::UsageWindow => "usage window used up",
            Self::Network => "provider not reachable",
            Self::NoResult => "no result",
        })
    }
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionEnd {
    /// It ended by itself. Whether the work is any good is not said here.
    Finished,
    /// The agent gave up or crashed; what it left is judged all the same.
    Failed(String),
    /// It was ended at a limit of ours: time, silence, output. Holds which.
    Limit(String),
    /// It was ended because somebody cancelled the run.
    Cancelled,
    /// In the middle of the session the agent could no longer be used: a refused login, an account without credit.
    /// Repeating will not help. Holds why and what to do.
    Unusable(String),
    /// Trouble that is not the item's fault; the session is to be repeated.
    Unavailable {
        /// Which.
        trouble: Trouble,
        /// The agent's own words for it, one line.
        detail: String,
        /// When it will be over, where the agent says so.
        until: Option<SystemTime>,
    },
}

/// What came of a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionReport {
    /// How it ended.
    pub end: SessionEnd,
    /// What it used, as far as known, whatever the end.
    pub usage: Usage,
    /// The agent's final message, cut to [`SessionReport::SAID_MAX`] bytes from its end. The *engine* looks for
    /// signals in it, once, in the same way for all backends.
    pub said: String,
    /// The agent's structured output, where it has such a thing.
    pub structured: Option<String>,
    /// The agent's own id of the session.
    pub session_id: Option<String>,
    /// Which backend it was, where one of several was chosen; else it is the one that was asked.
    pub agent: Option<String>,
    /// How often the agent compacted its context.
    pub compactions: u32,
    /// How many tool calls it was not permitted.
    pub denied: u32,
}

impl SessionReport {
    /// How much of the final message is kept, in bytes.
    pub const SAID_MAX: usize = 64 * 1024;

    /// A report with nothing but its end.
    pub fn new(end: SessionEnd) -> Self {
        Self {
            end,
            usage: Usage::unknown(),
            said: String::new(),
            structured: None,
            session_id: None,
            agent: None,
            compactions: 0,
            denied: 0,
        }
    }

    /// The same with a final message.
    #[must_use]
    pub fn with_said(mut self, said: impl Into<String>) -> Self {
        let said = said.into();
        let mut from = said.len().saturating_sub(Self::SAID_MAX);
        while !said.is_char_boundary(from) {
            from += 1;
        }
        self.said = said[from..].to_owned();
        self
    }

    /// The same with this usage.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// The same with the agent's structured output.
    #[must_use]
    pub fn with_structured(mut self, structured: impl Into<String>) -> Self {
        self.structured = Some(structured.into());
        self
    }

    /// The same with the agent's own id of the session.
    #[must_use]
    pub fn with_session_id(mut self, id: impl Into<String>) -> Self {
        self.session_id = Some(id.into());
        self
    }
}

/// Why no session took place. Nothing was spent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The program is not there.
    #[error("the agent's program `{program}` was not found: {advice}")]
    NotFound {
        /// What was looked for.
        program: String,
        /// What to do about it.
        advice: String,
    },
    /// The provider refuses the login.
    #[error("the agent is not logged in ({detail}): {advice}")]
    Auth {
        /// The agent's own words.
        detail: String,
        /// What to do about it.
        advice: String,
    },
    /// The agent refuses what it was asked for: a model it does not know, a flag, an account without credit. Repeating
    /// will not help.
    #[error("the agent cannot be used as configured ({detail}): {advice}")]
    Refused {
        /// The agent's own words.
        detail: String,
        /// What to do about it.
        advice: String,
    },
    /// This backend cannot do that.
    #[error("{operation} is not supported by {by}")]
    Unsupported {
        /// What was asked for.
        operation: &'static str,
        /// The backend.
        by: String,
    },
    /// It could not be started for another reason.
    #[error("the agent could not be started")]
    Other(#[source] BoxError),
}

impl AgentError {
    /// It could not be started, because of `error`.
    pub fn other(error: impl Into<BoxError>) -> Self {
        Self::Other(error.into())
    }

    /// Whether asking again makes sense.
    pub fn retry(&self) -> Retry {
        match self {
            Self::NotFound { .. } | Self::Auth { .. } | Self::Refused { .. } | Self::Unsupported { .. } => Retry::Never,
            Self::Other(_) => Retry::Soon,
        }
    }
}

/// A coding agent: takes a brief, works in the workspace, ends.
///
/// # Contract
/// - One call is one **fresh** session: nothing of an earlier one is in its context, unless [`Brief::resume`] asks for it.
/// - It works in [`Brief::workspace`] and leaves its work there, committed or not.
/// - The report says how the session ended and what it used. It contains no verdict: an agent's own word that the work
///   is done is a signal in [`SessionReport::said`] at most.
/// - Trouble that is not the item's fault (limits, overload, network) is [`SessionEnd::Unavailable`] *with* the usage
///   so far, not an error that would lose the cost.
/// - [`Brief::time_limit`] binds, by a monotonic clock: a session that takes longer is ended, and the report says
///   [`SessionEnd::Limit`]. (The limit of the [`Cx`] is not a session's.)
/// - Where [`Brief::log`] is given, what the agent prints is written there.
/// - When the call returns, nothing that the session started is alive. The crate `ralph-process` runs a command so: its
///   whole process tree is ended with it, or at a limit, or when the future is dropped.
///
/// # Cancellation
/// On [`Cx::cancel`] the session is asked to end in the way after which the agent still reports its usage, then ended.
/// Dropping the future ends everything that the session started.
///
/// # Idempotence
/// None: a session is the one effect that is never repeated blindly. After a crash the engine records the attempt as
/// interrupted and does not call again for it.
///
/// # Errors
/// `Err` means that no session took place and nothing was spent: program missing, login refused. A refusal that shows
/// only when something has been spent is [`SessionEnd::Unusable`], with the usage.
///
/// # Implementing
/// ```
/// use ralph_core::{
///     AgentBackend, AgentError, Brief, Capabilities, Cx, SessionEnd, SessionReport, async_trait,
/// };
///
/// /// Writes a file and is gone.
/// #[derive(Debug)]
/// struct Greeter;
///
/// #[async_trait]
/// impl AgentBackend for Greeter {
///     fn name(&self) -> &str {
///         "greeter"
///     }
///     fn capabilities(&self) -> Capabilities {
///         Capabilities::none()
///     }
///     async fn run(&self, brief: &Brief, _cx: &Cx) -> Result<SessionReport, AgentError> {
///         std::fs::write(brief.workspace.join("greeting"), "hello\n").map_err(AgentError::other)?;
///         Ok(SessionReport::new(SessionEnd::Finished))
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use ralph_core::{AttemptId, ItemRef, RunId};
/// let folder = tempfile::tempdir().unwrap();
/// let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
/// let brief = Brief::new(folder.path(), "Add a greeting.", RunId::new("run"), attempt);
/// let report = Greeter.run(&brief, &Cx::new()).await.unwrap();
/// assert_eq!(report.end, SessionEnd::Finished);
/// assert!(folder.path().join("greeting").exists());
/// # });
/// ```
#[async_trait]
pub trait AgentBackend: Debug + Send + Sync + 'static {
    /// Its name, for people and records.
    fn name(&self) -> &str;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Runs one session, start to end.
    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError>;
}
