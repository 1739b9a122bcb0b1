//! `cargo test`: the text of libtest, and of harnesses that print alike.
//!
//! ```text
//!
//! running 12 tests
//! test tests::adds ... ok
//! test tests::slow ... ignored, slow
//!
//! test result: ok. 11 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.15s
//! ```
//!
//! An announcement stands below an empty line, and a result adds up to it. Both are told so from what a test prints.

use super::{Reader, Tests, counted, of};

/// How many runs may be open: announced in one another.
const OPEN_MAX: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Libtest {
    sum: Tests,
    /// How many tests the open runs announced. A test that runs cargo again prints runs inside of its own.
    open: Vec<u64>,
    /// Whether the line before holds something.
    text_before: bool,
}

impl Reader for Libtest {
    fn line(&mut self, line: &str) {
        let text_before = std::mem::replace(&mut self.text_before, !line.is_empty());
        if let Some(announced) = announced(line).filter(|_| !text_before) {
            self.sum.announced = self.sum.announced.saturating_add(1);
            if self.open.len() < OPEN_MAX {
                self.open.push(announced);
            }
        } else if let Some(result) = result(line) {
            let total = result.ran.saturating_add(result.ignored);
            // Those above it never came to an end.
            if let Some(at) = self.open.iter().rposition(|announced| *announced == total) {
                self.open.truncate(at);
                self.sum.ended = self.sum.ended.saturating_add(1);
                if at == 0 {
                    self.sum.add(result);
                }
            }
        }
    }

    fn tests(&self) -> Tests {
        self.sum
    }
}

/// `running 1 test`
fn announced(line: &str) -> Option<u64> {
    let (number, word) = line.strip_prefix("running ")?.split_once(' ')?;
    matches!(word, "test" | "tests" | "benchmark" | "benchmarks").then(|| number.parse().ok()).flatten()
}

fn result(line: &str) -> Option<Tests> {
    let (word, list) = line.strip_prefix("test result: ")?.split_once(". ")?;
    if !matches!(word, "ok" | "FAILED") {
        return None;
    }
    let list = match list.rsplit_once("; finished in ") {
        Some((list, _)) => list,
        None => list,
    };
    let list = counted(list, ';')?;
    // A benchmark that is measured ran to a good end.
    let passed = of(&list, "passed").saturating_add(of(&list, "measured"));
    Some(Tests::new(passed, of(&list, "failed"), of(&list, "ignored")))
}
