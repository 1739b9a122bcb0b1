//! A repository in a temporary folder, an agent and verifiers that are shell scripts, and the program itself.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// How long anything in a test may take before the test fails.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);

/// The branch of a run on `ralph-loop/PRD-P1.md`.
pub(crate) const BRANCH: &str = "ralph/prd-p1";

/// An agent that does what each item asks for.
pub(crate) const DILIGENT: &str = r#"echo made >"$RALPH_ITEM_ID.txt""#;

/// One repository with a control folder, an agent, and a home of its own.
pub(crate) struct Scratch {
    folder: TempDir,
    /// The operator's checkout.
    pub(crate) root: PathBuf,
    /// The run's branch.
    pub(crate) branch: &'static str,
    /// The folder with the user's home and state: its own, unless a test has several projects of one user.
    pub(crate) user: PathBuf,
}

impl Scratch {
    /// A repository whose PRD asks for `R01.txt`, `R02.txt`, … and a diligent agent.
    pub(crate) fn new(items: usize) -> Self {
        let scratch = Self::empty();
        scratch.git(&["init", "-q", "--template=", "-b", "main"]);
        scratch.git(&["config", "user.name", "Operator"]);
        scratch.git(&["config", "user.email", "operator@example.org"]);
        scratch.write("README.md", "hello\n");
        scratch.write(".gitignore", "*.ignored\n");
        scratch.git(&["add", "README.md", ".gitignore"]);
        scratch.git(&["commit", "-qm", "start"]);
        let mut prd = "# PRD-P1 — Files\n\n".to_owned();
        for number in 1..=items {
            writeln!(prd, "- [ ] R{number:02}: make the file {number}\n  Verify: test -s R{number:02}.txt").unwrap();
        }
        scratch.prd(&prd);
        scratch.agent(DILIGENT);
        scratch
    }

