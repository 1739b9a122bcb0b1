//! The integration tests of the core, in one binary.

// Marked as tests, so that clippy takes their helpers for such.
#[cfg(test)]
mod conformance {
    mod journal;
    mod plan_source;
    mod vcs;
}
#[cfg(test)]
mod engine;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod ledger {
    mod decisions;
    mod journal;
    mod logs;
    mod master_plan;
    mod prd_cases;
    mod story;
    mod summary;
}
