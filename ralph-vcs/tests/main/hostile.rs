//! What an agent plants never runs, though plain git does run it.

use std::{fs, path::Path};

use crate::support::{Repo, WORK, place, whole_iteration, write};

/// Where a planted program leaves its mark.
struct Planted<'a> {
    repo: &'a Repo,
    site: &'a Path,
    mark: String,
}

impl Planted<'_> {
    /// The path of a program that leaves the mark, and passes its input on.
    fn program(&self) -> String {
        let path = self.repo.folder.path().join("planted.sh");
        crate::support::program(&path, &format!("#!/bin/sh\ntouch {}\ncat\n", self.mark));
        path.display().to_string()
    }

    fn config(&self, key: &str, value: &str) {
        self.repo.git_in(self.site, &["config", key, value]);
    }

    fn ran(&self) -> bool {
        Path::new(&self.mark).exists()
    }
}

/// Plants with `plant`, sees that plain git (`control`) runs it, and that a whole iteration does not.
async fn never_runs(plant: impl Fn(&Planted<'_>), control: &[&[&str]]) {
    let repo = Repo::new();
    repo.commit("src/a.txt", "a\n");
    let (vcs, base) = repo.begin().await;
    let before = vcs.fingerprint(&ralph_core::Cx::new()).await.unwrap();
    let site = place(&vcs, WORK, &base).await.folder;
    let mark = repo.folder.path().join("mark").display().to_string();
    let planted = Planted { repo: &repo, site: &site, mark };
    write(&site.join("src/a.txt"), "changed\n");
    write(&site.join("new.txt"), "new\n");
    plant(&planted);
    let tip = whole_iteration(&vcs, &base).await.revision.unwrap();
    assert!(!planted.ran(), "planted code ran in the iteration");

    // The control comes last, so that it cannot prepare anything for us.
    let site = place(&vcs, WORK, &tip).await.folder;
    let planted = Planted { site: &site, ..planted };
    write(&site.join("src/a.txt"), "changed again\n");
    plant(&planted);
    for args in control {
        repo.try_git_in(&site, args);
    }
    assert!(planted.ran(), "the control did not run: {control:?}");
    fs::remove_file(&planted.mark).unwrap();
    whole_iteration(&vcs, &tip).await;
    assert!(!planted.ran(), "planted code ran after the control");
    let after = vcs.fingerprint(&ralph_core::Cx::new()).await.unwrap();
    assert_eq!(before.difference(&after).to_string(), "nothing changed");
}

const COMMIT: &[&[&str]] = &[&["add", "-A"], &["commit", "-q", "-m", "x"]];

#[tokio::test]
async fn hooks() {
    for name in ["pre-commit", "post-commit", "post-index-change", "reference-transaction", "commit-msg"] {
        let plant = |it: &Planted<'_>| {
            let to = it.site.join(".git/hooks").join(name);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(it.program(), to).unwrap();
        };
        never_runs(plant, COMMIT).await;
    }
}

#[tokio::test]
async fn hooks_path() {
    let plant = |it: &Planted<'_>| {
        fs::create_dir_all(it.site.join("my-hooks")).unwrap();
        fs::copy(it.program(), it.site.join("my-hooks/pre-commit")).unwrap();
        it.config("core.hooksPath", "my-hooks");
    };
    never_runs(plant, COMMIT).await;
}

#[tokio::test]
async fn file_system_monitor() {
    let plant = |it: &Planted<'_>| it.config("core.fsmonitor", &it.program());
    never_runs(plant, &[&["status"]]).await;
}

#[tokio::test]
async fn included_settings() {
    let plant = |it: &Planted<'_>| {
        let text = format!("[core]\n\tfsmonitor = {}\n", it.program());
        write(&it.site.join("settings.inc"), &text);
        it.config("include.path", &it.site.join("settings.inc").display().to_string());
    };
    never_runs(plant, &[&["status"]]).await;
}

#[tokio::test]
async fn filters_of_the_agents_settings() {
    for what in ["clean", "smudge", "process"] {
        let plant = |it: &Planted<'_>| {
            it.config(&format!("filter.x.{what}"), &it.program());
            write(&it.site.join(".gitattributes"), "*.txt filter=x\n");
        };
        let control: &[&[&str]] = &[&["add", "-A"], &["stash"], &["stash", "pop"]];
        never_runs(plant, control).await;
    }
}

