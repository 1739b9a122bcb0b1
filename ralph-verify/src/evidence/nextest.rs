//! `cargo nextest run`.
//!
//! ```text
//!     Starting 5 tests across 2 binaries (1 test skipped)
//!         PASS [   0.015s] (1/5) demo tests::adds
//!      Summary [   0.160s] 5 tests run: 5 passed, 1 skipped
//! ```
//!
//! A run that was cut short says `3/5 tests run`.

use super::{Reader, Tests, counted, of, runs::Runs};

#[derive(Debug, Default)]
pub(super) struct Nextest(Runs);

impl Reader for Nextest {
    fn line(&mut self, line: &str) {
        if !line.starts_with("    ") {
            return;
        }
        let line = line.trim();
        if line.strip_prefix("Starting ").is_some_and(|rest| rest.contains(" across ") && is_count(rest)) {
            self.0.begin();
        } else if let Some(tests) = summary(line).filter(|_| self.0.is_open()) {
            self.0.result(tests);
        }
    }

    fn tests(&self) -> Tests {
        self.0.tests()
    }
}

fn is_count(text: &str) -> bool {
    let (number, rest) = text.split_once(' ').unwrap_or_default();
    number.parse::<u64>().is_ok() && rest.starts_with("test")
}

fn summary(line: &str) -> Option<Tests> {
    let (head, list) = line.strip_prefix("Summary [")?.split_once(" run: ")?;
    let ran = head.rsplit_once("] ")?.1.split([' ', '/']).next()?.parse().ok()?;
    // `4 passed (1 slow, 2 flaky)`
    let mut depth = 0_u32;
    let outside = |c: &char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    };
    let list: String = list.chars().filter(outside).collect();
    let list = counted(&list, ',')?;
    let passed = of(&list, "passed");
    Some(Tests { ran, passed, ..Tests::new(passed, ran.saturating_sub(passed), of(&list, "skipped")) })
}
