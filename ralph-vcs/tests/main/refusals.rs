//! Set-ups in which a run must not begin: told with what to do, and nothing is changed.

use std::fs;

use ralph_core::{Cx, Vcs, VcsError};
use ralph_vcs::{BranchState, FolderOptions, FolderVcs, GitOptions, GitVcs};

use crate::support::{BRANCH, Repo, WORK, accept, place, program, snap, start, write};

/// Expects that a run cannot begin, that the reason holds `why`, and that nothing was changed.
async fn refuses(repo: &Repo, options: GitOptions, why: &str) {
    let refs = || repo.git(&["for-each-ref"]);
    let before = refs();
    let refusal = match GitVcs::open(options).await {
        Err(error) => error,
        Ok(vcs) => {
            let report = vcs.preflight(&Cx::new()).await.unwrap();
            assert!(report.refusals.iter().any(|it| it.contains(why)), "{:?}", report.refusals);
            vcs.tip(None, &Cx::new()).await.unwrap_err()
        }
    };
    assert!(matches!(&refusal, VcsError::Refused(told) if told.contains(why)), "{refusal}");
    assert_eq!(refs(), before);
    assert!(!repo.sites().exists());
}

async fn refuses_usual(repo: &Repo, why: &str) {
    refuses(repo, repo.options(), why).await;
}

#[tokio::test]
async fn no_repository() {
    let repo = Repo::new();
    let mut options = repo.options();
    options.repository = repo.home();
    refuses(&repo, options.clone(), "not in a git repository").await;
    options.repository = repo.root.join("none");
    refuses(&repo, options.clone(), "No such file").await;
    options.repository = repo.root.join(".git");
    refuses(&repo, options, "start from the checkout").await;
}

#[tokio::test]
async fn no_git_or_an_old_one() {
    let repo = Repo::new();
    refuses(&repo, repo.options().with_git("/nonexistent/git"), "git was not found").await;
    let old = repo.folder.path().join("git");
    program(&old, "#!/bin/sh\necho git version 2.30.1\n");
    refuses(&repo, repo.options().with_git(old), "too old").await;
}

#[tokio::test]
async fn no_commit_yet() {
    let repo = Repo::new();
    repo.git(&["checkout", "-q", "--orphan", "unborn"]);
    refuses_usual(&repo, "no commit yet").await;
}

#[tokio::test]
async fn a_partial_clone() {
    let repo = Repo::new();
    let clone = Repo::new();
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    let from = format!("file://{}", repo.root.display());
    let to = clone.folder.path().join("partial");
    clone.git(&["clone", "-q", "--filter=blob:none", &from, &to.display().to_string()]);
    let mut options = clone.options();
    options.repository = to;
    refuses(&clone, options, "partial clone").await;
}

#[tokio::test]
async fn workspaces_in_a_checkout() {
    let repo = Repo::new();
    for inside in [repo.root.join("sites"), repo.root.join("a/b"), repo.root.join(".git/sites")] {
        let mut options = repo.options();
        options.sites = inside.clone();
        let vcs = GitVcs::open(options.clone()).await.unwrap();
        let head = repo.head();
        let refused = vcs.place(WORK, &head, ralph_core::Caches::Keep, &Cx::new()).await;
        assert!(matches!(refused, Err(VcsError::Refused(_))), "{refused:?}");
        assert!(!inside.exists());
        refuses(&repo, options, "would lie in").await;
    }
    // By way of a link as well.
    let link = repo.folder.path().join("link");
    std::os::unix::fs::symlink(&repo.root, &link).unwrap();
    let mut options = repo.options();
    options.sites = link.join("sites");
    refuses(&repo, options, "would lie in").await;
}

#[tokio::test]
async fn workspaces_that_are_somebody_elses() {
    let repo = Repo::new();
    let mut options = repo.options();
    options.sites = repo.folder.path().join("theirs");
    write(&options.sites.join("x"), "x");
    refuses(&repo, options.clone(), "not Ralph's").await;

    let other = Repo::new();
    let (vcs, tip) = other.begin().await;
    place(&vcs, WORK, &tip).await;
    options.sites = other.sites();
    refuses(&repo, options, "belongs to the repository").await;
}

#[tokio::test]
async fn names_that_a_branch_cannot_have() {
    let repo = Repo::new();
    for name in ["", "-x", "a..b", "a b", "HEAD", "x.lock", "--upload-pack=touch x", "a//b", "a\nb"] {
        let mut options = repo.options();
        options.branch = name.to_owned();
        refuses(&repo, options, "not a name that a branch can have").await;
    }
}

