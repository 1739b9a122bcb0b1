//! `node --test`, with its reporters `tap` and `spec`.
//!
//! ```text
//! TAP version 13
//! …
//! # tests 4          ℹ tests 4
//! # suites 1         ℹ suites 1
//! # pass 2           ℹ pass 2
//! # fail 0           ℹ fail 0
//! # cancelled 0      ℹ cancelled 0
//! # skipped 1        ℹ skipped 1
//! # todo 1           ℹ todo 1
//! # duration_ms 219  ℹ duration_ms 202
//! ```
//!
//! What tests print is `# text` in TAP as well: only the whole block counts, line after line. `TAP version` announces a
//! run only where the command names node, for other programs print it too.

use super::{Reader, Tests, runs::Runs};

const BLOCK: [&str; 8] = ["tests", "suites", "pass", "fail", "cancelled", "skipped", "todo", "duration_ms"];

#[derive(Debug)]
pub(super) struct Node {
    named: bool,
    runs: Runs,
    /// Which line of the block is next, and those before it.
    next: usize,
    seen: [u64; 8],
}

impl Node {
    pub(super) fn new(named: bool) -> Self {
        Self { named, runs: Runs::default(), next: 0, seen: [0; 8] }
    }
}

impl Reader for Node {
    fn line(&mut self, line: &str) {
        if self.named && line.starts_with("TAP version 1") {
            self.runs.begin();
        }
        let pair = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")).and_then(|line| line.split_once(' '));
        let Some((word, number)) = pair else {
            self.next = 0;
            return;
        };
        // Older versions know no suites.
        let at = (self.next..BLOCK.len()).take(2).find(|at| BLOCK[*at] == word && (*at == self.next || *at == 2));
        let at = at.or((word == BLOCK[0]).then_some(0));
        let number = number.split('.').next().and_then(|number| number.parse::<u64>().ok());
        let Some((at, number)) = at.zip(number) else {
            self.next = 0;
            return;
        };
        (self.seen[at], self.next) = (number, at + 1);
        if self.next == BLOCK.len() {
            self.next = 0;
            let [_, _, pass, fail, cancelled, skipped, todo, _] = self.seen;
            let tests = Tests::new(pass, fail.saturating_add(cancelled), skipped.saturating_add(todo));
            if self.runs.is_open() { self.runs.result(tests) } else { self.runs.lone(tests) }
        }
    }

    fn tests(&self) -> Tests {
        self.runs.tests()
    }
}
