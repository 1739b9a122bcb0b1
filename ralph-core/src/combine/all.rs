//! All of several.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Shared, broken_part, shares};
use crate::{
    cx::Cx,
    verify::{Evidence, Target, Verdict, Verifier, VerifyError},
};

/// Made by [`all`].
#[derive(Clone, Debug)]
pub struct All {
    name: String,
    verifiers: Vec<Arc<dyn Verifier>>,
}

/// Passes where all pass. The first that does not pass ends it and has the word: its failure, or that it is broken.
/// None at all is broken, and never a pass.
///
/// ```
/// use ralph_core::{Cx, Phase, RunId, Stage, Target, Verifier, combine::all, verifier};
/// use std::sync::Arc;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let target = Target::new("/", Stage::Base, RunId::new("run"), Phase::new("P1", []).into());
/// let [yes, no]: [Arc<dyn Verifier>; 2] = [Arc::new(verifier("a", |_| Ok(true))), Arc::new(verifier("b", |_| Ok(false)))];
/// let verdict = all([yes, no]).verify(&target, &Cx::new()).await.unwrap();
/// assert_eq!(verdict.evidence().summary, "b: no");
/// assert!(all([]).verify(&target, &Cx::new()).await.is_err());
/// # });
/// ```
pub fn all(verifiers: impl IntoIterator<Item = Arc<dyn Verifier>>) -> All {
    let verifiers: Vec<_> = verifiers.into_iter().collect();
    let names: Vec<&str> = verifiers.iter().map(|verifier| verifier.name()).collect();
    All { name: format!("all of {}", names.join(", ")), verifiers }
}

#[async_trait]
impl Verifier for All {
    fn name(&self) -> &str {
        &self.name
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let shared = Shared::new(cx);
        let mut whole = Evidence::line(format!("all {} pass", self.verifiers.len()));
        if self.verifiers.is_empty() {
            return Err(VerifyError::broken("there is no verifier to ask"));
        }
        for verifier in &self.verifiers {
            let name = verifier.name();
            let result = match shared.next() {
                Ok(cx) => verifier.verify(target, &cx).await,
                Err(error) => Err(error),
            };
            let verdict = result.map_err(|error| broken_part(name, error, whole.parts.clone()))?;
            whole.parts.extend(shares(name, verdict.passed(), verdict.evidence()));
            match verdict {
                Verdict::Pass(evidence) => {
                    whole.log = evidence.log.or(whole.log);
                    if self.verifiers.len() == 1 {
                        whole.summary = evidence.summary;
                    }
                }
                Verdict::Fail(evidence) => return Ok(Verdict::Fail(evidence.with_parts(whole.parts))),
            }
        }
        Ok(Verdict::Pass(whole))
    }
}
