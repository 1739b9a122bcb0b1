//! The laws of the seam, for both backends.

use std::sync::Arc;

use ralph_core::{
    AgentBackend,
    testing::suites::agent::{AgentFixture, Behaviour},
};
use serde_json::{Value, json};

use crate::fake::{Fake, transcript};

const HEART: &str = "while :; do echo x >> heartbeat; sleep 0.02; done";
const BEATS: &str = "until [ -s heartbeat ]; do sleep 0.01; done";
const COPY: &str = "cp \"$FAKE_AGENT_CALL/prompt\" prompt; \
                    printf '%s\\n' \"$RALPH_RUN_ID\" \"$RALPH_ITEM_ID\" \"$RALPH_ATTEMPT\" >told";

/// What the agent prints when it ends well, fails, and is interrupted.
struct Prints {
    well: Value,
    failure: Value,
    interrupted: Value,
}

fn reply(behaviour: Behaviour, prints: &Prints) -> Value {
    let heart = json!({"spawn": {"sh": HEART, "apart": "session"}});
    match behaviour {
        Behaviour::WritesFile => json!({"steps": [
            {"write": {"path": "work", "text": "done\n"}}, {"sh": COPY}, prints.well,
        ]}),
        Behaviour::Fails => json!({"steps": [prints.failure], "exit": 1}),
        Behaviour::LeavesSomething => json!({"steps": [heart, {"sh": BEATS}, prints.well]}),
        _ => json!({
            "steps": [heart, "hang"],
            "on_signal": {"signal": "INT", "steps": [prints.interrupted], "exit": 0},
        }),
    }
}

/// A fixture whose fakes live as long as it does.
fn fixture(
    prints: Prints,
    real: fn(&Fake) -> Arc<dyn AgentBackend>,
    missing: fn() -> Arc<dyn AgentBackend>,
) -> AgentFixture {
    let fakes = std::sync::Mutex::new(Vec::new());
    AgentFixture::new(tempfile::tempdir().unwrap(), move |behaviour| {
        if behaviour == Behaviour::NotInstalled {
            return Some(missing());
        }
        let reply = reply(behaviour, &prints);
        let fake = Fake::new(&[reply.clone(), reply]);
        let agent = real(&fake);
        fakes.lock().unwrap().push(fake);
        Some(agent)
    })
}

mod command {
    use ralph_agents::CommandAgent;

    use super::*;

    ralph_core::agent_conformance!(async || fixture(
        Prints {
            well: json!({"stdout": "done\n"}),
            failure: json!({"stderr": "no\n"}),
            interrupted: json!({"stdout": "stopped\n"}),
        },
        |fake| Arc::new(fake.command()),
        || Arc::new(CommandAgent::new("no-such-agent-anywhere")),
    ));
}

mod claude {
    use ralph_agents::ClaudeCode;

    use super::*;

    ralph_core::agent_conformance!(async || fixture(
        Prints {
            well: json!({"stdout_file": transcript("success")}),
            failure: json!({"stdout_file": transcript("stop-max-tokens")}),
            interrupted: json!({"stdout_file": transcript("signal-INT-in-tool")}),
        },
        |fake| Arc::new(fake.claude()),
        || Arc::new(ClaudeCode::new().program("/nowhere/claude")),
    ));
}
