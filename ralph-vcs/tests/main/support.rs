//! A repository to work on, and git as a person would run it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::Once,
    time::{Duration, SystemTime},
};

use ralph_core::{
    Accepted, AttemptId, Caches, Cx, ItemRef, Placed, Revision, RunId, Seal, Site, Snapshot, Tip,
    Vcs,
};
use ralph_vcs::{GitOptions, GitVcs};
use tempfile::TempDir;

pub(crate) const WORK: Site = Site::Work { lane: 0 };
pub(crate) const CLEAN: Site = Site::Clean { lane: 0 };
pub(crate) const BRANCH: &str = "ralph/prd-p1";

/// A repository in a temporary folder, with `README.md` committed on `main`.
pub(crate) struct Repo {
    pub(crate) folder: TempDir,
    pub(crate) root: PathBuf,
    git: PathBuf,
}

/// The environment of the whole test program: nothing of the person's who runs it.
fn scrub() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        assert!(std::env::var_os("GIT_DIR").is_none(), "run the tests outside of git hooks");
    });
}

/// The git to test with: `RALPH_TEST_GIT`, else the first on the `PATH`.
pub(crate) fn git_program() -> PathBuf {
    let program = std::env::var_os("RALPH_TEST_GIT").unwrap_or_else(|| "git".into());
    which::which(program).expect("git is needed for these tests")
}

impl Repo {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// A repository made with more options for `git init`.
    pub(crate) fn with(options: &[&str]) -> Self {
        scrub();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("operator");
        let repo = Self { root: root.clone(), folder, git: git_program() };
        fs::create_dir(repo.home()).unwrap();
        fs::create_dir(&root).unwrap();
        repo.git(&[&["init", "-q", "-b", "main"], options].concat());
        repo.git(&["config", "user.name", "Operator"]);
        repo.git(&["config", "user.email", "operator@example.org"]);
        repo.commit("README.md", "hello\n");
        repo
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Runs git as a person does, in the checkout.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.root, args)
    }

    #[track_caller]
    pub(crate) fn git_in(&self, folder: &Path, args: &[&str]) -> String {
        let output = self.try_git_in(folder, args);
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub(crate) fn try_git_in(&self, folder: &Path, args: &[&str]) -> Output {
        Command::new(&self.git)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", self.home().join("gitconfig"))
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
            .args(args)
            .current_dir(folder)
            .output()
            .unwrap()
    }

    /// Writes a file into the checkout and commits it.
    pub(crate) fn commit(&self, file: &str, text: &str) -> Revision {
        self.write(file, text);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", file]);
        self.head()
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        write(&self.root.join(file), text);
    }

    pub(crate) fn head(&self) -> Revision {
        Revision::new(self.git(&["rev-parse", "HEAD"]))
    }

    pub(crate) fn rev(&self, name: &str) -> String {
        self.git(&["rev-parse", name])
    }

    pub(crate) fn sites(&self) -> PathBuf {
        self.folder.path().join("sites")
    }

    pub(crate) fn options(&self) -> GitOptions {
        GitOptions::new(&self.root, BRANCH, self.sites()).with_git(&self.git)
    }

    pub(crate) async fn open(&self) -> GitVcs {
        GitVcs::open(self.options()).await.unwrap()
    }

    /// Opens and begins.
    pub(crate) async fn begin(&self) -> (GitVcs, Revision) {
        let vcs = self.open().await;
        let tip = start(&vcs).await;
        (vcs, tip)
    }
}

pub(crate) async fn start(vcs: &GitVcs) -> Revision {
    match vcs.tip(None, &Cx::new()).await.unwrap() {
        Tip::At(tip) => tip,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn place(vcs: &GitVcs, site: Site, revision: &Revision) -> Placed {
    vcs.place(site, revision, Caches::Keep, &Cx::new()).await.unwrap()
}

pub(crate) async fn snap(vcs: &GitVcs, base: &Revision) -> Snapshot {
    vcs.snapshot(WORK, base, &seal("R01", 1), &Cx::new()).await.unwrap()
}

pub(crate) async fn accept(vcs: &GitVcs, revision: &Revision, expected: &Revision) -> Accepted {
    vcs.accept(revision, expected, &Cx::new()).await.unwrap()
}

pub(crate) fn seal(item: &str, number: u32) -> Seal {
    Seal {
        run: RunId::new("run-1"),
        attempt: AttemptId { item: ItemRef::new("P1", item), number },
        message: format!(
            "{item}: title\n\nRalph-Item: {item}\nRalph-Run: run-1\nRalph-Attempt: {number}\n"
        ),
        at: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
    }
}

#[track_caller]
pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
