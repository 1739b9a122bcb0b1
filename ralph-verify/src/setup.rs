//! Makes a fresh folder usable.

use ralph_core::{Cx, Target, Verdict, Verifier, VerifyError, async_trait};

use crate::{
    session::{Task, verdict},
    shell::Shell,
};

/// Runs the `Setup:` commands of the target's phase: installs dependencies and the like.
///
/// They run in order until one does not pass; a phase without any passes.
///
/// ```
/// use ralph_core::Verifier as _;
/// use ralph_verify::{SetupVerifier, Shell};
///
/// assert_eq!(SetupVerifier::new(Shell::new()).name(), "setup");
/// ```
#[derive(Clone, Debug, Default)]
pub struct SetupVerifier {
    shell: Shell,
}

impl SetupVerifier {
    /// One that runs its commands so.
    pub fn new(shell: Shell) -> Self {
        Self { shell }
    }
}

#[async_trait]
impl Verifier for SetupVerifier {
    fn name(&self) -> &str {
        "setup"
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let commands: Vec<&str> = target.phase.setup.iter().map(String::as_str).collect();
        verdict(Task { shell: &self.shell, commands: &commands, times: 1, memory: None }, target, cx).await
    }
}
