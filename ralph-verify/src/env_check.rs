//! Tells whether the surroundings are fit for work.

use ralph_core::{Cx, Target, Verdict, Verifier, VerifyError, async_trait};

use crate::{
    session::{Task, verdict},
    shell::Shell,
};

/// Runs the `Env-Check:` commands of the target's phase: is the database up, is there room on the disk.
///
/// They run in order until one does not pass; a phase without any passes.
///
/// ```
/// use ralph_core::Verifier as _;
/// use ralph_verify::{EnvCheck, Shell};
///
/// assert_eq!(EnvCheck::new(Shell::new()).name(), "env-check");
/// ```
#[derive(Clone, Debug, Default)]
pub struct EnvCheck {
    shell: Shell,
}

impl EnvCheck {
    /// One that runs its commands so.
    pub fn new(shell: Shell) -> Self {
        Self { shell }
    }
}

#[async_trait]
impl Verifier for EnvCheck {
    fn name(&self) -> &str {
        "env-check"
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let commands: Vec<&str> = target.phase.env_check.iter().map(String::as_str).collect();
        verdict(Task { shell: &self.shell, commands: &commands, times: 1, memory: None }, target, cx).await
    }
}