#[tokio::test]
async fn filters_of_the_agents_own_attributes() {
    let plant = |it: &Planted<'_>| {
        it.config("filter.x.clean", &it.program());
        write(&it.site.join(".git/info/attributes"), "*.txt filter=x\n");
    };
    never_runs(plant, &[&["add", "-A"]]).await;
}

#[tokio::test]
async fn diff_programs() {
    let plant = |it: &Planted<'_>| it.config("diff.external", &it.program());
    never_runs(plant, &[&["diff"]]).await;
    let plant = |it: &Planted<'_>| {
        it.config("diff.x.textconv", &it.program());
        write(&it.site.join(".gitattributes"), "*.txt diff=x\n");
    };
    never_runs(plant, &[&["diff"]]).await;
}

#[tokio::test]
async fn signing() {
    let plant = |it: &Planted<'_>| {
        it.config("commit.gpgSign", "true");
        it.config("gpg.program", &it.program());
    };
    never_runs(plant, COMMIT).await;
}

#[tokio::test]
async fn a_git_file_that_points_elsewhere() {
    let plant = |it: &Planted<'_>| {
        let evil = it.repo.folder.path().join("evil");
        fs::create_dir_all(&evil).unwrap();
        it.repo.git_in(&evil, &["init", "-q", "."]);
        it.repo.git_in(&evil, &["config", "core.fsmonitor", &it.program()]);
        fs::remove_dir_all(it.site.join(".git")).unwrap();
        write(&it.site.join(".git"), &format!("gitdir: {}\n", evil.join(".git").display()));
    };
    never_runs(plant, &[&["status"]]).await;
}

/// `git add` and plain `status` ask a nested repository for its state, with its own settings.
#[tokio::test]
async fn a_nested_repository() {
    let plant = |it: &Planted<'_>| {
        let nested = it.site.join("nested");
        fs::create_dir_all(&nested).unwrap();
        it.repo.git_in(&nested, &["init", "-q", "."]);
        write(&nested.join("x.txt"), "x\n");
        it.repo.git_in(&nested, &["add", "-A"]);
        it.repo.git_in(&nested, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]);
        it.repo.git_in(&nested, &["config", "core.fsmonitor", &it.program()]);
        write(&nested.join("x.txt"), "y\n");
    };
    never_runs(plant, &[&["add", "-A"], &["status"]]).await;
}

/// Where the revision has a submodule, git asks whatever repository stands there.
#[tokio::test]
async fn a_repository_in_a_submodules_place() {
    let repo = Repo::new();
    let head = repo.head();
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},lib")]);
    repo.git(&["commit", "-qm", "a submodule"]);
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    let mark = repo.folder.path().join("mark").display().to_string();
    let planted = Planted { repo: &repo, site: &site, mark };
    let plant = || {
        let lib = site.join("lib");
        fs::create_dir_all(&lib).unwrap();
        repo.git_in(&lib, &["init", "-q", "."]);
        repo.git_in(&lib, &["fetch", "-q", &repo.root.display().to_string(), "HEAD"]);
        repo.git_in(&lib, &["reset", "-q", "--hard", head.as_str()]);
        // A filter, since settings that we override hold in the child that git starts there as well.
        repo.git_in(&lib, &["config", "filter.x.clean", &planted.program()]);
        write(&lib.join(".gitattributes"), "* filter=x\n");
        write(&lib.join("README.md"), "HELLO\n");
    };
    plant();
    write(&site.join("new.txt"), "new\n");
    let snapshot = whole_iteration(&vcs, &base).await;
    assert!(!planted.ran(), "planted code ran in the iteration");
    assert!(snapshot.findings.iter().any(|it| it.path == "lib"), "{:?}", snapshot.findings);
    plant();
    repo.git_in(&site, &["status"]);
    assert!(planted.ran(), "the control did not run");
}

/// The same around files of the repository, in a folder that it has.
#[tokio::test]
async fn a_repository_around_the_revisions_files() {
    let plant = |it: &Planted<'_>| {
        let nested = it.site.join("src");
        it.repo.git_in(&nested, &["init", "-q", "."]);
        it.repo.git_in(&nested, &["config", "core.fsmonitor", &it.program()]);
    };
    never_runs(plant, &[&["-C", "src", "status"]]).await;
}
