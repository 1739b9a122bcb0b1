//! A repository of a given size with a plan, and the stub agent and verifier that all loops use.

use std::{fmt::Write as _, fs, path::PathBuf, process::Command};

/// What the agent does, as a shell line: four files, two of them new, and some output. Only what the shell has built in.
pub const AGENT: &str = "read -r n <count.txt; n=$((n + 1)); echo $n >count.txt; echo \"note $n\" >notes/$n.txt; \
    echo \"more $n\" >notes/more-$n.txt; echo \"line $n\" >>src/d0/f0.txt; \
    i=0; while [ $i -lt 20 ]; do echo '{\"type\":\"text\",\"text\":\"working\"}'; i=$((i + 1)); done";

/// What the verifier looks at, as a shell line.
pub const VERIFY: &str = "read -r n <count.txt && test -s notes/$n.txt && echo fine";

/// Files in a folder of the repository.
const FOLDER: usize = 50;

/// A repository at `root` with a plan beside its files.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The repository.
    pub root: PathBuf,
}

impl Stage {
    /// Makes a repository of about `files` files in one commit.
    pub fn make(root: impl Into<PathBuf>, files: usize) -> Self {
        let root = root.into();
        let filler = "x".repeat(380);
        for nth in 0..files {
            let folder = root.join(format!("src/d{}", nth / FOLDER));
            if nth % FOLDER == 0 {
                fs::create_dir_all(&folder).expect("a folder");
            }
            fs::write(folder.join(format!("f{}.txt", nth % FOLDER)), format!("{nth}\n{filler}\n")).expect("a file");
        }
        fs::create_dir_all(root.join("notes")).expect("a folder");
        fs::write(root.join("notes/0.txt"), "note 0\n").expect("a file");
        fs::write(root.join("count.txt"), "0\n").expect("a file");
        fs::write(root.join(".gitignore"), "/ralph-loop/\n").expect("a file");
        let stage = Self { root };
        stage.git(&["init", "--quiet", "--initial-branch=main"]);
        stage.git(&["config", "user.name", "Bench"]);
        stage.git(&["config", "user.email", "bench@example.org"]);
        // No helper in the background, which would outlive its loop.
        stage.git(&["config", "gc.auto", "0"]);
        stage.git(&["config", "maintenance.auto", "false"]);
        stage.git(&["add", "--all"]);
        stage.git(&["commit", "--quiet", "--message=begin"]);
        stage
    }

    /// Runs git in the repository, as a person would, and answers its first line.
    pub fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git").args(args).current_dir(&self.root).output().expect("git is needed");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
    }

    /// The control folder.
    pub fn ledger(&self) -> PathBuf {
        self.root.join("ralph-loop")
    }

    /// The plan.
    pub fn prd(&self) -> PathBuf {
        self.ledger().join("PRD-P1.md")
    }

    /// Writes a plan of `items` items.
    pub fn plan(&self, items: usize) {
        fs::create_dir_all(self.ledger()).expect("a folder");
        fs::write(self.prd(), prd(items)).expect("a file");
    }
}

/// A PRD of `items` open items.
pub fn prd(items: usize) -> String {
    let mut text = format!("# Counting\n\nVerify: {VERIFY}\n\n## Items\n\n");
    for nth in 1..=items {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- [ ] R{nth:05}: Count on to {nth}\n  - the note says so");
    }
    text
}
