//! Any command as an agent.

use std::{fs, time::Duration};

use ralph_agents::{CommandAgent, ProcessOptions};
use ralph_core::{AgentBackend, AgentError, Cx, SessionEnd, SessionReport, Signal, SignalStatus, Usage};
use serde_json::json;

use crate::fake::{Fake, alive};

async fn run(fake: &Fake) -> SessionReport {
    fake.command().run(&fake.brief(), &Cx::new()).await.unwrap()
}

#[tokio::test]
async fn what_it_prints_last_is_what_it_said() {
    let block = "```ralph\n{\"status\": \"blocked\", \"summary\": \"no key\"}\n```\n";
    let fake = Fake::steps(&json!([
        {"flood": {"bytes": 3_000_000, "line": 100}}, {"stdout": block}, {"stderr": "noise\n"},
    ]));
    let report = run(&fake).await;
    assert_eq!(report.end, SessionEnd::Finished);
    assert_eq!(report.usage, Usage::unknown());
    assert!(report.said.len() <= SessionReport::SAID_MAX && report.said.ends_with(block));
    assert_eq!(Signal::read(&report.said, None).unwrap().status, SignalStatus::Blocked);
}

#[tokio::test]
async fn bytes_that_are_no_text_are_replaced() {
    let fake = Fake::steps(&json!([{"stdout_bytes": [0x61, 0xff, 0xfe, 0x62, 10]}]));
    assert_eq!(run(&fake).await.said, "a\u{fffd}\u{fffd}b\n");
}

#[tokio::test]
async fn an_exit_code_is_a_failure_with_the_complaint() {
    let fake = Fake::new(&[json!({"steps": [{"stderr": "first\nno key\n"}], "exit": 3})]);
    assert_eq!(run(&fake).await.end, SessionEnd::Failed("exit code 3: first no key".into()));
    let fake = Fake::new(&[json!({"steps": [], "exit": "KILL"})]);
    assert_eq!(run(&fake).await.end, SessionEnd::Failed("signal 9".into()));
}

#[tokio::test]
async fn a_shell_that_finds_no_program_is_a_program_that_is_not_there() {
    let fake = Fake::new(&[]);
    for (line, found) in [("no-such-agent", false), ("/etc/passwd", false), ("exit 1", true)] {
        let agent = CommandAgent::new("sh").args(["-c", line]);
        match agent.run(&fake.brief(), &Cx::new()).await {
            Ok(report) => assert!(found, "{line}: {:?}", report.end),
            Err(AgentError::NotFound { advice, .. }) => assert!(!found && !advice.is_empty()),
            Err(error) => panic!("{line}: {error}"),
        }
    }
}

#[tokio::test]
async fn a_file_that_is_no_program_is_named() {
    let fake = Fake::new(&[]);
    let path = fake.dir().join("agent");
    fs::write(&path, "not a program").unwrap();
    let error = CommandAgent::new(&path).run(&fake.brief(), &Cx::new()).await.unwrap_err();
    assert!(matches!(&error, AgentError::NotFound { .. }), "{error:?}");
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
}

#[tokio::test]
async fn a_prompt_that_it_does_not_read_holds_nobody_up() {
    let fake = Fake::new(&[json!({"stdin": "ignore", "steps": [{"stdout": "ok\n"}]})]);
    let mut brief = fake.brief();
    brief.prompt = "x".repeat(5 << 20);
    let report = fake.command().run(&brief, &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Finished);
}

#[tokio::test]
async fn silence_and_floods_have_limits() {
    let second = Some(Duration::from_millis(300));
    let options = |fake: &Fake| ProcessOptions { grace: Duration::from_millis(100), ..fake.options() };

    let fake = Fake::steps(&json!(["hang"]));
    let options_first = ProcessOptions { first_output: second, ..options(&fake) };
    let report = fake.command().options(options_first).run(&fake.brief(), &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Limit("no output for 300ms since its start".into()));

    let fake = Fake::steps(&json!([{"stderr": "hello\n"}, "hang"]));
    let options_idle = ProcessOptions { idle: second, ..options(&fake) };
    let report = fake.command().options(options_idle).run(&fake.brief(), &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Limit("silent for 300ms".into()));

    let fake = Fake::steps(&json!([{"flood": {"bytes": 50_000_000, "line": 0}}, "hang"]));
    let options_bytes = ProcessOptions { output_bytes: 1 << 20, ..options(&fake) };
    let mut brief = fake.brief();
    brief.log = Some(fake.dir().join("log"));
    let report = fake.command().options(options_bytes).run(&brief, &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Limit("output limit of 1048576 bytes".into()));
    assert_eq!(fs::metadata(fake.dir().join("log")).unwrap().len(), 1 << 20);

    // The control: none of these limits is in the way of who keeps them.
    let fake = Fake::steps(&json!([{"flood": {"bytes": 1_000_000, "line": 0}}]));
    let options =
        ProcessOptions { first_output: Some(Duration::from_secs(30)), output_bytes: 1 << 20, ..options(&fake) };
    let report = fake.command().options(options).run(&fake.brief(), &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Finished);
}

#[tokio::test]
async fn it_sees_only_the_variables_that_it_may() {
    // Cargo sets this one for us, so it can stand for a secret.
    const SECRET: &str = "CARGO_MANIFEST_DIR";
    assert!(std::env::var_os(SECRET).is_some());
    let fake = Fake::new(&[json!({"steps": []}), json!({"steps": []})]);
    run(&fake).await;
    let options = ProcessOptions { env: vec![SECRET.into()], ..fake.options() };
    fake.command().options(options).run(&fake.brief(), &Cx::new()).await.unwrap();
    let sees = |call: u32, name: &str| fake.call(call)["env"].as_array().unwrap().iter().any(|seen| seen == name);
    assert!(!sees(1, SECRET) && sees(2, SECRET));
    for name in
        ["PATH", "RALPH_RUN_ID", "RALPH_ITEM_ID", "RALPH_ATTEMPT", "GIT_TERMINAL_PROMPT", ralph_process::MARK_VARIABLE]
    {
        assert!(sees(1, name), "{name}");
    }
    assert!(!sees(1, "PWD") && !sees(1, "OLDPWD"), "where ralph was started is nobody's business");
}

#[tokio::test]
async fn children_end_with_it_wherever_they_went() {
    let spawn = |apart: &str| json!({"spawn": {"sh": "sleep 600", "apart": apart}});
    let fake = Fake::steps(&json!([
        spawn("no"), spawn("group"), spawn("session"),
        // The control: they are alive while it is.
        {"sh": "for pid in $(cat \"$FAKE_AGENT_CALL/children\"); do kill -0 $pid || exit 1; done"},
    ]));
    let report = run(&fake).await;
    assert_eq!(report.end, SessionEnd::Finished);
    let children = fs::read_to_string(fake.dir().join("calls/1/children")).unwrap();
    let children: Vec<u32> = children.lines().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(children.len(), 3);
    for pid in children {
        assert!(!alive(pid), "{pid} is alive");
    }
}

#[tokio::test]
async fn the_log_keeps_complaints_beside_it() {
    let fake = Fake::new(&[json!({"steps": [{"stdout": "out\n"}, {"stderr": "err\n"}]})]);
    let mut brief = fake.brief();
    let log = fake.dir().join("session.log");
    brief.log = Some(log.clone());
    fake.command().run(&brief, &Cx::new()).await.unwrap();
    assert_eq!(fs::read_to_string(&log).unwrap(), "out\n");
    assert_eq!(fs::read_to_string(fake.dir().join("session.log.stderr")).unwrap(), "err\n");
}
