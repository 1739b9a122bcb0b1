//! A scratch repository, and the program in clean surroundings.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

/// The system's programs that are used.
const PROGRAMS: &[&str] = &["awk", "cat", "git", "grep", "make", "mkdir", "mv", "rm", "sh", "sleep", "touch", "true"];

/// A home of its own and a repository, in a folder that goes with it.
pub(super) struct Scratch {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

/// What a call printed, and how it ended.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Scratch {
    /// An empty folder with no repository yet.
    pub(super) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        for name in ["home", "repo", "tmp", "bin"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        // Only these, so that no agent that is installed here is found.
        for name in PROGRAMS {
            let program = which::which(name).unwrap_or_else(|_| panic!("`{name}` is needed for these tests"));
            std::os::unix::fs::symlink(program, root.join("bin").join(name)).unwrap();
        }
        Self { _folder: folder, root }
    }

    /// A repository with these files and one commit.
    pub(super) fn repo(files: &[(&str, &str)]) -> Self {
        let scratch = Self::empty();
        scratch.git(&["init", "--quiet", "--initial-branch=main"]);
        scratch.git(&["config", "user.name", "Ada"]);
        scratch.git(&["config", "user.email", "ada@localhost"]);
        for (name, text) in files {
            scratch.write(name, text);
        }
        scratch.commit("Begin");
        scratch
    }

    pub(super) fn path(&self) -> PathBuf {
        self.root.join("repo")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Where the calls put what is temporary.
    pub(super) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A program on the `PATH` of the calls.
    pub(super) fn program(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.root.join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(super) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        let output = self.scrubbed("git", &self.path()).args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the program in the repository.
    pub(super) fn ralph(&self, args: &[&str]) -> Said {
        self.ralph_in(&self.path(), args)
    }

    /// Starts the program in the repository and does not wait for it.
    pub(super) fn start(&self, args: &[&str]) -> Child {
        let mut command = self.scrubbed(env!("CARGO_BIN_EXE_ralph"), &self.path());
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    pub(super) fn ralph_in(&self, folder: &Path, args: &[&str]) -> Said {
        let mut command = self.scrubbed(env!("CARGO_BIN_EXE_ralph"), folder);
        said(command.args(args).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs `ralph hook EVENT` in the repository with `input` on stdin and these variables.
    pub(super) fn hook(&self, event: &str, input: &str, vars: &[(&str, &str)]) -> Said {
        let mut command = self.scrubbed(env!("CARGO_BIN_EXE_ralph"), &self.path());
        Self::told(command.args(["hook", event]).envs(vars.iter().copied()), input)
    }

    /// Starts `ralph hook EVENT` in the repository, with a pipe for its input.
    pub(super) fn start_hook(&self, event: &str) -> Child {
        let mut command = self.scrubbed(env!("CARGO_BIN_EXE_ralph"), &self.path());
        command.args(["hook", event]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Runs a shell line in the repository with `input` on stdin and these variables.
    pub(super) fn sh(&self, line: &str, input: &str, vars: &[(&str, &str)]) -> Said {
        let mut command = self.scrubbed("sh", &self.path());
        Self::told(command.args(["-c", line]).envs(vars.iter().copied()), input)
    }

    fn told(command: &mut Command, input: &str) -> Said {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Whoever does not read it has ended.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        said(child.wait_with_output().unwrap())
    }

    /// A command that sees nothing of the surroundings but a few of the system's programs.
    fn scrubbed(&self, program: &str, folder: &Path) -> Command {
        let program = if program.contains('/') { program.into() } else { self.root.join("bin").join(program) };
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", self.root.join("bin"))
            .env("HOME", self.home())
            .env("TMPDIR", self.root.join("tmp"))
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(folder);
        command
    }

    /// `text` with what differs from one call to the next replaced.
    pub(super) fn stable(&self, text: &str) -> String {
        text.replace(&self.root.display().to_string(), "[root]")
    }
}

fn said(output: Output) -> Said {
    Said {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Filters for snapshots: ids, times and commits differ from run to run.
pub(super) fn filters() -> Vec<(&'static str, &'static str)> {
    vec![
        (r"\b\d{8}-\d{6}-[0-9a-f]{6}\b", "[run]"),
        (r"\b[0-9a-f]{40}\b", "[commit]"),
        (r"\b[0-9a-f]{7,12}\b", "[commit]"),
        (r"\(\d+\.\d s", "(0.0 s"),
        (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\dZ?", "[time]"),
        (r"\b\d{4}-\d\d-\d\d\b", "[date]"),
    ]
}
