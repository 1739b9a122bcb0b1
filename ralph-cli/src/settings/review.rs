//! `[review]` and `[cleanup]`: what stands between the second pass and the branch.

use serde::Deserialize;

use super::agent::Other;

#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Review {
    pub(crate) enabled: bool,
    pub(crate) role: Role,
    /// Another agent than the one that works.
    pub(crate) agent: Option<Other>,
    /// Paths whose change deserves the strongest model.
    pub(crate) thorough: Vec<String>,
}

impl Default for Review {
    fn default() -> Self {
        Self { enabled: false, role: Role::Architect, agent: None, thorough: vec!["default".to_owned()] }
    }
}

/// From which side a reviewer looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    Architect,
    Critic,
}

impl Role {
    /// As it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Architect => "architect",
            Self::Critic => "critic",
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Cleanup {
    pub(crate) enabled: bool,
    /// Another agent than the one that works.
    pub(crate) agent: Option<Other>,
}
