//! Programs that embed Ralph; see `examples/`. Here is what is too much for one of them.

/// The README's program is one of them.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// And so is the policy of the page about them.
#[cfg(doctest)]
#[doc = include_str!("../../docs/policies.md")]
pub struct Policies;

pub mod web_decisions;
