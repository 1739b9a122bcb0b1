//! `go test -v`. Without `-v` go says nothing about tests, and nothing is known.
//!
//! ```text
//! === RUN   TestA
//! === RUN   TestA/one
//! --- PASS: TestA (0.00s)
//!     --- PASS: TestA/one (0.00s)
//! PASS
//! ok      demo    0.012s
//! ```
//!
//! The last line has tabs around the package, which is a run. A test's end counts where its beginning was seen.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use super::{Reader, Tests};

/// How many tests of one package may be under way.
const OPEN_MAX: usize = 50_000;

#[derive(Debug, Default)]
pub(super) struct GoText {
    sum: Tests,
    in_package: bool,
    /// The tests under way, by the hash of their names.
    open: BTreeSet<u64>,
}

impl Reader for GoText {
    fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("=== RUN   ") {
            if !std::mem::replace(&mut self.in_package, true) {
                self.sum.announced = self.sum.announced.saturating_add(1);
            }
            if self.open.len() < OPEN_MAX {
                self.open.insert(hash(name));
            }
        } else if line.starts_with("ok  \t") || line.starts_with("FAIL\t") {
            self.open.clear();
            if std::mem::take(&mut self.in_package) {
                self.sum.ended = self.sum.ended.saturating_add(1);
            }
        } else if let Some((word, name)) = line.trim_start().strip_prefix("--- ").and_then(|end| end.split_once(": ")) {
            let name = name.rsplit_once(" (").map_or(name, |(name, _)| name);
            let tests = match word {
                "PASS" => Tests::new(1, 0, 0),
                "FAIL" => Tests::new(0, 1, 0),
                "SKIP" => Tests::new(0, 0, 1),
                _ => return,
            };
            if self.open.remove(&hash(name)) {
                self.sum.add(tests);
            }
        }
    }

    fn tests(&self) -> Tests {
        self.sum
    }
}

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
