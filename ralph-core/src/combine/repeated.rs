//! Several times in a row.

use async_trait::async_trait;

use super::{Shared, shares};
use crate::{
    cx::Cx,
    verify::{Target, Verdict, Verifier, VerifyError},
};

/// Made by [`VerifierExt::repeated`](super::VerifierExt::repeated).
#[derive(Clone, Debug)]
pub struct Repeated<V> {
    verifier: V,
    times: u32,
}

impl<V: Verifier> Repeated<V> {
    pub(super) fn new(verifier: V, times: u32) -> Self {
        Self { verifier, times: times.max(1) }
    }
}

#[async_trait]
impl<V: Verifier> Verifier for Repeated<V> {
    fn name(&self) -> &str {
        self.verifier.name()
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let shared = Shared::new(cx);
        let mut time = 1;
        loop {
            let mut verdict = self.verifier.verify(target, &shared.next()?).await?;
            let (passed, name) = (verdict.passed(), self.name());
            let (Verdict::Pass(evidence) | Verdict::Fail(evidence)) = &mut verdict;
            evidence.parts = shares(name, passed, evidence);
            // What failed now had passed in every run before.
            evidence.parts.iter_mut().filter(|part| !part.passed).for_each(|part| part.flaky |= time > 1);
            if passed && time < self.times {
                time += 1;
                continue;
            }
            if passed && self.times > 1 {
                evidence.summary.push_str(&format!(", {} times in a row", self.times));
            } else if time > 1 {
                evidence.summary.push_str(&format!(" in run {time} of {}, after it had passed", self.times));
            }
            return Ok(verdict);
        }
    }
}
