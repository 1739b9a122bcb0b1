//! The seam to verifiers: the only judges.

use std::{collections::BTreeSet, fmt, fmt::Debug, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    cx::Cx,
    error::{BoxError, Retry},
    id::{AttemptId, Revision, RunId},
    plan::{Item, Phase},
    vcs::Tree,
};

/// At which point of an attempt something is judged; verifiers are told it as `RALPH_STAGE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// While a folder is made usable.
    Setup,
    /// On the state before any work.
    Base,
    /// Where the agent worked.
    Workspace,
    /// On a clean checkout of the candidate.
    Candidate,
    /// At the end of a phase.
    Gate,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Setup => "setup",
            Self::Base => "base",
            Self::Workspace => "workspace",
            Self::Candidate => "candidate",
            Self::Gate => "gate",
        })
    }
}

/// What is to be judged.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Target {
    /// The folder in which it stands.
    pub folder: PathBuf,
    /// At which point.
    pub stage: Stage,
    /// The run.
    pub run: RunId,
    /// The phase.
    pub phase: Arc<Phase>,
    /// The item; `None` where the phase as a whole is judged.
    pub item: Option<Arc<Item>>,
    /// The attempt; `None` where no attempt is judged.
    pub attempt: Option<AttemptId>,
    /// What the folder holds, where it is a known revision.
    pub revision: Option<Revision>,
    /// The revision that the work started from, where an attempt is judged.
    pub base: Option<Revision>,
    /// The revision's files, readable without a checkout.
    pub tree: Option<Arc<dyn Tree>>,
    /// The files of the revision that the work started from.
    pub base_tree: Option<Arc<dyn Tree>>,
    /// Where to write the full output, if anywhere.
    pub log: Option<PathBuf>,
}

impl Target {
    /// A folder of a phase at a stage, with nothing else known.
    pub fn new(folder: impl Into<PathBuf>, stage: Stage, run: RunId, phase: Arc<Phase>) -> Self {
        Self {
            folder: folder.into(),
            stage,
            run,
            phase,
            item: None,
            attempt: None,
            revision: None,
            base: None,
            tree: None,
            base_tree: None,
            log: None,
        }
    }

    /// The same for one item.
    #[must_use]
    pub fn with_item(mut self, item: Arc<Item>) -> Self {
        self.item = Some(item);
        self
    }

    /// The commands that the plan names for it, each once: the item's own, then the phase's. For a phase as a whole the
    /// phase's; at its end ([`Stage::Gate`]) those of all its items before them, and those of its gate after them.
    pub fn commands(&self) -> Vec<&str> {
        let every = self.phase.items.iter().filter(|_| self.item.is_none() && self.stage == Stage::Gate);
        let own = self.item.iter().chain(every).flat_map(|item| &item.verify);
        let mut seen = BTreeSet::new();
        let gate = self.phase.auto_gate.iter().filter(|_| self.item.is_none() && self.stage == Stage::Gate);
        own.chain(&self.phase.verify).chain(gate).map(String::as_str).filter(|command| seen.insert(*command)).collect()
    }

    /// What a verifier's process is told: `RALPH_RUN_ID`, `RALPH_STAGE`, and `RALPH_ITEM_ID` and `RALPH_ATTEMPT` where
    /// there are such.
    pub fn env(&self) -> Vec<(&'static str, String)> {
        let mut env = vec![("RALPH_RUN_ID", self.run.to_string()), ("RALPH_STAGE", self.stage.to_string())];
        env.extend(self.item.iter().map(|item| ("RALPH_ITEM_ID", item.id.to_string())));
        env.extend(self.attempt.iter().map(|attempt| ("RALPH_ATTEMPT", attempt.number.to_string())));
        env
    }
}

/// One verifier's share in a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Which verifier; stable from run to run.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// How many tests passed, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<u64>,
    /// Whether it saw this very content pass and fail.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
}

impl Part {
    /// A share that says nothing but whether it passed.
    pub fn new(name: impl Into<String>, passed: bool) -> Self {
        Self { name: name.into(), passed, tests: None, flaky: false }
    }

    /// The same with how many tests passed.
    #[must_use]
    pub fn with_tests(mut self, tests: Option<u64>) -> Self {
        self.tests = tests;
        self
    }
}

/// What a verdict rests on. It can only lower a verdict, never raise one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Evidence {
    /// One line for people, such as `cargo test: exit 101`.
    pub summary: String,
    /// The end of the output, bounded; the next session is shown it after a failure.
    pub tail: String,
    /// The whole output.
    pub log: Option<PathBuf>,
    /// Each verifier's share.
    pub parts: Vec<Part>,
}

impl Evidence {
    /// Evidence that is a line.
    pub fn line(summary: impl Into<String>) -> Self {
        Self { summary: summary.into(), ..Self::default() }
    }

    /// The same with the end of the output. Bounding it is the verifier's part.
    #[must_use]
    pub fn with_tail(mut self, tail: impl Into<String>) -> Self {
        self.tail = tail.into();
        self
    }

    /// The same with the file that has the whole output.
    #[must_use]
    pub fn with_log(mut self, log: impl Into<PathBuf>) -> Self {
        self.log = Some(log.into());
        self
    }

    /// The same with these shares.
    #[must_use]
    pub fn with_parts(mut self, parts: impl IntoIterator<Item = Part>) -> Self {
        self.parts = parts.into_iter().collect();
        self
    }
}

