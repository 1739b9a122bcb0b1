//! At some stages only.

use std::collections::BTreeSet;

use async_trait::async_trait;

use crate::{
    cx::Cx,
    verify::{Stage, Target, Verdict, Verifier, VerifyError},
};

/// Made by [`VerifierExt::on_stages`](super::VerifierExt::on_stages).
#[derive(Clone, Debug)]
pub struct OnStages<V> {
    verifier: V,
    stages: BTreeSet<Stage>,
}

impl<V: Verifier> OnStages<V> {
    pub(super) fn new(verifier: V, stages: impl IntoIterator<Item = Stage>) -> Self {
        Self { verifier, stages: stages.into_iter().collect() }
    }
}

#[async_trait]
impl<V: Verifier> Verifier for OnStages<V> {
    fn name(&self) -> &str {
        self.verifier.name()
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        if self.stages.contains(&target.stage) {
            return self.verifier.verify(target, cx).await;
        }
        Ok(Verdict::new(true, format!("{}: not asked at the stage {}", self.name(), target.stage)))
    }
}
