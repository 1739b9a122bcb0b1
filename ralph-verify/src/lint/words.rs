//! Word lists. Short on purpose: a finding that is wrong too often is soon not read any more.

use ralph_core::DecisionKind;

/// What says neither how much nor what must hold.
pub(super) const VAGUE: &[&str] = &[
    "write tests",
    "add tests",
    "tests that pass",
    "tests pass",
    "all tests pass",
    "tests are green",
    "good coverage",
    "well tested",
    "works",
    "work correctly",
    "work properly",
    "as expected",
    "correctly implemented",
    "properly implemented",
    "is implemented",
    "is done",
    "handle errors",
    "handles errors",
    "proper error handling",
    "error handling",
    "edge cases are handled",
    "handles edge cases",
    "is robust",
    "is fast",
    "is faster",
    "is clean",
    "clean code",
    "best practices",
    "production ready",
    "as needed",
    "if necessary",
    "where appropriate",
];

/// What no command can see.
pub(super) const FOR_PEOPLE: &[&str] = &[
    "looks good",
    "look good",
    "looks nice",
    "look nice",
    "looks right",
    "looks great",
    "looks professional",
    "looks modern",
    "feels",
    "beautiful",
    "pretty",
    "nicer",
    "elegant",
    "user friendly",
    "intuitive",
    "easy to use",
    "easy to understand",
    "makes sense",
    "pixel perfect",
    "visually appealing",
    "matches the design",
    "is happy",
    "are happy",
    "signs off",
    "sign off",
];

/// What people decide, by kind; the first that is found counts.
pub(super) const DECISIONS: &[(DecisionKind, &[&str])] = &[
    (
        DecisionKind::Security,
        &[
            "authentication",
            "authorization",
            "authorisation",
            "access control",
            "oauth",
            "jwt",
            "password",
            "passwords",
            "password hashing",
            "encrypt",
            "encryption",
            "credentials",
            "secrets",
            "csrf",
            "single sign on",
        ],
    ),
    (
        DecisionKind::Database,
        &[
            "migration",
            "migrations",
            "database schema",
            "db schema",
            "alter table",
            "drop table",
            "drop column",
            "add a column",
            "new table",
            "migrate the database",
        ],
    ),
    (
        DecisionKind::PublicApi,
        &["public api", "breaking change", "breaking changes", "new endpoint", "remove the endpoint", "api version"],
    ),
    (
        DecisionKind::Dependency,
        &[
            "new dependency",
            "new dependencies",
            "add a dependency",
            "add the dependency",
            "dependency on",
            "new library",
            "third party",
            "npm install",
            "pip install",
            "cargo add",
        ],
    ),
    (
        DecisionKind::Choice,
        &[
            "architecture",
            "rearchitect",
            "redesign",
            "choose",
            "decide",
            "evaluate",
            "microservice",
            "microservices",
            "rewrite everything",
            "refactor everything",
        ],
    ),
];

/// The first of `phrases` in `text`, as whole words, code spans apart.
pub(super) fn find(text: &str, phrases: &[&'static str]) -> Option<&'static str> {
    let text = plain(text);
    phrases.iter().copied().find(|phrase| text.contains(&format!(" {phrase} ")))
}

/// Whether something in `text` can be checked: a number, code, a quotation.
pub(super) fn has_measure(text: &str) -> bool {
    text.chars().any(|c| c.is_ascii_digit() || matches!(c, '`' | '"' | '“' | '«'))
}

/// Lower case, one blank between words, before the first and after the last one, without code spans.
fn plain(text: &str) -> String {
    let mut out = String::from(" ");
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 {
            continue;
        }
        for word in part.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            out.push_str(&word.to_lowercase());
            out.push(' ');
        }
    }
    out
}
