//! Gemini CLI as a process, played by the fake agent.

use std::time::Duration;

use ralph_agents::{Permissions, ProcessOptions};
use ralph_core::{AgentBackend, Cancel, Cx, Resume, SessionEnd, Tokens, Usage};
use serde_json::json;

use crate::fake::{Fake, lines, recorded};

#[tokio::test]
async fn a_session_is_resumed_and_reports_only_its_own_tokens() {
    let step = json!({"stdout_file": recorded("gemini", "resume")});
    let fake = Fake::steps(&json!([step]));
    let mut brief = fake.brief();
    let before = Usage::unknown().with_tokens(Tokens { input: 300, output: 60, ..Tokens::default() });
    brief.resume = Some(Resume { agent: "gemini".into(), session_id: "id".into(), before });
    let agent = fake.gemini().model("m").permissions(Permissions::All).args(["--debug"]);
    let report = agent.run(&brief, &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Finished);
    assert_eq!(report.usage.tokens, Some(Tokens { input: 100, output: 20, ..Tokens::default() }));
    let args = ["-o", "stream-json", "--skip-trust", "--yolo", "-m", "m", "--resume", "id", "--debug"];
    assert_eq!(fake.call(1)["args"], json!(args));
}

#[tokio::test]
async fn it_is_killed_since_it_heeds_no_signal() {
    let events = lines(&recorded("gemini", "signal-TERM-in-api"), |_| true);
    let fake = Fake::new(&[json!({"ignore": ["TERM", "INT", "HUP"], "steps": [{"stdout": events}, "hang"]})]);
    let options = ProcessOptions { grace: Duration::from_millis(200), ..fake.options() };
    let cancel = Cancel::new();
    let cx = Cx::new().with_cancel(cancel.clone());
    let (agent, brief) = (fake.gemini().options(options), fake.brief());
    let switch = async {
        fake.begun(1).await;
        cancel.cancel();
    };
    let (report, ()) = tokio::join!(agent.run(&brief, &cx), switch);
    assert_eq!(report.unwrap().end, SessionEnd::Cancelled);
}
