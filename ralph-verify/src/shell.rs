//! How the commands of a plan are run.

use std::{collections::BTreeSet, ffi::OsString, time::Duration};

use ralph_process::env;

/// How the commands of a plan are run: environment, limits, what their exits mean.
///
/// Each command is a shell line (`sh -c`) in the target's folder. It reads nothing on stdin. It sees the variables of
/// [`env::ALLOWED`], those that the operator names here, [`env::NO_PROMPTS`] and
/// [`Target::env`](ralph_core::Target::env): no keys of agents, unless somebody names one.
///
/// ```
/// use std::time::Duration;
/// use ralph_verify::Shell;
///
/// let shell = Shell::new()
///     .inherit(["DATABASE_URL"])
///     .env("CARGO_TERM_COLOR", "never")
///     .time_limit(Duration::from_secs(300))
///     .broken_exits([3]);
/// ```
#[derive(Clone, Debug)]
pub struct Shell {
    inherit: Vec<String>,
    env: Vec<(String, String)>,
    pub(crate) time_limit: Duration,
    pub(crate) grace: Duration,
    pub(crate) output_bytes: u64,
    pub(crate) broken_exits: BTreeSet<i32>,
}

impl Default for Shell {
    fn default() -> Self {
        Self {
            inherit: Vec::new(),
            env: Vec::new(),
            time_limit: Duration::from_secs(15 * 60),
            grace: Duration::from_secs(2),
            output_bytes: 256 << 20,
            broken_exits: BTreeSet::new(),
        }
    }
}

impl Shell {
    /// The defaults: 15 minutes, 256 MiB of output, no further variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, with these variables of our own environment handed on too. A name may end in `*`.
    #[must_use]
    pub fn inherit(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.inherit.extend(names.into_iter().map(Into::into));
        self
    }

    /// The same, with a variable set.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The same, with this time for all commands together. The call's own limit
    /// ([`Cx::time_limit`](ralph_core::Cx::time_limit)) binds too.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// The same, with this time between being asked to end and being killed.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// The same, with at most so many bytes of output for each command. One that prints more is ended, and is broken.
    #[must_use]
    pub fn output_bytes(mut self, bytes: u64) -> Self {
        self.output_bytes = bytes;
        self
    }

    /// The same, with exit codes that say "could not judge" rather than "not good". Code 0 always passes.
    #[must_use]
    pub fn broken_exits(mut self, codes: impl IntoIterator<Item = i32>) -> Self {
        self.broken_exits.extend(codes);
        self
    }

    /// The environment of a command, apart from what the target adds.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut vars = env::inherited(&self.inherit);
        vars.extend(env::NO_PROMPTS.iter().map(|(name, value)| (name.into(), value.into())));
        vars.extend(self.env.iter().map(|(name, value)| (name.into(), value.into())));
        vars
    }
}
