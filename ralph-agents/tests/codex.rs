//! Codex as a process, played by the fake agent.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime},
};

use jiff::{ToSpan, ZonedDateTime};
use ralph_agents::{Permissions, ProcessOptions};
use ralph_core::{AgentBackend, AgentError, Cancel, Cx, Resume, SessionEnd, SessionReport, Tokens, Trouble, Usage};
use serde_json::{Value, json};

use crate::fake::{Fake, lines, recorded};

fn replayed(name: &str, exit: u8) -> Fake {
    Fake::new(&[json!({"steps": [{"stdout_file": recorded("codex", name)}], "exit": exit})])
}

async fn run(fake: &Fake) -> Result<SessionReport, AgentError> {
    fake.codex().run(&fake.brief(), &Cx::new()).await
}

fn trouble(report: &SessionReport) -> Option<Trouble> {
    match &report.end {
        SessionEnd::Unavailable { trouble, .. } => Some(*trouble),
        _ => None,
    }
}

#[tokio::test]
async fn a_session_is_reported_with_what_it_used() {
    let report = run(&replayed("success-usage", 0)).await.unwrap();
    assert_eq!(report.end, SessionEnd::Finished);
    let tokens = Tokens { input: 3066, output: 153, cache_read: 903, cache_write: 0 };
    assert_eq!((report.usage.cost, report.usage.tokens), (None, Some(tokens)));
    assert_eq!(report.said, "All done: hello.txt is committed.");
    assert_eq!(report.session_id.as_deref(), Some("01a22f6e-5a8c-7bd3-af52-fb99bc265785"));
}

#[tokio::test]
async fn trouble_and_refusals_come_through() {
    for (name, exit, expected) in [
        ("error-429", 1, Trouble::RateLimit),
        ("error-529", 1, Trouble::Overload),
        ("stream-disconnect-forever", 1, Trouble::Network),
        ("stdout-closed", 101, Trouble::NoResult),
    ] {
        assert_eq!(trouble(&run(&replayed(name, exit)).await.unwrap()), Some(expected), "{name}");
    }
    let error = run(&replayed("error-404-model", 1)).await.unwrap_err();
    assert!(matches!(error, AgentError::Refused { .. }), "{error:?}");
    let flag = json!({"steps": [{"stderr": "error: unexpected argument '--x' found\n"}], "exit": 2});
    let error = run(&Fake::new(&[flag])).await.unwrap_err();
    assert!(error.to_string().contains("unexpected argument '--x'"), "{error}");
}

#[tokio::test]
async fn a_usage_limit_says_when_it_is_over() {
    let limit = |at: &str| {
        let path = recorded("codex", "error-429-usage-limit");
        let events = lines(&path, |_| true).replace("4:40 AM", at);
        Fake::new(&[json!({"steps": [{"stdout": events}], "exit": 1})])
    };
    // With its day, and at noon, so that it is the same whenever the test runs.
    let now = ZonedDateTime::now();
    let noon = now.date().checked_add(2.days()).unwrap().at(12, 0, 0, 0);
    let over = noon.to_zoned_datetime(now.time_zone().clone()).unwrap();
    let report = run(&limit(&over.strftime("%b %-dth, %Y %-I:%M %p").to_string())).await.unwrap();
    let SessionEnd::Unavailable { trouble: Trouble::UsageWindow, until: Some(until), .. } = report.end else {
        panic!("{:?}", report.end)
    };
    // The end of the minute that it names.
    let after = until.duration_since(SystemTime::try_from(over.timestamp()).unwrap()).unwrap();
    assert_eq!(after, Duration::from_secs(60));

    let report = run(&limit("a better time")).await.unwrap();
    assert!(
        matches!(report.end, SessionEnd::Unavailable { trouble: Trouble::UsageWindow, until: None, .. }),
        "{:?}",
        report.end
    );
}

