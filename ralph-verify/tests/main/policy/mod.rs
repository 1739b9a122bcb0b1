//! The change policies.

mod dependencies;
mod paths;
mod protected;
mod support;
mod tamper;
