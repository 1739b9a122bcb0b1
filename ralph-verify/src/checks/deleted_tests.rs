//! Tests that are gone.

use ralph_core::{BoxError, ItemBoundary, async_trait};

use super::{Check, Found, work::Work};

/// Tests of the base that are nowhere in the work: no test of the same name, of the same body or of half of its lines is
/// in any changed file. What is commented out, renamed to something that no runner picks up, or replaced by a link is gone
/// too.
///
/// An item that removes tests on purpose, with what they test, says `Checks: -deleted-tests`.
#[derive(Debug)]
pub(super) struct DeletedTests;

#[async_trait]
impl Check for DeletedTests {
    fn name(&self) -> &str {
        "deleted-tests"
    }

    fn about(&self) -> &str {
        "tests that are gone: deleted, commented out, or no longer found by their runner"
    }

    fn by_default(&self) -> bool {
        true
    }

    fn instead(&self) -> &str {
        "Put the tests back that were there."
    }

    async fn look(&self, at: &ItemBoundary) -> Result<Vec<Found>, BoxError> {
        let work = Work::read(at).await?;
        // What could not be read is told by `trivial-tests`, and is not gone.
        let gone = work
            .pairs()
            .into_iter()
            .filter(|pair| pair.now.is_none() && !work.unread.iter().any(|path| path == pair.path));
        let found = gone.map(|pair| {
            let text = format!("{} is gone (line of the base)", pair.test.name.join("::"));
            Found::new(pair.path, text).line(pair.test.line).quote(&pair.test.text)
        });
        Ok(found.collect())
    }
}
