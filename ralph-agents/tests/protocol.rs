//! An agent that speaks the protocol of any command.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use ralph_agents::{CommandAgent, ProcessOptions, wrap::Retry};
use ralph_core::{
    AgentBackend, AgentError, Capabilities, Cx, Resume, SessionEnd, SessionReport, Tier, Tokens, Trouble, Usage, Usd,
    testing::StillClock,
};
use serde_json::json;

use crate::fake::Fake;

/// Runs a shell script as the agent.
async fn sh(fake: &Fake, script: &str) -> Result<SessionReport, AgentError> {
    let options = ProcessOptions { grace: Duration::from_millis(200), ..fake.options() };
    CommandAgent::new("sh").args(["-c", script]).options(options).run(&fake.brief(), &Cx::new()).await
}

#[tokio::test]
async fn the_agent_of_the_page_works() {
    let page = include_str!("../../docs/agents-in-any-language.md");
    let script = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let (fake, shown) = (Fake::new(&[]), Arc::new(Mutex::new(Vec::new())));
    let lines = shown.clone();
    let cx = Cx::new().with_live(move |line| lines.lock().unwrap().push(line.to_owned()));
    let path = fake.dir().join("agent.sh");
    fs::write(&path, script).unwrap();
    let agent = CommandAgent::new("sh").args([path.to_str().unwrap()]);
    let report = agent.run(&fake.brief(), &cx).await.unwrap();
    assert_eq!((&report.end, report.said.as_str()), (&SessionEnd::Finished, "I wrote it down."));
    let tokens = Tokens { input: 120, output: 30, ..Tokens::default() };
    assert_eq!(report.usage, Usage::unknown().with_cost(Usd::from_micros(4_000)).with_tokens(tokens));
    assert_eq!(fs::read_to_string(fake.workspace().join("NOTES")).unwrap(), "Do it.\n");
    assert_eq!(*shown.lock().unwrap(), ["writing"]);
}

#[tokio::test]
async fn without_its_first_line_nothing_has_a_meaning() {
    let fake = Fake::new(&[]);
    let refused = r#"{"type": "refused", "detail": "no"}"#;
    let report = sh(&fake, &format!("echo hello; echo '{{\"ralph\": 1}}'; echo '{refused}'")).await.unwrap();
    assert_eq!(report.end, SessionEnd::Finished);
    assert_eq!(report.said, format!("hello\n{{\"ralph\": 1}}\n{refused}\n"));
    // The control.
    let error = sh(&fake, &format!("echo '{{\"ralph\": 1}}'; echo '{refused}'")).await.unwrap_err();
    assert!(matches!(error, AgentError::Refused { .. }), "{error:?}");
}

#[tokio::test]
async fn another_version_is_refused_at_once() {
    let fake = Fake::steps(&json!([{"stdout": "{\"ralph\": 2}\n"}, "hang"]));
    let error = fake.command().run(&fake.brief(), &Cx::new()).await.unwrap_err();
    assert!(error.to_string().contains("speaks version 2"), "{error}");
}

#[tokio::test]
async fn trouble_and_crashes_come_through() {
    let fake = Fake::new(&[]);
    let hello = "echo '{\"ralph\": 1}'";
    let trouble = r#"echo '{"type": "trouble", "trouble": "network", "detail": "no route"}'"#;
    let end = sh(&fake, &format!("{hello}; {trouble}; exit 1")).await.unwrap().end;
    let expected = SessionEnd::Unavailable { trouble: Trouble::Network, detail: "no route".into(), until: None };
    assert_eq!(end, expected);
    let end = sh(&fake, &format!("{hello}; echo oops >&2; exit 3")).await.unwrap().end;
    assert_eq!(end, SessionEnd::Failed("exit code 3: oops".into()));
    let end = sh(&fake, &format!("{hello}; kill -9 $$")).await.unwrap().end;
    assert!(matches!(end, SessionEnd::Unavailable { trouble: Trouble::NoResult, .. }), "{end:?}");
    let end = sh(&fake, hello).await.unwrap().end;
    assert!(matches!(end, SessionEnd::Unavailable { trouble: Trouble::NoResult, .. }), "{end:?}");
}

#[tokio::test]
async fn a_long_event_is_read_whole() {
    let fake = Fake::new(&[]);
    let text = "x".repeat(500_000);
    fs::write(fake.dir().join("line"), format!("{{\"type\":\"say\",\"text\":\"{text}\",\"more\":1}}\n")).unwrap();
    let script = r#"echo '{"ralph": 1}'; cat "$FAKE_AGENT_DIR/line"; echo '{"type": "result", "status": "ok"}'"#;
    let report = sh(&fake, script).await.unwrap();
    assert_eq!((report.end, report.said.len()), (SessionEnd::Finished, SessionReport::SAID_MAX));
}

#[tokio::test]
async fn what_it_is_told_is_what_was_set() {
    let fake = Fake::new(&[json!({"steps": []}), json!({"steps": []})]);
    let mut brief = fake.brief();
    fake.command().run(&brief, &Cx::new()).await.unwrap();
    brief.tier = Tier::High;
    brief.resume = Some(Resume { agent: "command".into(), session_id: "s-1".into(), before: Usage::unknown() });
    brief.cost_limit = Some(Usd::from_micros(1_500_000));
    brief.schema = Some("{}".into());
    fake.command().run(&brief, &Cx::new()).await.unwrap();
    let told = |call, name: &str| fake.call(call)["ralph"][name].as_str().map(str::to_owned);
    for (name, first, second) in [
        ("RALPH_TIER", Some("standard"), "high"),
        ("RALPH_RESUME", None, "s-1"),
        ("RALPH_COST_LIMIT_USD", None, "1.50"),
        ("RALPH_SCHEMA", None, "{}"),
    ] {
        assert_eq!((told(1, name).as_deref(), told(2, name).as_deref()), (first, Some(second)), "{name}");
    }
}

#[test]
fn it_can_do_what_is_said_of_it() {
    let agent = CommandAgent::new("agent");
    assert_eq!(agent.capabilities(), Capabilities::none());
    let all = Capabilities::none().with_cost().with_tokens().with_resume().with_cost_limit().with_structured();
    let agent = agent.reports_cost().reports_tokens().resumes().keeps_cost_limit().answers_schema();
    assert_eq!(agent.capabilities(), all);
}

/// What one session left is there for the next, and one log has both.
#[tokio::test]
async fn a_session_that_was_lost_is_repeated_in_the_same_place() {
    let hello = json!({"stdout": "{\"ralph\": 1}\n"});
    let lost = json!({"stdout": "{\"type\": \"trouble\", \"trouble\": \"overload\"}\n"});
    let fake = Fake::new(&[
        json!({"steps": [hello, {"write": {"path": "half", "text": "half\n"}}, lost]}),
        json!({"steps": [hello, {"sh": "mv half whole"}, {"stdout": "{\"type\": \"result\", \"status\": \"ok\"}\n"}]}),
    ]);
    let mut brief = fake.brief();
    brief.log = Some(fake.dir().join("log"));
    let agent = Retry::new(fake.command()).clock(StillClock::new());
    let report = agent.run(&brief, &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Finished);
    assert!(fake.workspace().join("whole").exists());
    let log = fs::read_to_string(fake.dir().join("log")).unwrap();
    assert_eq!(log.matches("{\"ralph\": 1}").count(), 2);
}
