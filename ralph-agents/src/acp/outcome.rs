//! What came of a session. The table is in the docs of [`crate::acp`].

use std::fmt;

use ralph_core::{AgentError, SessionEnd, Tokens, Trouble, Usage, Usd};

use crate::{
    acp::client::{Stage, Talk},
    exit::Exit,
    json::{Object, one_line},
    outcome::{DETAIL_MAX, Outcome},
    session::failure,
};

/// An agent whose `usage` is that of its last step.
const LAST_STEP_ONLY: &str = "OpenCode";

/// What came of a conversation.
pub(super) fn outcome(talk: Talk, exit: Exit, stderr: &str) -> Outcome {
    let end = match (&talk.failure, &talk.stop) {
        // Whatever it said to that.
        _ if talk.cut_short => Ok(SessionEnd::Cancelled),
        (Some(failure), _) => failure.end(),
        (None, Some(stop)) => Ok(stop.end(&talk)),
        (None, None) => without_answer(&talk, exit, stderr),
    };
    let mut usage = Usage::unknown();
    usage.cost = talk.told.cost;
    let tokens = talk.stop.as_ref().and_then(|stop| stop.tokens);
    usage.tokens = tokens.filter(|_| talk.agent.as_deref() != Some(LAST_STEP_ONLY));
    // Who did not come to the end may not know yet what it used. That is not the same as nothing.
    if !talk.stop.as_ref().is_some_and(Stop::is_end_of_turn) {
        usage.cost = usage.cost.filter(|cost| *cost > Usd::ZERO);
        usage.tokens = usage.tokens.filter(|tokens| *tokens != Tokens::default());
    }
    Outcome {
        end,
        usage,
        said: talk.told.message.text,
        structured: None,
        session_id: talk.session_id,
        compactions: 0,
        denied: talk.denied,
        answered: usage.cost.is_some() || usage.tokens.is_some(),
    }
}

/// The answer to the prompt.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) reason: Option<String>,
    pub(crate) tokens: Option<Tokens>,
}

impl Stop {
    fn is_end_of_turn(&self) -> bool {
        self.reason.as_deref() == Some("end_turn")
    }

    fn end(&self, talk: &Talk) -> SessionEnd {
        let told = &talk.told;
        let used = self.tokens.is_some_and(|tokens| tokens != Tokens::default());
        match self.reason.as_deref() {
            Some("end_turn") if told.system_error => {
                let words = [&told.message.aside, &told.message.text].into_iter().find(|words| !words.is_empty());
                no_result(words.map_or("ended its turn after an error".into(), |words| one_line(words, DETAIL_MAX)))
            }
            Some("end_turn") if !(used || told.acted) && told.message.text.is_empty() => {
                no_result("ended its turn without a word".into())
            }
            Some("end_turn") => SessionEnd::Finished,
            Some("max_turn_requests") => SessionEnd::Limit("the agent's own limit of requests in a turn".into()),
            Some("max_tokens") => SessionEnd::Failed("the answer was cut at the model's limit of tokens".into()),
            Some("refusal") => SessionEnd::Failed("the model refused to go on".into()),
            Some("cancelled") if talk.denied > 0 => {
                SessionEnd::Failed("the agent ended its turn when it was not given a permission".into())
            }
            Some("cancelled") => no_result("cancelled from outside".into()),
            Some(reason) => SessionEnd::Failed(format!("ended with `{}`", one_line(reason, DETAIL_MAX))),
            None => no_result("ended its turn without a reason".into()),
        }
    }
}

/// Why it did not come to an answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It speaks another version, if any.
    Version(Option<u64>),
    /// It answered without a session.
    NoSession,
    /// It does not offer what is wanted.
    NotOffered(String),
    /// It does not read what it is told.
    Deaf,
    /// It answered with an error.
    Error {
        /// Before the prompt nothing was spent, and what is wrong is more likely a setting than the provider.
        at_work: bool,
        error: RpcError,
    },
}

impl Failure {
    pub(crate) fn error(stage: Stage, error: &Object<'_>) -> Self {
        Self::Error { at_work: stage == Stage::Prompt, error: RpcError::of(error) }
    }

    fn end(&self) -> Result<SessionEnd, AgentError> {
        const SETTINGS: &str = "check the settings of the agent";
        match self {
            Self::Version(Some(version)) => Err(refused(
                format!("it speaks version {version} of the Agent Client Protocol, and not 1"),
                "take a version of the agent that does",
            )),
            Self::Version(None) => {
                Err(refused("it does not say which version of the Agent Client Protocol it speaks".into(), SETTINGS))
            }
            Self::NoSession => Err(refused("it gave no session".into(), SETTINGS)),
            Self::NotOffered(what) => Err(refused(what.clone(), SETTINGS)),
            Self::Deaf => Ok(SessionEnd::Failed("it does not read what it is told".into())),
            Self::Error { at_work, error } => {
                let detail = error.to_string();
                match error.class() {
                    Class::Login => Err(AgentError::Auth {
                        detail,
                        advice: "log in with the agent's own program, or name the variable that holds its key \
                                 among those that the agent may see"
                            .into(),
                    }),
                    Class::Refused(advice) => Err(refused(detail, advice)),
                    Class::Trouble(trouble) => Ok(unavailable(trouble, detail)),
                    Class::Request | Class::Unknown if !at_work => Err(refused(detail, SETTINGS)),
                    Class::Request => Ok(SessionEnd::Failed(detail)),
                    Class::Unknown => Ok(unavailable(Trouble::Overload, detail)),
                }
            }
        }
    }
}

