//! The floor of an iteration: what an accepted item costs by itself.
//!
//! One straight program without engine: the git commands that are safe with an agent's leftovers, the processes of agent
//! and verifier, and a record made durable after each step. It knows nothing that it does not need, checks nothing that
//! did not fail in this bench, and reads what git says only as far as the next command needs it.

use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions},
    io::Write as _,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::stage::{AGENT, Stage, VERIFY};

/// What must hold in every call: nothing of the agent's or the operator's is run, the disk is believed and not notes
/// about it, and what a ref points to is durable.
const SETTINGS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.sparseCheckout", "false"),
    ("core.splitIndex", "false"),
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.fsync", "committed,reference"),
    ("core.fsyncMethod", "batch"),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

const BRANCH: &str = "refs/heads/ralph/floor";
const PIN: &str = "refs/ralph/work/floor";

/// The loop without engine.
#[derive(Debug)]
pub struct Floor {
    stage: Stage,
    git: PathBuf,
    work: Site,
    clean: Site,
    journal: File,
    progress: File,
    records: u64,
    tip: String,
    refs: String,
    spawns: u64,
    steps: Vec<(&'static str, Duration)>,
    from: Instant,
}

/// A folder of files and its index.
#[derive(Clone, Debug)]
struct Site {
    root: PathBuf,
    index: PathBuf,
    /// What git has written there.
    known: HashSet<String>,
}

impl Floor {
    /// Prepares the loop on `stage`, with its state in `state`.
    pub fn new(stage: &Stage, state: &Path) -> Self {
        let tip = stage.git(&["rev-parse", "HEAD"]);
        stage.git(&["update-ref", BRANCH, &tip]);
        let git = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
            .map(|folder| folder.join("git"))
            .find(|path| path.is_file())
            .expect("git is needed");
        let site = |name: &str| {
            let root = state.join(name);
            fs::create_dir_all(&root).expect("a folder");
            Site { index: state.join(format!("{name}.index")), root, known: HashSet::new() }
        };
        let append = |name: &str| {
            let path = state.join(name);
            OpenOptions::new().create(true).append(true).open(path).expect("a file")
        };
        let mut floor = Self {
            work: site("work"),
            clean: site("clean"),
            journal: append("journal.jsonl"),
            progress: append("PROGRESS.md"),
            stage: stage.clone(),
            git,
            records: 0,
            refs: format!("{tip} refs/heads/main\n"),
            tip,
            spawns: 0,
            steps: Vec::new(),
            from: Instant::now(),
        };
        let site = floor.work.clone();
        let tree = floor.tip.clone();
        let names = floor.git(&site, &["ls-tree", "-r", "-z", "--name-only", &tree], "");
        let known: HashSet<String> = names.split_terminator('\0').map(str::to_owned).collect();
        floor.work.known.clone_from(&known);
        floor.clean.known = known;
        floor
    }

    /// How many git processes were started so far.
    pub fn spawns(&self) -> u64 {
        self.spawns
    }

