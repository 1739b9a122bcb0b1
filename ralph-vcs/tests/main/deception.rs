//! Tricks that make git believe what is not so.

use std::{
    fs,
    os::unix::fs::symlink,
    process::Command,
    time::{Duration, SystemTime},
};

use ralph_core::{Accepted, Cx, FindingKind, Vcs};

use crate::support::{CLEAN, Repo, WORK, accept, files, place, read, seal, snap, write};

#[tokio::test]
async fn the_agents_index_and_excludes_hide_nothing() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    let git = |args: &[&str]| repo.git_in(&site, args);
    git(&["update-index", "--assume-unchanged", "README.md"]);
    git(&["config", "status.showUntrackedFiles", "no"]);
    git(&["config", "core.checkStat", "minimal"]);
    write(&site.join(".git/info/exclude"), "*\n");
    write(&site.join("README.md"), "HELLO\n");
    write(&site.join("new"), "new\n");
    let revision = snap(&vcs, &base).await.revision.unwrap();
    assert_eq!(read(&vcs, &revision, "README.md").await.as_deref(), Some("HELLO\n"));
    assert_eq!(read(&vcs, &revision, "new").await.as_deref(), Some("new\n"));
}

/// The operator's own settings would let git overlook an edit of the same size with an old date.
#[tokio::test]
async fn an_edit_with_an_old_date_is_seen_and_undone() {
    let repo = Repo::new();
    repo.git(&["config", "core.trustctime", "false"]);
    repo.git(&["config", "core.checkStat", "minimal"]);
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    let readme = site.join("README.md");
    let edit = || {
        let date = fs::metadata(&readme).unwrap().modified().unwrap();
        fs::write(&readme, "HELLO\n").unwrap();
        fs::File::options().write(true).open(&readme).unwrap().set_modified(date).unwrap();
    };
    let pause = |wait| std::thread::sleep(Duration::from_millis(wait));
    let settle = async |wait| {
        // A note in which there is nothing left to doubt.
        pause(wait);
        assert_eq!(snap(&vcs, &base).await.revision, None);
        let old = SystemTime::now() - Duration::from_secs(3600);
        fs::File::options().write(true).open(&readme).unwrap().set_modified(old).unwrap();
        pause(wait);
        assert_eq!(snap(&vcs, &base).await.revision, None);
    };
    for wait in [0, 1100] {
        // In the second of git's note, and in a later one.
        settle(wait).await;
        edit();
        let revision = snap(&vcs, &base).await.revision.expect("the edit was overlooked");
        assert_eq!(read(&vcs, &revision, "README.md").await.as_deref(), Some("HELLO\n"));
        place(&vcs, WORK, &base).await;
        settle(wait).await;
        edit();
        place(&vcs, WORK, &base).await;
        assert_eq!(fs::read_to_string(&readme).unwrap(), "hello\n", "the edit survived");
    }
}

/// The files behind the link have the inodes and dates that git remembers.
#[tokio::test]
async fn a_folder_moved_out_and_linked_back_is_put_back() {
    let repo = Repo::new();
    repo.commit("src/a", "a");
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    let outside = repo.folder.path().join("moved");
    let swap = || {
        fs::rename(site.join("src"), &outside).unwrap();
        symlink(&outside, site.join("src")).unwrap();
    };
    swap();
    place(&vcs, WORK, &base).await;
    assert!(!site.join("src").is_symlink());
    assert_eq!(fs::read_to_string(site.join("src/a")).unwrap(), "a");
    assert_eq!(fs::read_to_string(outside.join("a")).unwrap(), "a", "touched through the link");
    fs::remove_dir_all(&outside).unwrap();

    swap();
    let snapshot = snap(&vcs, &base).await;
    let kinds: Vec<_> = snapshot.findings.iter().map(|it| (it.kind, it.path.as_str())).collect();
    assert_eq!(kinds, [(FindingKind::LinkLeavesTree, "src")]);
    place(&vcs, WORK, &base).await;
    assert_eq!(fs::read_to_string(site.join("src/a")).unwrap(), "a");
    assert_eq!(fs::read_to_string(outside.join("a")).unwrap(), "a", "touched through the link");
}

/// A link inside the tree in a folder's place is work like any other.
#[tokio::test]
async fn a_folder_replaced_by_a_link_inside_the_tree_is_taken() {
    let repo = Repo::new();
    repo.commit("src/a", "a");
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    fs::rename(site.join("src"), site.join("lib")).unwrap();
    symlink("lib", site.join("src")).unwrap();
    let snapshot = snap(&vcs, &base).await;
    assert_eq!(snapshot.findings, []);
    let clean = place(&vcs, CLEAN, &snapshot.revision.unwrap()).await.folder;
    let expected = [("README.md", "hello\n"), ("lib/a", "a"), ("src", "-> lib")];
    let expected = expected.map(|(path, text)| (path.to_owned(), text.to_owned()));
    assert_eq!(files(&clean), expected.into());
}

