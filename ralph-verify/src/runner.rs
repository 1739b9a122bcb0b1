//! What is known of test runners: by which words of a command they are recognised, and codes that say "could not run".
//!
//! A wrong guess does little harm: a verifier that seems broken on a candidate is asked about the base before anything is
//! made of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A test runner, or another source of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Runner {
    /// `cargo test`, and whatever prints like libtest.
    Cargo,
    /// `cargo nextest run`.
    Nextest,
    /// pytest.
    Pytest,
    /// `python -m unittest`, and what is built on it.
    Unittest,
    /// `node --test`.
    Node,
    /// jest.
    Jest,
    /// vitest.
    Vitest,
    /// `go test -v` and `go test -json`.
    Go,
    /// A report in the XML format of JUnit.
    Junit,
    /// What a command wrote into the file that `RALPH_EVIDENCE` names.
    File,
}

impl fmt::Display for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cargo => "cargo test",
            Self::Nextest => "nextest",
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::Node => "node --test",
            Self::Jest => "jest",
            Self::Vitest => "vitest",
            Self::Go => "go test",
            Self::Junit => "JUnit report",
            Self::File => "evidence file",
        })
    }
}

/// The runners that a shell line names, each once.
pub(crate) fn runners(command: &str) -> Vec<Runner> {
    let words: Vec<&str> = command
        .split(|c: char| c.is_whitespace() || ";&|()'\"`".contains(c))
        .filter(|word| !word.is_empty())
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .collect();
    let mut found = Vec::new();
    for (i, word) in words.iter().enumerate() {
        // The subcommand is the next word that is no option and names no toolchain.
        let subcommand = words[i + 1..].iter().find(|next| !next.starts_with(['-', '+']));
        let runner = match (*word, subcommand) {
            ("cargo", Some(&("test" | "t"))) => Runner::Cargo,
            ("cargo", Some(&"nextest")) => Runner::Nextest,
            ("go", Some(&"test")) => Runner::Go,
            ("pytest" | "py.test", _) => Runner::Pytest,
            ("jest", _) => Runner::Jest,
            ("vitest", _) => Runner::Vitest,
            ("unittest", _) if i > 0 && words[i - 1] == "-m" => Runner::Unittest,
            ("node", _) if words[i + 1..].contains(&"--test") => Runner::Node,
            _ => continue,
        };
        if !found.contains(&runner) {
            found.push(runner);
        }
    }
    found
}

impl Runner {
    /// Why this exit code of the runner's is no judgement, if it is none.
    pub(crate) fn could_not_run(self, code: i32) -> Option<&'static str> {
        match (self, code) {
            (Self::Pytest, 2) => Some("pytest was interrupted"),
            (Self::Pytest, 3) => Some("pytest failed internally"),
            (Self::Pytest, 4) => Some("pytest was called wrongly"),
            (Self::Pytest, 5) => Some("pytest found no tests"),
            (Self::Nextest, 4) => Some("nextest found no tests"),
            (Self::Unittest, 5) => Some("unittest found no tests"),
            (
                Self::Cargo
                | Self::Nextest
                | Self::Pytest
                | Self::Unittest
                | Self::Node
                | Self::Jest
                | Self::Vitest
                | Self::Go
                | Self::Junit
                | Self::File,
                _,
            ) => None,
        }
    }

    /// Whether it repeats what another runner has said.
    pub(crate) fn is_report(self) -> bool {
        matches!(self, Self::Junit | Self::File)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_are_recognised_by_words() {
        for (command, expected) in [
            ("cargo test", vec![Runner::Cargo]),
            ("cargo +nightly --locked test -p core", vec![Runner::Cargo]),
            ("cd core && cargo t; .venv/bin/pytest -q", vec![Runner::Cargo, Runner::Pytest]),
            ("uv run python -m pytest", vec![Runner::Pytest]),
            ("cargo nextest run", vec![Runner::Nextest]),
            ("npx jest && ./node_modules/.bin/vitest run", vec![Runner::Jest, Runner::Vitest]),
            ("go test ./...", vec![Runner::Go]),
            ("cargo build --test", vec![]),
            ("python3 -m unittest -v", vec![Runner::Unittest]),
            ("node --experimental-vm-modules --test tests/", vec![Runner::Node]),
            ("node test.js && python unittest.py", vec![]),
            ("go vet", vec![]),
            ("cargo", vec![]),
            ("test -f pytest.ini", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(runners(command), expected, "{command}");
        }
    }
}
