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

impl Review {
    /// Who reviews, line by line, as a person approves it.
    pub(crate) fn words(&self) -> String {
        if !self.enabled {
            return "off".to_owned();
        }
        let role = match self.role {
            Role::Architect => "architect",
            Role::Critic => "critic",
        };
        let agent = match &self.agent {
            None => "the agent that works".to_owned(),
            Some(Other { backend, command, model }) => {
                let words = [backend.name()].into_iter().chain(command.iter().map(String::as_str));
                words.chain(model.as_deref()).collect::<Vec<_>>().join(" ")
            }
        };
        format!("{role}: {agent}\nthorough: {}", self.thorough.join(", "))
    }
}

/// From which side a reviewer looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    Architect,
    Critic,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Cleanup {
    pub(crate) enabled: bool,
    /// Another agent than the one that works.
    pub(crate) agent: Option<Other>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reviews_is_approved_in_words() {
        assert_eq!(Review::default().words(), "off");
        let review: Review = toml::from_str(
            "enabled = true\nrole = \"critic\"\nagent = { backend = \"command\", command = [\"x\", \"-p\"], model = \"m\" }",
        )
        .unwrap();
        assert_eq!(review.words(), "critic: command x -p m\nthorough: default");
    }
}
