//! What cannot be part of a commit is told, and the rest is taken in.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use ralph_core::{FindingKind, Snapshot};

use crate::support::{Repo, WORK, place, read, snap, write};

fn kinds(snapshot: &Snapshot) -> Vec<(FindingKind, &str)> {
    let mut all: Vec<_> = snapshot.findings.iter().map(|it| (it.kind, it.path.as_str())).collect();
    all.sort_by_key(|(_, path)| *path);
    all
}

/// Leaves `leave` and an ordinary file; expects the findings and the ordinary file in the revision.
async fn finds(leave: impl Fn(&Repo, &Path), expected: &[(FindingKind, &str)]) {
    let repo = Repo::new();
    repo.commit("src/a", "a");
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    leave(&repo, &site);
    write(&site.join("fine"), "fine");
    let snapshot = snap(&vcs, &base).await;
    assert_eq!(kinds(&snapshot), expected);
    let revision = snapshot.revision.expect("the rest was not taken");
    assert_eq!(read(&vcs, &revision, "fine").await.as_deref(), Some("fine"));
    // None of it is in the way of the next placing.
    place(&vcs, WORK, &base).await;
    let left: Vec<_> = fs::read_dir(&site).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "README.md, src and .git: {left:?}");
    let again = snap(&vcs, &base).await;
    assert_eq!((again.revision, again.findings), (None, vec![]));
}

fn run(folder: &Path, program: &str, args: &[&str]) {
    assert!(Command::new(program).args(args).current_dir(folder).status().unwrap().success());
}

#[tokio::test]
async fn nested_repositories() {
    let nested = |repo: &Repo, site: &Path| {
        for name in ["empty", "full", "deep/er"] {
            fs::create_dir_all(site.join(name)).unwrap();
            repo.git_in(&site.join(name), &["init", "-q", "."]);
        }
        write(&site.join("full/x"), "x");
        repo.git_in(&site.join("full"), &["add", "-A"]);
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        repo.git_in(&site.join("full"), &[&who[..], &["commit", "-qm", "x"]].concat());
        repo.git_in(&site.join("src"), &["init", "-q", "."]);
    };
    let is = FindingKind::NestedRepository;
    finds(nested, &[(is, "deep/er"), (is, "empty"), (is, "full"), (is, "src")]).await;
}

#[tokio::test]
async fn pipes_and_sockets() {
    let special = |_: &Repo, site: &Path| {
        run(site, "mkfifo", &["pipe"]);
        fs::remove_file(site.join("src/a")).unwrap();
        run(site, "mkfifo", &["src/a"]);
        drop(std::os::unix::net::UnixListener::bind(site.join("s")).unwrap());
    };
    let is = FindingKind::SpecialFile;
    finds(special, &[(is, "pipe"), (is, "s"), (is, "src/a")]).await;
}

#[tokio::test]
async fn names_that_git_refuses() {
    let names = |_: &Repo, site: &Path| {
        write(&site.join(".GIT/x"), "x");
        write(&site.join("src/git~1"), "x");
        write(&site.join("src/.git "), "x");
        write(&site.join("src/.g\u{200c}it"), "x");
    };
    let is = FindingKind::RefusedName;
    let expected = [(is, ".GIT"), (is, ".GIT/x"), (is, "src/.git "), (is, "src/.g\u{200c}it"), (is, "src/git~1")];
    finds(names, &expected).await;
}

/// Git itself passes over this one without a word in its exit code.
#[tokio::test]
async fn a_link_where_git_wants_settings() {
    let link = |_: &Repo, site: &Path| symlink("README.md", site.join(".gitmodules")).unwrap();
    finds(link, &[(FindingKind::RefusedName, ".gitmodules")]).await;
}

#[tokio::test]
async fn links_that_leave() {
    let links = |repo: &Repo, site: &Path| {
        symlink(&repo.root, site.join("absolute")).unwrap();
        symlink("../../operator", site.join("src/relative")).unwrap();
        symlink(".git/config", site.join("into-git")).unwrap();
        symlink("..", site.join("src/up")).unwrap();
        symlink("src/up/..", site.join("roundabout")).unwrap();
    };
    let is = FindingKind::LinkLeavesTree;
    let expected = [(is, "absolute"), (is, "into-git"), (is, "roundabout"), (is, "src/relative")];
    finds(links, &expected).await;
}

