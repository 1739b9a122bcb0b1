//! Repositories of all kinds.

use std::{fs, path::PathBuf};

use ralph_core::{Accepted, Cx, Rebase, Rebased, Revision, Vcs, VcsError};
use ralph_vcs::{GitOptions, GitVcs, LedgerCommit, LedgerCommitted};

use crate::support::{
    BRANCH, CLEAN, Repo, WORK, accept, files, git_program, place, program, read, seal, snap, start, write,
};

/// Walks one item to its end and sees that it is all there and nothing of the operator's has changed.
async fn works(options: GitOptions) -> (GitVcs, Revision) {
    let vcs = GitVcs::open(options).await.unwrap();
    let before = vcs.fingerprint(&Cx::new()).await.unwrap();
    let base = start(&vcs).await;
    let site = place(&vcs, WORK, &base).await.folder;
    assert_eq!(fs::read_to_string(site.join("README.md")).unwrap(), "hello\n");
    write(&site.join("d/new"), "new\n");
    write(&site.join("README.md"), "changed\n");
    let snapshot = snap(&vcs, &base).await;
    assert_eq!((snapshot.stat.files, snapshot.findings), (2, vec![]));
    assert_eq!((snapshot.stat.added, snapshot.stat.removed), (Some(2), Some(1)));
    let revision = snapshot.revision.unwrap();
    let clean = place(&vcs, CLEAN, &revision).await.folder;
    assert_eq!(fs::read_to_string(clean.join("d/new")).unwrap(), "new\n");
    assert_eq!(fs::read_to_string(clean.join("README.md")).unwrap(), "changed\n");
    assert_eq!(accept(&vcs, &revision, &base).await, Accepted::Landed);
    let seal = seal("R02", 1);
    let kind = ralph_core::KeepKind::Parked;
    vcs.keep(&revision, kind, &seal.run, &seal.attempt, &Cx::new()).await.unwrap();
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("d/other"), "other\n");
    let older = snap(&vcs, &base).await.revision.unwrap();
    match vcs.rebase(&older, &revision, &seal, &Cx::new()).await.unwrap() {
        Rebased::Onto(carried) => {
            let changes = vcs.changes(&revision, &carried.revision.unwrap(), &Cx::new()).await.unwrap();
            assert_eq!(changes.iter().map(|it| it.path.as_slice()).collect::<Vec<_>>(), [b"d/other"]);
        }
        Rebased::Conflict(paths) => panic!("{paths:?}"),
    }
    let after = vcs.fingerprint(&Cx::new()).await.unwrap();
    assert_eq!(before.difference(&after).to_string(), "nothing changed");
    (vcs, revision)
}

/// The `[Decision]` commit is made, and not in the middle of something.
async fn commits_answers(repo: &Repo) {
    let ledger = LedgerCommit::open(&repo.options()).await.unwrap();
    let commit = async || {
        let files = ["ralph-loop/PRD.md".to_owned()];
        ledger.commit("[Decision] D-001 R01: yes", &files, &Cx::new()).await.unwrap()
    };
    repo.commit("ralph-loop/PRD.md", "- [?] R01: x\n");
    repo.git(&["checkout", "-qb", "aside"]);
    repo.commit("README.md", "aside\n");
    repo.git(&["checkout", "-q", "main"]);
    repo.commit("README.md", "main\n");
    repo.try_git_in(&repo.root, &["cherry-pick", "aside"]);
    repo.write("ralph-loop/PRD.md", "- [ ] R01: x\n");
    let skipped = commit().await;
    assert!(matches!(&skipped, LedgerCommitted::Skipped(why) if why.contains("a cherry-pick")), "{skipped:?}");
    repo.git(&["cherry-pick", "--skip"]);
    repo.write("ralph-loop/PRD.md", "- [ ] R01: x\n");
    let committed = commit().await;
    assert!(matches!(committed, LedgerCommitted::Committed { note: None, .. }), "{committed:?}");
    assert_eq!(commit().await, LedgerCommitted::Nothing);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(repo.git(&["for-each-ref", "refs/ralph/ledger"]), "");
}

