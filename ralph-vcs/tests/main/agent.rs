//! The agent's own repository: it works for the agent, and means nothing to us.

use std::fs;

use ralph_core::Cx;

use crate::support::{Repo, WORK, place, read, snap, write};

#[tokio::test]
async fn an_agent_commits_amends_branches_and_all_of_it_is_one_commit() {
    let repo = Repo::new();
    repo.git(&["tag", "-a", "-m", "one", "v1.0"]);
    let (vcs, base) = repo.begin().await;
    let before = vcs.fingerprint(&Cx::new()).await.unwrap();
    let site = place(&vcs, WORK, &base).await.folder;
    let git = |args: &[&str]| repo.git_in(&site, args);
    assert_eq!(git(&["status", "--porcelain"]), "");
    assert_eq!(git(&["symbolic-ref", "HEAD"]), "refs/heads/ralph/prd-p1");
    assert_eq!(git(&["describe"]), "v1.0");
    assert_eq!(git(&["remote"]), "");
    write(&site.join("a"), "a");
    git(&["add", "-A"]);
    git(&["commit", "-qm", "one"]);
    assert_eq!(git(&["log", "-1", "--format=%an <%ae>"]), "Operator <operator@example.org>");
    assert_eq!(git(&["diff", "--name-only", "main"]), "a");
    write(&site.join("a"), "aa");
    git(&["commit", "-qa", "--amend", "-m", "two"]);
    git(&["checkout", "-qb", "elsewhere"]);
    write(&site.join("b"), "b");
    git(&["add", "-A"]);
    git(&["commit", "-qm", "three"]);
    write(&site.join("c"), "c");
    let snapshot = snap(&vcs, &base).await;
    let revision = snapshot.revision.unwrap();
    assert_eq!(snapshot.stat.files, 3);
    assert_eq!(read(&vcs, &revision, "a").await.as_deref(), Some("aa"));
    assert_eq!(repo.git(&["rev-list", "--count", &format!("{base}..{revision}")]), "1");
    let after = vcs.fingerprint(&Cx::new()).await.unwrap();
    assert_eq!(before.difference(&after).to_string(), "nothing changed");
}

#[tokio::test]
async fn an_agents_push_goes_nowhere() {
    let repo = Repo::new();
    repo.git(&["remote", "add", "origin", "https://example.invalid/x.git"]);
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    let push = repo.try_git_in(&site, &["push"]);
    assert!(!push.status.success());
    assert!(!repo.try_git_in(&site, &["push", "origin", "HEAD:main"]).status.success());
}

#[tokio::test]
async fn an_agent_without_its_git_folder() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    fs::remove_dir_all(site.join(".git")).unwrap();
    // Git finds no other repository above.
    assert!(!repo.try_git_in(&site, &["reset", "--hard"]).status.success());
    write(&site.join("a"), "a");
    let revision = snap(&vcs, &base).await.revision.unwrap();
    assert_eq!(read(&vcs, &revision, "a").await.as_deref(), Some("a"));
    place(&vcs, WORK, &base).await;
    assert_eq!(repo.git_in(&site, &["status", "--porcelain"]), "");
}

/// What an agent writes as a repository does not outlive the session.
#[tokio::test]
async fn each_placing_writes_a_new_git_folder() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    repo.git_in(&site, &["config", "alias.x", "y"]);
    write(&site.join(".git/hooks/pre-commit"), "x");
    place(&vcs, WORK, &base).await;
    assert!(!site.join(".git/hooks").exists());
    assert!(!fs::read_to_string(site.join(".git/config")).unwrap().contains("alias"));
}
