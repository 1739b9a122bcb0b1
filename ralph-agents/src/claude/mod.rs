//! Claude Code, run headless.
//!
//! [`ClaudeCode`] is the backend; [`Transcript`] reads what it prints, live or recorded.
//!
//! # How an ending is read
//!
//! Claude Code prints one JSON object a line and a `result` at the end of each turn. Exit code 0 and
//! `"subtype":"success"` do not mean that it went well, and a result can be missing altogether. What decides is, in this
//! order, and by these fields only; texts, which an agent may have written, are for people:
//!
//! | what is seen | outcome |
//! | --- | --- |
//! | no result; `system/api_retry` with `error_status` 401 or 403 | [`AgentError::Auth`] |
//! | no result; an error event or a retry as the last word, a usage window used up | as for these below |
//! | no result, nothing at all on stdout, exit code other than 0, a complaint on stderr (a flag, a session id, a settings file, an empty or too large prompt) | [`AgentError::Refused`] |
//! | no result otherwise, whatever the exit (SIGTERM, SIGHUP, SIGKILL, output lost) | [`Trouble::NoResult`] |
//! | **last** result with `is_error` false and `subtype` `success`: | |
//! | `stop_reason` `refusal` | [`SessionEnd::Failed`] |
//! | `terminal_reason` `completed` or none, exit code 0 | [`SessionEnd::Finished`] |
//! | `terminal_reason` `hook_stopped` or an unknown one; another exit code | [`SessionEnd::Failed`]: what it left is judged all the same |
//! | **last** result with `is_error` true, or another `subtype`: | |
//! | `api_retry` with 401 or 403 since the model last answered | [`AgentError::Auth`] |
//! | `subtype` `error_max_turns`, `error_max_budget_usd` | [`SessionEnd::Limit`]: the limit was set by the caller |
//! | `terminal_reason` `prompt_too_long`, `image_error` | [`SessionEnd::Failed`]: the item's own doing |
//! | `terminal_reason` `aborted_tools`, `aborted_streaming` (SIGINT) | a retry as the last word before it: as for these below; else [`Trouble::NoResult`] |
//! | `subtype` `error_during_execution`, `num_turns` 0 (a session to resume that is not there) | [`AgentError::Refused`] |
//! | `subtype` `error_during_execution` | [`SessionEnd::Failed`] |
//! | `error` `authentication_failed`, or status 401, 403 | [`AgentError::Auth`] |
//! | `error` `billing_error`, `model_not_found`, or status 402, 404 | [`AgentError::Refused`] |
//! | `api_error` `usage_limit_reached`; a rate limit while the last `rate_limit_event` is `rejected` | [`Trouble::UsageWindow`] until its `resetsAt` (seconds since the epoch) |
//! | `error` `rate_limit`, or status 429 | [`Trouble::RateLimit`] |
//! | `api_error` `connection_failed`; `error` `server_error` or `unknown` without a status (time-outs) | [`Trouble::Network`] |
//! | status 500 and above (529 is overload), 408, 409, 425; `error` `server_error`, `overloaded` | [`Trouble::Overload`] |
//! | `max_output_tokens`, `invalid_request`, any other status from 400 | [`SessionEnd::Failed`] |
//! | `subtype` other than `success`, without any of these | [`SessionEnd::Failed`] |
//! | `subtype` `success` or `terminal_reason` `api_error`, without any of these | [`Trouble::Overload`]: more likely the provider's fault than the item's |
//!
//! Where Ralph itself ended the session, the outcome is [`SessionEnd::Cancelled`] or [`SessionEnd::Limit`] instead, save
//! for a refused login, which is what it was ended for, and for a limit that was reached while Claude Code was waiting
//! for its provider: that stays the provider's trouble.
//!
//! `error`, `api_error` and the status come from the result and from the last event with `is_api_error_message` before
//! it. A rate limit states no time of its own in the stream, so only a usage window has one.
//!
//! Cost is `total_cost_usd` and tokens are the sum of `modelUsage` of the last result: totals of the session, subagents
//! included. The usage that `assistant` events carry is that of the beginning of a reply, repeated; it is never added
//! up.
//!
//! Format: as printed by Claude Code 2.1.332 (December 2026), recorded in `tests/transcripts/claude/`.

#[cfg(doc)]
use ralph_core::{AgentError, SessionEnd, Trouble};

mod backend;
mod outcome;
mod stream;

pub use backend::ClaudeCode;
pub use stream::Transcript;
