//! Verifiers with real commands.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod checks;
mod clean_status;
mod commands;
mod conformance;
mod evidence;
mod hacks;
mod lint;
mod observe;
mod phases;
mod policy;
mod support;
