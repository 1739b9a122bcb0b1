//! The laws of every `Vcs`.

mod git {
    use ralph_core::testing::suites::vcs::VcsFixture;

    use crate::support::Repo;

    ralph_core::vcs_conformance!(async || {
        let repo = Repo::new();
        VcsFixture::new(repo.open().await, repo)
    });
}