    /// How long each step of the last item took.
    pub fn steps(&self) -> &[(&'static str, Duration)] {
        &self.steps
    }

    /// Does one item of the plan.
    pub fn item(&mut self) {
        self.steps.clear();
        self.from = Instant::now();
        let plan = fs::read_to_string(self.stage.prd()).expect("the plan");
        let mark = plan.find("\n- [ ] ").expect("an open item") + 4;
        self.record("look");
        self.record("begin");

        let base = self.tip.clone();
        self.place(&self.work.clone(), &base);
        self.record("prepare");
        run(AGENT, &self.work.root);
        self.record("session");
        let commit = self.capture(&base);
        self.record("capture");
        run(VERIFY, &self.work.root);
        self.record("verify-workspace");
        self.place(&self.clean.clone(), &commit);
        run(VERIFY, &self.clean.root);
        self.record("verify-candidate");
        let site = self.work.clone();
        let moves = format!("start\0update {BRANCH}\0{commit}\0{base}\0delete {PIN}\0{commit}\0prepare\0commit\0");
        self.git(&site, &["update-ref", "--no-deref", "-z", "--stdin"], &moves);
        self.tip = commit;
        self.record("accept");
        let prd = OpenOptions::new().write(true).open(self.stage.prd()).expect("the plan");
        prd.write_at(b"x", mark as u64).expect("a mark");
        prd.sync_data().expect("a durable mark");
        self.record("mark");
        self.progress.write_all(b"- one more item is done, at some time, for nothing\n").expect("a line");
        self.progress.sync_data().expect("a durable line");
        self.step("log");
    }

    /// Stands `revision` in a site: away with what is not git's, files, a repository for the agent.
    fn place(&mut self, site: &Site, revision: &str) {
        sweep(&site.root, &mut String::new(), &site.known);
        self.git(site, &["read-tree", "--reset", "-u", revision], "");
        let git = site.root.join(".git");
        for folder in ["", "objects", "objects/info", "refs", "refs/heads"] {
            fs::create_dir(git.join(folder)).expect("a folder");
        }
        let objects = self.stage.root.join(".git/objects");
        let write = |name: &str, text: String| fs::write(git.join(name), text).expect("a file");
        write("objects/info/alternates", format!("{}\n", objects.display()));
        write("config", "[core]\n\tbare = false\n\trepositoryFormatVersion = 0\n[gc]\n\tauto = 0\n".to_owned());
        write("packed-refs", format!("{}{revision} refs/heads/ralph/floor\n", self.refs));
        fs::copy(&site.index, git.join("index")).expect("an index");
        write("HEAD", "ref: refs/heads/ralph/floor\n".to_owned());
    }

    /// One commit of what is in the agent's site, safe from garbage collection.
    fn capture(&mut self, base: &str) -> String {
        let site = self.work.clone();
        let status = ["status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=all"];
        let status = self.git(&site, &[&status[..], &["--untracked-files=all"]].concat(), "");
        let mut list = String::new();
        for record in status.split_terminator('\0') {
            let path = match record.as_bytes() {
                [b'?', ..] => &record[2..],
                // Against the operator's HEAD there may be more changes: only the second letter counts.
                [b'1', _, _, b'.', ..] => continue,
                _ => record.splitn(9, ' ').nth(8).expect("a record of git's"),
            };
            list.push_str(path);
            list.push('\0');
            self.work.known.insert(path.to_owned());
            self.clean.known.insert(path.to_owned());
        }
        self.git(&site, &["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], &list);
        let tree = self.git(&site, &["write-tree"], "").trim_end().to_owned();
        self.git(&site, &["diff-tree", "-r", "-z", "--numstat", "--no-renames", base, &tree], "");
        let commit = self.git(&site, &["commit-tree", "-p", base, "-F", "-", &tree], "One more\n\nItem: R01\n");
        let commit = commit.trim_end().to_owned();
        self.git(&site, &["update-ref", "--no-deref", "-z", "--stdin"], &format!("create {PIN}\0{commit}\0"));
        commit
    }

    fn git(&mut self, site: &Site, args: &[&str], input: &str) -> String {
        self.spawns += 1;
        let mut command = Command::new(&self.git);
        command.args(args).current_dir(&site.root).env_clear();
        for (name, value) in [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("LC_ALL", "C"),
            ("HOME", "/nonexistent"),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ] {
            command.env(name, value);
        }
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Bench").env(format!("GIT_{who}_EMAIL"), "bench@example.org");
        }
        for (nth, (key, value)) in SETTINGS.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{nth}"), key).env(format!("GIT_CONFIG_VALUE_{nth}"), value);
        }
        command
            .env("GIT_CONFIG_COUNT", SETTINGS.len().to_string())
            .env("GIT_DIR", self.stage.root.join(".git"))
            .env("GIT_WORK_TREE", &site.root)
            .env("GIT_INDEX_FILE", &site.index)
            .stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("git");
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(input.as_bytes()).expect("input for git");
        }
        let output = child.wait_with_output().expect("git");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("output of git")
    }

    /// A durable line of the journal, which ends a step.
    fn record(&mut self, step: &'static str) {
        self.records += 1;
        let line = format!("{{\"seq\":{},\"fact\":{{\"{step}\":\"{:0200}\"}}}}\n", self.records, 0);
        self.journal.write_all(line.as_bytes()).expect("a record");
        self.journal.sync_data().expect("a durable record");
        self.step(step);
    }

    fn step(&mut self, step: &'static str) {
        let now = Instant::now();
        self.steps.push((step, now - self.from));
        self.from = now;
    }
}

/// Runs a shell line to its end, its output in a file.
fn run(line: &str, folder: &Path) {
    let log = folder.with_extension("log");
    let log = OpenOptions::new().create(true).append(true).open(log).expect("a file");
    let status = Command::new("/bin/sh")
        .args(["-c", line])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(log.try_clone().expect("a file"))
        .stdout(log)
        .status();
    assert!(status.expect("a shell").success(), "{line}");
}

/// Removes what git has not written, and every link and repository, without following anything.
fn sweep(folder: &Path, path: &mut String, known: &HashSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("a kind");
        let name = entry.file_name();
        let length = path.len();
        if length > 0 {
            path.push('/');
        }
        path.push_str(&name.to_string_lossy());
        if kind.is_dir() {
            if name.eq_ignore_ascii_case(".git") {
                fs::remove_dir_all(entry.path()).expect("it can go");
            } else {
                sweep(&entry.path(), path, known);
            }
        } else if !kind.is_file() || !known.contains(path.as_str()) {
            fs::remove_file(entry.path()).expect("it can go");
        }
        path.truncate(length);
    }
}