/// Prints the events up to the first retry of `name`, then waits.
fn retrying(name: &str) -> Value {
    let path = recorded("codex", name);
    let start = lines(&path, |line| line.contains(".started"));
    let retry = lines(&path, |line| line.contains("Reconnecting... "));
    assert!(!retry.is_empty());
    json!({"steps": [{"stdout": start}, {"stdout": retry.lines().next().unwrap().to_owned() + "\n"}, "hang"]})
}

#[tokio::test]
async fn a_refused_login_ends_the_session_at_its_first_sign() {
    let fake = Fake::new(&[retrying("error-401"), retrying("error-connection-refused")]);
    let mut brief = fake.brief();
    brief.time_limit = Some(Duration::from_secs(30));
    let started = Instant::now();
    let error = fake.codex().run(&brief, &Cx::new()).await.unwrap_err();
    assert!(matches!(error, AgentError::Auth { .. }), "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(20));

    // The control: other retries are Codex' own affair, until a limit of ours ends them. Whose fault it was is then
    // still known.
    let options = ProcessOptions { idle: Some(Duration::from_millis(500)), ..fake.options() };
    let report = fake.codex().options(options).run(&fake.brief(), &Cx::new()).await.unwrap();
    assert_eq!(trouble(&report), Some(Trouble::Network), "{:?}", report.end);
}

#[tokio::test]
async fn who_reconnects_without_an_end_is_ended() {
    let path = recorded("codex", "error-connection-refused");
    let start = lines(&path, |line| line.contains(".started"));
    let retry = lines(&path, |line| line.contains("Reconnecting... "));
    let retry = retry.split_inclusive('\n').next().unwrap();
    let end = "{\"type\":\"turn.completed\",\"usage\":{}}\n";
    // For two seconds, and then it is done.
    let reply = |between: &str| {
        let mut steps = vec![json!({"stdout": start})];
        for _ in 0..20 {
            steps.extend([json!({"stdout": retry}), json!({"delay_ms": 100}), json!({"stdout": between})]);
        }
        steps.push(json!({"stdout": end}));
        json!({"steps": steps})
    };
    let answer = "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"on\"}}\n";
    let fake = Fake::new(&[reply(""), reply(answer)]);
    let agent = fake.codex().patience(Duration::from_secs(1));
    let started = Instant::now();
    let report = agent.run(&fake.brief(), &Cx::new()).await.unwrap();
    assert_eq!(trouble(&report), Some(Trouble::Network), "{:?}", report.end);
    assert!(started.elapsed() >= Duration::from_secs(1));
    // The control: where it is answered in between, it may take longer than that.
    let report = agent.run(&fake.brief(), &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Finished);
}

#[tokio::test]
async fn silence_without_a_reason_is_a_limit() {
    let begun = lines(&recorded("codex", "hang-idle-timeout"), |_| true);
    let fake = Fake::new(&[json!({"steps": [{"stdout": begun}, "hang"]}), json!({"steps": ["hang"]})]);
    let short = Some(Duration::from_millis(300));
    let options = ProcessOptions { idle: short, first_output: short, ..fake.options() };
    for words in ["silent for 300ms", "no output for 300ms since its start"] {
        let report = fake.codex().options(options.clone()).run(&fake.brief(), &Cx::new()).await.unwrap();
        assert_eq!(report.end, SessionEnd::Limit(words.into()));
    }
}

#[tokio::test]
async fn who_cancels_during_a_retry_has_cancelled() {
    let fake = Fake::new(&[retrying("error-connection-refused")]);
    let cancel = Cancel::new();
    let cx = Cx::new().with_cancel(cancel.clone());
    let (agent, brief) = (fake.codex(), fake.brief());
    let switch = async {
        fake.begun(1).await;
        cancel.cancel();
    };
    let (report, ()) = tokio::join!(agent.run(&brief, &cx), switch);
    assert_eq!(report.unwrap().end, SessionEnd::Cancelled);
}

#[tokio::test]
async fn a_resumed_session_used_what_the_one_before_had_not() {
    let fake = replayed("resume", 0);
    let mut brief = fake.brief();
    let before = Tokens { input: 150, output: 20, ..Tokens::default() };
    let before = Usage::unknown().with_tokens(before);
    let id = "01a22f63-1ea0-7100-b516-9eff348d131a";
    brief.resume = Some(Resume { agent: "codex".into(), session_id: id.into(), before });
    let report = fake.codex().run(&brief, &Cx::new()).await.unwrap();
    assert_eq!(report.usage.tokens, Some(Tokens { input: 50, output: 20, ..Tokens::default() }));
    assert_eq!(report.session_id.as_deref(), Some(id));
    let call = fake.call(1);
    let args = call["args"].as_array().unwrap();
    assert_eq!(args[args.len() - 3..], ["resume", id, "-"]);
}

#[tokio::test]
async fn a_schema_is_a_file_for_as_long_as_the_session() {
    // It keeps a copy of the schema where the session leaves its record.
    let copy = "while [ \"$1\" != --output-schema ]; do shift; done; cp \"$2\" \"$FAKE_AGENT_CALL/schema\"";
    let reply = |name: &str| {
        json!({"steps": [
            {"sh": format!("set -- $(tr '\\0' ' ' </proc/$PPID/cmdline); {copy}")},
            {"stdout_file": recorded("codex", name)},
        ]})
    };
    let fake = Fake::new(&[reply("output-schema"), reply("output-schema-violated")]);
    let mut brief = fake.brief();
    brief.schema = Some("{\"type\":\"object\"}".into());
    let report = fake.codex().run(&brief, &Cx::new()).await.unwrap();
    assert_eq!(report.structured.as_deref(), Some("{\"done\":true}"));
    assert_eq!(fs::read_to_string(fake.dir().join("calls/1/schema")).unwrap(), "{\"type\":\"object\"}");
    let call = fake.call(1);
    let args = call["args"].as_array().unwrap();
    let at = args.iter().position(|arg| arg == "--output-schema").unwrap();
    let path = args[at + 1].as_str().unwrap();
    assert!(!path.starts_with(fake.workspace().to_str().unwrap()) && !fs::exists(path).unwrap(), "{path}");

    // Codex does not check it.
    assert_eq!(fake.codex().run(&brief, &Cx::new()).await.unwrap().structured, None);
    // Without a schema nothing is structured, whatever it looks like.
    assert_eq!(run(&replayed("output-schema", 0)).await.unwrap().structured, None);
}

#[tokio::test]
async fn it_is_started_headless() {
    let fake = replayed("success", 0);
    let agent = fake.codex().model("gpt-5.5-codex").permissions(Permissions::All).args(["-c", "a=1"]);
    agent.run(&fake.brief(), &Cx::new()).await.unwrap();
    let call = fake.call(1);
    assert_eq!(
        call["args"],
        json!([
            "exec",
            "--json",
            "--skip-git-repo-check",
            "-c",
            "analytics.enabled=false",
            "-c",
            "features.memories=false",
            "--dangerously-bypass-approvals-and-sandbox",
            "--model",
            "gpt-5.5-codex",
            "-c",
            "a=1",
            "-",
        ])
    );
    assert_eq!(fs::read_to_string(fake.dir().join("calls/1/prompt")).unwrap(), "Do it.\n");
    let names = call["env"].as_array().unwrap();
    assert!(names.iter().any(|seen| seen == "RALPH_RUN_ID"));
    // Cargo sets it for us, so it can stand for a secret.
    assert!(!names.iter().any(|seen| seen == "CARGO_MANIFEST_DIR"));
}

#[tokio::test]
async fn who_watches_sees_words_and_tools() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let cx = Cx::new().with_live({
        let seen = seen.clone();
        move |line| seen.lock().unwrap().push(line.to_owned())
    });
    let fake = replayed("success", 0);
    fake.codex().run(&fake.brief(), &cx).await.unwrap();
    let seen = seen.lock().unwrap().clone();
    assert_eq!(
        seen,
        ["I will write the file.", "[file_change]", "[command_execution]", "All done: hello.txt is committed."]
    );
}
