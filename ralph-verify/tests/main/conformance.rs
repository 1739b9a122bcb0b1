//! The laws that every verifier keeps.

use std::{sync::Arc, time::Duration};

use ralph_core::testing::suites::verifier::{Behaviour, VerifierFixture};
use ralph_verify::{CommandVerifier, Shell};

/// A heart in a session of its own where there is such a thing, deaf to being asked to end.
const HEART: &str = "$(command -v setsid) sh -c \
    'trap \"\" TERM; for i in $(seq 6000); do printf x >> heartbeat; sleep 0.01; done' & \
    until [ -s heartbeat ]; do sleep 0.01; done";

ralph_core::verifier_conformance!(async || {
    VerifierFixture::new(tempfile::tempdir().unwrap(), |behaviour| {
        let script = match behaviour {
            Behaviour::Passes => "true".to_owned(),
            Behaviour::Fails => "false".to_owned(),
            Behaviour::Breaks => "no-such-program-anywhere".to_owned(),
            Behaviour::JudgesFolder => "test -e good".to_owned(),
            Behaviour::Talks => "yes 'a line of talk' | head -c 10000000; exit 1".to_owned(),
            Behaviour::Hangs => format!("{HEART}; wait"),
            // What leaves its group is only found where there is a `/proc`.
            Behaviour::LeavesSomething if cfg!(target_os = "linux") => HEART.to_owned(),
            _ => return None,
        };
        let shell = Shell::new().grace(Duration::from_millis(200));
        Some(Arc::new(CommandVerifier::new(shell).also(script)))
    })
});

/// A reviewer that is made of an agent.
mod reviewer {
    use super::*;
    use ralph_core::testing::{
        ScriptedAgent,
        suites::reviewer::{Behaviour, ReviewerFixture},
        turn,
    };
    use ralph_verify::AgentReviewer;

    fn says(verdict: &str, met: bool) -> String {
        let criterion = |number: u8| format!(r#"{{"number": {number}, "met": {met}, "evidence": "greeting:1"}}"#);
        format!(r#"{{"verdict": "{verdict}", "criteria": [{}, {}]}}"#, criterion(1), criterion(2))
    }

    ralph_core::reviewer_conformance!(async || ReviewerFixture::new(|behaviour| {
        let turn = match behaviour {
            Behaviour::Approves => turn().signals(&says("approve", true)),
            Behaviour::Vetoes => turn().signals(&says("reject", false)),
            Behaviour::SaysNothing => turn().says("I had a look."),
            Behaviour::Hangs => turn().hangs(),
            _ => return None,
        };
        Some(Arc::new(AgentReviewer::new(ScriptedAgent::new([turn]))))
    }));
}
