//! Cleaning removes what is ours and nothing else.

use std::{fs, os::unix::fs::symlink};

use ralph_core::VcsError;

use crate::support::{CLEAN, Repo, WORK, files, place, write};

#[tokio::test]
async fn sites_go_and_nothing_behind_a_link() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    assert_eq!(vcs.remove_sites().await.unwrap(), [""; 0].map(std::path::PathBuf::from));
    let site = place(&vcs, WORK, &base).await.folder;
    place(&vcs, CLEAN, &base).await;
    let mine = files(&repo.root);
    symlink(&repo.root, site.join("link")).unwrap();
    fs::rename(&site, site.with_extension("x")).unwrap();
    symlink(&repo.root, &site).unwrap();
    // One that was moved aside, and the link that stands there now.
    place(&vcs, WORK, &base).await;
    fs::remove_dir_all(&site).unwrap();
    symlink(&repo.root, &site).unwrap();
    let removed = vcs.remove_sites().await.unwrap();
    assert_eq!(removed.len(), 4, "{removed:?}");
    assert!(!repo.sites().exists());
    assert_eq!(files(&repo.root), mine);
    // And on it goes.
    place(&vcs, WORK, &base).await;
}

#[tokio::test]
async fn what_is_not_ours_stays() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    place(&vcs, WORK, &base).await;
    write(&repo.sites().join("notes.txt"), "mine");
    vcs.remove_sites().await.unwrap();
    assert!(repo.sites().join("notes.txt").exists());
    assert!(!repo.sites().join("lanes").exists());

    let other = Repo::new();
    let mut options = other.options();
    options.sites = repo.sites();
    let vcs = ralph_vcs::GitVcs::open(options).await.unwrap();
    let refused = vcs.remove_sites().await;
    assert!(matches!(refused, Err(VcsError::Refused(_))), "{refused:?}");
}
