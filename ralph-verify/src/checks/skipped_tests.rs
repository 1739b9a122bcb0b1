//! Tests that do not run.

use ralph_core::{BoxError, ItemBoundary, async_trait};

use super::{Check, Found, source::Test, work::Work};

/// Tests that are newly ignored, skipped, expected to fail or left after their first line, one by one, by suite or by file;
/// and those that keep all others from running (`.only`).
///
/// A skip under a condition that can vary (a platform, a version, a service that is up) is honest, and so is a new test of
/// Rust that is ignored with a reason: `cargo test -- --ignored` is how tests are run that need something. A test of Rust
/// that asserts something and is newly `#[should_panic]` is expected to fail. A condition on a variable that Ralph sets does
/// not vary.
#[derive(Debug)]
pub(super) struct SkippedTests;

#[async_trait]
impl Check for SkippedTests {
    fn name(&self) -> &str {
        "skipped-tests"
    }

    fn about(&self) -> &str {
        "tests that no longer run: `#[ignore]`, `.skip`, `.only`, `t.Skip()`, an early return"
    }

    fn by_default(&self) -> bool {
        true
    }

    fn instead(&self) -> &str {
        "Make the code pass the tests instead of skipping them."
    }

    async fn look(&self, at: &ItemBoundary) -> Result<Vec<Found>, BoxError> {
        let work = Work::read(at).await?;
        let kept: Vec<&Test> = work.pairs().into_iter().filter_map(|pair| pair.now.map(|(_, test)| test)).collect();
        let mut found = Vec::new();
        for file in &work.after {
            let before = work.base(&file.path);
            for (name, skip) in &file.source.skips {
                let known = before.is_some_and(|base| {
                    base.source.skips.iter().any(|(old, was)| old == name && was.text == skip.text)
                });
                if !known {
                    let text = if name.is_empty() || *name == file.path {
                        "the file's tests do not run".to_owned()
                    } else {
                        format!("the tests of {name} do not run")
                    };
                    found.push(Found::new(&file.path, text).line(skip.line).quote(&skip.text));
                }
            }
            for test in &file.source.tests {
                let is_new = !kept.iter().any(|known| std::ptr::eq(*known, test));
                for skip in test.skips.iter().filter(|skip| !(is_new && is_opt_in(&skip.text))) {
                    if !work.earlier(test).any(|old| old.skips.iter().any(|was| was.text == skip.text)) {
                        let text = format!("{} does not run", test.own());
                        found.push(Found::new(&file.path, text).line(skip.line).quote(&skip.text));
                    }
                }
            }
        }
        Ok(found)
    }
}

/// Whether a new test may have it: it runs on purpose, or asserts something before what it expects.
fn is_opt_in(skip: &str) -> bool {
    skip.starts_with("#[ignore = \"") || skip.starts_with("#[should_panic")
}