/// With the site replaced by a link to the operator's checkout, plain reset and clean would delete its untracked files
/// and revert its edits.
#[tokio::test]
async fn a_site_that_is_now_the_operators_checkout() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    repo.write("README.md", "edited, not committed\n");
    repo.write("notes.txt", "untracked\n");
    let mine = files(&repo.root);
    let before = vcs.fingerprint(&Cx::new()).await.unwrap();
    let swap = || {
        fs::rename(&site, site.with_extension("old")).unwrap();
        symlink(&repo.root, &site).unwrap();
    };
    swap();
    let snapshot = snap(&vcs, &base).await;
    assert_eq!(snapshot.findings.first().map(|it| it.kind), Some(FindingKind::FolderReplaced));
    assert_eq!(snapshot.revision, None);
    place(&vcs, WORK, &base).await;
    assert!(!site.is_symlink());
    assert_eq!(files(&repo.root), mine);
    // Over a restart as well, and by another folder instead of a link.
    fs::remove_dir_all(site.with_extension("old")).unwrap();
    swap();
    let (vcs, _) = repo.begin().await;
    place(&vcs, WORK, &base).await;
    assert_eq!(files(&repo.root), mine);
    fs::rename(&site, repo.folder.path().join("elsewhere")).unwrap();
    fs::rename(&repo.root, &site).unwrap();
    let snapshot = snap(&vcs, &base).await;
    assert_eq!(snapshot.findings.first().map(|it| it.kind), Some(FindingKind::FolderReplaced));
    fs::rename(&site, &repo.root).unwrap();
    assert_eq!(files(&repo.root), mine);
    let after = vcs.fingerprint(&Cx::new()).await.unwrap();
    assert_eq!(before.difference(&after).to_string(), "nothing changed");
}

/// Nothing is written into a file that is also known by a name elsewhere.
#[tokio::test]
async fn a_hard_link_to_the_operators_file() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    repo.write("mine", "mine");
    fs::remove_file(site.join("README.md")).unwrap();
    fs::hard_link(repo.root.join("mine"), site.join("README.md")).unwrap();
    place(&vcs, WORK, &base).await;
    assert_eq!(fs::read_to_string(repo.root.join("mine")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(site.join("README.md")).unwrap(), "hello\n");
}

#[tokio::test]
async fn replaced_objects_do_not_count() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    repo.write("other", "REPLACED\n");
    let other = repo.git(&["hash-object", "-w", "other"]);
    let readme = repo.rev("HEAD:README.md");
    repo.git(&["replace", &readme, &other]);
    assert_eq!(repo.git(&["show", "HEAD:README.md"]), "REPLACED", "the control");
    let site = place(&vcs, WORK, &base).await.folder;
    assert_eq!(fs::read_to_string(site.join("README.md")).unwrap(), "hello\n");
    assert_eq!(read(&vcs, &base, "README.md").await.as_deref(), Some("hello\n"));
}

/// A snapshot survives the operator's garbage collection at any moment.
#[tokio::test]
async fn garbage_collection_takes_nothing_of_ours() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a"), "a");
    let revision = snap(&vcs, &base).await.revision.unwrap();
    let gc = || repo.git(&["gc", "-q", "--prune=now"]);
    gc();
    assert_eq!(accept(&vcs, &revision, &base).await, Accepted::Landed);
    assert_eq!(repo.git(&["for-each-ref", "refs/ralph/work"]), "", "the pin is gone");
    place(&vcs, WORK, &revision).await;
    write(&site.join("a"), "b");
    let rejected = snap(&vcs, &revision).await.revision.unwrap();
    let seal = seal("R01", 1);
    let kept = vcs.keep(&rejected, ralph_core::KeepKind::Rejected, &seal.run, &seal.attempt, &Cx::new()).await.unwrap();
    assert_eq!(kept, "refs/ralph/rejected/run-1/P1/R01/1");
    assert_eq!(repo.git(&["for-each-ref", "refs/ralph/work"]), "");
    gc();
    assert_eq!(read(&vcs, &rejected, "a").await.as_deref(), Some("b"));
}

/// Deeper than there are open files allowed, and with read-only folders as Go's module cache has.
#[tokio::test]
async fn deep_and_read_only_folders_are_swept() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    let script = format!("mkdir -p {0} && chmod 500 {0} && chmod 0 {0}/..", "d/".repeat(300));
    let made = Command::new("sh").arg("-c").arg(&script).current_dir(&site).status().unwrap();
    assert!(made.success());
    let snapshot = snap(&vcs, &base).await;
    assert_eq!(snapshot.findings.first().map(|it| it.kind), Some(FindingKind::TooMuch));
    place(&vcs, WORK, &base).await;
    let names: Vec<_> = fs::read_dir(&site).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}
