//! A repository to work on, and git as a person would run it.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, SystemTime},
};

use ralph_core::{Accepted, AttemptId, Caches, Cx, ItemRef, Placed, Revision, RunId, Seal, Site, Snapshot, Tip, Vcs};
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

    /// The operator's environment: nothing of the person's who runs the tests.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let home = self.home();
        vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            ("HOME".into(), home.clone().into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
            ("GIT_CONFIG_GLOBAL".into(), home.join("gitconfig").into()),
        ]
    }

    /// Runs git as a person does, in the checkout.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.root, args)
    }

    #[track_caller]
    pub(crate) fn git_in(&self, folder: &Path, args: &[&str]) -> String {
        let output = self.try_git_in(folder, args);
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub(crate) fn try_git_in(&self, folder: &Path, args: &[&str]) -> Output {
        Command::new(&self.git)
            .env_clear()
            .envs(self.environment())
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
        let options = GitOptions::new(&self.root, BRANCH, self.sites()).with_git(&self.git);
        options.with_environment(self.environment())
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
        message: format!("{item}: title\n\nRalph-Item: {item}\nRalph-Run: run-1\nRalph-Attempt: {number}\n"),
        at: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        cleanup: false,
    }
}

#[track_caller]
pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The operator's files, `.git` apart: path to content.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, String> {
    fn walk(folder: &Path, prefix: &str, all: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type().unwrap();
            if kind.is_symlink() {
                all.insert(path, format!("-> {}", fs::read_link(entry.path()).unwrap().display()));
            } else if kind.is_dir() && path != ".git" {
                walk(&entry.path(), &format!("{path}/"), all);
            } else if kind.is_file() {
                let bytes = fs::read(entry.path()).unwrap();
                all.insert(path, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    let mut all = BTreeMap::new();
    walk(folder, "", &mut all);
    all
}

/// The content of `path` in `revision`.
pub(crate) async fn read(vcs: &GitVcs, revision: &Revision, path: &str) -> Option<String> {
    let tree = vcs.tree(revision, &Cx::new()).await.unwrap();
    let bytes = tree.read(path.as_bytes(), 1 << 20).await.unwrap();
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Snapshot, clean site, accept, next placing: all that is done with what an agent left.
pub(crate) async fn whole_iteration(vcs: &GitVcs, base: &Revision) -> Snapshot {
    let snapshot = snap(vcs, base).await;
    let mut tip = base.clone();
    if let Some(revision) = &snapshot.revision {
        place(vcs, CLEAN, revision).await;
        assert_eq!(accept(vcs, revision, base).await, Accepted::Landed);
        tip = revision.clone();
    }
    // Once more on the same site, which still holds what the agent left, and then anew.
    snap(vcs, base).await;
    place(vcs, WORK, &tip).await;
    snapshot
}

/// Makes a program.
#[track_caller]
pub(crate) fn program(path: &Path, text: &str) {
    write(path, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