/// An error of the agent's, by its structured fields.
#[derive(Debug, Default)]
pub(crate) struct RpcError {
    code: i64,
    /// `data.errorKind` or `data.codex_error_info`.
    kind: Option<String>,
    /// The HTTP status, where one is told.
    status: Option<u16>,
    /// For people only.
    detail: String,
}

/// What an error means for the run.
enum Class {
    Login,
    Refused(&'static str),
    Trouble(Trouble),
    /// The request itself: too long, cut off, not valid.
    Request,
    Unknown,
}

impl RpcError {
    fn of(error: &Object<'_>) -> Self {
        let code = error.get("code").unwrap_or_default();
        let data = error.object("data");
        let text = |key: &str| data.as_ref().and_then(|data| data.text(key));
        // A name, or an object with one name in it.
        let info = data.as_ref().and_then(|data| data.object("codex_error_info"));
        let status = info.as_ref().and_then(|info| info.values().find_map(|info| info.get("http_status_code")));
        let info = info.and_then(|info| info.keys().next().map(str::to_owned));
        let words = [error.text("message"), text("message")].map(Option::unwrap_or_default).join(" ");
        Self {
            code,
            kind: text("errorKind").or_else(|| text("codex_error_info")).or(info),
            status: status.or_else(|| u16::try_from(code).ok().filter(|code| (400..600).contains(code))),
            detail: one_line(&words, DETAIL_MAX),
        }
    }

    fn class(&self) -> Class {
        const CREDIT: Class = Class::Refused("see to the account's credit");
        const MODEL: Class = Class::Refused("name a model that this account may use");
        match (self.code, self.kind.as_deref()) {
            (-32000, _) => return Class::Login,
            (-32700 | -32602..=-32600, _) => return Class::Refused("take another version of the agent"),
            (-32800, _) => return Class::Trouble(Trouble::NoResult),
            (_, Some("authentication_failed" | "unauthorized")) => return Class::Login,
            (_, Some("billing_error")) => return CREDIT,
            (_, Some("model_not_found")) => return MODEL,
            (_, Some("usage_limit_exceeded")) => return Class::Trouble(Trouble::UsageWindow),
            (_, Some("rate_limit")) => return Class::Trouble(Trouble::RateLimit),
            (_, Some("overloaded" | "server_error" | "server_overloaded" | "internal_server_error")) => {
                return Class::Trouble(Trouble::Overload);
            }
            (_, Some("max_output_tokens" | "invalid_request" | "context_window_exceeded" | "bad_request")) => {
                return Class::Request;
            }
            _ => {}
        }
        match (self.status, self.kind.as_deref()) {
            (Some(401 | 403), _) => Class::Login,
            (Some(402), _) => CREDIT,
            (Some(404), _) => MODEL,
            (Some(429), _) => Class::Trouble(Trouble::RateLimit),
            // Time-outs and conflicts are the server's as well.
            (Some(408 | 409 | 425 | 500..), _) => Class::Trouble(Trouble::Overload),
            (Some(400..500), _) => Class::Request,
            (
                _,
                Some("http_connection_failed" | "response_stream_connection_failed" | "response_stream_disconnected"),
            ) => Class::Trouble(Trouble::Network),
            _ => Class::Unknown,
        }
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detail.as_str() {
            "" => write!(f, "error {}", self.code),
            detail => f.write_str(detail),
        }
    }
}

/// No answer at all: killed, crashed, or never begun.
fn without_answer(talk: &Talk, exit: Exit, stderr: &str) -> Result<SessionEnd, AgentError> {
    let why = failure(exit, stderr);
    match (talk.stage, exit) {
        (Stage::Initialize | Stage::NewSession | Stage::Setting, Exit::Code(1..)) => Err(refused(
            format!("it ended before it took the prompt, {why}"),
            "check that it speaks the Agent Client Protocol with these arguments, and its settings",
        )),
        _ => Ok(no_result(format!("no answer, {why}"))),
    }
}

fn no_result(detail: String) -> SessionEnd {
    unavailable(Trouble::NoResult, detail)
}

fn unavailable(trouble: Trouble, detail: String) -> SessionEnd {
    SessionEnd::Unavailable { trouble, detail, until: None }
}

fn refused(detail: String, advice: &str) -> AgentError {
    AgentError::Refused { detail, advice: advice.into() }
}
