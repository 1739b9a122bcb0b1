//! Programs that embed Ralph; see `examples/`. Here is what is too much for one of them.

/// The README's program is one of them.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// And so is the policy of the page about them.
#[cfg(doctest)]
#[doc = include_str!("../../docs/policies.md")]
pub struct Policies;

/// And the verifier of the page about them.
#[cfg(doctest)]
#[doc = include_str!("../../docs/verifiers.md")]
pub struct Verifiers;

/// And the line of the page about agents of one's own.
#[cfg(doctest)]
#[doc = include_str!("../../docs/agents-in-any-language.md")]
pub struct Agents;

pub mod web_decisions;
