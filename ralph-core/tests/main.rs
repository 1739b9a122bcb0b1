//! The integration tests of the core, in one binary.

// Marked as tests, so that clippy takes their helpers for such.
#[cfg(test)]
mod conformance {
    mod decision;
    mod gate;
    mod journal;
    mod plan_source;
    mod rebase;
    mod vcs;
}
#[cfg(test)]
mod engine;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod ledger {
    mod answers;
    mod at_once;
    mod baseline;
    mod decisions;
    pub(crate) mod forgeries;
    mod forgery;
    mod journal;
    mod logs;
    mod master_plan;
    mod prd_cases;
    mod registry;
    mod story;
    mod summary;
}
