//! The double is held to what every version control must do.

use ralph_core::testing::{Files, MemoryVcs, suites::vcs::VcsFixture};

ralph_core::vcs_conformance!(async || {
    VcsFixture::new(MemoryVcs::with(Files::from([("README.md".to_owned(), b"hello\n".to_vec())])), ())
});
