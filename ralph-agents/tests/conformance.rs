//! The laws of the seam, for the backends and for what is wrapped around them.

use std::sync::Arc;

use ralph_agents::CommandAgent;
use ralph_core::{
    AgentBackend,
    testing::suites::agent::{AgentFixture, Behaviour},
};
use serde_json::{Value, json};

use crate::{
    acp::{done, leaves, talk},
    fake::{Fake, recorded, transcript},
};

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

/// A fixture of an agent that only prints.
fn printing(
    prints: Prints,
    real: fn(&Fake) -> Arc<dyn AgentBackend>,
    missing: fn() -> Arc<dyn AgentBackend>,
) -> AgentFixture {
    fixture(move |behaviour| reply(behaviour, &prints), real, missing)
}

/// A fixture whose fakes live as long as it does.
fn fixture(
    reply: impl Fn(Behaviour) -> Value + Send + Sync + 'static,
    real: fn(&Fake) -> Arc<dyn AgentBackend>,
    missing: fn() -> Arc<dyn AgentBackend>,
) -> AgentFixture {
    let fakes = std::sync::Mutex::new(Vec::new());
    AgentFixture::new(tempfile::tempdir().unwrap(), move |behaviour| {
        if behaviour == Behaviour::NotInstalled {
            return Some(missing());
        }
        let reply = reply(behaviour);
        let fake = Fake::new(&[reply.clone(), reply]);
        let agent = real(&fake);
        fakes.lock().unwrap().push(fake);
        Some(agent)
    })
}

fn missing_command() -> Arc<dyn AgentBackend> {
    Arc::new(CommandAgent::new("no-such-agent-anywhere"))
}

mod command {
    use super::*;

    ralph_core::agent_conformance!(async || printing(
        Prints {
            well: json!({"stdout": "done\n"}),
            failure: json!({"stderr": "no\n"}),
            interrupted: json!({"stdout": "stopped\n"}),
        },
        |fake| Arc::new(fake.command()),
        missing_command,
    ));
}

mod protocol {
    use super::*;

    const HELLO: &str = "{\"ralph\": 1}\n";
    const USAGE: &str = r#"{"type": "usage", "cost_usd": "0.12", "tokens": {"input": 100, "output": 20}}"#;

    fn prints(result: &str) -> Value {
        json!({"stdout": format!("{HELLO}{USAGE}\n{result}\n")})
    }

