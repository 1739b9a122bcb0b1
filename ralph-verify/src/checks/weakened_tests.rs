//! Tests that assert less.

use std::collections::{BTreeMap, BTreeSet};

use ralph_core::{BoxError, ItemBoundary, async_trait};

use super::{
    Check, Found,
    source::{Assertion, MANY, Strength, Test, normal},
    work::{File, Work},
};

/// Tests that stay and assert less than before: fewer assertions, or weaker ones (that there is a value in the place of
/// which value it is). Another expected value is honest work and not reported.
///
/// What a helper of the changed files asserts counts for the test that calls it, and an assertion in a loop or a table for
/// as many as there are cases. A helper that no changed file defines may assert anything.
#[derive(Debug)]
pub(super) struct WeakenedTests;

#[async_trait]
impl Check for WeakenedTests {
    fn name(&self) -> &str {
        "weakened-tests"
    }

    fn about(&self) -> &str {
        "tests that assert less: assertions that are gone, or say less than before"
    }

    fn by_default(&self) -> bool {
        true
    }

    fn instead(&self) -> &str {
        "Put back what the tests asserted."
    }

    async fn look(&self, at: &ItemBoundary) -> Result<Vec<Found>, BoxError> {
        let work = Work::read(at).await?;
        let (before, after) = (Helpers::of(&work.before), Helpers::of(&work.after));
        let mut found = Vec::new();
        for pair in work.pairs() {
            let Some((path, now)) = pair.now else { continue };
            let old_calls = &pair.test.calls;
            let (was, is) = (before.count(pair.test, old_calls, 1), after.count(now, old_calls, MANY));
            let Some(least) = LEVELS.into_iter().find(|level| is.at(*level) < was.at(*level)) else { continue };
            let why = match least {
                Strength::Loose | Strength::Vacuous => "asserts less than before",
                Strength::Partial | Strength::Exact => "asserts something weaker than before",
            };
            let mut one = Found::new(path, format!("{} {why}", now.own())).line(now.line);
            if let Some(lost) = lost(pair.test, now, least) {
                one.text.push_str(&format!("; gone from line {} of the base", lost.line));
                one = one.quote(&lost.text);
            } else {
                one.text.push_str(", in itself or in what it calls");
            }
            found.push(one);
        }
        Ok(found)
    }
}

/// From the least to the most that an assertion can say.
const LEVELS: [Strength; 3] = [Strength::Loose, Strength::Partial, Strength::Exact];

/// The first assertion of at least this strength that is there no more.
fn lost<'a>(old: &'a Test, new: &Test, least: Strength) -> Option<&'a Assertion> {
    let now: BTreeSet<String> = new.assertions.iter().map(|one| normal(&one.text)).collect();
    old.assertions.iter().find(|one| one.strength >= least && !now.contains(&normal(&one.text)))
}

/// How many assertions there are of at least each strength.
#[derive(Debug, Default)]
struct Count([usize; 3]);

impl Count {
    /// Counts one assertion; `many` is what a loop of unknown length counts.
    fn add(&mut self, one: &Assertion, many: usize) {
        if one.swallowed {
            return;
        }
        let weight = if one.weight >= MANY { many } else { one.weight };
        for (level, count) in LEVELS.into_iter().zip(&mut self.0) {
            if one.strength >= level {
                *count = count.saturating_add(weight);
            }
        }
    }

    fn at(&self, level: Strength) -> usize {
        LEVELS.into_iter().zip(self.0).find(|(at, _)| *at == level).map_or(0, |(_, count)| count)
    }
}

/// What the functions of one side's files assert.
struct Helpers<'a>(BTreeMap<&'a str, &'a [Assertion]>);

impl<'a> Helpers<'a> {
    fn of(files: &'a [File]) -> Self {
        let all = files.iter().flat_map(|file| &file.source.helpers);
        Self(all.map(|(name, assertions)| (name.as_str(), assertions.as_slice())).collect())
    }

    /// What `test` asserts, by itself and by what it calls. `before` is what it called in the base: only a new helper can
    /// stand for what is gone.
    fn count(&self, test: &Test, before: &BTreeSet<String>, many: usize) -> Count {
        let mut count = Count::default();
        test.assertions.iter().for_each(|one| count.add(one, many));
        for name in &test.calls {
            match self.0.get(name.as_str()) {
                Some(assertions) => assertions.iter().for_each(|one| count.add(one, many)),
                None if !before.contains(name) && asserts_by_name(name) => {
                    count.0.iter_mut().for_each(|level| *level = level.saturating_add(many));
                }
                None => {}
            }
        }
        count
    }
}

/// Whether a function's name says that it asserts something.
fn asserts_by_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["assert", "check", "verify", "expect", "ensure", "require", "compare"].iter().any(|start| lower.starts_with(start))
}
