//! The one way to talk to the service.

use std::{fmt, net::SocketAddr, time::Duration};

use serde::{Serialize, de::DeserializeOwned};

/// How long one call may take; a queue that cannot be reached leaves the run open, and is asked again when it goes on.
const LIMIT: Duration = Duration::from_secs(10);

/// Why a call came to nothing.
#[derive(Debug)]
pub enum ClientError {
    /// The service refused it. Holds the status and what it said.
    Refused(u16, String),
    /// It was not reached.
    Unreached(ureq::Error),
    /// It said something else than was expected.
    Garbled(serde_json::Error),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(status, why) => write!(f, "the service refused it ({status}): {why}"),
            Self::Unreached(_) => f.write_str("the service was not reached"),
            Self::Garbled(_) => f.write_str("what the service said was not understood"),
        }
    }
}

impl std::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(..) => None,
            Self::Unreached(error) => Some(error),
            Self::Garbled(error) => Some(error),
        }
    }
}

impl From<ureq::Error> for ClientError {
    fn from(error: ureq::Error) -> Self {
        Self::Unreached(error)
    }
}

impl From<serde_json::Error> for ClientError {
    fn from(error: serde_json::Error) -> Self {
        Self::Garbled(error)
    }
}

#[derive(Clone)]
pub(super) struct Client {
    agent: ureq::Agent,
    base: String,
    token: String,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Client {
    pub(super) fn new(address: SocketAddr, token: &str) -> Self {
        // A proxy of the environment is not asked for what is on this machine.
        let config =
            ureq::Agent::config_builder().timeout_global(Some(LIMIT)).http_status_as_error(false).proxy(None).build();
        Self { agent: config.into(), base: format!("http://{address}"), token: format!("Bearer {token}") }
    }

    pub(super) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        let call = self.agent.get(format!("{}{path}", self.base)).header("authorization", &self.token);
        read(call.call()?)
    }

    pub(super) fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ClientError> {
        let call = self.agent.post(format!("{}{path}", self.base)).header("authorization", &self.token);
        read(call.header("content-type", "application/json").send(serde_json::to_vec(body)?)?)
    }
}

fn read<T: DeserializeOwned>(mut response: ureq::http::Response<ureq::Body>) -> Result<T, ClientError> {
    let (status, body) = (response.status(), response.body_mut().read_to_string()?);
    if status.is_success() {
        Ok(serde_json::from_str(&body)?)
    } else {
        Err(ClientError::Refused(status.as_u16(), body))
    }
}
