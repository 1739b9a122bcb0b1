//! pytest.
//!
//! ```text
//! ============================= test session starts ==============================
//! collected 4 items
//! test_demo.py ..sx                                                        [100%]
//! =================== 2 passed, 1 skipped, 1 xfailed in 0.03s ====================
//! ```
//!
//! With `-q` there is no announcement, and the last line stands without rules: then it is read only where the command
//! names pytest, and several of them add up.

use super::{Reader, Tests, counted, of, runs::Runs};

#[derive(Debug)]
pub(super) struct Pytest {
    named: bool,
    runs: Runs,
}

impl Pytest {
    pub(super) fn new(named: bool) -> Self {
        Self { named, runs: Runs::default() }
    }
}

impl Reader for Pytest {
    fn line(&mut self, line: &str) {
        let inner = line.strip_prefix('=').and_then(|line| line.strip_suffix('='));
        let inner = inner.map(|line| line.trim_matches('=').trim());
        match inner {
            Some("test session starts") => self.runs.begin(),
            Some(line) if self.runs.is_open() => {
                if let Some(tests) = summary(line) {
                    self.runs.result(tests);
                }
            }
            None if self.named && !self.runs.is_open() => {
                if let Some(tests) = summary(line) {
                    self.runs.lone(tests);
                }
            }
            Some(_) | None => {}
        }
    }

    fn tests(&self) -> Tests {
        self.runs.tests()
    }
}

/// `2 passed, 1 skipped in 65.03s (0:01:05)`
fn summary(line: &str) -> Option<Tests> {
    let (list, time) = line.rsplit_once(" in ")?;
    let seconds = time.split(' ').next()?.strip_suffix('s')?;
    seconds.parse::<f64>().ok()?;
    if list == "no tests ran" {
        return Some(Tests::default());
    }
    let list = counted(list, ',')?;
    let known = |word: &str| {
        let known = ["passed", "failed", "skipped", "xfailed", "xpassed", "error", "errors", "deselected", "rerun"];
        known.contains(&word) || word.starts_with("warning") || word.starts_with("subtests ")
    };
    if !list.iter().all(|(_, word)| known(word)) {
        return None;
    }
    let count = |words: &[&str]| words.iter().fold(0_u64, |sum, word| sum.saturating_add(of(&list, word)));
    // One that passes against expectation counts as little as one that fails as expected.
    let ignored = count(&["skipped", "xfailed", "xpassed"]);
    Some(Tests::new(count(&["passed"]), count(&["failed", "error", "errors"]), ignored))
}
