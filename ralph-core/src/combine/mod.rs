//! Verifiers made of verifiers.
//!
//! [`all`], [`any`] and [`quorum`] take several; [`VerifierExt`] has what changes one. They keep the [`Part`]s of those
//! they ask. A part that is *broken* is never a pass: where the others do not decide the matter, neither does the whole.
//!
//! What they are made of is asked one after the other, in the order given, all within the time limit of the call. They
//! write to the same [`Target::log`](crate::Target::log), so each has to append.
//!
//! ```
//! use ralph_core::{Cx, Phase, RunId, Stage, Target, Verifier, VerifierExt, combine::all, verifier};
//! use std::sync::Arc;
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let folder = tempfile::tempdir().unwrap();
//! let has = |name: &'static str| verifier(name, move |folder| Ok(folder.join(name).exists()));
//! let both = all([Arc::new(has("README.md")) as Arc<dyn Verifier>, Arc::new(has("TODO").not())]);
//!
//! std::fs::write(folder.path().join("README.md"), "hello").unwrap();
//! let target = Target::new(folder.path(), Stage::Workspace, RunId::new("run"), Phase::new("P1", []).into());
//! let verdict = both.verify(&target, &Cx::new()).await.unwrap();
//! assert!(verdict.passed());
//! let shares: Vec<&str> = verdict.evidence().parts.iter().map(|part| part.name.as_str()).collect();
//! assert_eq!(shares, ["README.md", "not TODO"]);
//! # });
//! ```

mod all;
#[cfg(feature = "engine")]
mod changed_paths;
mod not;
mod quorum;
mod repeated;
mod stages;
mod timeout;

use std::time::{Duration, Instant, SystemTime};

#[cfg(feature = "engine")]
pub use self::changed_paths::{BadGlob, OnChangedPaths};
pub use self::{
    all::{All, all},
    not::Not,
    quorum::{Quorum, any, quorum},
    repeated::Repeated,
    stages::OnStages,
    timeout::WithTimeout,
};
use crate::{
    cx::Cx,
    verify::{Evidence, Part, Stage, Verifier, VerifyError},
};

/// How many bytes of the ends of several outputs are shown.
const TAILS_MAX: usize = 4096;

/// How many bytes a line about several verifiers has at most.
const LINE_MAX: usize = 500;

/// Makes another verifier of one. Implemented for every [`Verifier`], and so for `Arc<dyn Verifier>`.
pub trait VerifierExt: Verifier + Sized {
    /// Passes where this one fails. Where this one is broken, so is the whole: nothing is known.
    ///
    /// ```
    /// use ralph_core::{Verifier, VerifierExt, verifier};
    /// let no_todo = verifier("has TODO", |folder| Ok(folder.join("TODO").exists())).not();
    /// assert_eq!(no_todo.name(), "not has TODO");
    /// ```
    fn not(self) -> Not<Self> {
        Not::new(self)
    }

    /// Passes where this one passes `times` times in a row; the first run that does not pass ends it. Runs can only lower
    /// a verdict: nobody asks until it passes.
    ///
    /// ```
    /// use ralph_core::{Cx, Phase, RunId, Stage, Target, Verifier, VerifierExt, verifier};
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let runs = AtomicU32::new(0);
    /// let flaky = verifier("flaky", move |_| Ok(runs.fetch_add(1, Ordering::SeqCst) < 2)).repeated(3);
    /// let target = Target::new("/", Stage::Base, RunId::new("run"), Phase::new("P1", []).into());
    /// let verdict = flaky.verify(&target, &Cx::new()).await.unwrap();
    /// assert_eq!(verdict.evidence().summary, "flaky: no in run 3 of 3, after it had passed");
    /// # });
    /// ```
    fn repeated(self, times: u32) -> Repeated<Self> {
        Repeated::new(self, times)
    }

    /// Gives this one at most `limit`, or what is left of the call's own time limit. A verifier that is out of time is
    /// broken by its contract; one that ignores its limit is not ended.
    ///
    /// ```
    /// use ralph_core::{Verifier, VerifierExt, verifier};
    /// use std::time::Duration;
    /// let quick = verifier("quick", |_| Ok(true)).with_timeout(Duration::from_secs(60));
    /// assert_eq!(quick.name(), "quick");
    /// ```
    fn with_timeout(self, limit: Duration) -> WithTimeout<Self> {
        WithTimeout::new(self, limit)
    }

    /// Asks this one only at these stages. It *passes* at all others: give it company that judges there. One that is not
    /// asked at [`Stage::Base`] and is broken counts as broken by the work.
    ///
    /// ```
    /// use ralph_core::{Cx, Phase, RunId, Stage, Target, Verifier, VerifierExt, verifier};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let slow = verifier("slow", |_| Ok(false)).on_stages([Stage::Candidate, Stage::Gate]);
    /// let mut target = Target::new("/", Stage::Workspace, RunId::new("run"), Phase::new("P1", []).into());
    /// let verdict = slow.verify(&target, &Cx::new()).await.unwrap();
    /// assert_eq!(verdict.evidence().summary, "slow: not asked at the stage workspace");
    /// target.stage = Stage::Candidate;
    /// assert!(!slow.verify(&target, &Cx::new()).await.unwrap().passed());
    /// # });
    /// ```
    fn on_stages(self, stages: impl IntoIterator<Item = Stage>) -> OnStages<Self> {
        OnStages::new(self, stages)
    }

