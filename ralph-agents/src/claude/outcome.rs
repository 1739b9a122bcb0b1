//! What came of a session of Claude Code. The table is in the docs of [`crate::claude`].

use std::time::{Duration, SystemTime};

use ralph_core::{AgentError, SessionEnd, SessionReport, Trouble, Usage, Usd};

use crate::{
    claude::stream::Facts,
    exit::Exit,
    json::{Object, end_of, one_line},
    outcome::{DETAIL_MAX, Outcome, no_result, refused, unavailable},
};

/// What the facts come to.
pub(crate) fn outcome(facts: Facts, mut usage: Usage, exit: Exit, stderr: &str) -> Outcome {
    let end = match &facts.result {
        Some(result) if result.is_error => broken(result, &facts),
        Some(result) => Ok(ended(result, exit)),
        None => without_result(&facts, exit, stderr),
    };
    let (mut said, mut structured) = (facts.text, None);
    if let Some(result) = facts.result {
        // Interrupted in its first reply, Claude Code knows of no cost yet. That is not the same as none.
        if result.aborted() && usage.cost == Some(Usd::ZERO) {
            usage = Usage::unknown();
        }
        // The text of a failed result is Claude Code's, not the agent's.
        if !result.is_error
            && let Some(text) = result.text
        {
            said = text;
        }
        structured = result.structured.filter(|json| json.len() <= SessionReport::SAID_MAX);
    }
    Outcome {
        end,
        usage,
        said,
        structured,
        session_id: facts.session_id,
        compactions: facts.compactions,
        denied: facts.denied,
        // Its cost says it.
        answered: false,
    }
}
/// The last `result` event.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    is_error: bool,
    subtype: Option<String>,
    reason: Option<String>,
    stop: Option<String>,
    turns: Option<u64>,
    text: Option<String>,
    errors: Vec<String>,
    structured: Option<String>,
    api: ApiError,
}

impl Ending {
    /// Reads the event. What kind of failure it was is said only by the error event before it.
    pub(crate) fn of(event: &Object<'_>, failed: Option<ApiError>) -> Self {
        let subtype = event.text("subtype");
        let own = ApiError::of(event, None);
        let failed = failed.unwrap_or_default();
        Self {
            // Both have to say so: API failures come as `"subtype":"success","is_error":true`.
            is_error: event.get("is_error").unwrap_or(true) || subtype.as_deref() != Some("success"),
            subtype,
            reason: event.text("terminal_reason"),
            stop: event.text("stop_reason"),
            turns: event.get("num_turns"),
            text: event.text("result").map(|text| end_of(text, SessionReport::SAID_MAX)),
            errors: event.get("errors").unwrap_or_default(),
            structured: event.raw("structured_output").map(str::to_owned),
            api: ApiError {
                kind: own.kind.or(failed.kind),
                status: own.status.or(failed.status),
                cause: own.cause.or(failed.cause),
                detail: failed.detail,
            },
        }
    }

    fn aborted(&self) -> bool {
        matches!(self.reason.as_deref(), Some("aborted_tools" | "aborted_streaming"))
    }

    fn detail(&self) -> String {
        let texts = [self.text.as_deref().unwrap_or_default(), &self.errors.join("; ")].join(" ");
        match one_line(&texts, DETAIL_MAX) {
            text if text.is_empty() => self.api.to_string(),
            text => text,
        }
    }
}

/// A failure of the provider's API, by its structured fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct ApiError {
    /// `error`: Claude Code's own kind, such as `rate_limit`.
    pub(crate) kind: Option<String>,
    /// The HTTP status, where there was an answer.
    pub(crate) status: Option<u16>,
    /// `api_error`: a closer cause, such as `connection_failed`.
    pub(crate) cause: Option<String>,
    /// For people only.
    pub(crate) detail: Option<String>,
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.detail, self.status, self.cause.as_ref().or(self.kind.as_ref())) {
            (Some(detail), ..) => f.write_str(&one_line(detail, DETAIL_MAX)),
            (None, Some(status), Some(kind)) => write!(f, "status {status}, {kind}"),
            (None, Some(status), None) => write!(f, "status {status}"),
            (None, None, Some(kind)) => f.write_str(kind),
            (None, None, None) => f.write_str("no reason given"),
        }
    }
}

/// What a failure of the API means for the run.
enum Class {
    Login,
    Refused(&'static str),
    Trouble(Trouble),
    /// The request itself: too long, cut off, not valid.
    Request,
    Unknown,
}

impl Class {
    fn is_login(&self) -> bool {
        matches!(self, Self::Login)
    }

    fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }
}

impl ApiError {
    pub(crate) fn of(event: &Object<'_>, detail: Option<String>) -> Self {
        Self {
            kind: event.text("error"),
            status: event.get("api_error_status"),
            cause: event.text("api_error"),
            detail,
        }
    }

    fn class(&self) -> Class {
        match (self.kind.as_deref(), self.status, self.cause.as_deref()) {
            (Some("authentication_failed" | "oauth_org_not_allowed"), ..) | (_, Some(401 | 403), _) => Class::Login,
            (Some("billing_error"), ..) | (_, Some(402), _) => Class::Refused("see to the account's credit"),
            (Some("model_not_found"), ..) | (_, Some(404), _) => {
                Class::Refused("name a model that this account may use")
            }
            (_, _, Some("usage_limit_reached")) => Class::Trouble(Trouble::UsageWindow),
            (Some("rate_limit"), ..) | (_, Some(429), _) => Class::Trouble(Trouble::RateLimit),
            (_, _, Some("connection_failed")) => Class::Trouble(Trouble::Network),
            // Time-outs and conflicts are the server's as well.
            (Some("overloaded"), ..) | (_, Some(408 | 409 | 425 | 500..), _) => Class::Trouble(Trouble::Overload),
            (_, _, Some("max_output_tokens"))
            | (Some("max_output_tokens" | "invalid_request"), ..)
            | (_, Some(400..500), _) => Class::Request,
            // No answer at all: a time-out, a connection that broke.
            (Some("server_error" | "unknown"), None, None) => Class::Trouble(Trouble::Network),
            (Some("server_error"), ..) => Class::Trouble(Trouble::Overload),
            _ => Class::Unknown,
        }
    }
}

