//! What an approval covers, as texts with names, and what changed of it.

use std::{collections::HashMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{
    id::{Digest, ItemRef},
    ledger::master_plan::ReadPlan,
    printable,
};

/// How many changed lines of a text are shown in one line.
const SHOWN_MAX: usize = 4;

/// What an approval covers: named texts in a fixed order. Equal only for equal things.
///
/// ```
/// use ralph_core::ledger::Coverage;
///
/// let old = Coverage::default().with("settings: verify", "make test");
/// let new = Coverage::default().with("settings: verify", "true");
/// let changes = new.changes(&old);
/// assert_eq!(changes[0].to_string(), "settings: verify: `make test` is now `true`");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Coverage(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    name: String,
    text: String,
}

impl Coverage {
    /// What a plan and its PRDs bring: the text of the plan named `name` without its signature, and every `Verify:`,
    /// `Setup:` and `Env-Check:`. The rest of a PRD may change.
    pub fn of(name: &str, read: &ReadPlan) -> Self {
        let mut coverage = Self::default().with(name, read.master.text.trim_end());
        for phase in &read.plan.phases {
            for (key, commands) in [("Verify", &phase.verify), ("Setup", &phase.setup), ("Env-Check", &phase.env_check)]
            {
                coverage = coverage.with(format!("{} {key}", phase.id), commands.join("\n"));
            }
            for item in &phase.items {
                coverage = coverage.with(commands_of(&phase.name(item)), item.verify.join("\n"));
            }
        }
        coverage
    }

    /// With one more text, such as the protected paths of the settings. An empty one is nothing; one whose name is taken
    /// is added to that.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        let (name, text) = (name.into(), text.into());
        if text.is_empty() {
            return self;
        }
        match self.0.iter_mut().find(|part| part.name == name) {
            Some(part) => {
                part.text.push('\n');
                part.text.push_str(&text);
            }
            None => self.0.push(Part { name, text }),
        }
        self
    }

    /// With everything that `other` holds.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        other.0.iter().fold(self, |coverage, part| coverage.with(part.name.as_str(), part.text.as_str()))
    }

    /// The text with this name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|part| part.name == name).map(|part| part.text.as_str())
    }

    /// The names and texts.
    pub fn parts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|part| (part.name.as_str(), part.text.as_str()))
    }

    /// The fingerprint of it all.
    pub fn digest(&self) -> Digest {
        let mut bytes = Vec::new();
        for part in &self.0 {
            // With their lengths, so that nothing can move from one text to the next.
            for text in [&part.name, &part.text] {
                bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
                bytes.extend_from_slice(text.as_bytes());
            }
        }
        Digest::of(&bytes)
    }

    /// The first eight characters of the fingerprint, as they stand in the signature.
    pub fn hash(&self) -> String {
        self.digest().as_str().chars().take(8).collect()
    }

    /// What is different from `old`: in this one's order, what is gone last.
    pub fn changes(&self, old: &Self) -> Vec<CoverageChange> {
        let mut changes = Vec::new();
        for part in &self.0 {
            let before = old.text(&part.name);
            if before != Some(part.text.as_str()) {
                changes.push(CoverageChange {
                    name: part.name.clone(),
                    old: before.map(str::to_owned),
                    new: Some(part.text.clone()),
                });
            }
        }
        for part in old.0.iter().filter(|part| self.text(&part.name).is_none()) {
            changes.push(CoverageChange { name: part.name.clone(), old: Some(part.text.clone()), new: None });
        }
        changes
    }
}

/// One text that changed. Its `Display` is one line for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoverageChange {
    /// The name of the text.
    pub name: String,
    /// What it was; `None`: it is new.
    pub old: Option<String>,
    /// What it is; `None`: it is gone.
    pub new: Option<String>,
}

impl CoverageChange {
    /// The lines that are gone (`- …`) and new (`+ …`), safe for a terminal.
    pub fn lines(&self) -> Vec<String> {
        let (old, new) = (lines(self.old.as_deref()), lines(self.new.as_deref()));
        let gone = without(&old, &new).into_iter().map(|line| format!("- {}", printable(line)));
        let came = without(&new, &old).into_iter().map(|line| format!("+ {}", printable(line)));
        gone.chain(came).collect()
    }
}

