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

mod folder {
    use ralph_core::testing::suites::vcs::VcsFixture;
    use ralph_vcs::{FolderOptions, FolderVcs};

    ralph_core::vcs_conformance!(async || {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        crate::support::write(&at("source/README.md"), "hello\n");
        let options = FolderOptions::new(at("source"), at("state"), at("sites"));
        VcsFixture::new(FolderVcs::open(options).unwrap(), folder)
    });
}

mod rebase {
    use ralph_core::testing::suites::rebase::RebaseFixture;

    use crate::support::Repo;

    ralph_core::rebase_conformance!(async || {
        let repo = Repo::new();
        RebaseFixture::new(repo.open().await, repo)
    });
}
