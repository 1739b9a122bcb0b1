//! Where the agents come from: npm, at a version that is named here.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The versions that are tested, as npm is asked for them. Named, because npm on an older Node takes an old one in
/// silence; the programs themselves are native and need no Node.
const CLAUDE: &str = "@anthropic-ai/claude-code@2.1.332";
const CODEX: &str = "@openai/codex@0.171.0";

/// The agents' programs.
pub(super) struct Clis {
    pub(super) claude: PathBuf,
    pub(super) codex: PathBuf,
}

/// The agents, installed if they are not there yet: once for all tests, however many of them begin at a time.
pub(super) fn installed() -> Clis {
    let folder = std::env::var_os("RALPH_REAL_CLIS_DIR").map_or_else(
        || Path::new(env!("CARGO_TARGET_TMPDIR")).join("real-clis"),
        |folder| std::path::absolute(folder).unwrap(),
    );
    fs::create_dir_all(&folder).unwrap();
    let lock = fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let done = folder.join("installed");
    let wanted = format!("{CLAUDE} {CODEX}");
    if fs::read_to_string(&done).ok().as_ref() != Some(&wanted) {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"]).arg(&folder).args([CLAUDE, CODEX]);
        let output = npm.output().unwrap_or_else(|error| panic!("npm is needed to install the agents: {error}"));
        assert!(output.status.success(), "{npm:?}: {}", String::from_utf8_lossy(&output.stderr));
        fs::write(done, wanted).unwrap();
    }
    // The native programs, wherever this machine's package has them: what npm links is a wrapper that may need a newer
    // Node, or an install script that npm was told not to run.
    let modules = folder.join("node_modules");
    Clis {
        claude: program(&modules.join("@anthropic-ai"), "claude"),
        codex: program(&modules.join("@openai"), "codex"),
    }
}

/// The largest executable file of this name.
fn program(folder: &Path, name: &str) -> PathBuf {
    let mut found = Vec::new();
    find(folder, name, &mut found);
    found.sort();
    found.pop().unwrap_or_else(|| panic!("no program `{name}` in {}", folder.display())).1
}

fn find(folder: &Path, name: &str, found: &mut Vec<(u64, PathBuf)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = path.symlink_metadata().unwrap();
        if meta.is_dir() {
            find(&path, name, found);
        } else if meta.is_file() && path.file_name().is_some_and(|file| file == name) {
            found.push((meta.len(), path));
        }
    }
}
