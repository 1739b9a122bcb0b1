//! opencode as a process, played by the fake agent.

use std::time::Duration;

use ralph_agents::{Permissions, ProcessOptions};
use ralph_core::{AgentBackend, Cx, Resume, SessionEnd, Trouble, Usage, Usd};
use serde_json::json;

use crate::fake::{Fake, lines, recorded};

#[tokio::test]
async fn a_session_is_resumed_and_reports_only_its_own_cost() {
    let fake = Fake::steps(&json!([{"stdout_file": recorded("opencode", "resume")}]));
    let mut brief = fake.brief();
    let before = Usage::unknown().with_cost(Usd::from_micros(1_800));
    brief.resume = Some(Resume { agent: "opencode".into(), session_id: "id".into(), before });
    let agent = fake.opencode().model("p/m").permissions(Permissions::All).args(["--print-logs"]);
    let report = agent.run(&brief, &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Finished);
    assert_eq!(report.usage.cost, Some(Usd::from_micros(600)));
    let args = ["run", "--format", "json", "--auto", "--model", "p/m", "--session", "id", "--print-logs"];
    assert_eq!(fake.call(1)["args"], json!(args));
}

#[tokio::test]
async fn silence_from_the_start_is_its_provider_s() {
    let begun = lines(&recorded("opencode", "stream-disconnect-forever"), |_| true);
    let fake = Fake::new(&[json!({"steps": ["hang"]}), json!({"steps": [{"stdout": begun}, "hang"]})]);
    let short = Some(Duration::from_millis(300));
    let options = ProcessOptions { idle: short, first_output: short, ..fake.options() };
    let run = || async { fake.opencode().options(options.clone()).run(&fake.brief(), &Cx::new()).await.unwrap().end };
    let end = run().await;
    assert!(matches!(end, SessionEnd::Unavailable { trouble: Trouble::Network, .. }), "{end:?}");
    // The control: later it may be a tool that takes its time.
    assert_eq!(run().await, SessionEnd::Limit("silent for 300ms".into()));
}
