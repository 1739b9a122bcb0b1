//! The real agents: their unchanged programs, `ralph run`, git and verifiers, and a model that follows a script.
//!
//! Opt-in, since it takes npm, 800 MB and a minute:
//!
//! ```sh
//! RALPH_REAL_CLIS=1 cargo test -p ralph-cli --test main real:: -- --ignored
//! ```
//!
//! The programs are installed once, at a version that `install.rs` names, below the target folder or in
//! `RALPH_REAL_CLIS_DIR`. Each test runs in a network with loopback alone and a home of its own, with keys that are none.

mod agents;
mod install;
mod model;
mod offline;

mod fresh;
mod hooks;
mod outages;
mod permissions;
mod review;
mod three_items;
