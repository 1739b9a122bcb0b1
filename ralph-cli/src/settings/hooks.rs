//! What binds sessions that are looked after by hooks.

use std::time::Duration;

use ralph_agents::spawn::Limits;
use serde::Deserialize;

use super::duration;

/// How many agents one session may start, over all levels below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Spawn {
    total: u32,
    children: u32,
    depth: Option<u32>,
}

impl Default for Spawn {
    fn default() -> Self {
        Self { total: 12, children: 5, depth: None }
    }
}

impl Spawn {
    /// The same in the budget's words.
    pub(crate) fn limits(self) -> Limits {
        Limits { total: self.total, children: Some(self.children), depth: self.depth }
    }
}

/// How long a session is kept from ending.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Hook {
    /// So often in a row, without a pass in between.
    pub(crate) max_blocks: u32,
    /// So long may all commands take each time.
    #[serde(deserialize_with = "duration::deserialize")]
    pub(crate) timeout: Duration,
}

impl Default for Hook {
    fn default() -> Self {
        // Claude Code lets go after a few in a row by itself, and gives a hook 10 minutes where `init` has set it up.
        Self { max_blocks: 8, timeout: Duration::from_secs(9 * 60) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_has_the_same_defaults() {
        assert_eq!(Spawn::default().limits(), Limits::default());
    }
}