/// A judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is as it should be.
    Pass(Evidence),
    /// It is not.
    Fail(Evidence),
}

impl Verdict {
    /// A pass or a fail, with a line.
    pub fn new(passed: bool, summary: impl Into<String>) -> Self {
        let evidence = Evidence::line(summary);
        if passed { Self::Pass(evidence) } else { Self::Fail(evidence) }
    }

    /// Whether it is a pass.
    pub fn passed(&self) -> bool {
        matches!(self, Self::Pass(_))
    }

    /// What it rests on.
    pub fn evidence(&self) -> &Evidence {
        match self {
            Self::Pass(evidence) | Self::Fail(evidence) => evidence,
        }
    }
}

/// The verifier is *broken*: it could not judge. That is never a verdict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// It ran and came to no judgement: not found, killed, out of time.
    #[error("the verifier is broken: {why}")]
    Broken {
        /// What happened, one line.
        why: String,
        /// What there is of evidence.
        evidence: Box<Evidence>,
    },
    /// It was ended because somebody cancelled the run.
    #[error("the verifier was cancelled")]
    Cancelled,
    /// It could not be run at all.
    #[error("the verifier could not be run")]
    Other(#[source] BoxError),
}

impl VerifyError {
    /// A broken verifier without evidence.
    pub fn broken(why: impl Into<String>) -> Self {
        Self::Broken { why: why.into(), evidence: Box::default() }
    }

    /// It could not be run, because of `error`.
    pub fn other(error: impl Into<BoxError>) -> Self {
        Self::Other(error.into())
    }

    /// Whether asking again makes sense.
    pub fn retry(&self) -> Retry {
        Retry::Never
    }
}

/// Judges a folder: pass, fail, or broken.
///
/// # Contract
/// - The verdict is deterministic: the same content gets the same verdict. Only what the verifier itself observes
///   counts, never what an agent wrote about it.
/// - `Err` means that it could not judge. Nobody iterates through a broken verifier: the engine asks it about the base,
///   and stops the run if it cannot judge that either.
/// - It may litter the folder; what it leaves there is not part of the work. Memory stays bounded whatever is printed.
/// - The time limit of the [`Cx`] binds: a call that takes longer is ended, and is [`VerifyError::Broken`].
/// - Where [`Target::log`] is given, the full output is written there, and [`Evidence::log`] names it.
/// - When the call returns, nothing that it started is alive. The crate `ralph-process` runs a command so: its whole
///   process tree is ended with it, or at a limit, or when the future is dropped.
///
/// # Cancellation
/// On [`Cx::cancel`] it ends everything it started and answers [`VerifyError::Cancelled`]. Dropping the future leaves
/// nothing behind either.
///
/// # Idempotence
/// It is asked again after a crash.
///
/// # Errors
/// See [`VerifyError`].
///
/// # Implementing
/// ```
/// use ralph_core::{Cx, Target, Verdict, Verifier, VerifyError, async_trait};
///
/// /// Passes where no file says TODO.
/// #[derive(Debug)]
/// struct NoTodo;
///
/// #[async_trait]
/// impl Verifier for NoTodo {
///     fn name(&self) -> &str {
///         "no-todo"
///     }
///     async fn verify(&self, target: &Target, _cx: &Cx) -> Result<Verdict, VerifyError> {
///         let readme = target.folder.join("README.md");
///         // A file that is not there is a judgement; one that cannot be read is not.
///         let text = match std::fs::read_to_string(&readme) {
///             Ok(text) => text,
///             Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
///             Err(error) => return Err(VerifyError::other(error)),
///         };
///         Ok(Verdict::new(!text.contains("TODO"), "README.md without TODO"))
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use ralph_core::{Phase, RunId, Stage};
/// let folder = tempfile::tempdir().unwrap();
/// let target =
///     Target::new(folder.path(), Stage::Workspace, RunId::new("run"), Phase::new("P1", []).into());
/// assert!(NoTodo.verify(&target, &Cx::new()).await.unwrap().passed());
/// std::fs::write(folder.path().join("README.md"), "TODO").unwrap();
/// assert!(!NoTodo.verify(&target, &Cx::new()).await.unwrap().passed());
/// # });
/// ```
#[async_trait]
pub trait Verifier: Debug + Send + Sync + 'static {
    /// Its name, for people and records.
    fn name(&self) -> &str;

    /// Judges `target`.
    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_the_items_own_then_the_phases_each_once() {
        let item = |id: &str, verify: &[&str]| {
            let mut item = Item::new(id, "x");
            item.verify = verify.iter().map(|&command| command.to_owned()).collect();
            item
        };
        let mut phase = Phase::new("P1", [item("R01", &["a", "common"]), item("R02", &["b"])]);
        phase.verify = vec!["common".to_owned()];
        let phase = Arc::new(phase);
        let commands = |stage, index: Option<usize>| {
            let mut target = Target::new("/", stage, RunId::new("run"), Arc::clone(&phase));
            target.item = index.map(|index| Arc::clone(&phase.items[index]));
            target.commands().join(" ")
        };
        assert_eq!(commands(Stage::Workspace, Some(0)), "a common");
        assert_eq!(commands(Stage::Candidate, Some(1)), "b common");
        assert_eq!(commands(Stage::Base, None), "common");
        assert_eq!(commands(Stage::Gate, None), "a common b");
    }
}