#[tokio::test]
async fn the_default_branch() {
    let repo = Repo::new();
    repo.git(&["checkout", "-qb", "mine"]);
    let mut options = repo.options();
    options.branch = "main".to_owned();
    refuses(&repo, options.clone(), "default branch").await;
    repo.git(&["update-ref", "refs/remotes/up/stream", "HEAD"]);
    repo.git(&["symbolic-ref", "refs/remotes/up/HEAD", "refs/remotes/up/stream"]);
    options.branch = "stream".to_owned();
    refuses(&repo, options.clone(), "default branch").await;
    repo.git(&["config", "init.defaultBranch", "trunk"]);
    options.branch = "trunk".to_owned();
    refuses(&repo, options, "default branch").await;
}

#[tokio::test]
async fn a_branch_in_the_way() {
    let repo = Repo::new();
    repo.git(&["branch", "ralph"]);
    refuses_usual(&repo, "cannot both exist").await;
    repo.git(&["branch", "-D", "ralph"]);
    repo.git(&["branch", "ralph/prd-p1/x"]);
    refuses_usual(&repo, "cannot both exist").await;
    repo.git(&["branch", "-D", "ralph/prd-p1/x"]);
    // A mark of a branch that is no more.
    repo.git(&["update-ref", "refs/ralph/branch/ralph", "HEAD"]);
    refuses_usual(&repo, "cannot both exist").await;
}

#[tokio::test]
async fn a_branch_that_is_another_name() {
    let repo = Repo::new();
    repo.git(&["checkout", "-qb", "mine"]);
    repo.git(&["symbolic-ref", "refs/heads/ralph/prd-p1", "refs/heads/main"]);
    refuses_usual(&repo, "only another name").await;
}

#[tokio::test]
async fn a_branch_that_is_checked_out() {
    let repo = Repo::new();
    start(&repo.open().await).await;
    repo.git(&["checkout", "-q", BRANCH]);
    refuses_usual(&repo, "is checked out in").await;
    repo.git(&["checkout", "-q", "main"]);
    let tree = repo.folder.path().join("tree").display().to_string();
    repo.git(&["worktree", "add", "-q", &tree, BRANCH]);
    refuses_usual(&repo, &format!("is checked out in {tree}")).await;
    repo.git(&["worktree", "remove", &tree]);
    start(&repo.open().await).await;
}

/// During a rebase the branch is checked out nowhere, and is still held.
#[tokio::test]
async fn a_branch_that_is_being_rebased() {
    let repo = Repo::new();
    start(&repo.open().await).await;
    repo.git(&["checkout", "-q", BRANCH]);
    repo.commit("README.md", "one\n");
    repo.git(&["checkout", "-q", "main"]);
    repo.commit("README.md", "two\n");
    assert!(!repo.try_git_in(&repo.root, &["rebase", "main", BRANCH]).status.success());
    refuses_usual(&repo, "is checked out in").await;
}

#[tokio::test]
async fn a_branch_of_somebody_else() {
    let repo = Repo::new();
    repo.git(&["branch", BRANCH]);
    refuses_usual(&repo, "is not Ralph's").await;
}

/// A clone has the branch and not our mark; the trailers tell.
#[tokio::test]
async fn a_branch_with_our_trailers_is_ours() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a"), "a");
    let revision = snap(&vcs, &base).await.revision.unwrap();
    accept(&vcs, &revision, &base).await;
    repo.git(&["update-ref", "-d", "refs/ralph/branch/ralph/prd-p1"]);
    let vcs = repo.open().await;
    let report = vcs.preflight(&Cx::new()).await.unwrap();
    assert_eq!(report.branch, BranchState::Known { tip: revision.clone(), base: base.clone() });
    assert_eq!(start(&vcs).await, revision);
    let report = vcs.preflight(&Cx::new()).await.unwrap();
    assert_eq!(report.branch, BranchState::Ours { tip: revision, base });
}

