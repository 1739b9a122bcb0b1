//! Where everything in the control folder is.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{replace, time};
use crate::id::RunId;

/// The control folder of a project: plan, PRDs, queue, logs, journals.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// use ralph_core::ledger::Ledger;
/// let ledger = Ledger::at(folder.path().join("ralph-loop"));
/// ledger.create()?;
/// let run = ledger.new_run(std::time::SystemTime::now())?;
/// assert_eq!(ledger.runs()?, [run]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    root: PathBuf,
}

/// What is ignored by git: state is of this machine only.
const IGNORED: &str = "state/";

impl Ledger {
    /// The control folder at `root`, usually `ralph-loop/` at the root of the repository. Nothing is touched.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `ralph.toml`
    pub fn settings(&self) -> PathBuf {
        self.root.join("ralph.toml")
    }

    /// `criteria.md`: what a session that a person started must bring about.
    pub fn criteria(&self) -> PathBuf {
        self.root.join("criteria.md")
    }

    /// `PROGRESS.md`: one line for each iteration.
    pub fn progress(&self) -> PathBuf {
        self.root.join("PROGRESS.md")
    }

    /// `BLOCKERS.md`: technical failures, newest last.
    pub fn blockers(&self) -> PathBuf {
        self.root.join("BLOCKERS.md")
    }

    /// `LEARNINGS.md`: what sessions learnt.
    pub fn learnings(&self) -> PathBuf {
        self.root.join("LEARNINGS.md")
    }

    /// `DECISIONS.md`: the queue, rendered.
    pub fn decisions_page(&self) -> PathBuf {
        self.root.join("DECISIONS.md")
    }

    /// `ORCHESTRATOR-STATE.md`: where the phases stand, rendered.
    pub fn orchestrator_state(&self) -> PathBuf {
        self.root.join("ORCHESTRATOR-STATE.md")
    }

    /// `state/`: the truth about runs and decisions; nobody else's business.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// `state/lock`: held by the process that is at work.
    pub fn lock(&self) -> PathBuf {
        self.state().join("lock")
    }

    /// `state/place`: in which namespaces of the system the last run took place.
    pub fn place(&self) -> PathBuf {
        self.state().join("place")
    }

    /// `state/project`: the id under which the user's other programs know the project.
    pub fn project(&self) -> PathBuf {
        self.state().join("project")
    }

    /// `state/decisions/`: one file for each decision.
    pub fn decisions(&self) -> PathBuf {
        self.state().join("decisions")
    }

    /// `state/hooks/`: one file for each session that a hook looks after.
    pub fn hooks(&self) -> PathBuf {
        self.state().join("hooks")
    }

    /// `state/approvals/`: one file for each plan.
    pub fn approvals(&self) -> PathBuf {
        self.state().join("approvals")
    }

    /// `state/runs/`: a folder for each run.
    pub fn runs_folder(&self) -> PathBuf {
        self.state().join("runs")
    }

    /// The folder of a run.
    pub fn run(&self, run: &RunId) -> PathBuf {
        self.runs_folder().join(run.as_str())
    }

    /// The journal of a run.
    pub fn journal(&self, run: &RunId) -> PathBuf {
        self.run(run).join("journal.jsonl")
    }

    /// The summary of a run.
    pub fn summary(&self, run: &RunId) -> PathBuf {
        self.run(run).join("summary.md")
    }

    /// `tests.jsonl` of a run: how many tests ran on the commits that its work starts from.
    pub fn tests(&self, run: &RunId) -> PathBuf {
        self.run(run).join("tests.jsonl")
    }

    /// The folder of an iteration's prompt and outputs, such as `iterations/0007`.
    pub fn iteration(&self, run: &RunId, number: u32) -> PathBuf {
        self.run(run).join("iterations").join(format!("{number:04}"))
    }

