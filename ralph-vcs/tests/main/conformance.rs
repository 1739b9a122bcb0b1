//! The laws of every `Vcs`.

mod git {
    use ralph_core::testing::suites::vcs::VcsFixture;

    use crate::support::Repo;

    ralph_core::vcs_conformance!(async || {
        let repo = Repo::new();
        VcsFixture::new(repo.open().await, repo)
    });
}

/// With the process's own environment, which another test fills with what a hook of git inherits.
mod inherited {
    use ralph_core::testing::suites::vcs::VcsFixture;
    use ralph_vcs::GitVcs;

    use crate::support::Repo;

    ralph_core::vcs_conformance!(async || {
        let repo = Repo::new();
        let mut options = repo.options();
        options.environment = None;
        VcsFixture::new(GitVcs::open(options).await.unwrap(), repo)
    });
}