#[tokio::test]
async fn filters_from_the_tree() {
    let repo = Repo::new();
    repo.commit("tools/f.sh", "#!/bin/sh\ncat\n");
    let absolute = repo.root.join("tools/f.sh").display().to_string();
    for command in ["./tools/f.sh", "tools/f.sh %f", "sh tools/f.sh", "sh -c 'sh tools/f.sh'", &absolute] {
        repo.git(&["config", "filter.x.clean", command]);
        refuses_usual(&repo, "lies in the working tree").await;
    }
    repo.git(&["config", "--unset", "filter.x.clean"]);
    repo.git(&["config", "--global", "filter.x.smudge", "./f"]);
    refuses_usual(&repo, "lies in the working tree").await;
}

#[tokio::test]
async fn filters_that_are_missing() {
    let repo = Repo::new();
    repo.commit(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    refuses_usual(&repo, "git lfs install").await;
    repo.git(&["config", "filter.lfs.process", "no-such-git-lfs filter-process"]);
    refuses_usual(&repo, "not on the PATH").await;
    // There, but never used: it would write into the repository's settings in the middle of the run.
    repo.git(&["config", "filter.lfs.process", "cat"]);
    refuses_usual(&repo, "lfs.repositoryformatversion").await;
    repo.git(&["config", "lfs.repositoryformatversion", "0"]);
    let report = repo.open().await.preflight(&Cx::new()).await.unwrap();
    assert_eq!(report.refusals, [""; 0]);
}

/// Every snapshot would hold these files, though nobody touched them.
#[tokio::test]
async fn files_that_a_checkout_changes() {
    let repo = Repo::new();
    repo.write("crlf.txt", "a\r\nb\r\n");
    repo.commit("x", "x");
    repo.write(".gitattributes", "*.txt text eol=lf\n");
    repo.git(&["add", ".gitattributes"]);
    repo.git(&["commit", "-qm", "attributes"]);
    let vcs = repo.open().await;
    assert_eq!(repo.git(&["cat-file", "-s", "HEAD:crlf.txt"]), "6");
    let base = start(&vcs).await;
    let refused = vcs.place(WORK, &base, ralph_core::Caches::Keep, &Cx::new()).await.unwrap_err();
    let told = refused.to_string();
    assert!(told.contains("crlf.txt") && told.contains("--renormalize"), "{told}");
    repo.git(&["add", "--renormalize", "."]);
    repo.git(&["commit", "-qm", "renormalized"]);
    repo.git(&["branch", "-D", BRANCH]);
    let (vcs, base) = repo.begin().await;
    assert_eq!(base, repo.head());
    place(&vcs, WORK, &base).await;
}

#[tokio::test]
async fn settings_that_cannot_be_used() {
    let repo = Repo::new();
    refuses(&repo, repo.options().with_ledger("../x"), "control folder").await;
    refuses(&repo, repo.options().with_ledger("/x"), "control folder").await;
    refuses(&repo, repo.options().with_keep(["*/"]), "keep pattern").await;
    refuses(&repo, repo.options().with_author("nobody"), "author").await;
}

/// All this is the operator's business, and no reason not to begin.
#[tokio::test]
async fn a_merge_under_way_and_a_dirty_checkout_are_fine() {
    let repo = Repo::new();
    repo.git(&["checkout", "-qb", "side"]);
    repo.commit("README.md", "side\n");
    repo.git(&["checkout", "-q", "main"]);
    repo.commit("README.md", "main\n");
    assert!(!repo.try_git_in(&repo.root, &["merge", "side"]).status.success());
    let vcs = repo.open().await;
    let before = vcs.fingerprint(&Cx::new()).await.unwrap();
    let report = vcs.preflight(&Cx::new()).await.unwrap();
    assert!(report.notes.iter().any(|note| note.contains("a merge is under way")), "{:?}", report.notes);
    let base = start(&vcs).await;
    assert_eq!(base, repo.head());
    place(&vcs, WORK, &base).await;
    assert!(fs::read_to_string(repo.root.join("README.md")).unwrap().contains("<<<<<<<"));
    let after = vcs.fingerprint(&Cx::new()).await.unwrap();
    assert_eq!(before.difference(&after).to_string(), "nothing changed");
}

#[test]
fn copies_are_not_made_in_a_checkout() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(&at("source/README.md"), "hello\n");
    let open = || FolderVcs::open(FolderOptions::new(at("source"), at("state"), at("project/sites")));
    open().unwrap();
    fs::create_dir_all(at("project/.git")).unwrap();
    let refusal = open().unwrap_err().to_string();
    assert!(refusal.contains("in the checkout") && refusal.contains("choose a folder outside"), "{refusal}");
}
