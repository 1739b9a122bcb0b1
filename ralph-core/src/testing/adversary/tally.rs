//! What happened in simulated runs, counted.

use std::{collections::BTreeMap, fmt};

/// How often what happened, by group. A figure whose count is zero says nothing, so a reader looks for those first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<&'static str, BTreeMap<String, u64>>);

impl Tally {
    /// How often `what` of `group` happened.
    pub fn count(&self, group: &str, what: &str) -> u64 {
        self.0.get(group).and_then(|counts| counts.get(what)).copied().unwrap_or(0)
    }

    /// What a group counted.
    pub fn group(&self, group: &str) -> impl Iterator<Item = (&str, u64)> {
        self.0.get(group).into_iter().flatten().map(|(what, count)| (what.as_str(), *count))
    }

    /// How much happened in a group.
    pub fn total(&self, group: &str) -> u64 {
        self.group(group).map(|(_, count)| count).sum()
    }

    /// Adds what another one counted.
    pub fn add(&mut self, other: &Self) {
        for (group, counts) in &other.0 {
            let mine = self.0.entry(group).or_default();
            for (what, count) in counts {
                *mine.entry(what.clone()).or_default() += count;
            }
        }
    }

    pub(super) fn saw(&mut self, group: &'static str, what: impl Into<String>) {
        *self.0.entry(group).or_default().entry(what.into()).or_default() += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (group, counts) in &self.0 {
            writeln!(f, "{group}: {}", counts.values().sum::<u64>())?;
            for (what, count) in counts {
                writeln!(f, "  {count:>9}  {what}")?;
            }
        }
        Ok(())
    }
}
