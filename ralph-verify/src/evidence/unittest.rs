//! `python -m unittest`, and what is built on it, such as Django's `manage.py test`.
//!
//! ```text
//! ----------------------------------------------------------------------
//! Ran 4 tests in 0.001s
//!
//! OK (skipped=1, expected failures=1)
//! ```

use super::{Reader, Tests};

#[derive(Debug, Default)]
pub(super) struct Unittest {
    sum: Tests,
    /// How many tests the run whose result is awaited had, skipped ones among them.
    awaited: Option<u64>,
    ruled: bool,
}

impl Reader for Unittest {
    fn line(&mut self, line: &str) {
        let ruled = std::mem::replace(&mut self.ruled, line.len() == 70 && line.bytes().all(|byte| byte == b'-'));
        if let Some(all) = ran(line).filter(|_| ruled) {
            self.sum.announced = self.sum.announced.saturating_add(1);
            self.awaited = Some(all);
        } else if let Some((all, list)) = self.awaited.zip(result(line)) {
            self.awaited = None;
            let of = |kind: &str| list.iter().find(|(known, _)| *known == kind).map_or(0, |(_, number)| *number);
            let sum = |kinds: [&str; 3]| kinds.map(of).into_iter().fold(0, u64::saturating_add);
            let ignored = sum(["skipped", "expected failures", "unexpected successes"]);
            let failed = sum(["failures", "errors", ""]);
            let passed = all.saturating_sub(ignored).saturating_sub(failed);
            self.sum.add(Tests { ended: 1, ..Tests::new(passed, failed, ignored) });
        }
    }

    fn tests(&self) -> Tests {
        self.sum
    }
}

fn ran(line: &str) -> Option<u64> {
    let (number, rest) = line.strip_prefix("Ran ")?.split_once(' ')?;
    let time = rest.strip_prefix("tests in ").or_else(|| rest.strip_prefix("test in "))?;
    time.strip_suffix('s')?.parse::<f64>().ok()?;
    number.parse().ok()
}

/// `FAILED (failures=1, skipped=1)`
fn result(line: &str) -> Option<Vec<(&str, u64)>> {
    let (word, list) = match line.split_once(" (") {
        Some((word, list)) => (word, Some(list.strip_suffix(')')?)),
        None => (line, None),
    };
    if !matches!(word, "OK" | "FAILED" | "NO TESTS RAN") {
        return None;
    }
    let pair = |part: &'_ str| part.split_once('=').and_then(|(_, number)| number.parse::<u64>().ok());
    let list = list.into_iter().flat_map(|list| list.split(", "));
    list.map(|part| pair(part).map(|number| (part.split('=').next().unwrap_or_default(), number))).collect()
}
