//! Judges by the `Verify:` commands of the plan.

use ralph_core::{Cx, Target, Verdict, Verifier, VerifyError, async_trait};

use crate::{session::verdict, shell::Shell};

/// Judges by the commands that the plan names for a target: the item's own `Verify:`, then its phase's.
///
/// They run in order until one does not pass. No command at all is a *broken* verifier, never a pass. The whole
/// output goes to [`Target::log`], or to a temporary file that is gone after the call.
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
}

impl CommandVerifier {
    /// A verifier that runs its commands so.
    pub fn new(shell: Shell) -> Self {
        Self { name: "command".to_owned(), shell, extra: Vec::new(), only: false, times: 1 }
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
        verdict(&self.shell, &commands, self.times, target, cx).await
    }
}
