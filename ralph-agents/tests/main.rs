//! The backends as their users see them.
#![expect(clippy::unwrap_used, reason = "a test helper that fails fails its test")]

mod acp;
mod acp_client;
mod claude;
mod codex;
mod command;
mod conformance;
mod fake;
mod fake_agent;
mod gemini;
mod opencode;
mod protocol;
mod real;
mod spawn;
mod transcripts;