/// What git cannot store is the work's fault, and the rest is taken in all the same.
#[tokio::test]
async fn files_that_git_cannot_store() {
    let leave = |_: &Repo, site: &Path| {
        write(&site.join(".gitattributes"), "*.utf working-tree-encoding=UTF-16\n");
        for name in ["a.utf", "z.utf"] {
            write(&site.join(name), "odd");
        }
    };
    let is = FindingKind::Unreadable;
    finds(leave, &[(is, "a.utf"), (is, "z.utf")]).await;
}

#[tokio::test]
async fn too_many_files_or_bytes() {
    let repo = Repo::new();
    let options = repo.options().with_limits(3, 100);
    let vcs = ralph_vcs::GitVcs::open(options).await.unwrap();
    let base = crate::support::start(&vcs).await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a"), "a");
    write(&site.join("big"), &"x".repeat(100));
    for name in ["c", "d", "e"] {
        write(&site.join(name), name);
    }
    let snapshot = snap(&vcs, &base).await;
    assert_eq!(kinds(&snapshot), [(FindingKind::TooMuch, "big"), (FindingKind::TooMuch, "e")]);
    // The next session is told; `e` is small, and one too many.
    assert!(snapshot.findings[1].to_string().contains("files and bytes"), "{}", snapshot.findings[1]);
}

#[tokio::test]
async fn attempts_on_each_others_work_do_not_add_up_to_too_much() {
    let repo = Repo::new();
    let vcs = ralph_vcs::GitVcs::open(repo.options().with_limits(3, 1000)).await.unwrap();
    let base = crate::support::start(&vcs).await;
    let mut at = base.clone();
    for (names, findings) in [(["a", "b"], 0), (["c", "d"], 1)] {
        let site = place(&vcs, WORK, &at).await.folder;
        for name in names {
            write(&site.join(name), name);
        }
        let snapshot = snap(&vcs, &base).await;
        assert_eq!(snapshot.findings.len(), findings, "{:?}", snapshot.findings);
        at = snapshot.revision.unwrap();
    }
}

#[tokio::test]
async fn files_that_cannot_be_read() {
    // The superuser reads everything.
    if rustix::process::geteuid().is_root() {
        return;
    }
    let unreadable = |_: &Repo, site: &Path| {
        write(&site.join("secret"), "x");
        run(site, "chmod", &["0", "secret"]);
        write(&site.join("folder/x"), "x");
        run(site, "chmod", &["0", "folder"]);
    };
    let is = FindingKind::Unreadable;
    finds(unreadable, &[(is, "folder"), (is, "secret")]).await;
}

#[tokio::test]
async fn changed_submodules() {
    let repo = Repo::new();
    let other = Repo::new();
    let from = other.root.display().to_string();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "lib"]);
    repo.git(&["commit", "-qm", "a submodule"]);
    let (vcs, base) = repo.begin().await;
    let report = vcs.preflight(&ralph_core::Cx::new()).await.unwrap();
    assert!(report.notes.iter().any(|note| note.contains("1 submodule")), "{:?}", report.notes);
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("fine"), "fine");
    let snapshot = snap(&vcs, &base).await;
    assert_eq!(snapshot.findings, []);
    let kept = repo.git(&["ls-tree", snapshot.revision.unwrap().as_str(), "lib"]);
    assert!(kept.starts_with("160000 commit"), "{kept}");

    let is = FindingKind::Submodule;
    write(&site.join("lib/x"), "x");
    assert_eq!(kinds(&snap(&vcs, &base).await), [(is, "lib")]);
    place(&vcs, WORK, &base).await;
    assert!(!site.join("lib/x").exists(), "a file hid in the submodule's folder");
    fs::remove_dir(site.join("lib")).unwrap();
    write(&site.join("lib"), "a file now");
    assert_eq!(kinds(&snap(&vcs, &base).await), [(is, "lib")]);
    place(&vcs, WORK, &base).await;
    repo.git_in(&site, &["-c", "protocol.file.allow=always", "clone", "-q", &from, "lib"]);
    assert!(kinds(&snap(&vcs, &base).await).contains(&(is, "lib")));
}
