//! The integration tests of the core, in one binary.

mod laws;
#[cfg(test)]
#[cfg(feature = "ledger")]
mod ledger {
    mod prd_cases;
}
