//! What a run relies on, on an ordinary repository.

use std::{fs, process::Command};

use ralph_core::{Accepted, Caches, Cx, Tip, Vcs, VcsError};
use ralph_vcs::GitVcs;

use crate::support::{BRANCH, CLEAN, Repo, WORK, accept, files, place, read, seal, snap, start, write};

#[tokio::test]
async fn the_operators_checkout_stays_as_it_is() {
    let repo = Repo::new();
    repo.git(&["stash", "list"]);
    repo.write("README.md", "edited\n");
    repo.git(&["stash"]);
    repo.write("README.md", "edited again\n");
    repo.write("staged", "staged\n");
    repo.git(&["add", "staged"]);
    repo.write("untracked", "untracked\n");
    let vcs = repo.open().await;
    let (before, mine) = (vcs.fingerprint(&Cx::new()).await.unwrap(), files(&repo.root));
    let base = start(&vcs).await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a"), "a");
    let revision = snap(&vcs, &base).await.revision.unwrap();
    place(&vcs, CLEAN, &revision).await;
    accept(&vcs, &revision, &base).await;
    let after = vcs.fingerprint(&Cx::new()).await.unwrap();
    assert_eq!(before.difference(&after).to_string(), "nothing changed");
    assert_eq!(files(&repo.root), mine);
    assert!(!repo.root.join(".git/index.lock").exists());
    repo.git(&["stash", "drop"]);
    let now = vcs.fingerprint(&Cx::new()).await.unwrap();
    let told = after.difference(&now).to_string();
    assert!(told.contains("refs/stash is gone"), "{told}");
}

#[tokio::test]
async fn a_commit_is_made_of_its_seal() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a"), "a");
    let revision = snap(&vcs, &base).await.revision.unwrap();
    let show = |format: &str| repo.git(&["show", "-s", &format!("--format={format}"), revision.as_str()]);
    assert_eq!(show("%an <%ae> %ad"), "Operator <operator@example.org> Tue Nov 14 22:13:20 2023 +0000");
    assert_eq!(show("%cn %ct"), "Operator 1700000000");
    assert_eq!(show("%s"), "R01: title");
    assert_eq!(show("%(trailers:key=Ralph-Item,valueonly)"), "R01");
    assert_eq!(show("%P"), base.as_str());
    assert_eq!(repo.git(&["rev-parse", "refs/ralph/work/run-1/P1/R01/1"]), revision.as_str());
}

#[tokio::test]
async fn another_author() {
    let repo = Repo::new();
    let options = repo.options().with_author("A Bot <bot@example.org>");
    let vcs = GitVcs::open(options).await.unwrap();
    let base = start(&vcs).await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a"), "a");
    let revision = snap(&vcs, &base).await.revision.unwrap();
    let who = repo.git(&["show", "-s", "--format=%an <%ae> %cn", revision.as_str()]);
    assert_eq!(who, "A Bot <bot@example.org> Operator");
}

/// The control folder's copies in a workspace are the agent's to write, and never enter a candidate.
#[tokio::test]
async fn the_ledger_never_enters_a_candidate() {
    let repo = Repo::new();
    repo.commit("ralph-loop/PRD.md", "- [ ] R01: x\n");
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("ralph-loop/PRD.md"), "- [x] R01: x\n");
    write(&site.join("ralph-loop/new"), "new");
    let snapshot = snap(&vcs, &base).await;
    assert_eq!((snapshot.revision, snapshot.findings), (None, vec![]));
    write(&site.join("a"), "a");
    fs::remove_dir_all(site.join("ralph-loop")).unwrap();
    let revision = snap(&vcs, &base).await.revision.unwrap();
    let list = repo.git(&["ls-tree", "-r", "--name-only", revision.as_str()]);
    assert_eq!(list, "README.md\na\nralph-loop/PRD.md");
    std::os::unix::fs::symlink("/etc", site.join("ralph-loop")).unwrap();
    assert_eq!(snap(&vcs, &base).await.findings, []);
}

