//! Programs that embed Ralph; see `examples/`. Here is what is too much for one of them.

/// The README's program is one of them.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

pub mod web_decisions;
