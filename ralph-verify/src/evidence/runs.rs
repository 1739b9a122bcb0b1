//! Runs one after the other, of which each has one result.

use super::Tests;

/// Adds up announced runs. What is printed in between may look like a result: the last one before the next announcement is
/// the runner's.
#[derive(Debug, Default)]
pub(super) struct Runs {
    sum: Tests,
    open: bool,
    last: Option<Tests>,
}

impl Runs {
    /// A run is announced.
    pub(super) fn begin(&mut self) {
        if let Some(last) = self.last.take() {
            self.sum.add(last);
        }
        self.sum.announced = self.sum.announced.saturating_add(1);
        self.open = true;
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// The result of the announced run.
    pub(super) fn result(&mut self, tests: Tests) {
        self.last = Some(Tests { ended: 1, ..tests });
    }

    /// A result that stands for itself: whoever prints it announces nothing.
    pub(super) fn lone(&mut self, tests: Tests) {
        self.sum.add(Tests { announced: 1, ended: 1, ..tests });
    }

    pub(super) fn tests(&self) -> Tests {
        let mut sum = self.sum;
        if let Some(last) = self.last {
            sum.add(last);
        }
        sum
    }
}