/// A plan that lies elsewhere in the repository is no different.
#[tokio::test]
async fn other_control_files_never_enter_a_candidate() {
    let repo = Repo::new();
    repo.commit("docs/prd.md", "- [ ] R01: x\n");
    let vcs = GitVcs::open(repo.options().with_control(["docs/prd.md"])).await.unwrap();
    let base = start(&vcs).await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("docs/prd.md"), "- [x] R01: x\n");
    write(&site.join("docs/other.md"), "work\n");
    let revision = snap(&vcs, &base).await.revision.unwrap();
    assert_eq!(read(&vcs, &revision, "docs/prd.md").await.as_deref(), Some("- [ ] R01: x\n"));
    assert_eq!(read(&vcs, &revision, "docs/other.md").await.as_deref(), Some("work\n"));

    fs::remove_dir_all(site.join("docs")).unwrap();
    std::os::unix::fs::symlink(".", site.join("docs")).unwrap();
    assert_eq!(snap(&vcs, &base).await.revision, None, "as if it had not been touched");
}

/// Kept work from before the operator committed to the control folder gets the new base's entries.
#[tokio::test]
async fn the_ledger_of_kept_work_is_the_new_bases() {
    let repo = Repo::new();
    repo.commit("ralph-loop/PRD.md", "- [ ] R01: x\n");
    repo.commit("ralph-loop/old", "old\n");
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a"), "a");
    let kept = snap(&vcs, &base).await.revision.unwrap();
    let tip = ahead(&repo, "ralph-loop/PRD.md", "- [x] R01: x\n");
    for restart in [false, true] {
        let vcs = repo.open().await;
        let site = place(&vcs, WORK, &kept).await.folder;
        write(&site.join("b"), "b");
        // Another process remembers nothing.
        let vcs = if restart { repo.open().await } else { vcs };
        let revision = snap(&vcs, &tip).await.revision.unwrap();
        let mark = read(&vcs, &revision, "ralph-loop/PRD.md").await;
        assert_eq!(mark.as_deref(), Some("- [x] R01: x\n"));
        assert_eq!(read(&vcs, &revision, "ralph-loop/old").await, None);
        assert_eq!(read(&vcs, &revision, "b").await.as_deref(), Some("b"));
    }
}

/// The operator commits on the run's branch, from a checkout of it elsewhere.
fn ahead(repo: &Repo, file: &str, text: &str) -> ralph_core::Revision {
    let tree = repo.folder.path().join("tree");
    let path = tree.display().to_string();
    repo.git(&["worktree", "add", "-q", &path, BRANCH]);
    write(&tree.join(file), text);
    let _ = fs::remove_file(tree.join("ralph-loop/old"));
    repo.git_in(&tree, &["add", "-A"]);
    repo.git_in(&tree, &["commit", "-qm", "by hand"]);
    repo.git(&["worktree", "remove", "--force", &path]);
    ralph_core::Revision::new(repo.rev(BRANCH))
}

#[tokio::test]
async fn a_branch_that_was_moved_by_hand() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a"), "a");
    let revision = snap(&vcs, &base).await.revision.unwrap();
    let moved = ahead(&repo, "by-hand", "x");
    let tip = async |since| vcs.tip(Some(since), &Cx::new()).await.unwrap();
    assert_eq!(tip(&base).await, Tip::Ahead(moved.clone()));
    assert_eq!(accept(&vcs, &revision, &base).await, Accepted::Overtaken(moved.clone()));
    let other = repo.commit("main-moved", "x");
    repo.git(&["update-ref", "refs/heads/ralph/prd-p1", other.as_str()]);
    assert!(matches!(tip(&moved).await, Tip::Lost(_)));
    assert!(matches!(accept(&vcs, &revision, &moved).await, Accepted::Lost(_)));
    repo.git(&["update-ref", "-d", "refs/heads/ralph/prd-p1"]);
    assert!(matches!(tip(&base).await, Tip::Lost(_)));
    assert!(matches!(accept(&vcs, &revision, &base).await, Accepted::Lost(_)));
}

#[tokio::test]
async fn a_branch_that_somebody_checks_out_meanwhile_is_not_moved_under_them() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a"), "a");
    let revision = snap(&vcs, &base).await.revision.unwrap();
    repo.git(&["checkout", "-q", BRANCH]);
    let refused = vcs.accept(&revision, &base, &Cx::new()).await.unwrap_err();
    assert!(matches!(&refused, VcsError::Refused(why) if why.contains("checked out in")), "{refused}");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    repo.git(&["checkout", "-q", "main"]);
    assert_eq!(accept(&vcs, &revision, &base).await, Accepted::Landed);
}

