//! The change policies.

mod dependencies;
mod paths;
mod protected;
pub(crate) mod support;
mod tamper;
