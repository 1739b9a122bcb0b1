//! What every implementation of a seam must do, as tests that anybody can run on theirs.
//!
//! A suite is a file here: a fixture (what the implementer hands in), one small `async fn` for each law, whose doc
//! comment states the law, and a macro that makes one named test of each. A law that is broken panics and says what was
//! found. A suite is itself tested: for each law there is a saboteur, an implementation that breaks just that law.
//!
//! The macros are there with the feature `testing`, for the tests of your crate:
//!
//! ```toml
//! [dev-dependencies]
//! ralph-core = { version = "0.1", features = ["testing"] }
//! ```
//!
//! The tests have the names of the laws, and some suites share a name: give each a `mod` of its own.
//!
//! ```no_run,test_harness
//! mod journal {
//!     # use ralph_core::MemoryJournal as MyJournal;
//!     use ralph_core::testing::suites::journal::JournalFixture;
//!     ralph_core::journal_conformance!(async || JournalFixture::new(MyJournal::new()));
//! }
//! mod version_control {
//!     # use ralph_core::testing::MemoryVcs;
//!     # struct MyVcs;
//!     # impl MyVcs {
//!     #     fn new(_: &std::path::Path) -> MemoryVcs { MemoryVcs::new() }
//!     # }
//!     use ralph_core::testing::suites::vcs::VcsFixture;
//!     ralph_core::vcs_conformance!(async || {
//!         let folder = tempfile::tempdir().unwrap();
//!         VcsFixture::new(MyVcs::new(folder.path()), folder)
//!     });
//! }
//! ```

#![expect(clippy::panic, reason = "a law that is broken is a test that fails, and says what was found")]

pub mod agent;
pub mod decision;
pub mod gate;
mod heartbeat;
pub mod journal;
pub mod plan_source;
pub mod rebase;
pub mod reviewer;
pub mod vcs;
pub mod verifier;

use std::future::Future;

/// Runs one law to its end on a runtime of its own, with everything enabled that the program has.
pub fn run_law(law: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(law),
        Err(error) => panic!("no runtime for the test: {error}"),
    }
}

/// Makes a named test of each law: `conformance!(suite, make; law, law, …)`.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance {
    ($suite:ident, $make:expr; $($law:ident),* $(,)?) => { $(
        #[test]
        fn $law() {
            $crate::testing::suites::run_law(async {
                let make = $make;
                $crate::testing::suites::$suite::$law(make().await).await;
            });
        }
    )* };
}
