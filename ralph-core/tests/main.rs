//! The integration tests of the core, in one binary.

// Marked as tests, so that helpers of tests may unwrap as tests do.
#[cfg(test)]
mod conformance {
    mod journal;
    mod plan_source;
}
#[cfg(test)]
mod laws;
#[cfg(test)]
mod ledger {
    mod decisions;
    mod journal;
    mod logs;
    mod prd_cases;
    mod story;
    mod summary;
}
