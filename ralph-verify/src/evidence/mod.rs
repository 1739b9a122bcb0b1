//! Test evidence: what the runners behind a command say in its output, and what follows from it.
//!
//! A command that exits with 0 has passed, whatever it ran. Tests that were deleted, set to be ignored or never came to
//! their end show only in what the runner prints. A [`TestReader`] reads that line by line, in bounded memory; the
//! command verifier compares it with what the same command said on the base. It can only lower a verdict.
//!
//! # What is read, and what is not
//! - A runner is read where the command names it, or where its output announces it (`make test` that calls cargo).
//!   Only the short form of `pytest -q` announces nothing: there the command has to name pytest.
//! - What tests print is told from what the runner prints by place, form and order, as far as that goes: a result that no
//!   run announced, or that does not add up to what was announced, counts for nothing; of several results in one
//!   announced run the last counts. An announcement without a result is held against the work, even one that a test printed.
//! - Where a runner has one word for tests that are set to be skipped and for those that the command's filter leaves out
//!   (nextest), they count as ignored. Tests that are expected to fail (`xfail`, `todo`) count as ignored too.
//! - A test that runs in the runner's own process can print all that the runner would. No output can prove otherwise; a
//!   runner with a process for each test, such as nextest, is harder to deceive.

mod cargo;
pub(crate) mod file;
mod go_json;
mod go_text;
mod jest;
mod junit;
pub(crate) mod memory;
mod memory_file;
mod nextest;
mod node;
mod pytest;
pub(crate) mod rule;
mod runs;
mod unittest;
mod vitest;

use std::{borrow::Cow, collections::BTreeMap, fmt::Debug};

use serde::{Deserialize, Serialize};

pub use crate::runner::Runner;
use crate::{runner::runners, text};

/// What a runner said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tests {
    /// How many tests ran, to whatever end.
    pub ran: u64,
    /// How many of them passed.
    pub passed: u64,
    /// How many of them failed.
    pub failed: u64,
    /// How many were there and did not count: ignored, skipped, expected to fail.
    pub ignored: u64,
    /// How many runs were announced (`running 12 tests`).
    pub announced: u64,
    /// How many announced runs came to their result (`test result: ok. …`).
    pub ended: u64,
}

impl Tests {
    /// Counts of tests, of no run yet.
    fn new(passed: u64, failed: u64, ignored: u64) -> Self {
        Self { ran: passed.saturating_add(failed), passed, failed, ignored, ..Self::default() }
    }

    /// These and `more`.
    fn add(&mut self, more: Self) {
        let ours = [&mut self.ran, &mut self.passed, &mut self.failed, &mut self.ignored];
        for (sum, more) in ours.into_iter().zip([more.ran, more.passed, more.failed, more.ignored]) {
            *sum = sum.saturating_add(more);
        }
        self.announced = self.announced.saturating_add(more.announced);
        self.ended = self.ended.saturating_add(more.ended);
    }
}

/// What each runner of a command said.
pub type Counts = BTreeMap<Runner, Tests>;

/// How many tests passed in all; `None` where no runner said so. A report repeats what its runner has said.
pub(crate) fn passed(counts: &Counts) -> Option<u64> {
    let sum = |reports: bool| {
        let of_kind = counts.iter().filter(|(runner, _)| runner.is_report() == reports);
        of_kind.map(|(_, tests)| tests.passed).reduce(u64::saturating_add)
    };
    sum(false).or_else(|| sum(true))
}

/// Reads one runner's lines. They hold no control characters, and nothing of the end of a line.
trait Reader: Debug + Send {
    fn line(&mut self, line: &str);
    fn tests(&self) -> Tests;
}

/// Longer lines are no summaries; events of `go test -json` may be.
const LINE_MAX: usize = 4 << 10;

/// Reads the output of a command, line by line, in bounded memory.
///
/// ```
/// use ralph_verify::evidence::{Runner, TestReader};
///
/// let mut reader = TestReader::new("make test");
/// for line in [
///     "",
///     "running 2 tests",
///     "test tests::adds ... ok",
///     "test tests::slow ... ignored",
///     "",
///     "test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
/// ] {
///     reader.line(line);
/// }
/// let cargo = reader.counts()[&Runner::Cargo];
/// assert_eq!((cargo.ran, cargo.passed, cargo.ignored), (1, 1, 1));
/// assert_eq!((cargo.announced, cargo.ended), (1, 1));
/// ```
#[derive(Debug)]
pub struct TestReader {
    readers: Vec<(Runner, Box<dyn Reader>)>,
    go_json: go_json::GoJson,
    junit: junit::Junit,
}

impl TestReader {
    /// For the output of this shell line.
    pub fn new(command: &str) -> Self {
        let named = runners(command);
        let names = |runner| named.contains(&runner);
        Self {
            readers: vec![
                (Runner::Cargo, Box::<cargo::Libtest>::default()),
                (Runner::Nextest, Box::<nextest::Nextest>::default()),
                (Runner::Pytest, Box::new(pytest::Pytest::new(names(Runner::Pytest)))),
                (Runner::Unittest, Box::<unittest::Unittest>::default()),
                (Runner::Node, Box::new(node::Node::new(names(Runner::Node)))),
                (Runner::Jest, Box::<jest::Jest>::default()),
                (Runner::Vitest, Box::<vitest::Vitest>::default()),
                (Runner::Go, Box::<go_text::GoText>::default()),
            ],
            go_json: go_json::GoJson::default(),
            junit: junit::Junit::default(),
        }
    }

    /// Takes in a line, without its end.
    pub fn line(&mut self, line: &str) {
        let clean = match line.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
            true => Cow::Owned(text::harmless(line)),
            false => Cow::Borrowed(line),
        };
        // A carriage return ends a line too.
        clean.split('\n').for_each(|line| self.clean_line(line));
    }

    fn clean_line(&mut self, line: &str) {
        // What tests printed stands in reports once more.
        if self.junit.line(line) || self.go_json.line(line) || line.len() > LINE_MAX {
            return;
        }
        self.readers.iter_mut().for_each(|(_, reader)| reader.line(line));
    }

    /// What has been said so far, by each runner that said anything.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::new();
        let readers = self.readers.iter().map(|(runner, reader)| (*runner, reader.tests()));
        let all = readers.chain([(Runner::Go, self.go_json.tests()), (Runner::Junit, self.junit.tests())]);
        for (runner, tests) in all.filter(|(_, tests)| *tests != Tests::default()) {
            counts.entry(runner).or_default().add(tests);
        }
        counts
    }
}

/// The counted things of a list such as `3 passed, 1 failed`; `None` where a part is none.
fn counted(list: &str, separator: char) -> Option<Vec<(u64, &str)>> {
    let part = |part: &'_ str| -> Option<(u64, usize)> {
        let (number, _) = part.split_once(' ')?;
        Some((number.parse().ok()?, number.len() + 1))
    };
    list.split(separator)
        .map(|text| {
            let text = text.trim();
            part(text).map(|(number, at)| (number, text[at..].trim()))
        })
        .collect()
}

/// The number of things of one kind in such a list.
fn of(list: &[(u64, &str)], kind: &str) -> u64 {
    list.iter().filter(|(_, word)| *word == kind).fold(0, |sum, (number, _)| sum.saturating_add(*number))
}
