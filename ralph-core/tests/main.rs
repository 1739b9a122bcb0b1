//! The integration tests of the core, in one binary.

mod conformance {
    mod journal;
    mod plan_source;
    mod vcs;
}
mod engine;
mod laws;
mod ledger {
    mod decisions;
    mod journal;
    mod logs;
    mod prd_cases;
    mod story;
    mod summary;
}