    /// Asks this one only on a clean checkout: of the base, of what an item's work would make of the branch, and of the
    /// branch at a phase's gate. For what must see a revision's files and nothing else, or is too slow to run where the agent
    /// worked as well; there it *passes*: give it company that judges.
    ///
    /// Every other verifier is asked there too: nothing is accepted on a verdict of the workspace alone. The base is one of
    /// the stages because it tells a verifier that is broken from work that breaks it.
    ///
    /// ```
    /// use ralph_core::{Cx, Phase, RunId, Stage, Target, Verifier, VerifierExt, verifier};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let release = verifier("release build", |_| Ok(false)).on_clean_checkout();
    /// for (stage, asked) in [(Stage::Workspace, false), (Stage::Base, true), (Stage::Candidate, true), (Stage::Gate, true)] {
    ///     let target = Target::new("/", stage, RunId::new("run"), Phase::new("P1", []).into());
    ///     assert_eq!(release.verify(&target, &Cx::new()).await.unwrap().passed(), !asked);
    /// }
    /// # });
    /// ```
    fn on_clean_checkout(self) -> OnStages<Self> {
        self.on_stages([Stage::Base, Stage::Candidate, Stage::Gate])
    }

    /// Asks this one only where the target's trees differ at a path that one of the globs names. It *passes* where they
    /// do not: give it company that judges there. Where one of the trees is not known, as in the workspace, it is asked.
    ///
    /// `*` and `?` stay within a part of the path, `**` crosses parts, case does not count, and a glob that names a folder
    /// names all that is in it.
    ///
    /// # Errors
    /// [`BadGlob`] for what is no glob.
    ///
    /// ```
    /// use ralph_core::{VerifierExt, verifier};
    /// let api = || verifier("api is documented", |folder| Ok(folder.join("api.md").exists()));
    /// assert!(api().on_changed_paths(["src/api/**", "openapi.yaml"]).is_ok());
    /// let error = api().on_changed_paths(["src/{api"]).unwrap_err();
    /// assert!(error.to_string().starts_with("`src/{api` is not a glob"));
    /// ```
    #[cfg(feature = "engine")]
    fn on_changed_paths<G: AsRef<str>>(
        self,
        globs: impl IntoIterator<Item = G>,
    ) -> Result<OnChangedPaths<Self>, BadGlob> {
        OnChangedPaths::new(self, globs)
    }
}

impl<V: Verifier> VerifierExt for V {}

/// The context of several calls within one.
struct Shared<'a> {
    cx: &'a Cx,
    started: Instant,
}

impl<'a> Shared<'a> {
    fn new(cx: &'a Cx) -> Self {
        Self { cx, started: Instant::now() }
    }

    /// The context for the next call, with the time that is left.
    fn next(&self) -> Result<Cx, VerifyError> {
        if self.cx.cancel().is_cancelled() {
            return Err(VerifyError::Cancelled);
        }
        let Some(limit) = self.cx.time_limit() else { return Ok(self.cx.clone()) };
        let left = limit.saturating_sub(self.started.elapsed());
        if left.is_zero() {
            return Err(VerifyError::broken("out of time"));
        }
        Ok(self.cx.clone().with_time_limit(left, SystemTime::now()))
    }
}

/// The shares in a verdict: those that the evidence names, or the verifier's own.
fn shares(name: &str, passed: bool, evidence: &Evidence) -> Vec<Part> {
    match evidence.parts.as_slice() {
        [] => vec![Part::new(name, passed)],
        parts => parts.to_vec(),
    }
}

/// A broken part of a whole that has these shares.
fn broken_part(name: &str, error: VerifyError, mut parts: Vec<Part>) -> VerifyError {
    match error {
        VerifyError::Broken { why, mut evidence } => {
            parts.append(&mut evidence.parts);
            evidence.parts = parts;
            let why = if why.starts_with(name) { why } else { format!("{name}: {why}") };
            VerifyError::Broken { why, evidence }
        }
        error @ (VerifyError::Cancelled | VerifyError::Other(_)) => error,
    }
}

/// Several texts in one line.
fn line<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for text in texts {
        if !line.is_empty() {
            line.push_str("; ");
        }
        line.push_str(text);
    }
    if line.len() > LINE_MAX {
        line.truncate((0..=LINE_MAX).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0));
        line.push('…');
    }
    line
}

/// The end of a text, at most `max` bytes.
fn end(text: &str, max: usize) -> &str {
    let from = (text.len().saturating_sub(max)..=text.len()).find(|at| text.is_char_boundary(*at));
    &text[from.unwrap_or(text.len())..]
}

#[cfg(test)]
mod tests;