/// The branch moves only forward, whoever asks.
#[tokio::test]
async fn work_on_another_base_is_not_accepted() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let main = repo.commit("a", "a");
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a"), "a");
    let first = snap(&vcs, &base).await.revision.unwrap();
    accept(&vcs, &first, &base).await;
    let refused = vcs.accept(&main, &first, &Cx::new()).await.unwrap_err();
    assert!(matches!(refused, VcsError::Refused(_)), "{refused}");
    assert_eq!(repo.rev(BRANCH), first.as_str());
}

/// A later process completes what an earlier one began.
#[tokio::test]
async fn a_snapshot_is_accepted_and_kept_by_another_process() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a"), "a");
    let first = snap(&vcs, &base).await.revision.unwrap();
    let vcs = repo.open().await;
    assert_eq!(snap(&vcs, &base).await.revision, Some(first.clone()));
    let vcs = repo.open().await;
    assert_eq!(accept(&vcs, &first, &base).await, Accepted::Landed);
    assert_eq!(repo.git(&["for-each-ref", "refs/ralph/work"]), "");
    // The lock of a git that was killed in a site is no obstacle.
    write(&repo.sites().join("lanes/0/work.index.lock"), "");
    place(&vcs, WORK, &first).await;
    // Nor a damaged index: what it said was only a note.
    write(&repo.sites().join("lanes/0/work.index"), "damaged");
    write(&site.join("left"), "left");
    place(&vcs, WORK, &first).await;
    assert!(!site.join("left").exists());
}

#[tokio::test]
async fn a_pin_that_somebody_removed() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a"), "a");
    let revision = snap(&vcs, &base).await.revision.unwrap();
    repo.git(&["update-ref", "-d", "refs/ralph/work/run-1/P1/R01/1"]);
    assert_eq!(accept(&vcs, &revision, &base).await, Accepted::Landed);
    // The pin of a later try is not taken for an earlier one.
    write(&site.join("a"), "b");
    let first = snap(&vcs, &revision).await.revision.unwrap();
    write(&site.join("a"), "c");
    let second = snap(&vcs, &revision).await.revision.unwrap();
    let seal = seal("R01", 1);
    let kind = ralph_core::KeepKind::Interrupted;
    vcs.keep(&first, kind, &seal.run, &seal.attempt, &Cx::new()).await.unwrap();
    assert_eq!(repo.rev("refs/ralph/work/run-1/P1/R01/1"), second.as_str());
}

#[tokio::test]
async fn caches_stay_where_they_may() {
    let repo = Repo::new();
    repo.write("src/.gitignore", "node_modules/\n");
    repo.commit(".gitignore", "target/\n*.pyc\nlocal.txt\n");
    let (vcs, base) = repo.begin().await;
    let placed = place(&vcs, WORK, &base).await;
    assert!(placed.fresh);
    let site = placed.folder;
    let leave = || {
        for file in [
            "target/debug/x",
            "src/node_modules/.bin/y",
            // Not ignored there: it would be taken into the next snapshot.
            "node_modules/z",
            "__pycache__/m.pyc",
            "local.txt",
            "helper.py",
        ] {
            write(&site.join(file), "x");
        }
        std::os::unix::fs::symlink("../x", site.join("target/link")).unwrap();
    };
    leave();
    let placed = place(&vcs, WORK, &base).await;
    assert!(!placed.fresh);
    for (file, stays) in [
        ("target/debug/x", true),
        ("src/node_modules/.bin/y", true),
        ("node_modules", false),
        ("__pycache__", false),
        ("local.txt", false),
        ("helper.py", false),
    ] {
        assert_eq!(site.join(file).exists(), stays, "{file}");
    }
    assert!(site.join("target/link").is_symlink(), "a cache is left as it is");
    let placed = vcs.place(WORK, &base, Caches::Drop, &Cx::new()).await.unwrap();
    assert!(placed.fresh && !site.join("target").exists());
}

/// A revision may have files of its own in a folder that is called like a cache.
#[tokio::test]
async fn a_cache_in_which_the_revision_has_files_is_no_cache() {
    let repo = Repo::new();
    repo.commit(".gitignore", "target/\n");
    let (vcs, old) = repo.begin().await;
    repo.write("target/own", "own");
    repo.git(&["add", "-f", "target/own"]);
    repo.git(&["commit", "-qm", "own"]);
    let new = repo.head();
    let site = place(&vcs, WORK, &old).await.folder;
    write(&site.join("target/own"), "stale");
    write(&site.join("target/left"), "left");
    place(&vcs, WORK, &new).await;
    assert_eq!(fs::read_to_string(site.join("target/own")).unwrap(), "own");
    assert!(!site.join("target/left").exists());
}

