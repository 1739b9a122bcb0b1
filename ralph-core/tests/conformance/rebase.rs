//! The double is held to what every rebase must do.

use ralph_core::testing::{Files, MemoryVcs, suites::rebase::RebaseFixture};

ralph_core::rebase_conformance!(async || {
    RebaseFixture::new(MemoryVcs::with(Files::from([("README.md".to_owned(), b"hello\n".to_vec())])), ())
});
