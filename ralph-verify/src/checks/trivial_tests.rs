//! Tests that cannot fail.

use ralph_core::{BoxError, ItemBoundary, async_trait};

use super::{
    Check, Found,
    source::{Strength, Test},
    work::Work,
};

/// Tests that are added, or changed to be so, and cannot fail: nothing in them but what does nothing; only assertions that
/// hold whatever the code does, or that are made for no case; only assertions whose failure is caught and forgotten.
///
/// A test without any assertion that calls something is none of these: it fails where that panics or throws.
#[derive(Debug)]
pub(super) struct TrivialTests;

#[async_trait]
impl Check for TrivialTests {
    fn name(&self) -> &str {
        "trivial-tests"
    }

    fn about(&self) -> &str {
        "tests that cannot fail: `assert True`, an empty body, a failure that is caught and forgotten"
    }

    fn by_default(&self) -> bool {
        true
    }

    fn instead(&self) -> &str {
        "A test must be able to fail: assert what the code does, or leave the test out."
    }

    async fn look(&self, at: &ItemBoundary) -> Result<Vec<Found>, BoxError> {
        let work = Work::read(at).await?;
        let large = |path: &str| Found::new(path, "a test file that is too large to look at");
        let mut found: Vec<Found> = work.unread_tests().map(large).collect();
        for file in &work.after {
            for test in &file.source.tests {
                let Some((line, why, quote)) = trivial(test) else { continue };
                if !work.earlier(test).any(|old| trivial(old).is_some()) {
                    let text = format!("{} {why}", test.own());
                    found.push(Found::new(&file.path, text).line(line).quote(quote));
                }
            }
        }
        Ok(found)
    }
}

/// Where and why a test cannot fail.
fn trivial(test: &Test) -> Option<(u32, &'static str, String)> {
    if test.empty {
        return Some((test.line, "does nothing that could fail", test.text.clone()));
    }
    let first = test.assertions.first()?;
    if test.assertions.iter().all(|one| one.weight == 0) {
        return Some((first.line, "goes through no cases", first.text.clone()));
    }
    if test.assertions.iter().all(|one| one.strength == Strength::Vacuous || one.weight == 0) {
        return Some((first.line, "asserts only what always holds", first.text.clone()));
    }
    let counts =
        |one: &&super::source::Assertion| one.strength != Strength::Vacuous && one.weight > 0 && !one.swallowed;
    if test.assertions.iter().find(counts).is_none() {
        let first = test.assertions.iter().find(|one| one.swallowed).unwrap_or(first);
        return Some((first.line, "catches the failure of all that it asserts", first.text.clone()));
    }
    None
}
