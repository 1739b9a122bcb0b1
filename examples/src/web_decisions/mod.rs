//! Decisions that go to a web service and come back from it: the service, the sink that the run has, and the desk of the
//! people who answer. For the example `web_decisions.rs`.
//!
//! The service is in memory, on the loopback address and without TLS; one of your own has a database, logins and a page
//! for people. What matters is the same: the key of a decision gives one id however often it is asked, what is no answer
//! is refused, an answer that was given once stays, and **who asks cannot answer**. A session runs on the same machine as
//! the run and can reach what the run can reach, so that a service which believes everybody lets agents approve their own
//! work (law L3).

mod client;
mod desk;
mod service;
mod sink;

pub use self::{
    client::ClientError,
    desk::{Desk, Pending},
    service::{Service, Tokens},
    sink::WebDecisions,
};

#[cfg(test)]
mod tests {
    use ralph_core::{
        DecisionId,
        testing::suites::decision::{DecisionFixture, Person},
    };

    use super::{Desk, Service, Tokens, WebDecisions};

    impl Person for Desk {
        fn answer(&self, id: &DecisionId, said: &str, by: &str) -> Result<(), String> {
            Desk::answer(self, id, said, by).map(drop).map_err(|error| error.to_string())
        }
    }

    ralph_core::decision_conformance!(async || {
        let service = Service::start(Tokens::new("asks", "answers")).unwrap();
        let (sink, desk) = (WebDecisions::new(service.address(), "asks"), Desk::new(service.address(), "answers"));
        DecisionFixture::new(sink, desk).keeping(service)
    });
}
