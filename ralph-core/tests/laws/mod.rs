//! The laws: over random facts, over simulated runs with crashes, and seen to fail.

mod crashes;
mod random;
mod saboteurs;
