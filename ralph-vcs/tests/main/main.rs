//! `GitVcs` over real git, in temporary repositories.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod agent;
mod changes;
mod cleaning;
mod conformance;
mod cost;
mod deception;
mod features;
mod findings;
mod history;
mod hostile;
mod ledger_commit;
mod publish;
mod rebase;
mod refusals;
mod repositories;
mod support;