    ralph_core::agent_conformance!(async || printing(
        Prints {
            well: prints(r#"{"type": "result", "status": "ok", "said": "done"}"#),
            failure: prints(r#"{"type": "result", "status": "failed", "said": "no"}"#),
            interrupted: prints(r#"{"type": "result", "status": "failed", "said": "stopped"}"#),
        },
        |fake| Arc::new(fake.command().reports_cost().reports_tokens()),
        missing_command,
    ));
}

mod claude {
    use ralph_agents::ClaudeCode;

    use super::*;

    ralph_core::agent_conformance!(async || printing(
        Prints {
            well: json!({"stdout_file": transcript("success")}),
            failure: json!({"stdout_file": transcript("stop-max-tokens")}),
            interrupted: json!({"stdout_file": transcript("signal-INT-in-tool")}),
        },
        |fake| Arc::new(fake.claude()),
        || Arc::new(ClaudeCode::new().program("/nowhere/claude")),
    ));
}

mod codex {
    use ralph_agents::Codex;

    use super::*;

    ralph_core::agent_conformance!(async || printing(
        Prints {
            well: json!({"stdout_file": recorded("codex", "success")}),
            failure: json!({"stdout_file": recorded("codex", "stream-incomplete")}),
            interrupted: json!({"stdout": ""}),
        },
        |fake| Arc::new(fake.codex()),
        || Arc::new(Codex::new().program("/nowhere/codex")),
    ));
}

mod gemini {
    use ralph_agents::Gemini;

    use super::*;

    ralph_core::agent_conformance!(async || printing(
        Prints {
            well: json!({"stdout_file": recorded("gemini", "success")}),
            failure: json!({"stdout_file": recorded("gemini", "stream-disconnect-forever")}),
            interrupted: json!({"stdout": ""}),
        },
        |fake| Arc::new(fake.gemini()),
        || Arc::new(Gemini::new().program("/nowhere/gemini")),
    ));
}

mod opencode {
    use ralph_agents::OpenCode;

    use super::*;

    ralph_core::agent_conformance!(async || printing(
        Prints {
            well: json!({"stdout_file": recorded("opencode", "success")}),
            failure: json!({"stdout_file": recorded("opencode", "stop-length")}),
            interrupted: json!({"stdout": ""}),
        },
        |fake| Arc::new(fake.opencode()),
        || Arc::new(OpenCode::new().program("/nowhere/opencode")),
    ));
}

/// A backend around a command: where that keeps the laws, so does the whole.
mod wrapped {
    use ralph_agents::wrap::{Fallback, Named, Recorded, Replay, Retry, Tiers};

    use super::*;

    fn around(wrap: fn(Arc<dyn AgentBackend>) -> Arc<dyn AgentBackend>) -> AgentFixture {
        let fakes = std::sync::Mutex::new(Vec::new());
        let prints = Prints {
            well: json!({"stdout": "done\n"}),
            failure: json!({"stderr": "no\n"}),
            interrupted: json!({"stdout": "stopped\n"}),
        };
        AgentFixture::new(tempfile::tempdir().unwrap(), move |behaviour| {
            if behaviour == Behaviour::NotInstalled {
                return Some(wrap(missing_command()));
            }
            let reply = reply(behaviour, &prints);
            let fake = Fake::new(&[reply.clone(), reply]);
            let agent = fake.command();
            fakes.lock().unwrap().push(fake);
            Some(wrap(Arc::new(agent)))
        })
    }

    mod retry {
        use super::*;

        ralph_core::agent_conformance!(async || around(|inner| Arc::new(Retry::new(inner))));
    }

    mod fallback {
        use super::*;

        /// The first one is not there, so that it is always the second.
        fn fallback(inner: Arc<dyn AgentBackend>) -> Arc<dyn AgentBackend> {
            Arc::new(Fallback::new(Named::new("first", missing_command())).or(inner).unwrap())
        }

        ralph_core::agent_conformance!(async || around(fallback));
    }

    mod tiers {
        use super::*;

        fn tiers(inner: Arc<dyn AgentBackend>) -> Arc<dyn AgentBackend> {
            Arc::new(Tiers::new(inner).high(Named::new("high", missing_command())).unwrap())
        }

        ralph_core::agent_conformance!(async || around(tiers));
    }

    mod recorded {
        use super::*;

        /// The folder of the cassettes, which goes with the backend.
        #[derive(Debug)]
        struct Kept(Recorded, tempfile::TempDir);

        #[ralph_core::async_trait]
        impl AgentBackend for Kept {
            fn name(&self) -> &str {
                self.0.name()
            }
            fn capabilities(&self) -> ralph_core::Capabilities {
                self.0.capabilities()
            }
            async fn run(
                &self,
                brief: &ralph_core::Brief,
                cx: &ralph_core::Cx,
            ) -> Result<ralph_core::SessionReport, ralph_core::AgentError> {
                let report = self.0.run(brief, cx).await?;
                // Whatever the law: what was reported is on a cassette that can be played.
                assert!(Replay::open(self.1.path()).is_ok());
                Ok(report)
            }
        }

        fn recorded(inner: Arc<dyn AgentBackend>) -> Arc<dyn AgentBackend> {
            let folder = tempfile::tempdir().unwrap();
            Arc::new(Kept(Recorded::new(inner, folder.path()), folder))
        }

        ralph_core::agent_conformance!(async || around(recorded));
    }
}

/// What an agent does in a conversation, ending well with this result.
fn conversation(behaviour: Behaviour, result: &Value) -> Value {
    let heart = vec![json!({"spawn": {"sh": HEART, "apart": "session"}}), json!({"sh": BEATS})];
    let refusal = json!({"stopReason": "refusal"});
    match behaviour {
        Behaviour::WritesFile => {
            let work = vec![json!({"write": {"path": "work", "text": "done\n"}}), json!({"sh": COPY})];
            talk(&[work, done(result), leaves()])
        }
        Behaviour::Fails => talk(&[done(&refusal), leaves()]),
        Behaviour::LeavesSomething => talk(&[heart, done(result), leaves()]),
        _ => {
            let cancelled = json!({"stopReason": "cancelled"});
            talk(&[heart, vec![json!({"hear": "\"session/cancel\""})], done(&cancelled), leaves()])
        }
    }
}

mod acp {
    use ralph_agents::Acp;

    use super::*;

    ralph_core::agent_conformance!(async || fixture(
        |behaviour| conversation(behaviour, &json!({"stopReason": "end_turn"})),
        |fake| Arc::new(fake.acp()),
        || Arc::new(Acp::new("no-such-agent-anywhere")),
    ));
}

/// An agent that keeps what its user promised for it.
mod acp_with_tokens {
    use ralph_agents::Acp;
    use ralph_core::Capabilities;

    use super::*;

    ralph_core::agent_conformance!(async || fixture(
        |behaviour| {
            let usage = json!({"inputTokens": 300, "outputTokens": 60, "totalTokens": 360});
            conversation(behaviour, &json!({"stopReason": "end_turn", "usage": usage}))
        },
        |fake| Arc::new(fake.acp().reports(Capabilities::none().with_tokens())),
        || Arc::new(Acp::new("/nowhere/agent")),
    ));
}

mod spawn_budgeted {
    use ralph_agents::{CommandAgent, SpawnBudgeted, spawn::Limits};

    use super::*;

    ralph_core::agent_conformance!(async || printing(
        Prints {
            well: json!({"stdout": "done\n"}),
            failure: json!({"stderr": "no\n"}),
            interrupted: json!({"stdout": "stopped\n"}),
        },
        |fake| {
            let budgets = fake.dir().join("budgets");
            Arc::new(SpawnBudgeted::new(Arc::new(fake.command()), budgets, Limits::default()))
        },
        || {
            let missing = CommandAgent::new("no-such-agent-anywhere");
            Arc::new(SpawnBudgeted::new(Arc::new(missing), std::env::temp_dir(), Limits::default()))
        },
    ));
}
