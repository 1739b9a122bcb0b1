//! Judges by the `Verify:` commands of the plan.

use std::path::PathBuf;

use ralph_core::{Cx, Target, Verdict, Verifier, VerifyError, async_trait};

use crate::{
    evidence::memory::Memory,
    session::{Task, verdict},
    shell::Shell,
};

/// Judges by the commands that the plan names for a target: the item's own `Verify:`, then its phase's.
///
/// They run in order until one does not pass. No command at all is a *broken* verifier, never a pass. The whole
/// output goes to [`Target::log`], or to a temporary file that is gone after the call.
///
/// An exit of 0 can still be a failure: by [test evidence](crate::evidence), and by the file that a command may write to
/// `RALPH_EVIDENCE` (`docs/verifiers.md`). Neither ever makes a failure a pass.
///
/// ```
/// use ralph_verify::{CommandVerifier, Shell};
///
/// // A pass counts only if three runs in a row pass.
/// let verifier = CommandVerifier::new(Shell::new()).confirm(3);
/// ```
#[derive(Clone, Debug)]
pub struct CommandVerifier {
    name: String,
    shell: Shell,
    extra: Vec<String>,
    /// Whether those are all, whatever the plan says.
    only: bool,
    times: u32,
    test_evidence: bool,
    memory: Memory,
}

impl CommandVerifier {
    /// A verifier that runs its commands so.
    pub fn new(shell: Shell) -> Self {
        Self {
            name: "command".to_owned(),
            shell,
            extra: Vec::new(),
            only: false,
            times: 1,
            test_evidence: true,
            memory: Memory::default(),
        }
    }

    /// The same under another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The same with a command that runs for every target, before those of the plan.
    #[must_use]
    pub fn also(mut self, command: impl Into<String>) -> Self {
        self.extra.push(command.into());
        self
    }

    /// The same, judging by this command alone, whatever the plan names.
    #[must_use]
    pub fn only(mut self, command: impl Into<String>) -> Self {
        (self.extra, self.only) = (vec![command.into()], true);
        self
    }

    /// The same, but a pass counts only if `times` runs in a row pass. Runs can only lower a verdict: the first that
    /// does not pass ends it. Each run has the whole time limit of the [`Shell`].
    #[must_use]
    pub fn confirm(mut self, times: u32) -> Self {
        self.times = times;
        self
    }

    /// The same, comparing what known test runners print with what the same command printed on the base, or not. It does
    /// by default: an exit of 0 fails where fewer tests ran, more were ignored, tests failed that did not, or an announced run has no result. Items
    /// switch it off for themselves (`Checks: -test-evidence`).
    ///
    /// The base of an attempt ([`Target::base`]) is known where this verifier, or a clone of it, judged that revision at
    /// [`Stage::Base`](ralph_core::Stage::Base), or passed it at [`Stage::Candidate`](ralph_core::Stage::Candidate).
    /// Otherwise only the last of these rules applies. What is known is lost with the verifier, unless it
    /// [remembers it in a file](Self::remember_in).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ralph_core::{Cx, Phase, Revision, RunId, Stage, Target, Verifier};
    /// use ralph_verify::CommandVerifier;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let folder = tempfile::tempdir().unwrap();
    /// let says = |tests: u32| {
    ///     let list = format!("{tests} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
    ///     std::fs::write(folder.path().join("out"), format!("running {tests} tests\ntest result: ok. {list}\n"))
    /// };
    /// let verifier = CommandVerifier::default().only("cat out");
    /// let phase = Arc::new(Phase::new("P1", []));
    /// let mut target = Target::new(folder.path(), Stage::Base, RunId::new("run"), phase);
    /// target.revision = Some(Revision::new("base"));
    /// says(12).unwrap();
    /// assert!(verifier.verify(&target, &Cx::new()).await.unwrap().passed());
    ///
    /// (target.stage, target.revision) = (Stage::Workspace, None);
    /// target.base = Some(Revision::new("base"));
    /// says(7).unwrap();
    /// let verdict = verifier.verify(&target, &Cx::new()).await.unwrap();
    /// assert!(!verdict.passed());
    /// assert_eq!(verdict.evidence().summary, "cat out: 12 tests ran on the base, 7 now");
    ///
    /// let blind = verifier.clone().test_evidence(false);
    /// assert!(blind.verify(&target, &Cx::new()).await.unwrap().passed());
    /// # });
    /// ```
    #[must_use]
    pub fn test_evidence(mut self, on: bool) -> Self {
        self.test_evidence = on;
        self
    }

    /// The same, knowing from the file at `path` what an earlier verifier was told on the bases of work, and keeping there
    /// what it is told itself. For a run that is taken up again: its first work has a base that nobody judges anew.
    ///
    /// The file is read now and replaced in one step after each judgement of such a base; it has at most 1 MiB. One that
    /// cannot be read is moved aside and counts as none, see [`Self::trouble`]. One verifier (with its clones) writes it at
    /// a time, and nobody who is judged by it may.
    ///
    /// ```
    /// use ralph_verify::CommandVerifier;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let file = folder.path().join("tests.jsonl");
    /// let verifier = CommandVerifier::default().remember_in(&file);
    /// assert!(verifier.trouble().is_empty());
    ///
    /// std::fs::write(&file, "no such thing").unwrap();
    /// let verifier = CommandVerifier::default().remember_in(&file);
    /// assert!(verifier.trouble()[0].contains("is now"));
    /// ```
    #[must_use]
    pub fn remember_in(mut self, path: impl Into<PathBuf>) -> Self {
        self.memory = Memory::in_file(path.into());
        self
    }

    /// What a person should know of that file: that it could not be read, or not be written.
    pub fn trouble(&self) -> Vec<String> {
        self.memory.trouble()
    }
}

impl Default for CommandVerifier {
    fn default() -> Self {
        Self::new(Shell::new())
    }
}

#[async_trait]
impl Verifier for CommandVerifier {
    fn name(&self) -> &str {
        &self.name
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let mut commands: Vec<&str> = self.extra.iter().map(String::as_str).collect();
        if !self.only {
            commands.extend(target.commands().into_iter().filter(|c| !self.extra.iter().any(|e| e == c)));
        }
        // An empty line is a command that cannot fail.
        commands.retain(|command| !command.trim().is_empty());
        if commands.is_empty() {
            return Err(VerifyError::broken("no verifier: the plan names no command for this"));
        }
        let memory = Some(&self.memory).filter(|_| self.test_evidence);
        let task = Task { shell: &self.shell, commands: &commands, times: self.times, memory };
        verdict(task, target, cx).await
    }
}
