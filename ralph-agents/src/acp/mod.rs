//! Any agent that speaks the Agent Client Protocol over its stdin and stdout.
//!
//! [`Acp`] is the backend; [`Client`] is our side of the conversation, live or replayed.
//!
//! # The conversation
//!
//! JSON-RPC 2.0, one object a line, protocol version 1. We say `initialize` (offering neither files nor terminals: the
//! agent has its own), `session/new`, `session/set_mode` and `session/set_config_option` where a mode or model is
//! wanted, then `session/prompt`, whose answer is the end. Updates are read on the way, `session/request_permission` is
//! answered, any other request of the agent's is refused with -32601, any other notification passed over.
//!
//! [`Permissions::All`] chooses the mode that approves everything, where the agent offers one that is known here
//! (`bypassPermissions`, `agent-full-access`, `full-access`, `yolo`), and allows what it asks for all the same.
//! [`Permissions::Edits`] allows what touches files (`edit`, `delete`, `move`, `read`, `search`) or nothing (`think`), by the
//! tool call's `kind`; `execute`, `fetch` and what has no kind are rejected. It leaves the mode to the agent, which asks for
//! nothing that its own mode lets it do: name a stricter one ([`Acp::mode`]: `acceptEdits`, `autoEdit`) where that matters.
//! The answer is an option of the *kind* `allow_once` or `reject_once`, so that nothing is remembered beyond the session
//! (`allow_always` only under `All`, where there is no other); where no option fits, it is `cancelled`.
//!
//! To end a session early, or at a limit, it is told `session/cancel`, and killed where it has not answered the prompt
//! within the grace time. After the answer its input is closed, and one that stays all the same is ended: that is no
//! failure.
//!
//! # How an ending is read
//!
//! What decides is, in this order, and by these fields only; texts, which an agent may have written, are for people:
//!
//! | what is seen | outcome |
//! | --- | --- |
//! | `initialize` answered with another `protocolVersion` than 1 | [`AgentError::Refused`] |
//! | a mode or model wanted that `session/new` does not offer | [`AgentError::Refused`] |
//! | an error in answer to anything before the prompt | by its class, see below; unknown ones are [`AgentError::Refused`] |
//! | no answer, ended before the prompt with an exit code other than 0 | [`AgentError::Refused`]: it does not speak the protocol, or its settings are wrong |
//! | no answer otherwise, whatever the exit | [`Trouble::NoResult`] |
//! | `stopReason` `end_turn`, and the last `session_info_update` says `_meta.codex.threadStatus.type` `systemError` (codex-acp: an API error that it does not report otherwise) | [`Trouble::NoResult`] |
//! | `stopReason` `end_turn` without a message, a tool call, or a token used | [`Trouble::NoResult`]: no model was there |
//! | `stopReason` `end_turn` otherwise | [`SessionEnd::Finished`] |
//! | `max_turn_requests` | [`SessionEnd::Limit`] |
//! | `max_tokens`, `refusal`, an unknown one | [`SessionEnd::Failed`] |
//! | `cancelled`, not by us, after we rejected a permission (the older codex-acp ends its turn then) | [`SessionEnd::Failed`]: what it left is judged all the same |
//! | `cancelled`, not by us; no `stopReason` | [`Trouble::NoResult`] |
//!
//! The class of an error, by its `code`, `data.errorKind` (claude-agent-acp), `data.codex_error_info` (the older
//! codex-acp), and the HTTP status, which is in `codex_error_info` or is the code itself (Gemini):
//!
//! | error | outcome |
//! | --- | --- |
//! | code -32000, `authentication_failed`, `unauthorized`, status 401, 403 | [`AgentError::Auth`] |
//! | `billing_error`, `model_not_found`, status 402, 404 | [`AgentError::Refused`] |
//! | code -32700, -32600, -32601, -32602 | [`AgentError::Refused`]: it does not understand us |
//! | `usage_limit_exceeded` | [`Trouble::UsageWindow`], without a time |
//! | `rate_limit`, status 429 | [`Trouble::RateLimit`] |
//! | `http_connection_failed`, `response_stream_*` without a status | [`Trouble::Network`] |
//! | `overloaded`, `server_error`, `server_overloaded`, `internal_server_error`, status 408, 409, 425, 500 and above | [`Trouble::Overload`] |
//! | `max_output_tokens`, `invalid_request`, `context_window_exceeded`, `bad_request`, any other status from 400 | [`SessionEnd::Failed`] |
//! | code -32800 | [`Trouble::NoResult`] |
//! | anything else (opencode's errors, `other` of the older codex-acp: they say more in words only) | [`Trouble::Overload`]: more likely the provider's fault than the item's |
//!
//! Where Ralph itself ended the session before the prompt was answered, the outcome is [`SessionEnd::Cancelled`] or
//! [`SessionEnd::Limit`], whatever the agent says to that: Gemini says `end_turn`.
//!
//! `end_turn` is what an agent says, and so is a message without an id of an agent whose messages have ids: whether
//! anything was done is for the verifier.
//!
//! # Usage
//!
//! All of it is optional in the protocol. Cost is `cost` of the last `usage_update`, where that is in `USD`. Tokens are the
//! sum over the models in `_meta.quota` of the prompt's answer, else its `usage`, else the total in `_meta.quota`. Agents
//! count input with or without what came from a cache; their total tells which, and where it does not, the tokens are
//! unknown. Gemini states neither, so that its input includes the cache and its output has no reasoning. opencode's
//! tokens are those of its last step and are left out. A zero is believed only of a turn that came to its end.
//!
//! Source: <https://agentclientprotocol.com/protocol/v1/schema>, and what claude-agent-acp 0.101.0, codex-acp 2.6.0 and
//! (Zed's) 0.16.0, Gemini CLI 0.61.0 and opencode 1.18.33 do (December 2026), recorded in `tests/transcripts/acp-*/`.

#[cfg(doc)]
use ralph_core::{AgentError, SessionEnd, Trouble};

#[cfg(doc)]
use crate::Permissions;

mod backend;
mod client;
mod outcome;
mod permission;
mod update;
mod usage;

pub use backend::Acp;
pub use client::{Client, Task};