    /// Makes the folders, and has git ignore what is of this machine only. Where they are there, nothing is done but to
    /// remove what writes that were cut off left behind.
    pub fn create(&self) -> io::Result<()> {
        fs::create_dir_all(&self.root)?;
        private_folder(&self.state())?;
        private_folder(&self.runs_folder())?;
        private_folder(&self.decisions())?;
        self.ignore_state()?;
        for folder in [&self.root, &self.state(), &self.decisions()] {
            replace::sweep(folder)?;
        }
        replace::sync_folder(&self.root)
    }

    fn ignore_state(&self) -> io::Result<()> {
        let path = self.root.join(".gitignore");
        let mut text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let ignored = |line: &str| matches!(line.trim(), "state/" | "/state/" | "state" | "/state");
        if text.lines().any(ignored) {
            return Ok(());
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(IGNORED);
        text.push('\n');
        replace::replace(&path, text.as_bytes())
    }

    /// Makes the folder of a new run that begins `now`.
    pub fn new_run(&self, now: SystemTime) -> io::Result<RunId> {
        private_folder(&self.runs_folder())?;
        loop {
            let run = time::run_id(now);
            match make_private(&self.run(&run)) {
                Ok(()) => {
                    replace::sync_folder(&self.runs_folder())?;
                    return Ok(run);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The runs that are there, the oldest first.
    pub fn runs(&self) -> io::Result<Vec<RunId>> {
        let mut runs = Vec::new();
        let entries = match fs::read_dir(self.runs_folder()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(runs),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if is_run_name(&name) && entry.file_type()?.is_dir() {
                runs.push(RunId::new(name));
            }
        }
        runs.sort();
        Ok(runs)
    }
}

/// Whether a run's id can be the name of a folder. Ids come from arguments and journals, so they are looked at.
pub(crate) fn is_run_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=100).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(plain)
}

/// Makes a folder, and those above it, that nobody else may look into.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    let made = match make_private(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            path.parent().map_or(Ok(()), private_folder)?;
            make_private(path)
        }
        other => other,
    };
    match made {
        Ok(()) => replace::sync_folder_of(path),
        // Somebody else may have made it at the same time.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(false).create(path)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn creating_twice_is_creating_once() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::at(folder.path().join("deep/ralph-loop"));
        fs::create_dir_all(ledger.root()).unwrap();
        fs::write(ledger.root().join(".gitignore"), "mine").unwrap();
        let left = ledger.root().join("DECISIONS.md.tmp-7889-2");
        let file = fs::File::create(&left).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
        for _ in 0..2 {
            ledger.create().unwrap();
        }
        assert!(!left.exists());
        let ignored = fs::read_to_string(ledger.root().join(".gitignore")).unwrap();
        assert_eq!(ignored, "mine\nstate/\n");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(ledger.state()), mode(ledger.runs_folder())), (0o700, 0o700));
        }
    }

    #[test]
    fn runs_sort_by_time() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::at(folder.path());
        assert!(ledger.runs().unwrap().is_empty());
        let at = |millis| UNIX_EPOCH + Duration::from_millis(millis);
        let late = ledger.new_run(at(1_779_070_305_999)).unwrap();
        let early = ledger.new_run(at(1_779_070_305_017)).unwrap();
        let same = ledger.new_run(at(1_779_070_305_017)).unwrap();
        assert!(late.as_str().starts_with("20260518-021145-"), "{late}");
        assert_eq!(late.as_str().len(), "20260518-021145-a1b2c3".len());
        assert_ne!(early, same);
        fs::write(ledger.runs_folder().join("file"), "").unwrap();
        let runs = ledger.runs().unwrap();
        assert_eq!((runs.len(), runs.last()), (3, Some(&late)));
    }

    #[test]
    fn names_of_folders() {
        for (name, good) in [("a-1", true), ("", false), ("..", false), ("a/b", false), (".a", false)] {
            assert_eq!(is_run_name(name), good, "{name}");
        }
    }
}
