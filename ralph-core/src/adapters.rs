//! Seams from closures, for the short cases.

use std::{fmt, path::Path};

use async_trait::async_trait;

use crate::{
    agent::{AgentBackend, AgentError, Brief, Capabilities, SessionEnd, SessionReport},
    cx::Cx,
    error::BoxError,
    verify::{Part, Target, Verdict, Verifier, VerifyError},
};

/// A verifier that is a function of the folder. An error means that it could not judge.
///
/// ```
/// use ralph_core::verifier;
/// let check = verifier("has a readme", |folder| Ok(folder.join("README.md").exists()));
/// ```
pub fn verifier<F>(name: impl Into<String>, judge: F) -> impl Verifier
where
    F: Fn(&Path) -> Result<bool, BoxError> + Send + Sync + 'static,
{
    FnVerifier { name: name.into(), judge }
}

struct FnVerifier<F> {
    name: String,
    judge: F,
}

impl<F> fmt::Debug for FnVerifier<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnVerifier").field("name", &self.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl<F> Verifier for FnVerifier<F>
where
    F: Fn(&Path) -> Result<bool, BoxError> + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    async fn verify(&self, target: &Target, _cx: &Cx) -> Result<Verdict, VerifyError> {
        let passed = (self.judge)(&target.folder).map_err(VerifyError::Other)?;
        let mut verdict = Verdict::new(passed, format!("{}: {}", self.name, if passed { "yes" } else { "no" }));
        let (Verdict::Pass(evidence) | Verdict::Fail(evidence)) = &mut verdict;
        evidence.parts.push(Part::new(self.name.clone(), passed));
        Ok(verdict)
    }
}

/// An agent that is a function of its brief; what it returns is its final message. An error is a session that failed.
///
/// ```
/// use ralph_core::agent_fn;
/// let agent = agent_fn("greeter", |brief| {
///     std::fs::write(brief.workspace.join("greeting"), "hello\n")?;
///     Ok("I wrote a greeting.".to_owned())
/// });
/// ```
pub fn agent_fn<F>(name: impl Into<String>, work: F) -> impl AgentBackend
where
    F: Fn(&Brief) -> Result<String, BoxError> + Send + Sync + 'static,
{
    FnAgent { name: name.into(), work }
}

struct FnAgent<F> {
    name: String,
    work: F,
}

impl<F> fmt::Debug for FnAgent<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnAgent").field("name", &self.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl<F> AgentBackend for FnAgent<F>
where
    F: Fn(&Brief) -> Result<String, BoxError> + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none()
    }

    async fn run(&self, brief: &Brief, _cx: &Cx) -> Result<SessionReport, AgentError> {
        Ok(match (self.work)(brief) {
            Ok(said) => SessionReport::new(SessionEnd::Finished).with_said(said),
            Err(error) => SessionReport::new(SessionEnd::Failed(error.to_string())),
        })
    }
}