#[tokio::test]
async fn sha256() {
    let repo = Repo::with(&["--object-format=sha256"]);
    let (vcs, revision) = works(repo.options()).await;
    assert_eq!(revision.as_str().len(), 64);
    let site = place(&vcs, WORK, &revision).await.folder;
    assert_eq!(repo.git_in(&site, &["status", "--porcelain"]), "");
    assert_eq!(vcs.preflight(&Cx::new()).await.unwrap().object_format, "sha256");
    commits_answers(&repo).await;
}

/// Git knows it since 2.45; with an older git under test there is nothing to test.
#[tokio::test]
async fn reftable() {
    let version = Repo::new().git(&["version"]);
    let minor = version.split('.').nth(1).and_then(|it| it.parse::<u32>().ok()).unwrap();
    if std::env::var_os("RALPH_TEST_GIT").is_some() && minor < 45 {
        return;
    }
    let repo = Repo::with(&["--ref-format=reftable"]);
    let (vcs, revision) = works(repo.options()).await;
    assert_eq!(repo.rev(BRANCH), revision.as_str());
    assert_eq!(vcs.preflight(&Cx::new()).await.unwrap().ref_format, "reftable");
    let site = place(&vcs, WORK, &revision).await.folder;
    assert_eq!(repo.git_in(&site, &["status", "--porcelain"]), "");
    write(&site.join("x"), "x");
    let next = snap(&vcs, &revision).await.revision.unwrap();
    commits_answers(&repo).await;
    // Held by a checkout: there no file says so.
    repo.git(&["checkout", "-q", BRANCH]);
    let refused = vcs.accept(&next, &revision, &Cx::new()).await;
    assert!(matches!(refused, Err(VcsError::Refused(_))), "{refused:?}");
}

#[tokio::test]
async fn a_linked_worktree_with_a_detached_head() {
    let repo = Repo::new();
    let tree = repo.folder.path().join("linked");
    repo.git(&["worktree", "add", "-q", "--detach", &tree.display().to_string()]);
    write(&tree.join("more"), "more");
    repo.git_in(&tree, &["add", "-A"]);
    repo.git_in(&tree, &["commit", "-qm", "more"]);
    let mut options = repo.options();
    options.repository = tree.clone();
    let (_, revision) = works(options).await;
    let parent = repo.rev(&format!("{revision}^"));
    assert_eq!(parent, repo.git_in(&tree, &["rev-parse", "HEAD"]), "the worktree's own HEAD counts");
}

#[tokio::test]
async fn a_bare_repository() {
    let repo = Repo::new();
    let bare = repo.folder.path().join("bare.git");
    repo.git(&["clone", "-q", "--bare", ".", &bare.display().to_string()]);
    let mut options = repo.options();
    options.repository = bare;
    works(options).await;
}

#[tokio::test]
async fn a_shallow_clone_that_borrows_objects() {
    let repo = Repo::new();
    repo.commit("more", "more");
    let clone = repo.folder.path().join("shallow");
    let from = format!("file://{}", repo.root.display());
    repo.git(&["clone", "-q", "--depth=1", &from, &clone.display().to_string()]);
    let mut options = repo.options();
    options.repository = clone;
    let (vcs, revision) = works(options).await;
    let site = place(&vcs, WORK, &revision).await.folder;
    assert_eq!(repo.git_in(&site, &["log", "--format=%s"]).lines().count(), 2);

    let borrower = repo.folder.path().join("borrower");
    repo.git(&["clone", "-q", "--shared", ".", &borrower.display().to_string()]);
    let mut options = repo.options();
    options.repository = borrower;
    options.sites = repo.folder.path().join("sites-of-the-borrower");
    works(options).await;
}

