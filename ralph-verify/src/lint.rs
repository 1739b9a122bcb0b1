//! What is doubtful about a plan before anything runs: commands that cannot fail, criteria that nobody can check, and
//! items that are really decisions.
//!
//! All of it reads text and guesses: findings are advice and no verdict.
//!
//! ```
//! use ralph_verify::lint::{LintKind, lint_command};
//!
//! assert!(lint_command("cargo test --workspace").is_empty());
//! let found = lint_command("cargo test || true");
//! assert_eq!(found[0].kind, LintKind::CannotFail);
//! ```

mod shell;
mod words;

use ralph_core::{DecisionKind, Item};

pub use self::shell::lint_command;

/// Something doubtful.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lint {
    /// What it is about.
    pub kind: LintKind,
    /// One line for people: what, and what to do.
    pub text: String,
}

impl Lint {
    fn new(kind: LintKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

/// What a [`Lint`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LintKind {
    /// A verify command that passes whatever the work is.
    CannotFail,
    /// A verify command whose real outcome is lost on the way.
    HidesExit,
    /// A verify command that also passes where there is nothing to test.
    PassesOnNothing,
    /// A criterion without quantity or quality.
    Vague,
    /// A criterion that only a person can judge.
    ForPeople,
    /// An item that looks like something that a person has to decide.
    Decision(DecisionKind),
}

impl LintKind {
    /// Its name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            Self::CannotFail => "cannot-fail",
            Self::HidesExit => "hides-exit",
            Self::PassesOnNothing => "passes-on-nothing",
            Self::Vague => "vague",
            Self::ForPeople => "for-people",
            Self::Decision(_) => "decision",
        }
    }
}

/// What is doubtful about an item: its own commands, its criteria (its title, where it has none), and whether it is
/// a decision. An item on which a person decided already is not taken for one.
///
/// ```
/// use ralph_core::Item;
/// use ralph_verify::lint::{LintKind, lint_item};
///
/// let mut item = Item::new("R01", "Polish the start page");
/// item.criteria = vec!["the page looks good".to_owned()];
/// assert_eq!(lint_item(&item)[0].kind, LintKind::ForPeople);
/// ```
pub fn lint_item(item: &Item) -> Vec<Lint> {
    let mut found: Vec<Lint> = item.verify.iter().flat_map(|command| lint_command(command)).collect();
    let title = std::slice::from_ref(&item.title);
    let criteria = if item.criteria.is_empty() { title } else { &item.criteria };
    found.extend(criteria.iter().filter_map(|text| lint_criterion(text)));
    if item.decisions.is_empty() {
        found.extend(title.iter().chain(&item.criteria).find_map(|text| decision(text)));
    }
    found
}

/// What is doubtful about one criterion.
pub fn lint_criterion(text: &str) -> Option<Lint> {
    if let Some(word) = words::find(text, words::FOR_PEOPLE) {
        let advice = "only a person can judge that; say what a command can see, or make it a decision";
        return Some(Lint::new(LintKind::ForPeople, format!("`{word}`: {advice}")));
    }
    if words::has_measure(text) {
        return None;
    }
    let word = words::find(text, words::VAGUE)?;
    let advice = "says neither how much nor what must hold; name numbers, inputs or results";
    Some(Lint::new(LintKind::Vague, format!("`{word}` {advice}")))
}

fn decision(text: &str) -> Option<Lint> {
    let (kind, word) =
        words::DECISIONS.iter().find_map(|(kind, words)| words::find(text, words).map(|word| (*kind, word)))?;
    let what = match kind {
        DecisionKind::Database => "a change of a database schema",
        DecisionKind::Security => "a matter of security",
        DecisionKind::Dependency => "a new dependency",
        DecisionKind::PublicApi => "a change of the public API",
        _ => "a question of architecture",
    };
    let advice = "decide it first and write the decision below the item, or expect it to wait for you";
    Some(Lint::new(LintKind::Decision(kind), format!("`{word}` looks like {what}: {advice}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria() {
        use LintKind::{ForPeople, Vague};
        for (text, expected) in [
            ("write tests that pass", Some(Vague)),
            ("All tests pass.", Some(Vague)),
            ("It works as expected", Some(Vague)),
            ("handles errors", Some(Vague)),
            ("the code follows best-practices", Some(Vague)),
            ("all 12 tests of the parser pass", None),
            ("`cargo test parser` passes, and all tests pass", None),
            ("the error is \"no such file\" where it works not", None),
            ("no request leaves for an analytics host in the built site", None),
            ("The page looks good", Some(ForPeople)),
            ("the 3 buttons are intuitive", Some(ForPeople)),
            ("looks up the good ones", None),
            ("networks are listed", None),
            ("", None),
        ] {
            assert_eq!(lint_criterion(text).map(|lint| lint.kind), expected, "{text}");
        }
    }

    #[test]
    fn items() {
        use DecisionKind::{Choice, Database, Dependency, PublicApi, Security};
        for (title, expected) in [
            ("Add OAuth login", Some(Security)),
            ("Add a migration for orders", Some(Database)),
            ("Introduce a new dependency for dates", Some(Dependency)),
            ("Remove the deprecated public API", Some(PublicApi)),
            ("Choose a queue", Some(Choice)),
            ("Greet a customer by name", None),
            ("Rename the function `encrypt`", None),
        ] {
            let found = lint_item(&Item::new("R01", title));
            let expected: Vec<_> = expected.into_iter().map(LintKind::Decision).collect();
            assert_eq!(found.iter().map(|lint| lint.kind).collect::<Vec<_>>(), expected, "{title}");
        }
        let mut decided = Item::new("R01", "Choose a queue");
        decided.decisions = vec!["D-001 (lead, 2026-05-18): none".to_owned()];
        assert_eq!(lint_item(&decided), []);
    }

    #[test]
    fn an_item_is_looked_at_as_a_whole() {
        let mut item = Item::new("R01", "Encrypt the backups");
        item.criteria = vec!["works".to_owned(), "looks nice".to_owned()];
        item.verify = vec!["true".to_owned(), "cargo test".to_owned()];
        let kinds: Vec<_> = lint_item(&item).into_iter().map(|lint| lint.kind.name()).collect();
        assert_eq!(kinds, ["cannot-fail", "vague", "for-people", "decision"]);
    }
}
