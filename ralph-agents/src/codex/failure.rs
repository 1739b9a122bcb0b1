//! What an error message of Codex' own means. The table is in the docs of [`crate::codex`].

use ralph_core::{AgentError, SessionEnd, Trouble};

use crate::{
    cause::Cause,
    codex::reset::Reset,
    json::{Object, one_line},
    outcome::DETAIL_MAX,
};

/// How messages begin that are Codex' own words. What follows may be anybody's.
const BEGINNINGS: &[(&str, Cause)] = &[
    ("Missing environment variable: ", Cause::Login),
    ("Your access token could not be refreshed", Cause::Login),
    ("Quota exceeded.", Cause::CREDIT),
    ("To use Codex with your ChatGPT plan", Cause::CREDIT),
    ("You hit your spend cap", Cause::CREDIT),
    ("Your workspace is out of credits", Cause::CREDIT),
    ("You've hit your usage limit", Cause::Trouble(Trouble::UsageWindow)),
    ("rate limit exceeded: ", Cause::Trouble(Trouble::RateLimit)),
    ("We're currently experiencing high demand", Cause::Trouble(Trouble::Overload)),
    ("Selected model is at capacity", Cause::Trouble(Trouble::Overload)),
    ("Connection failed: ", Cause::Trouble(Trouble::Network)),
    ("Error while reading the server response", Cause::Trouble(Trouble::Network)),
    ("request timed out", Cause::Trouble(Trouble::Network)),
    ("stream disconnected before completion", Cause::Trouble(Trouble::Network)),
    ("Codex ran out of room", Cause::Request),
    ("Incomplete response returned", Cause::Request),
];

/// A failure that Codex reports.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    cause: Cause,
    /// When a usage limit is over, where it says so.
    pub(crate) reset: Option<Reset>,
    /// Whether it is about to try again.
    pub(crate) retried: bool,
    detail: String,
}

impl Failure {
    /// Reads the message of an `error` or a `turn.failed` event: a failure that Codex gave up on, or, as
    /// `Reconnecting... 1/5 (what went wrong)`, one that it is about to retry.
    pub(crate) fn of(message: &str) -> Self {
        // It prints typographic apostrophes.
        let message = message.replace('\u{2019}', "'");
        let retried = message.strip_prefix("Reconnecting... ");
        let text = match retried.and_then(|rest| rest.split_once('(')) {
            Some((_, inner)) => inner.strip_suffix(')').unwrap_or(inner),
            None => retried.unwrap_or(&message),
        };
        let (cause, text) = match Object::read(text) {
            Some(body) => of_body(&body, text),
            None => (of_text(text), text.to_owned()),
        };
        let cause = match cause {
            // It has nothing but the connection to try again.
            Cause::Unknown if retried.is_some() => Cause::Trouble(Trouble::Network),
            cause => cause,
        };
        let window = cause == Cause::Trouble(Trouble::UsageWindow);
        let reset = if window { Reset::of(&text) } else { None };
        Self { cause, reset, retried: retried.is_some(), detail: one_line(&text, DETAIL_MAX) }
    }

    pub(crate) fn is_login(&self) -> bool {
        self.cause == Cause::Login
    }

    /// How a session ends with it.
    pub(crate) fn end(self) -> Result<SessionEnd, AgentError> {
        self.cause
            .end(self.detail, "run `codex login`, or set CODEX_API_KEY or the key of your provider where ralph runs")
    }
}

fn of_text(text: &str) -> Cause {
    let status = ["unexpected status ", "exceeded retry limit, last status: "]
        .iter()
        .find_map(|start| text.strip_prefix(start))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    if let Some(status) = status {
        return Cause::of_status(status);
    }
    if is_no_model(text) {
        return Cause::MODEL;
    }
    BEGINNINGS.iter().find(|(start, _)| text.starts_with(start)).map_or(Cause::Unknown, |(_, cause)| *cause)
}

/// The body of a refused request, which Codex passes on as it is; and what it says to people.
fn of_body(body: &Object<'_>, text: &str) -> (Cause, String) {
    let error = body.object("error");
    let field = |key| error.as_ref().and_then(|error| error.text(key));
    let words = field("message").or_else(|| body.text("detail")).unwrap_or_else(|| text.to_owned());
    let cause = match (field("code").as_deref(), body.get::<u16>("status")) {
        (Some("invalid_api_key"), _) => Cause::Login,
        (Some("insufficient_quota"), _) => Cause::CREDIT,
        (Some("model_not_found"), _) => Cause::MODEL,
        _ if is_no_model(&words) => Cause::MODEL,
        (_, Some(status)) => Cause::of_status(status),
        (_, None) => Cause::Request,
    };
    (cause, words)
}

/// What the two providers of Codex say of a model that the account has not.
fn is_no_model(text: &str) -> bool {
    (text.starts_with("The model `") && text.contains("` does not exist or you do not have access to it"))
        || (text.starts_with("The ") && text.contains(" model is not supported when using Codex"))
}
