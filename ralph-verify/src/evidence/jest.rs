//! jest.
//!
//! ```text
//! Test Suites: 1 failed, 1 passed, 2 total
//! Tests:       1 failed, 1 skipped, 1 todo, 1 passed, 4 total
//! ```
//!
//! What tests print is indented.

use super::{Reader, Tests, counted, of};

#[derive(Debug, Default)]
pub(super) struct Jest {
    sum: Tests,
    suites_before: bool,
}

impl Reader for Jest {
    fn line(&mut self, line: &str) {
        let suites_before = std::mem::take(&mut self.suites_before);
        if line.strip_prefix("Test Suites:").and_then(totals).is_some() {
            self.suites_before = true;
            self.sum.announced = self.sum.announced.saturating_add(1);
        } else if let Some(tests) = line.strip_prefix("Tests:").and_then(totals).filter(|_| suites_before) {
            self.sum.add(Tests { ended: 1, ..tests });
        }
    }

    fn tests(&self) -> Tests {
        self.sum
    }
}

fn totals(list: &str) -> Option<Tests> {
    let list = counted(list.strip_suffix(" total")?.rsplit_once(',').map_or("", |(list, _)| list), ',');
    // `0 total`, and nothing else.
    let list = list.unwrap_or_default();
    let ignored = of(&list, "skipped").saturating_add(of(&list, "todo"));
    Some(Tests::new(of(&list, "passed"), of(&list, "failed"), ignored))
}
