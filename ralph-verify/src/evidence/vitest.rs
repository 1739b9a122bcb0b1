//! vitest.
//!
//! ```text
//!  RUN  v4.1.12 /home/me/js
//!
//!  Test Files  1 passed (1)
//!       Tests  1 failed | 2 passed | 1 skipped | 1 todo (5)
//! ```

use super::{Reader, Tests, counted, of, runs::Runs};

#[derive(Debug, Default)]
pub(super) struct Vitest {
    runs: Runs,
    files_before: bool,
}

impl Reader for Vitest {
    fn line(&mut self, line: &str) {
        let files_before = std::mem::take(&mut self.files_before);
        if line.starts_with(" RUN  v") {
            self.runs.begin();
        } else if line.starts_with(" Test Files  ") && line.ends_with(')') {
            self.files_before = true;
        } else if let Some(tests) = line.strip_prefix("      Tests  ").and_then(totals).filter(|_| files_before) {
            if self.runs.is_open() { self.runs.result(tests) } else { self.runs.lone(tests) }
        }
    }

    fn tests(&self) -> Tests {
        self.runs.tests()
    }
}

fn totals(list: &str) -> Option<Tests> {
    let (list, _) = list.strip_suffix(')')?.rsplit_once(" (")?;
    let list = counted(list, '|')?;
    let ignored = ["skipped", "todo"].map(|word| of(&list, word)).into_iter().fold(0, u64::saturating_add);
    let ignored = ignored.saturating_add(of(&list, "expected fail"));
    Some(Tests::new(of(&list, "passed"), of(&list, "failed"), ignored))
}
