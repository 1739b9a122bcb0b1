//! Whether anything gets better.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    id::ItemRef,
    verify::{Part, Stage},
};

/// The best that each verifier has said so far, per item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    best: BTreeMap<ItemRef, BTreeMap<String, Best>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Best {
    passed: bool,
    tests: Option<u64>,
}

impl Progress {
    /// Takes in the parts of a verdict; whether one of them is better than all before: a verifier that went from fail
    /// to pass, or more tests that passed. What a verifier says first is no progress: there is nothing to compare.
    pub(super) fn observe(&mut self, item: &ItemRef, stage: Stage, parts: &[Part]) -> bool {
        // A verifier's word on the base or on a clean checkout says nothing about what this session changed.
        if stage != Stage::Workspace {
            return false;
        }
        let best = self.best.entry(item.clone()).or_default();
        let mut better = false;
        for part in parts {
            let now = Best { passed: part.passed, tests: part.tests };
            match best.get_mut(&part.name) {
                Some(before) => {
                    better |= now.passed && !before.passed;
                    better |= matches!((now.tests, before.tests), (Some(now), Some(before)) if now > before);
                    before.passed |= now.passed;
                    before.tests = before.tests.max(now.tests);
                }
                None => {
                    best.insert(part.name.clone(), now);
                }
            }
        }
        better
    }

    /// Forgets an item that has come to its end.
    pub(super) fn forget(&mut self, item: &ItemRef) {
        self.best.remove(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(passed: bool, tests: Option<u64>) -> Part {
        Part::new("v", passed).with_tests(tests)
    }

    #[test]
    fn better_is_a_new_pass_or_more_tests() {
        let (mut progress, item) = (Progress::default(), ItemRef::new("P1", "R01"));
        let mut see = |stage, part| progress.observe(&item, stage, &[part]);
        assert!(!see(Stage::Workspace, part(false, Some(3))), "the first word");
        assert!(!see(Stage::Workspace, part(false, Some(3))), "the same again");
        assert!(see(Stage::Workspace, part(false, Some(4))), "more tests");
        assert!(!see(Stage::Workspace, part(false, Some(2))), "fewer");
        assert!(!see(Stage::Workspace, part(false, Some(4))), "back where it was");
        assert!(!see(Stage::Candidate, part(true, None)), "another stage");
        assert!(see(Stage::Workspace, part(true, None)), "from fail to pass");
    }
}
