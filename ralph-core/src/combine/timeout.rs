//! Less time.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use crate::{
    cx::Cx,
    verify::{Target, Verdict, Verifier, VerifyError},
};

/// Made by [`VerifierExt::with_timeout`](super::VerifierExt::with_timeout).
#[derive(Clone, Debug)]
pub struct WithTimeout<V> {
    verifier: V,
    limit: Duration,
}

impl<V: Verifier> WithTimeout<V> {
    pub(super) fn new(verifier: V, limit: Duration) -> Self {
        Self { verifier, limit }
    }
}

#[async_trait]
impl<V: Verifier> Verifier for WithTimeout<V> {
    fn name(&self) -> &str {
        self.verifier.name()
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        if cx.time_limit().is_some_and(|limit| limit <= self.limit) {
            return self.verifier.verify(target, cx).await;
        }
        let cx = cx.clone().with_time_limit(self.limit, SystemTime::now());
        self.verifier.verify(target, &cx).await
    }
}