/// A usage window that is used up, and when it opens again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window(Option<SystemTime>);

impl Window {
    /// Reads a `rate_limit_info`; `None` while the window is open, or what goes beyond it is paid for.
    pub(crate) fn used_up(info: &Object<'_>) -> Option<Self> {
        let paid = info.get("isUsingOverage") == Some(true);
        (info.text("status")? == "rejected" && !paid).then(|| {
            let seconds = info.get("resetsAt").map(Duration::from_secs);
            Self(seconds.and_then(|after| SystemTime::UNIX_EPOCH.checked_add(after)))
        })
    }
}

/// A result that is no error.
fn ended(result: &Ending, exit: Exit) -> SessionEnd {
    match (result.reason.as_deref(), result.stop.as_deref()) {
        (_, Some("refusal")) => SessionEnd::Failed("the model refused to go on".into()),
        (Some("hook_stopped"), _) => SessionEnd::Failed("ended by a hook".into()),
        (None | Some("completed"), _) if exit.success() => SessionEnd::Finished,
        (None | Some("completed"), _) => SessionEnd::Failed(format!("{exit} after a result that says success")),
        (Some(reason), _) => SessionEnd::Failed(format!("ended with `{}`", one_line(reason, DETAIL_MAX))),
    }
}

/// A result that is an error.
fn broken(result: &Ending, facts: &Facts) -> Result<SessionEnd, AgentError> {
    let detail = result.detail();
    if let Some(login) = &facts.login_refused {
        // Ended early because of it, the result says no more than that it was interrupted.
        let detail = if result.api.class().is_login() { detail } else { login.to_string() };
        return failure(login, facts, detail);
    }
    match (result.subtype.as_deref(), result.reason.as_deref()) {
        (Some("error_max_turns"), _) | (_, Some("max_turns")) => Ok(SessionEnd::Limit(detail)),
        (Some("error_max_budget_usd"), _) | (_, Some("budget_exhausted")) => Ok(SessionEnd::Limit(detail)),
        (_, Some("prompt_too_long" | "image_error")) => Ok(SessionEnd::Failed(detail)),
        _ if result.aborted() => match &facts.retrying {
            Some(error) => failure(error, facts, error.to_string()),
            None => Ok(unavailable(Trouble::NoResult, "interrupted from outside".into(), None)),
        },
        // Refused before the first turn, such as an unknown session to resume.
        (Some("error_during_execution"), None) if result.turns == Some(0) => {
            Err(refused(detail, "check the settings of the agent"))
        }
        (Some("error_during_execution"), _) => Ok(SessionEnd::Failed(detail)),
        // The shape of a failure of the API.
        (Some("success"), _) | (_, Some("api_error")) => failure(&result.api, facts, detail),
        (subtype, _) if result.api.class().is_unknown() => {
            let subtype = one_line(subtype.unwrap_or("nothing said"), DETAIL_MAX);
            Ok(SessionEnd::Failed(format!("ended with `{subtype}`: {detail}")))
        }
        _ => failure(&result.api, facts, detail),
    }
}

/// No result at all: killed, crashed, or never begun.
fn without_result(facts: &Facts, exit: Exit, stderr: &str) -> Result<SessionEnd, AgentError> {
    let known = facts.login_refused.as_ref().or(facts.failed.as_ref()).or(facts.retrying.as_ref());
    if let Some(error) = known {
        return failure(error, facts, error.to_string());
    }
    if facts.window.is_some() {
        return failure(&ApiError::default(), facts, "usage limit reached".into());
    }
    let stderr = one_line(stderr, DETAIL_MAX);
    if facts.lines == 0 && matches!(exit, Exit::Code(1..)) && !stderr.is_empty() {
        return Err(refused(stderr, "check the settings of the agent"));
    }
    Ok(no_result(exit, &stderr))
}

/// A failure of the API.
fn failure(error: &ApiError, facts: &Facts, detail: String) -> Result<SessionEnd, AgentError> {
    match (error.class(), facts.window) {
        (Class::Login, _) => Err(AgentError::Auth {
            detail,
            advice: "run `claude` once and log in, or set ANTHROPIC_API_KEY or \
                     CLAUDE_CODE_OAUTH_TOKEN where ralph runs"
                .into(),
        }),
        (Class::Refused(advice), _) => Err(refused(detail, advice)),
        (Class::Request, _) => Ok(SessionEnd::Failed(detail)),
        (Class::Trouble(Trouble::UsageWindow | Trouble::RateLimit) | Class::Unknown, Some(Window(until))) => {
            Ok(unavailable(Trouble::UsageWindow, detail, until))
        }
        (Class::Trouble(trouble), _) => Ok(unavailable(trouble, detail, None)),
        // An error of the API of an unknown kind is more likely the provider's than the item's.
        (Class::Unknown, None) => Ok(unavailable(Trouble::Overload, detail, None)),
    }
}
