//! Codex, run headless.
//!
//! [`Codex`] is the backend; [`Transcript`] reads what it prints, live or recorded.
//!
//! # How an ending is read
//!
//! Codex prints one JSON object a line: what the model says and does as *items*, and the end of the turn. It has neither
//! codes nor kinds of errors: what went wrong is said by the **message of its own `error` and `turn.failed` events**, and
//! that text alone is looked at, by how it *begins*, for what follows may quote anybody. The words of items (`agent_message`,
//! the output of commands, warnings of type `error`) decide nothing; neither does stderr, which has complaints in good
//! sessions too.
//!
//! | what is seen | outcome |
//! | --- | --- |
//! | `turn.completed`, exit code 0 | [`SessionEnd::Finished`] |
//! | `turn.completed`, another exit | [`SessionEnd::Failed`]: what it left is judged all the same |
//! | `turn.failed`, or no end of a turn after an `error` as the last word of the provider; its message is, without `Reconnecting... 1/5 (…)` around it: | |
//! | `unexpected status N …`, `exceeded retry limit, last status: N …` | as for the status N, below |
//! | `Missing environment variable: …`, `Your access token could not be refreshed`* | [`AgentError::Auth`] |
//! | `Quota exceeded.`, `Your workspace is out of credits`*, `You hit your spend cap`*, `To use Codex with your ChatGPT plan`* | [`AgentError::Refused`] |
//! | ``The model `x` does not exist or you do not have access to it``, `The 'x' model is not supported when using Codex`* | [`AgentError::Refused`] |
//! | `You've hit your usage limit` | [`Trouble::UsageWindow`], until the time at its end where that is certain |
//! | `rate limit exceeded: …` | [`Trouble::RateLimit`] |
//! | `We're currently experiencing high demand`, `Selected model is at capacity` | [`Trouble::Overload`] |
//! | `stream disconnected before completion`, `Connection failed: …`, `request timed out`*, `Error while reading the server response`* | [`Trouble::Network`] |
//! | `Codex ran out of room` (in the context window), `Incomplete response returned` (at the limit of output) | [`SessionEnd::Failed`]: the item's own doing |
//! | a JSON object, the body of a refused request: by `error.code` `invalid_api_key`, `insufficient_quota`, `model_not_found`, else by its `status`, else | [`SessionEnd::Failed`] |
//! | anything else | [`Trouble::Network`] where it is tried again, else [`Trouble::Overload`]: more likely the provider's fault than the item's |
//! | status 401, 403 | [`AgentError::Auth`] |
//! | status 402, 404 | [`AgentError::Refused`] |
//! | status 429 | [`Trouble::RateLimit`] |
//! | status 500 and above, 408, 409, 425 | [`Trouble::Overload`] |
//! | any other status from 400 | [`SessionEnd::Failed`] |
//! | no turn begun, exit code other than 0, a complaint on stderr (a flag, a thread to resume, a settings file, an empty or too large prompt) | [`AgentError::Refused`] |
//! | otherwise, whatever the exit (signals, output lost) | [`Trouble::NoResult`] |
//!
//! The messages with an asterisk are those of its source; all others are recorded.
//!
//! An error that Codex recovers from is over once the model answers again. Where Ralph itself ended the session, the
//! outcome is [`SessionEnd::Cancelled`] or [`SessionEnd::Limit`] instead, save for a refused login and for a provider that
//! it does not reach, which is what it was ended for ([`Codex::patience`]: it would try for ever when the network is gone),
//! and for a limit that was reached while Codex was waiting for its provider: that stays the provider's trouble.
//!
//! The time at the end of a usage limit is a local one, without a day where that is today. [`Transcript`] does not know
//! what day it is; [`Codex`] does, and says when it is over, unless the clock shows that time twice or it has passed.
//!
//! Tokens are those of `turn.completed`, a total of the thread without its subagents; a turn that failed reports none. Its
//! `input_tokens` contain what came from a cache, which is taken off; `output_tokens` contain the reasoning. There is no
//! cost. Compactions are not shown, and most tool calls that were not permitted leave no trace; those with the status
//! `declined` are counted.
//!
//! Format: as printed by Codex 0.171.0 (December 2026), recorded in `tests/transcripts/codex/`.

#[cfg(doc)]
use ralph_core::{AgentError, SessionEnd, Trouble};

mod backend;
mod failure;
mod outcome;
mod reset;
mod stream;

pub use backend::Codex;
pub use stream::Transcript;
