//! Tests of `ralph-core` from the outside, in one program.

#[cfg(test)]
#[cfg(feature = "ledger")]
mod ledger {
    mod journal;
    mod prd_cases;
}
