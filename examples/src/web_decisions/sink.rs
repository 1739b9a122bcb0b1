//! What the run has of the service.

use std::net::SocketAddr;

use ralph_core::{Answer, Cx, Decision, DecisionError, DecisionId, DecisionSink, async_trait};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::client::Client;

/// A question that no longer stands.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Close {
    pub(super) id: DecisionId,
    pub(super) why: String,
}

/// A queue of decisions behind a web service.
#[derive(Clone, Debug)]
pub struct WebDecisions(Client);

impl WebDecisions {
    /// The queue at `address`, for whoever has the token that asks.
    pub fn new(address: SocketAddr, token: &str) -> Self {
        Self(Client::new(address, token))
    }

    /// The client blocks, and the run must not.
    async fn post<T: DeserializeOwned + Send + 'static>(
        &self,
        operation: &'static str,
        path: &'static str,
        body: impl Serialize + Send + 'static,
    ) -> Result<T, DecisionError> {
        let client = self.0.clone();
        let call = tokio::task::spawn_blocking(move || client.post(path, &body)).await;
        match call {
            Ok(Ok(said)) => Ok(said),
            Ok(Err(error)) => Err(DecisionError::Io { operation, source: error.into() }),
            Err(error) => Err(DecisionError::Io { operation, source: error.into() }),
        }
    }
}

#[async_trait]
impl DecisionSink for WebDecisions {
    async fn submit(&self, decision: &Decision, _cx: &Cx) -> Result<DecisionId, DecisionError> {
        self.post("recorded", "/decisions", decision.clone()).await
    }

    async fn answers(&self, ids: &[DecisionId], _cx: &Cx) -> Result<Vec<Answer>, DecisionError> {
        self.post("looked up", "/answers", ids.to_vec()).await
    }

    async fn close(&self, id: &DecisionId, why: &str, _cx: &Cx) -> Result<(), DecisionError> {
        self.post("recorded", "/close", Close { id: id.clone(), why: why.to_owned() }).await
    }
}
