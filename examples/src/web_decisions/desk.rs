//! Where people answer: a page in a browser, a message in a chat; here a few functions.

use std::net::SocketAddr;

use ralph_core::{Answer, Decision, DecisionId};
use serde::{Deserialize, Serialize};

use super::client::{Client, ClientError};

/// A question that waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pending {
    /// Its id.
    pub id: DecisionId,
    /// The question, with where it comes from.
    pub decision: Decision,
}

/// What a person says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Said {
    pub(super) said: String,
    pub(super) by: String,
}

/// The desk of people who may answer.
#[derive(Clone, Debug)]
pub struct Desk(Client);

impl Desk {
    /// A desk at the service at `address`, for whoever has the token of people.
    pub fn new(address: SocketAddr, token: &str) -> Self {
        Self(Client::new(address, token))
    }

    /// What waits for an answer.
    ///
    /// # Errors
    /// The service was not reached, or does not let this desk in.
    pub fn pending(&self) -> Result<Vec<Pending>, ClientError> {
        self.0.get("/decisions/pending")
    }

    /// `by` says `said` to the question `id`.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with 422 where it is no answer to this question, 409 where the question waits no longer,
    /// 404 where there is none, 401 where this desk may not answer.
    pub fn answer(&self, id: &DecisionId, said: &str, by: &str) -> Result<Answer, ClientError> {
        let body = Said { said: said.to_owned(), by: by.to_owned() };
        self.0.post(&format!("/decisions/{id}/answer"), &body)
    }
}
