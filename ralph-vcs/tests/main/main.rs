//! `GitVcs` over real git, in temporary repositories.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod conformance;
mod cost;
mod support;
