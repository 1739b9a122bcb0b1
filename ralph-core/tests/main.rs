//! Tests of `ralph-core` from the outside, in one program.

#[cfg(test)]
#[cfg(feature = "ledger")]
mod ledger {
    mod decisions;
    mod journal;
    mod logs;
    mod prd_cases;
    mod story;
    mod summary;
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod conformance {
    mod journal;
    mod plan_source;
}
