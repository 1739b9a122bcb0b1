//! Claude Code as a process, played by the fake agent.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use ralph_agents::{Permissions, ProcessOptions};
use ralph_core::{AgentBackend, AgentError, Cancel, Cx, SessionEnd, SessionReport, Trouble, Usage, Usd};
use serde_json::{Value, json};

use crate::fake::{Fake, lines, transcript};

fn recorded(name: &str, exit: u8) -> Fake {
    Fake::new(&[json!({"steps": [{"stdout_file": transcript(name)}], "exit": exit})])
}

async fn run(fake: &Fake) -> Result<SessionReport, AgentError> {
    fake.claude().run(&fake.brief(), &Cx::new()).await
}

fn trouble(report: &SessionReport) -> Option<Trouble> {
    match &report.end {
        SessionEnd::Unavailable { trouble, .. } => Some(*trouble),
        _ => None,
    }
}

#[tokio::test]
async fn a_session_is_reported_with_what_it_used() {
    let report = run(&recorded("success-usage", 0)).await.unwrap();
    assert_eq!(report.end, SessionEnd::Finished);
    assert_eq!(report.usage.cost, Some(Usd::from_micros(15_568)));
    assert_eq!(report.usage.tokens.unwrap().billed(), 3003 + 153 + 63);
    assert_eq!(report.said, "All done: hello.txt is committed.");
    assert!(report.session_id.is_some());
    assert_eq!(run(&recorded("compaction", 0)).await.unwrap().compactions, 2);
    let structured = run(&recorded("json-schema", 0)).await.unwrap().structured;
    assert_eq!(structured.as_deref(), Some("{\"done\":true}"));
}

#[tokio::test]
async fn trouble_and_refusals_come_through() {
    let report = run(&recorded("oauth-usage-limit", 1)).await.unwrap();
    assert_eq!(trouble(&report), Some(Trouble::UsageWindow));
    let report = run(&recorded("error-529", 1)).await.unwrap();
    assert_eq!(trouble(&report), Some(Trouble::Overload));
    let report = run(&recorded("truncated-stdout", 0)).await.unwrap();
    assert_eq!(trouble(&report), Some(Trouble::NoResult));
    let error = run(&recorded("error-404-model", 1)).await.unwrap_err();
    assert!(matches!(error, AgentError::Refused { .. }), "{error:?}");
    let flag = json!({"steps": [{"stderr": "error: unknown option '--x'\n"}], "exit": 1});
    let error = run(&Fake::new(&[flag])).await.unwrap_err();
    assert!(error.to_string().contains("unknown option '--x'"), "{error}");
}

#[tokio::test]
async fn a_crash_is_no_result() {
    let events = lines(&transcript("success"), |line| !line.contains("\"type\":\"result\""));
    let crash = json!({"steps": [{"stdout": events}], "exit": "KILL"});
    let report = run(&Fake::new(&[crash])).await.unwrap();
    assert_eq!(trouble(&report), Some(Trouble::NoResult));
    assert_eq!(report.usage, Usage::unknown());
}

/// Prints the events up to the first retry of `name`, then waits to be interrupted.
fn retrying(name: &str) -> Value {
    let start = lines(&transcript(name), |line| line.contains("\"init\""));
    let retry = lines(&transcript(name), |line| line.contains("\"api_retry\"") && line.contains("\"attempt\":1"));
    assert!(!retry.is_empty());
    let result = lines(&transcript("signal-INT-in-api"), |line| line.contains("\"type\":\"result\""));
    json!({
        "steps": [{"stdout": start}, {"stdout": retry}, "hang"],
        "on_signal": {"signal": "INT", "steps": [{"stdout": result}], "exit": 0},
    })
}