impl fmt::Display for CoverageChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", printable(&self.name))?;
        let one_line = |text: &Option<String>| text.as_ref().is_none_or(|text| !text.contains('\n'));
        if one_line(&self.old) && one_line(&self.new) {
            return match (&self.old, &self.new) {
                (Some(old), Some(new)) => write!(f, "`{}` is now `{}`", printable(old), printable(new)),
                (None, Some(new)) => write!(f, "`{}` is new", printable(new)),
                (Some(old), None) => write!(f, "`{}` is gone", printable(old)),
                (None, None) => Ok(()),
            };
        }
        match (&self.old, &self.new) {
            (None, _) => return f.write_str("it is new"),
            (_, None) => return f.write_str("it is gone"),
            (Some(_), Some(_)) => {}
        }
        let lines: Vec<String> = self.lines().into_iter().filter(|line| line.len() > 2).collect();
        let shown = lines.iter().take(SHOWN_MAX).map(|line| format!("{} {}", &line[..1], line[1..].trim()));
        let shown: Vec<String> = shown.collect();
        match lines.len().saturating_sub(SHOWN_MAX) {
            _ if lines.is_empty() => f.write_str("its lines are the same in another order, or with other empty ones"),
            0 => f.write_str(&shown.join(" / ")),
            more => write!(f, "{} / … ({more} more)", shown.join(" / ")),
        }
    }
}

/// The name of an item's own commands.
pub(super) fn commands_of(item: &ItemRef) -> String {
    format!("{item} Verify")
}

fn lines(text: Option<&str>) -> Vec<&str> {
    text.map(|text| text.split('\n').collect()).unwrap_or_default()
}

/// The lines that `other` does not have, or not as often.
fn without<'a>(lines: &[&'a str], other: &[&str]) -> Vec<&'a str> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for line in other {
        *left.entry(line).or_default() += 1;
    }
    let mut rest = Vec::new();
    for line in lines {
        match left.get_mut(line).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => rest.push(*line),
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coverage(parts: &[(&str, &str)]) -> Coverage {
        parts.iter().fold(Coverage::default(), |coverage, (name, text)| coverage.with(*name, *text))
    }

    #[test]
    fn the_digest_is_of_names_texts_and_order() {
        let base = coverage(&[("a", "b"), ("c", "d")]);
        assert_eq!(base.digest(), coverage(&[("a", "b"), ("c", "d")]).digest());
        for other in [
            coverage(&[("a", "bc"), ("c", "d")]),
            coverage(&[("ab", ""), ("c", "d")]),
            coverage(&[("ab", "c"), ("", "d")]),
            coverage(&[("c", "d"), ("a", "b")]),
            coverage(&[("a", "b")]),
            Coverage::default(),
        ] {
            assert_ne!(other.digest(), base.digest(), "{other:?}");
        }
        assert_eq!(base.hash().len(), 8);
        assert_eq!(coverage(&[("a", "b")]).and(&coverage(&[("c", "d"), ("e", "")])), base);
    }

    #[test]
    fn changes_in_words() {
        let old = coverage(&[("plan", "a\nb\nb\nc"), ("P1 Verify", "make"), ("P2 Setup", "x\u{1b}"), ("same", "s")]);
        let new = coverage(&[
            ("plan", "a\nb\nd\nc\ne\nf\ng"),
            ("P1 Verify", "true"),
            ("P1/R1 Verify", "y\nz"),
            ("same", "s"),
        ]);
        let told: Vec<_> = new.changes(&old).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "plan: - b / + d / + e / + f / … (1 more)",
                "P1 Verify: `make` is now `true`",
                "P1/R1 Verify: it is new",
                "P2 Setup: `x\\u{1b}` is gone",
            ]
        );
        let turned = coverage(&[("plan", "b\na")]).changes(&coverage(&[("plan", "a\nb")]));
        assert_eq!(turned[0].to_string(), "plan: its lines are the same in another order, or with other empty ones");
        assert!(new.changes(&new).is_empty());
    }
}
