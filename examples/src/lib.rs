//! Programs that embed Ralph; see `examples/`.

/// The README's program is one of them.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
