//! How strong a model an item deserves.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// How strong a model an item deserves. Which model that is, is said where backends are put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// A small one.
    Low,
    /// The usual one.
    #[default]
    Standard,
    /// The strongest.
    High,
}

impl Tier {
    /// All of them, the weakest first.
    pub const ALL: [Self; 3] = [Self::Low, Self::Standard, Self::High];

    /// The next stronger one; the strongest stays.
    #[must_use]
    pub fn up(self) -> Self {
        match self {
            Self::Low => Self::Standard,
            Self::Standard | Self::High => Self::High,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "low",
            Self::Standard => "standard",
            Self::High => "high",
        })
    }
}

impl FromStr for Tier {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|tier| tier.to_string() == text.trim().to_ascii_lowercase());
        known.ok_or_else(|| format!("`{text}` is no tier; there are low, standard and high"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_read_as_they_print() {
        for tier in Tier::ALL {
            assert_eq!(tier.to_string().parse(), Ok(tier));
        }
        assert_eq!(" High ".parse(), Ok(Tier::High));
        assert!("medium".parse::<Tier>().unwrap_err().contains("medium"));
        assert_eq!(Tier::ALL.map(Tier::up), [Tier::Standard, Tier::High, Tier::High]);
    }
}