#[tokio::test]
async fn a_sparse_checkout_with_every_shortcut_on() {
    let repo = Repo::new();
    repo.commit("a/x", "x");
    repo.commit("b/y", "y");
    for (key, value) in [
        ("core.splitIndex", "true"),
        ("core.untrackedCache", "true"),
        ("feature.manyFiles", "true"),
        ("index.skipHash", "true"),
        ("index.version", "4"),
        ("submodule.recurse", "true"),
        ("core.commentChar", "R"),
    ] {
        repo.git(&["config", key, value]);
    }
    repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "a"]);
    assert!(!repo.root.join("b").exists());
    let mine = files(&repo.root);
    let (vcs, revision) = works(repo.options()).await;
    let site = place(&vcs, WORK, &revision).await.folder;
    assert!(site.join("b/y").exists(), "a sparse workspace");
    assert_eq!(files(&repo.root), mine);
}

#[tokio::test]
async fn hooks_and_monitor_of_the_operator_do_not_run() {
    let repo = Repo::new();
    let mark = repo.folder.path().join("mark");
    let text = format!("#!/bin/sh\ntouch {}\n", mark.display());
    for hook in ["reference-transaction", "post-index-change", "post-checkout", "pre-commit"] {
        program(&repo.root.join(".git/hooks").join(hook), &text);
    }
    let monitor = repo.folder.path().join("monitor");
    program(&monitor, &text);
    repo.git(&["config", "core.fsmonitor", &monitor.display().to_string()]);
    repo.git(&["status"]);
    assert!(mark.exists(), "the control");
    fs::remove_file(&mark).unwrap();
    works(repo.options()).await;
    assert!(!mark.exists());
}

#[tokio::test]
async fn without_an_identity() {
    let repo = Repo::new();
    repo.git(&["config", "--unset", "user.name"]);
    repo.git(&["config", "user.useConfigOnly", "true"]);
    let (vcs, revision) = works(repo.options()).await;
    let who = repo.git(&["show", "-s", "--format=%an <%ae> %cn <%ce>", revision.as_str()]);
    assert_eq!(who, "Ralph <ralph@localhost> Ralph <ralph@localhost>");
    let notes = vcs.preflight(&Cx::new()).await.unwrap().notes;
    assert!(notes.iter().any(|note| note.contains("no identity")), "{notes:?}");
    let reason = repo.git(&["reflog", "-1", "--format=%gn %gs", BRANCH]);
    assert_eq!(reason, "Ralph ralph: accept");
    // The agent can commit all the same.
    let site = place(&vcs, WORK, &revision).await.folder;
    write(&site.join("x"), "x");
    repo.git_in(&site, &["add", "-A"]);
    repo.git_in(&site, &["commit", "-qm", "x"]);
}

/// As git-lfs does it: what is committed is made by a program that only the person's global settings name.
#[tokio::test]
async fn a_filter_of_the_global_settings() {
    let repo = Repo::new();
    let (clean, smudge) = (repo.home().join("clean"), repo.home().join("smudge"));
    program(&clean, "#!/bin/sh\nexec tr a-z A-Z\n");
    program(&smudge, "#!/bin/sh\nexec tr A-Z a-z\n");
    for (what, path) in [("clean", &clean), ("smudge", &smudge)] {
        let key = format!("filter.upper.{what}");
        repo.git(&["config", "--global", &key, &path.display().to_string()]);
    }
    repo.git(&["config", "--global", "filter.upper.required", "true"]);
    repo.write("x.bin", "whole content\n");
    repo.commit(".gitattributes", "*.bin filter=upper\n");
    let stored = |rev: &str, path: &str| repo.git(&["cat-file", "blob", &format!("{rev}:{path}")]);
    assert_eq!(stored("HEAD", "x.bin"), "WHOLE CONTENT");
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    assert_eq!(fs::read_to_string(site.join("x.bin")).unwrap(), "whole content\n");
    assert_eq!(snap(&vcs, &base).await.revision, None);
    write(&site.join("y.bin"), "more\n");
    let revision = snap(&vcs, &base).await.revision.unwrap();
    assert_eq!(stored(revision.as_str(), "y.bin"), "MORE");
    let clean_site = place(&vcs, CLEAN, &revision).await.folder;
    assert_eq!(fs::read_to_string(clean_site.join("y.bin")).unwrap(), "more\n");

    // A file that the filter cannot make again is the revision's fault, and the site recovers.
    program(&smudge, "#!/bin/sh\nexit 1\n");
    let failed = vcs.place(CLEAN, &base, ralph_core::Caches::Drop, &Cx::new()).await;
    assert!(failed.is_ok(), "nothing had to be written: {failed:?}");
    fs::remove_file(clean_site.join("x.bin")).unwrap();
    let failed = vcs.place(CLEAN, &base, ralph_core::Caches::Drop, &Cx::new()).await;
    assert!(matches!(failed, Err(VcsError::Unplaceable(_))), "{failed:?}");
    program(&smudge, "#!/bin/sh\nexec tr A-Z a-z\n");
    place(&vcs, CLEAN, &base).await;
    assert_eq!(fs::read_to_string(clean_site.join("x.bin")).unwrap(), "whole content\n");
}

