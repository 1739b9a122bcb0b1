//! The laws: over random facts, over simulated runs with crashes, and seen to fail.

mod adversary;
mod crashes;
mod in_between;
mod loops;
mod random;
mod saboteurs;
