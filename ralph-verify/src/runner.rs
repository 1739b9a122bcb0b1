//! What is known of test runners: codes that say "could not run", and the line that counts tests.
//!
//! A runner is recognised by the words of a command. A wrong guess does little harm: the counts only inform, and a
//! verifier that seems broken on a candidate is asked about the base before anything is made of it.

use crate::text;

/// A test runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    Cargo,
    Nextest,
    Pytest,
    Jest,
    Vitest,
    Go,
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
            (Self::Cargo | Self::Nextest | Self::Pytest | Self::Jest | Self::Vitest | Self::Go, _) => None,
        }
    }

    /// How many tests passed according to a line, where it is one of those in which this runner counts.
    fn passed(self, line: &str) -> Option<u64> {
        let line = line.trim();
        let counts = match self {
            Self::Cargo => line.starts_with("test result: "),
            Self::Nextest => line.starts_with("Summary [") && line.contains(" run: "),
            // `== 3 passed, 1 skipped in 0.12s ==`, or with `-q` the same without the rules.
            Self::Pytest => {
                let line = line.trim_matches(['=', ' ']);
                line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(" in ") && line.ends_with(['s', ')'])
            }
            // `Tests:       1 failed, 5 passed, 6 total`
            Self::Jest => line.starts_with("Tests:") && line.ends_with(" total"),
            // `Tests  1 failed | 5 passed (6)`
            Self::Vitest => line.starts_with("Tests ") && line.ends_with(')'),
            // One line for each test, with `-v` only.
            Self::Go => return line.starts_with("--- PASS: ").then_some(1),
        };
        counts.then(|| number_before(line, " passed").unwrap_or(0))
    }
}

/// The number that stands right before `word`.
fn number_before(line: &str, word: &str) -> Option<u64> {
    let before = &line[..line.find(word)?];
    let digits = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    // The character before the digits may be longer than a byte: then there is no number here.
    before.get(digits..)?.parse().ok()
}

/// Adds up what the runners of one command say, line by line.
#[derive(Debug)]
pub(crate) struct Counter {
    runners: Vec<Runner>,
    passed: Option<u64>,
}

impl Counter {
    pub(crate) fn new(runners: &[Runner]) -> Self {
        Self { runners: runners.to_vec(), passed: None }
    }

    pub(crate) fn line(&mut self, line: &str) {
        // Lines that count are short and say what passed or failed; there may be millions of others.
        if self.runners.is_empty()
            || line.len() > 1000
            || !["passed", "PASS", "failed"].iter().any(|word| line.contains(word))
        {
            return;
        }
        let line = text::harmless(line);
        if let Some(more) = self.runners.iter().find_map(|runner| runner.passed(&line)) {
            self.passed = Some(self.passed.unwrap_or(0).saturating_add(more));
        }
    }

    /// How many tests passed; `None` where no runner said so.
    pub(crate) fn passed(&self) -> Option<u64> {
        self.passed
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
            ("go vet", vec![]),
            ("cargo", vec![]),
            ("test -f pytest.ini", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(runners(command), expected, "{command}");
        }
    }

    fn count(runner: Runner, output: &str) -> Option<u64> {
        let mut counter = Counter::new(&[runner]);
        output.lines().for_each(|line| counter.line(line));
        counter.passed()
    }

    #[test]
    fn closing_lines_are_counted() {
        let cargo = "running 2 tests\ntest a ... ok\n\
            test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
            test result: FAILED. 11 passed; 1 failed; 0 ignored\n";
        assert_eq!(count(Runner::Cargo, cargo), Some(13));
        let nextest = "     Summary [   0.005s] 3 tests run: 3 passed, 0 skipped";
        assert_eq!(count(Runner::Nextest, nextest), Some(3));
        let pytest = "\u{1b}[32m======= \u{1b}[1m7 passed\u{1b}[0m, 1 skipped in 0.12s =======\u{1b}[0m";
        assert_eq!(count(Runner::Pytest, pytest), Some(7));
        assert_eq!(count(Runner::Pytest, "1 failed, 6 passed in 65.00s (0:01:05)"), Some(6));
        assert_eq!(count(Runner::Pytest, "3 failed in 0.10s"), Some(0));
        assert_eq!(count(Runner::Jest, "Tests:       1 failed, 5 passed, 6 total"), Some(5));
        assert_eq!(count(Runner::Vitest, "      Tests  1 failed | 5 passed (6)"), Some(5));
        let go = "=== RUN TestA\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/b (0.00s)\nok  p 0.1s";
        assert_eq!(count(Runner::Go, go), Some(2));
    }

    #[test]
    fn other_lines_are_not() {
        assert_eq!(count(Runner::Go, "ok  \tpkg\t0.1s"), None);
        assert_eq!(count(Runner::Pytest, "2 passed the salt"), None);
        assert_eq!(count(Runner::Jest, "Tests: are nice"), None);
        assert_eq!(count(Runner::Cargo, "the test result: 5 passed"), None);
        assert_eq!(count(Runner::Cargo, "test result: é passed"), Some(0));
        assert_eq!(count(Runner::Cargo, "test result: 99999999999999999999 passed"), Some(0));
    }
}