#[tokio::test]
async fn line_ends_of_the_global_settings() {
    let repo = Repo::new();
    repo.git(&["config", "--global", "core.autocrlf", "true"]);
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    assert_eq!(fs::read_to_string(site.join("README.md")).unwrap(), "hello\r\n");
    assert_eq!(snap(&vcs, &base).await.revision, None);
    write(&site.join("new"), "a\r\nb\r\n");
    let revision = snap(&vcs, &base).await.revision.unwrap();
    assert_eq!(read(&vcs, &revision, "new").await.as_deref(), Some("a\nb\n"));
}

#[tokio::test]
async fn ignore_files_of_every_place() {
    let repo = Repo::new();
    write(&repo.home().join("mine"), "*.own\n");
    repo.git(&["config", "--global", "core.excludesFile", "~/mine"]);
    write(&repo.root.join(".git/info/exclude"), "*.repo\n");
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a.own"), "x");
    write(&site.join("a.repo"), "x");
    assert_eq!(snap(&vcs, &base).await.revision, None);
    write(&site.join("a.other"), "x");
    assert_eq!(snap(&vcs, &base).await.stat.files, 1);

    // Without a setting, git looks in the usual place.
    let repo = Repo::new();
    write(&repo.home().join(".config/git/ignore"), "*.usual\n");
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a.usual"), "x");
    assert_eq!(snap(&vcs, &base).await.revision, None);
}

/// A setting that is true of the operator's disk says nothing about the sites'.
#[tokio::test]
async fn upper_and_lower_case_are_the_disks() {
    let repo = Repo::new();
    repo.git(&["config", "core.ignorecase", "true"]);
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("readme.md"), "another\n");
    let revision = snap(&vcs, &base).await.revision.unwrap();
    assert_eq!(read(&vcs, &revision, "readme.md").await.as_deref(), Some("another\n"));
    assert_eq!(read(&vcs, &revision, "README.md").await.as_deref(), Some("hello\n"));
}

#[tokio::test]
async fn odd_folder_names() {
    let repo = Repo::new();
    let odd: PathBuf = repo.folder.path().join("a b\t'ü\" $x;");
    fs::rename(&repo.root, &odd).unwrap();
    let mut options = repo.options();
    options.repository = odd.join(".");
    options.sites = repo.folder.path().join("s i t e s\n\"x");
    let vcs = GitVcs::open(options).await.unwrap();
    let base = start(&vcs).await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a"), "a");
    let revision = snap(&vcs, &base).await.revision.unwrap();
    assert_eq!(accept(&vcs, &revision, &base).await, Accepted::Landed);
    assert_eq!(repo.git_in(&site, &["status", "--porcelain"]), "?? a");
}

/// The machine's other git has to do as well: `RALPH_TEST_GIT=/usr/bin/git cargo test -p ralph-vcs`.
#[test]
fn the_git_under_test_is_there() {
    assert!(git_program().is_absolute());
}