#[tokio::test]
async fn a_cancelled_or_late_call_ends() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let cx = Cx::new();
    cx.cancel().cancel();
    let ended = vcs.place(WORK, &base, Caches::Keep, &cx).await;
    assert!(matches!(ended, Err(VcsError::Ended(_))), "{ended:?}");
    let now = std::time::SystemTime::now();
    let late = Cx::new().with_time_limit(std::time::Duration::ZERO, now);
    let ended = vcs.place(WORK, &base, Caches::Keep, &late).await;
    assert!(matches!(ended, Err(VcsError::Ended(_))), "{ended:?}");
    place(&vcs, WORK, &base).await;
}

/// At whatever point a call is dropped, making it again completes it.
#[tokio::test]
async fn calls_that_are_dropped_can_be_made_again() {
    let repo = Repo::new();
    for nth in 0..300 {
        repo.write(&format!("d{}/f{nth}", nth % 7), &nth.to_string());
    }
    let base = repo.commit("last", "last");
    let (vcs, _) = repo.begin().await;
    let (cx, seal) = (Cx::new(), seal("R01", 1));
    let soon = |step: u64| std::time::Duration::from_micros(step * 700);
    for step in 0..40 {
        let dropped = vcs.place(WORK, &base, Caches::Keep, &cx);
        let _ = tokio::time::timeout(soon(step), dropped).await;
    }
    let site = place(&vcs, WORK, &base).await.folder;
    assert_eq!(files(&site), files(&repo.root));
    for nth in 0..50 {
        write(&site.join(format!("new/{nth}")), "new");
    }
    for step in 0..60 {
        let dropped = vcs.snapshot(WORK, &base, &seal, &cx);
        let _ = tokio::time::timeout(soon(step), dropped).await;
    }
    let snapshot = vcs.snapshot(WORK, &base, &seal, &cx).await.unwrap();
    assert_eq!(snapshot.stat.files, 50);
    let revision = snapshot.revision.unwrap();
    for step in 0..10 {
        let dropped = vcs.accept(&revision, &base, &cx);
        let _ = tokio::time::timeout(soon(step), dropped).await;
    }
    assert_eq!(accept(&vcs, &revision, &base).await, Accepted::Landed);
    assert_eq!(repo.rev(BRANCH), revision.as_str());
    assert_eq!(repo.git(&["fsck", "--connectivity-only"]), "");
}

/// All that a hook of git sets leads nowhere: the whole conformance suite passes in such an environment.
#[test]
fn the_environment_of_a_git_hook() {
    let repo = Repo::new();
    let elsewhere = repo.root.join(".git");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["conformance::inherited", "--include-ignored"])
        .env("GIT_DIR", &elsewhere)
        .env("GIT_COMMON_DIR", &elsewhere)
        .env("GIT_WORK_TREE", &repo.root)
        .env("GIT_INDEX_FILE", elsewhere.join("index"))
        .env("GIT_OBJECT_DIRECTORY", elsewhere.join("objects"))
        .env("GIT_NAMESPACE", "x")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.bare")
        .env("GIT_CONFIG_VALUE_0", "true")
        .env("GIT_CONFIG_PARAMETERS", "'core.hooksPath'='/x'")
        .env("GIT_EXTERNAL_DIFF", "false")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("24 passed"), "{said}");
    assert_eq!(repo.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn names_of_all_kinds() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    let bytes: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff\xfe \t\n*?");
    let names = [bytes, "-x".as_ref(), ":(top)a".as_ref(), "a\\b".as_ref(), "'\"$x".as_ref()];
    for name in names {
        fs::write(site.join(name), "x").unwrap();
    }
    let snapshot = snap(&vcs, &base).await;
    assert_eq!(snapshot.findings, []);
    let revision = snapshot.revision.unwrap();
    let clean = place(&vcs, CLEAN, &revision).await.folder;
    for name in names {
        assert_eq!(fs::read_to_string(clean.join(name)).unwrap(), "x", "{name:?}");
    }
    let seal = seal("../R 01", 7);
    let kept = vcs.keep(&revision, ralph_core::KeepKind::Parked, &seal.run, &seal.attempt, &Cx::new()).await.unwrap();
    assert_eq!(repo.rev(&kept), revision.as_str());
    assert!(kept.starts_with("refs/ralph/parked/run-1/P1/R-01-"), "{kept}");
}
