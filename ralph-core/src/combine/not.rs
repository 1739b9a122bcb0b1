//! The contrary.

use async_trait::async_trait;

use super::shares;
use crate::{
    cx::Cx,
    verify::{Evidence, Part, Target, Verdict, Verifier, VerifyError},
};

/// Made by [`VerifierExt::not`](super::VerifierExt::not).
#[derive(Clone, Debug)]
pub struct Not<V> {
    name: String,
    verifier: V,
}

impl<V: Verifier> Not<V> {
    pub(super) fn new(verifier: V) -> Self {
        Self { name: format!("not {}", verifier.name()), verifier }
    }

    /// Its shares are negated as well: what went from fail to pass there is no progress here. Nor is the number of tests.
    fn evidence(&self, passed: bool, evidence: Evidence) -> Evidence {
        let parts = shares(self.verifier.name(), passed, &evidence).into_iter();
        let parts =
            parts.map(|part| Part { flaky: part.flaky, ..Part::new(format!("not {}", part.name), !part.passed) });
        Evidence { summary: format!("not ({})", evidence.summary), parts: parts.collect(), ..evidence }
    }
}

#[async_trait]
impl<V: Verifier> Verifier for Not<V> {
    fn name(&self) -> &str {
        &self.name
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        Ok(match self.verifier.verify(target, cx).await? {
            Verdict::Pass(evidence) => Verdict::Fail(self.evidence(true, evidence)),
            Verdict::Fail(evidence) => Verdict::Pass(self.evidence(false, evidence)),
        })
    }
}
