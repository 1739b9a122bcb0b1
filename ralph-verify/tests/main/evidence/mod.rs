//! Test evidence.

mod file;
mod recorded;
mod rule;