#[tokio::test]
async fn a_refused_login_ends_the_session_at_its_first_sign() {
    let fake = Fake::new(&[retrying("error-401-fast"), retrying("error-529")]);
    let started = Instant::now();
    let error = run(&fake).await.unwrap_err();
    assert!(matches!(error, AgentError::Auth { .. }), "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(30));

    // The control: other retries are Claude Code's own affair, until a limit of ours ends them. Whose fault it was is
    // then still known.
    let options = ProcessOptions { idle: Some(Duration::from_millis(500)), ..fake.options() };
    let report = fake.claude().options(options).run(&fake.brief(), &Cx::new()).await.unwrap();
    assert_eq!(trouble(&report), Some(Trouble::Overload), "{:?}", report.end);
}

#[tokio::test]
async fn an_interrupted_session_still_says_what_it_used() {
    let events = lines(&transcript("signal-INT-in-tool"), |line| !line.contains("\"type\":\"result\""));
    let result = lines(&transcript("signal-INT-in-tool"), |line| line.contains("\"type\":\"result\""));
    let fake = Fake::new(&[json!({
        "steps": [{"stdout": events}, "hang"],
        "on_signal": {"signal": "INT", "steps": [{"stdout": result}], "exit": 0},
    })]);
    let cancel = Cancel::new();
    let cx = Cx::new().with_cancel(cancel.clone());
    let (agent, brief) = (fake.claude(), fake.brief());
    let switch = async {
        fake.begun(1).await;
        cancel.cancel();
    };
    let (report, ()) = tokio::join!(agent.run(&brief, &cx), switch);
    let report = report.unwrap();
    assert_eq!(report.end, SessionEnd::Cancelled);
    assert_eq!(report.usage.cost, Some(Usd::from_micros(800)));
}

#[tokio::test]
async fn who_does_not_heed_the_interrupt_is_killed() {
    let fake = Fake::new(&[json!({"ignore": ["INT", "TERM"], "steps": ["hang"]})]);
    let options = ProcessOptions { grace: Duration::from_millis(200), ..fake.options() };
    let cancel = Cancel::new();
    let cx = Cx::new().with_cancel(cancel.clone());
    let (agent, brief) = (fake.claude().options(options), fake.brief());
    let switch = async {
        fake.begun(1).await;
        cancel.cancel();
    };
    let (report, ()) = tokio::join!(agent.run(&brief, &cx), switch);
    let report = report.unwrap();
    assert_eq!(report.end, SessionEnd::Cancelled);
    assert_eq!(report.usage, Usage::unknown());
}

#[tokio::test]
async fn what_follows_an_endless_line_is_read() {
    let fake = Fake::steps(&json!([
        {"flood": {"bytes": 30_000_000, "line": 0}}, {"stdout": "\n"},
        {"stdout_file": transcript("success-usage")},
    ]));
    let report = run(&fake).await.unwrap();
    assert_eq!(report.end, SessionEnd::Finished);
    assert_eq!(report.usage.cost, Some(Usd::from_micros(15_568)));
}

#[tokio::test]
async fn it_is_started_headless() {
    let fake = recorded("success", 0);
    let mut brief = fake.brief();
    brief.cost_limit = Some(Usd::from_micros(2_500_000));
    let options = ProcessOptions {
        // Run as root, as tests in containers often are.
        set: [fake.options().set, vec![("IS_SANDBOX".into(), "1".into())]].concat(),
        ..ProcessOptions::default()
    };
    let agent = fake.claude().options(options).model("opus").permissions(Permissions::All);
    agent.run(&brief, &Cx::new()).await.unwrap();
    let call = fake.call(1);
    assert_eq!(
        call["args"],
        json!([
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--dangerously-skip-permissions",
            "--model",
            "opus",
            "--max-budget-usd",
            "2.500000",
        ])
    );
    let names = call["env"].as_array().unwrap();
    for name in [
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
        "DISABLE_AUTOUPDATER",
        "RALPH_RUN_ID",
    ] {
        assert!(names.iter().any(|seen| seen == name), "{name}");
    }
    assert!(!names.iter().any(|seen| seen == "CLAUDECODE" || seen == "CARGO_MANIFEST_DIR"));
}

#[tokio::test]
async fn who_watches_sees_words_and_tools() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let cx = Cx::new().with_live({
        let seen = seen.clone();
        move |line| seen.lock().unwrap().push(line.to_owned())
    });
    let fake = recorded("permission-default", 0);
    let report = fake.claude().run(&fake.brief(), &cx).await.unwrap();
    let seen = seen.lock().unwrap().join("\n");
    assert!(seen.contains("All done: hello.txt is committed.") && seen.contains("[Write]"), "{seen}");
    assert_eq!(report.denied, 2);
}