    /// A folder without a repository, and an agent all the same.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::Builder::new().prefix("ralph-e2e-").tempdir().unwrap();
        // Without links in it, so that paths can be compared with those of processes.
        let root = folder.path().canonicalize().unwrap().join("operator");
        let user = root.parent().unwrap().to_owned();
        let scratch = Self { root, folder, branch: BRANCH, user };
        for name in ["operator/ralph-loop", "home", "notes"] {
            fs::create_dir_all(scratch.path(name)).unwrap();
        }
        let agent = toml_text(&scratch.path("agent.sh"));
        scratch.write("ralph-loop/ralph.toml", format!("[agent]\nbackend = \"command\"\ncommand = [{agent}]\n"));
        scratch
    }

    /// A path beside the checkout. `notes/` is where agents and verifiers may leave notes for the test.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.parent().unwrap().join(name)
    }

    /// Writes a file of the operator's checkout.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.root.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The whole PRD.
    pub(crate) fn prd(&self, text: &str) {
        self.write("ralph-loop/PRD-P1.md", text);
    }

    /// Changes the PRD, as an editor does: all at once.
    pub(crate) fn edit_prd(&self, from: &str, to: &str) {
        let before = self.read("ralph-loop/PRD-P1.md");
        assert!(before.contains(from), "{from:?} is not in {before}");
        self.write("ralph-loop/new", before.replacen(from, to, 1));
        fs::rename(self.root.join("ralph-loop/new"), self.root.join("ralph-loop/PRD-P1.md")).unwrap();
    }

    /// Settings below those of the agent.
    pub(crate) fn settings(&self, more: &str) {
        let before = self.read("ralph-loop/ralph.toml");
        self.write("ralph-loop/ralph.toml", before + more);
    }

    /// The agent: a shell script that runs in the workspace. It notes each session in `notes/sessions`; `$NOTES` is
    /// the folder of notes, `$OPERATOR` the operator's checkout.
    pub(crate) fn agent(&self, script: &str) {
        self.script("agent.sh", script);
    }

    /// An agent that is Claude Code by its output: a real transcript, after `script` did the work.
    pub(crate) fn claude(&self, transcript: &str, script: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ralph-agents/tests/transcripts/claude");
        let (stdout, exit) = (folder.join(format!("{transcript}.stdout")), folder.join(format!("{transcript}.exit")));
        let exit = fs::read_to_string(&exit).unwrap();
        self.agent(&format!("{script}\ncat '{}'\nexit {}", stdout.display(), exit.trim()));
        let agent = toml_text(&self.path("agent.sh"));
        self.write("ralph-loop/ralph.toml", format!("[agent]\nbackend = \"claude\"\ncommand = [{agent}]\n"));
    }

    /// An executable script beside the checkout.
    pub(crate) fn script(&self, name: &str, script: &str) -> PathBuf {
        let path = self.path(name);
        let (notes, operator) = (self.path("notes"), self.root.clone());
        let text = format!(
            "#!/bin/sh\nexport NOTES='{}' OPERATOR='{}'\necho \"$RALPH_ITEM_ID.$RALPH_ATTEMPT\" >>\"$NOTES/sessions\"\n{script}\n",
            notes.display(),
            operator.display(),
        );
        // Renamed into place: a script that is open for writing cannot be run.
        let new = path.with_extension("new");
        fs::write(&new, text).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(new, &path).unwrap();
        path
    }

    /// A note that an agent or a verifier left; empty where there is none.
    pub(crate) fn note(&self, name: &str) -> String {
        fs::read_to_string(self.path("notes").join(name)).unwrap_or_default()
    }

    /// The sessions that began, as `R01.1` (item and attempt), in order.
    pub(crate) fn sessions(&self) -> Vec<String> {
        self.note("sessions").lines().map(str::to_owned).collect()
    }

    // The program.

    /// Runs `ralph` with these arguments to its end.
    pub(crate) fn ralph(&self, args: &[&str]) -> Ended {
        self.start(args).end()
    }

    /// `ralph run` with more arguments.
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        self.ralph(&[&["run"], args].concat())
    }

    /// Starts `ralph` in the operator's checkout.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        self.start_with(args, &[])
    }

    /// The same with more variables in its environment.
    pub(crate) fn start_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Running {
        let outputs = tempfile::Builder::new().prefix("out-").tempdir_in(self.folder.path()).unwrap().keep();
        let file = |name: &str| fs::File::create(outputs.join(name)).unwrap();
        let mut command = self.command(args);
        command.stdout(file("stdout")).stderr(file("stderr")).envs(variables.iter().copied());
        Running { child: command.spawn().unwrap(), outputs, progress: self.root.join("ralph-loop/PROGRESS.md") }
    }

    /// The program in the operator's checkout and environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ralph"));
        command.args(args).current_dir(&self.root).stdin(Stdio::null());
        self.operators(&mut command);
        command
    }

    /// Runs `script` in the operator's checkout, as a person types it: `ralph` is on the path, and the first command that
    /// fails ends it.
    pub(crate) fn shell(&self, script: &str) -> Output {
        let mut command = Command::new("sh");
        command.args(["-ec", script]).current_dir(&self.root).stdin(Stdio::null());
        self.operators(&mut command);
        let ours = Path::new(env!("CARGO_BIN_EXE_ralph")).parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap();
        let path = std::env::join_paths([ours].into_iter().chain(std::env::split_paths(&path))).unwrap();
        command.env("PATH", path).env("EDITOR", self.path("editor.sh")).output().unwrap()
    }

    /// The operator's environment: nothing of the person's who runs the tests.
    pub(crate) fn operators(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("XDG_STATE_HOME", self.user.join("state"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", self.user.join("home"));
    }

    // Git, as a person uses it.

    /// What git says in the operator's checkout.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(args).current_dir(&self.root);
        self.operators(&mut command);
        let output = command.output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// A linked checkout of the run's branch, detached, for a person to commit in.
    pub(crate) fn checkout_of_branch(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        self.git(&["worktree", "add", "-q", "--detach", path.to_str().unwrap(), self.branch]);
        path
    }

    /// The subjects of the branch's own commits, oldest first.
    pub(crate) fn commits(&self) -> Vec<String> {
        self.git(&["log", "--reverse", "--format=%s", &format!("main..{}", self.branch)])
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// The same, where there may be no branch yet.
    pub(crate) fn commits_if_any(&self) -> Vec<String> {
        let branch = self.git(&["for-each-ref", &format!("refs/heads/{}", self.branch)]);
        if branch.is_empty() { Vec::new() } else { self.commits() }
    }

    /// The values of one trailer in the branch's own commits, oldest first.
    pub(crate) fn trailers(&self, key: &str) -> Vec<String> {
        let format = format!("--format=%(trailers:key={key},valueonly,separator=%x2C)");
        self.git(&["log", "--reverse", &format, &format!("main..{}", self.branch)]).lines().map(str::to_owned).collect()
    }

    /// The files of a revision.
    pub(crate) fn files(&self, revision: &str) -> Vec<String> {
        self.git(&["ls-tree", "-r", "--name-only", revision]).lines().map(str::to_owned).collect()
    }

    /// The refs below `refs/ralph/<kind>/`, without run: `P1/R01/1`.
    pub(crate) fn kept(&self, kind: &str) -> Vec<String> {
        let prefix = format!("refs/ralph/{kind}/");
        let refs = self.git(&["for-each-ref", "--format=%(refname)", &prefix]);
        let short = |name: &str| name.trim_start_matches(&prefix).split_once('/').unwrap().1.to_owned();
        refs.lines().map(short).collect()
    }

    /// The whole name of the only ref below `refs/ralph/<kind>/` that ends in `end`.
    #[track_caller]
    pub(crate) fn kept_ref(&self, kind: &str, end: &str) -> String {
        let refs = self.git(&["for-each-ref", "--format=%(refname)", &format!("refs/ralph/{kind}/")]);
        let found: Vec<&str> = refs.lines().filter(|name| name.ends_with(end)).collect();
        assert_eq!(found.len(), 1, "{kind} {end}: {refs}");
        found[0].to_owned()
    }

    // The control folder.

    /// The marks of the PRD's items in order, such as `x?! `.
    pub(crate) fn marks(&self) -> String {
        let prd = self.read("ralph-loop/PRD-P1.md");
        prd.lines().filter_map(|line| line.strip_prefix("- [")?.chars().next()).collect()
    }

    /// The lines of PROGRESS.md without its heading.
    pub(crate) fn progress(&self) -> Vec<String> {
        let text = fs::read_to_string(self.root.join("ralph-loop/PROGRESS.md")).unwrap_or_default();
        text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
    }

    /// Item and outcome of each line of PROGRESS.md, such as `P1/R01 done`.
    pub(crate) fn outcomes(&self) -> Vec<String> {
        let words = |line: &String| {
            let words: Vec<&str> = line.strip_prefix("- ")?.split(' ').collect();
            Some(words.get(2..4)?.join(" "))
        };
        self.progress().iter().filter_map(words).collect()
    }

    /// The folders of all runs, the oldest first.
    pub(crate) fn run_folders(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.root.join("ralph-loop/state/runs")) else { return Vec::new() };
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        folders.sort();
        folders
    }

    /// A file of the last run.
    pub(crate) fn of_run(&self, name: &str) -> String {
        let path = self.run_folders().pop().expect("a run").join(name);
        String::from_utf8_lossy(&fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))).into_owned()
    }

    /// Everything that is the operator's and that no run may touch: files, modes, index, refs, settings, reflogs.
    pub(crate) fn operator(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        look(&self.root, &self.root, &mut found);
        let refs = self.git(&["for-each-ref", "--format=%(refname) %(objectname)%(symref)"]);
        let own = |line: &&str| !line.starts_with("refs/ralph/") && !line.starts_with("refs/heads/ralph/");
        found.insert("refs".to_owned(), refs.lines().filter(own).collect::<Vec<_>>().join("\n"));
        found
    }

    /// Fails, naming what, if anything of the operator's is no longer as it was `before`.
    #[track_caller]
    pub(crate) fn untouched(&self, before: &BTreeMap<String, String>) {
        let changed = self.changed(before);
        assert!(changed.is_empty(), "touched: {changed:#?}");
    }

    /// What of the operator's is no longer as it was `before`.
    pub(crate) fn changed(&self, before: &BTreeMap<String, String>) -> Vec<String> {
        let after = self.operator();
        let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let differs = |name: &&&String| before.get(**name) != after.get(**name);
        let show = |name: &String| format!("{name}: {:?} → {:?}", before.get(name), after.get(name));
        names.iter().filter(differs).map(|name| show(name)).collect()
    }

    // Processes.

    /// The processes that have to do with this test: by their folder, arguments or environment.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let marker = self.root.parent().unwrap().to_str().unwrap().to_owned();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
            let read = |name: &str| {
                String::from_utf8_lossy(&fs::read(entry.path().join(name)).unwrap_or_default()).replace('\0', " ")
            };
            let folder = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            let command = read("cmdline");
            let ours = folder.starts_with(&marker) || command.contains(&marker) || read("environ").contains(&marker);
            if ours && pid != std::process::id().cast_signed() {
                found.push((pid, command));
            }
        }
        found
    }

    /// Fails if any process of this test is alive.
    #[track_caller]
    pub(crate) fn nothing_lives(&self) {
        let alive = self.processes();
        assert!(alive.is_empty(), "still alive: {alive:?}");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A test that failed half-way leaves nothing behind either.
        for (pid, _) in self.processes() {
            kill(pid, Signal::KILL);
        }
    }
}

