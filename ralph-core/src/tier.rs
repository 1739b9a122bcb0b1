//! How strong a model an item deserves.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::plan::{Item, Phase};

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

/// How items come to their tier: what the item itself says, else the first rule that fits, else its size, else the usual
/// one.
///
/// ```
/// use ralph_core::{Item, Phase, Tier, TierRule, Tiering};
/// let tiering = Tiering { rules: vec![TierRule::new(Tier::High, ["security"])], ..Tiering::default() };
/// let item = Item::new("R01", "Review the security headers");
/// assert_eq!(tiering.of(&Phase::default(), &item, 1), Tier::High);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tiering {
    /// The first that fits counts.
    pub rules: Vec<TierRule>,
    /// Whether an item with at most one criterion is a small one, and one with [`Tiering::MANY`] or more a large one.
    pub by_size: bool,
    /// Whether each further attempt at an item gets the next stronger tier.
    pub step_up: bool,
}

/// Items whose text has one of these words get this tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierRule {
    /// Which they get.
    pub tier: Tier,
    /// Looked for in the item's title and criteria and in the phase's title, as parts of words, in any case.
    pub words: Vec<String>,
}

impl TierRule {
    /// This tier for items with one of these words.
    pub fn new(tier: Tier, words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { tier, words: words.into_iter().map(Into::into).collect() }
    }

    fn fits(&self, phase: &Phase, item: &Item) -> bool {
        let texts = || [&phase.title, &item.title].into_iter().chain(&item.criteria).map(|text| text.to_lowercase());
        let words = self.words.iter().map(|word| word.to_lowercase()).filter(|word| !word.is_empty());
        words.into_iter().any(|word| texts().any(|text| text.contains(&word)))
    }
}

impl Tiering {
    /// From how many criteria on an item is a large one.
    pub const MANY: usize = 6;

    /// The tier of `item` at its `attempt`, counted from 1.
    pub fn of(&self, phase: &Phase, item: &Item, attempt: u32) -> Tier {
        let rule = || self.rules.iter().find(|rule| rule.fits(phase, item)).map(|rule| rule.tier);
        let size = || match item.criteria.len() {
            _ if !self.by_size => None,
            0..=1 => Some(Tier::Low),
            Self::MANY.. => Some(Tier::High),
            _ => None,
        };
        let first = item.tier.or_else(rule).or_else(size).unwrap_or_default();
        let steps = if self.step_up { attempt.saturating_sub(1).min(2) } else { 0 };
        (0..steps).fold(first, |tier, _| tier.up())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_a_rule_or_the_size_says_which() {
        let phase = Phase { title: "Checkout".into(), ..Phase::default() };
        let mut item = Item::new("R01", "Fix the Auth header");
        item.criteria = vec!["one".into(), "two".into()];
        let tiering = Tiering {
            rules: vec![TierRule::new(Tier::High, ["auth", ""]), TierRule::new(Tier::Low, ["header"])],
            by_size: true,
            step_up: true,
        };
        assert_eq!(tiering.of(&phase, &item, 1), Tier::High, "the first rule that fits");
        item.tier = Some(Tier::Low);
        assert_eq!(
            [1, 2, 3, 9].map(|attempt| tiering.of(&phase, &item, attempt)),
            [Tier::Low, Tier::Standard, Tier::High, Tier::High]
        );
        let sized = |count: usize, by_size| {
            let mut item = Item::new("R01", "x");
            item.criteria = vec!["c".into(); count];
            Tiering { by_size, ..Tiering::default() }.of(&phase, &item, 2)
        };
        assert_eq!(
            [0, 1, 2, 5, 6].map(|count| sized(count, true)),
            [Tier::Low, Tier::Low, Tier::Standard, Tier::Standard, Tier::High]
        );
        assert_eq!(sized(9, false), Tier::Standard);
        let by_phase = Tiering { rules: vec![TierRule::new(Tier::High, ["checkout"])], ..Tiering::default() };
        assert_eq!(by_phase.of(&phase, &Item::new("R02", "x"), 1), Tier::High);
    }

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
