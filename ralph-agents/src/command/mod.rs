//! Any command as an agent, and the few lines of JSON by which it can say more.
//!
//! [`CommandAgent`] runs a command with the prompt on its stdin, in the workspace. That is all there has to be: exit code 0
//! is a session that finished, and the end of stdout its final message. `docs/agents-in-any-language.md` shows how an
//! agent is written.
//!
//! # The protocol
//!
//! An agent whose **first** line on stdout is an object with the key `ralph`, the version of the protocol, says that each
//! line after it is an event: `{"ralph": 1}`. Another version ends the session as [`AgentError::Refused`]. Without such a
//! first line nothing that it prints has a meaning.
//!
//! | event | fields |
//! | --- | --- |
//! | `say` | `text`, for whoever watches |
//! | `usage` | `cost_usd`, a number or a decimal in quotes; `tokens`: `input`, `output`, `cache_read`, `cache_write`, which do not overlap. Totals of this session so far, without what a resumed one had used before |
//! | `session` | `id`, under which it can be resumed |
//! | `compaction` | none |
//! | `trouble` | `trouble`: `rate_limit`, `overload`, `usage_window` or `network`; `detail`; `until`, in seconds since the Unix epoch |
//! | `auth`, `refused` | `detail`, `advice`: the login is refused; it cannot be used as configured |
//! | `result` | `status`: `ok` or `failed`; `said`, the final message; `structured`, any JSON |
//!
//! The type is in the field `type`, and all other fields can be left out. A line that is no object is shown to whoever
//! watches; an event of an unknown type, an unknown field, or one of another kind than expected is passed over, and so is
//! a line of more than 2 MiB.
//!
//! # Which field decides what
//!
//! The last of `trouble`, `auth`, `refused` and `result` decides; texts never do.
//!
//! | what is seen | outcome |
//! | --- | --- |
//! | the run was cancelled | [`SessionEnd::Cancelled`] |
//! | `trouble` | [`SessionEnd::Unavailable`], also where a limit of ours ended it; one of an unknown kind is [`Trouble::Overload`] |
//! | `auth`, `refused`; no cost and no tokens above zero in `usage` | [`AgentError::Auth`], [`AgentError::Refused`] |
//! | `auth`, `refused` otherwise | [`SessionEnd::Unusable`] |
//! | a limit of ours ended it | [`SessionEnd::Limit`] |
//! | `result`, `status` is `ok`, exit code 0 | [`SessionEnd::Finished`] |
//! | `result`, `status` is `ok`, another exit | [`SessionEnd::Failed`] |
//! | `result`, any other `status`, or none | [`SessionEnd::Failed`] with `said` |
//! | none of these, exit code 0 or a signal | [`Trouble::NoResult`]: it was promised, and got lost |
//! | none of these, another exit code | [`SessionEnd::Failed`] with the end of stderr: it crashed |
//! | `said` of the result, else the last `say` | [`SessionReport::said`](ralph_core::SessionReport::said) |
//! | the last `cost_usd` and the last `tokens` that can be read | [`SessionReport::usage`](ralph_core::SessionReport::usage); unknown without |
//! | the last `id`; the number of `compaction`s | [`SessionReport::session_id`](ralph_core::SessionReport::session_id), [`SessionReport::compactions`](ralph_core::SessionReport::compactions) |
//!
//! # What the agent is told
//!
//! The prompt on stdin, and in its environment what [`Brief::env`](ralph_core::Brief::env) has, [`Brief::tier`] as
//! `RALPH_TIER` (`low`, `standard`, `high`), and where they are set, the session to resume as `RALPH_RESUME`,
//! [`Brief::cost_limit`] as `RALPH_COST_LIMIT_USD` (such as `1.50`), [`Brief::schema`] as `RALPH_SCHEMA`.

#[cfg(doc)]
use ralph_core::{AgentError, Brief, SessionEnd, Trouble};

mod backend;
mod protocol;

pub use backend::CommandAgent;