fn look(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        // The run's own: the control folder, its refs, and objects, which only ever come.
        let ours = ["ralph-loop", ".git/objects", ".git/refs", ".git/logs/refs/heads/ralph", ".git/packed-refs"];
        if ours.contains(&name.as_str()) {
            continue;
        }
        let meta = path.symlink_metadata().unwrap();
        let mode = meta.permissions().mode();
        if meta.is_dir() {
            found.insert(name, format!("folder {mode:o}"));
            look(root, &path, found);
        } else if meta.is_file() {
            found.insert(name, format!("{mode:o} {}", fs::read(&path).unwrap().escape_ascii()));
        } else {
            found.insert(name, format!("{mode:o} {:?}", fs::read_link(&path)));
        }
    }
}

fn toml_text(path: &Path) -> String {
    format!("{:?}", path.to_str().unwrap())
}

/// Sends a signal; a process that is gone already is fine.
pub(crate) fn kill(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Waits for something to come true; fails with `what` when it does not.
#[track_caller]
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < DEADLINE, "{what}: not after {DEADLINE:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A size or count for tests that can be run larger.
pub(crate) fn size(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// The program at work.
pub(crate) struct Running {
    child: Child,
    outputs: PathBuf,
    progress: PathBuf,
}

impl Running {
    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal);
    }

    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(self.outputs.join("stderr")).unwrap()
    }

    /// Whether it has come to its end.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.status().is_some()
    }

    /// Its end, if that has come.
    fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.status() {
                break status;
            }
            assert!(started.elapsed() < DEADLINE, "ralph goes on and on:\n{}", self.stderr());
            thread::sleep(Duration::from_millis(3));
        };
        Ended {
            status,
            stdout: fs::read_to_string(self.outputs.join("stdout")).unwrap(),
            stderr: self.stderr(),
            progress: self.progress.clone(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A child that was waited for does not get the signal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program after its end.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    progress: PathBuf,
}

impl Ended {
    /// Fails unless it stopped for this reason: exit code and last line of PROGRESS.md.
    #[track_caller]
    pub(crate) fn stopped(self, reason: &str, code: i32) -> Self {
        let progress = fs::read_to_string(&self.progress).unwrap_or_default();
        let last = progress.lines().last().unwrap_or_default();
        assert_eq!(
            (self.status.code(), last),
            (Some(code), &*format!("STOP_REASON: {reason}")),
            "\nstderr:\n{}\nstdout:\n{}",
            self.stderr,
            self.stdout
        );
        self
    }

    /// Fails unless it was refused, with these words in the complaint.
    #[track_caller]
    pub(crate) fn refused(self, words: &[&str]) -> Self {
        assert_eq!(self.status.code(), Some(2), "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in {}", self.stderr);
        }
        self
    }
}
