//! Agents of the Agent Client Protocol as processes, played by the fake agent.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use ralph_agents::{Acp, Permissions, ProcessOptions};
use ralph_core::{AgentBackend, AgentError, Cancel, Capabilities, Cx, SessionEnd, SessionReport, Trouble, Usd};
use serde_json::{Value, json};

use crate::fake::{Fake, PROGRAM, alive};

/// An answer to a request of ours, which is waited for.
fn answered(method: &str, with: &Value) -> Vec<Value> {
    vec![json!({"hear": format!("\"{method}\"")}), json!({"answer": {"to": method, "with": with}})]
}

/// The way to the prompt, with these modes on offer.
fn opened(modes: &[&str]) -> Vec<Value> {
    let modes: Vec<Value> = modes.iter().map(|id| json!({"id": id})).collect();
    let session = json!({"sessionId": "s1", "modes": {"availableModes": modes}});
    let opening = [
        answered("initialize", &json!({"result": {"protocolVersion": 1}})),
        answered("session/new", &json!({"result": session})),
    ];
    opening.concat()
}

fn print(message: &Value) -> Value {
    json!({"stdout": format!("{message}\n")})
}

fn update(update: &Value) -> Value {
    print(&json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}}))
}

fn words(text: &str) -> Value {
    update(&json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
}

/// What an agent says that is done.
pub(crate) fn done(result: &Value) -> Vec<Value> {
    vec![words("Done.\n"), json!({"answer": {"to": "session/prompt", "with": {"result": result}}})]
}

fn end_turn() -> Vec<Value> {
    done(&json!({"stopReason": "end_turn"}))
}

/// A reply with these steps once the prompt is there.
pub(crate) fn talk(steps: &[Vec<Value>]) -> Value {
    let steps = [opened(&[]), vec![json!({"hear": "\"session/prompt\""})], steps.concat()].concat();
    json!({"stdin": "talk", "steps": steps})
}

/// Goes when its input is closed.
pub(crate) fn leaves() -> Vec<Value> {
    vec![json!("hear_end")]
}

async fn run(fake: &Fake) -> Result<SessionReport, AgentError> {
    fake.acp().run(&fake.brief(), &Cx::new()).await
}

/// What the agent heard.
fn heard(fake: &Fake) -> Vec<Value> {
    let heard = fs::read_to_string(fake.dir().join("calls/1/heard")).unwrap();
    heard.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn trouble(report: &SessionReport) -> Option<Trouble> {
    match &report.end {
        SessionEnd::Unavailable { trouble, .. } => Some(*trouble),
        _ => None,
    }
}

#[tokio::test]
async fn a_session_is_reported_with_what_it_used() {
    let cost = json!({"sessionUpdate": "usage_update", "cost": {"amount": 0.25, "currency": "USD"}});
    let usage = json!({"inputTokens": 300, "outputTokens": 60, "totalTokens": 360});
    let fake =
        Fake::new(&[talk(&[vec![update(&cost)], done(&json!({"stopReason": "end_turn", "usage": usage})), leaves()])]);
    let report = run(&fake).await.unwrap();
    assert_eq!(report.end, SessionEnd::Finished);
    assert_eq!((report.usage.cost, report.usage.tokens.unwrap().billed()), (Some(Usd::from_micros(250_000)), 360));
    assert_eq!((report.said.as_str(), report.session_id.as_deref()), ("Done.\n", Some("s1")));
    assert!(fake.dir().join("calls/1/done").exists(), "it was not let go by itself");

    let heard = heard(&fake);
    let methods: Vec<&str> = heard.iter().map(|message| message["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["initialize", "session/new", "session/prompt"]);
    assert_eq!(heard[0]["params"]["clientCapabilities"]["terminal"], false);
    assert_eq!(heard[1]["params"]["cwd"], fake.workspace().to_str().unwrap());
    assert_eq!(heard[2]["params"]["prompt"], json!([{"type": "text", "text": "Do it.\n"}]));
    let names = fake.call(1)["env"].to_string();
    assert!(names.contains("\"RALPH_RUN_ID\"") && !names.contains("\"CARGO_MANIFEST_DIR\""), "{names}");
}

#[tokio::test]
async fn what_is_promised_is_what_the_user_says() {
    let agent = Acp::new(PROGRAM);
    assert_eq!(agent.capabilities(), Capabilities::none());
    let all = Capabilities::none().with_cost().with_resume().with_cost_limit();
    assert_eq!(agent.reports(all).capabilities(), Capabilities::none().with_cost());
}

fn permission(id: &str, kind: &str) -> Vec<Value> {
    let options: Vec<Value> =
        ["allow_always", "allow_once", "reject_once"].map(|kind| json!({"optionId": kind, "kind": kind})).into();
    let params = json!({"sessionId": "s1", "toolCall": {"toolCallId": id, "kind": kind}, "options": options});
    let request = json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params});
    vec![print(&request), json!({"hear": format!("\"{id}\"")})]
}

#[tokio::test]
async fn permissions_are_given_and_not_given() {
    for (permissions, answers) in
        [(Permissions::Edits, ["allow_once", "reject_once"]), (Permissions::All, ["allow_once", "allow_once"])]
    {
        let fake = Fake::new(&[talk(&[permission("p1", "edit"), permission("p2", "execute"), end_turn(), leaves()])]);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let cx = Cx::new().with_live({
            let seen = seen.clone();
            move |line| seen.lock().unwrap().push(line.to_owned())
        });
        let report = fake.acp().permissions(permissions).run(&fake.brief(), &cx).await.unwrap();
        assert_eq!(report.end, SessionEnd::Finished);
        let chosen: Vec<Value> =
            heard(&fake)[3..].iter().map(|answer| answer["result"]["outcome"]["optionId"].clone()).collect();
        assert_eq!(chosen, answers);
        let seen = seen.lock().unwrap().join("\n");
        assert!(seen.contains("Done."), "{seen}");
        assert_eq!(report.denied, u32::from(permissions == Permissions::Edits));
    }
}

#[tokio::test]
async fn a_mode_is_set_before_the_prompt() {
    let set = answered("session/set_mode", &json!({"result": {}}));
    let opened = [opened(&["plan", "full-access"]), set, vec![json!({"hear": "\"session/prompt\""})]].concat();
    let reply = json!({"stdin": "talk", "steps": ([opened, end_turn(), leaves()].concat())});
    for (agent, mode) in
        [(Acp::permissions as fn(Acp, Permissions) -> Acp, "full-access"), (|agent, _| agent.mode("plan"), "plan")]
    {
        let fake = Fake::new(std::slice::from_ref(&reply));
        let report = agent(fake.acp(), Permissions::All).run(&fake.brief(), &Cx::new()).await.unwrap();
        assert_eq!(report.end, SessionEnd::Finished);
        assert_eq!(heard(&fake)[2]["params"], json!({"sessionId": "s1", "modeId": mode}));
    }
    // One that it does not have is said before anything is spent.
    let fake = Fake::new(&[reply]);
    let error = fake.acp().mode("turbo").run(&fake.brief(), &Cx::new()).await.unwrap_err();
    assert!(matches!(error, AgentError::Refused { .. }) && error.to_string().contains("full-access"), "{error}");
}

#[tokio::test]
async fn a_cancelled_session_still_says_what_it_used() {
    let cancelled = json!({"stopReason": "cancelled", "usage": {"inputTokens": 7, "outputTokens": 2}});
    // One that asks for something even then, and one that does as if it had finished.
    for (asks, result) in [(true, cancelled), (false, json!({"stopReason": "end_turn"}))] {
        let asks = if asks { permission("p1", "edit") } else { Vec::new() };
        let at_work = vec![json!({"sh": "touch at-work"}), json!({"hear": "\"session/cancel\""})];
        let fake = Fake::new(&[talk(&[at_work, asks.clone(), done(&result), leaves()])]);
        let cancel = Cancel::new();
        let cx = Cx::new().with_cancel(cancel.clone());
        let (agent, brief) = (fake.acp(), fake.brief());
        let switch = async {
            crate::fake::until("it to be at work", || fake.workspace().join("at-work").exists()).await;
            cancel.cancel();
        };
        let (report, ()) = tokio::join!(agent.run(&brief, &cx), switch);
        let report = report.unwrap();
        assert_eq!(report.end, SessionEnd::Cancelled);
        let tokens = report.usage.tokens.map(|tokens| (tokens.input, tokens.output));
        assert_eq!(tokens, (!asks.is_empty()).then_some((7, 2)));
        assert!(fake.dir().join("calls/1/done").exists(), "it was not let go by itself");
        let heard = heard(&fake);
        assert_eq!(heard[3]["method"], "session/cancel");
        if !asks.is_empty() {
            assert_eq!(heard[4]["result"]["outcome"], json!({"outcome": "cancelled"}));
        }
    }
}

#[tokio::test]
async fn a_limit_of_time_asks_first_as_well() {
    let result = json!({"stopReason": "cancelled", "usage": {"inputTokens": 7, "outputTokens": 2}});
    let at_work = vec![json!({"hear": "\"session/cancel\""})];
    let fake = Fake::new(&[talk(&[at_work, done(&result), leaves()])]);
    let mut brief = fake.brief();
    brief.time_limit = Some(Duration::from_secs(3));
    let report = fake.acp().run(&brief, &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Limit("time limit of 3s".into()));
    assert!(report.usage.tokens.is_some());
}

#[tokio::test]
async fn who_does_not_heed_the_cancel_is_killed() {
    let mut reply = talk(&[vec![json!({"spawn": {"sh": "sleep 600", "apart": "session"}}), json!("hang")]]);
    reply["ignore"] = json!(["TERM", "INT"]);
    let fake = Fake::new(&[reply]);
    let options = ProcessOptions { grace: Duration::from_millis(300), ..fake.options() };
    let cancel = Cancel::new();
    let cx = Cx::new().with_cancel(cancel.clone());
    let (agent, brief) = (fake.acp().options(options), fake.brief());
    let children = fake.dir().join("calls/1/children");
    let switch = async {
        crate::fake::until("its child", || fs::read_to_string(&children).is_ok_and(|text| text.ends_with('\n'))).await;
        cancel.cancel();
    };
    let (report, ()) = tokio::join!(agent.run(&brief, &cx), switch);
    assert_eq!(report.unwrap().end, SessionEnd::Cancelled);
    assert!(!alive(fs::read_to_string(children).unwrap().trim().parse().unwrap()));
}

#[tokio::test]
async fn who_stays_after_its_answer_is_ended_and_has_finished() {
    // Until it is asked by a signal, or, ignoring that, until it is killed.
    for ignored in [json!([]), json!(["TERM", "INT"])] {
        let mut reply = talk(&[end_turn(), vec![json!("hang")]]);
        reply["ignore"] = ignored;
        let fake = Fake::new(&[reply]);
        let options = ProcessOptions { grace: Duration::from_millis(300), ..fake.options() };
        let started = Instant::now();
        let mut brief = fake.brief();
        brief.time_limit = Some(Duration::from_secs(30));
        let report = fake.acp().options(options).run(&brief, &Cx::new()).await.unwrap();
        assert_eq!((report.end, report.said.as_str()), (SessionEnd::Finished, "Done.\n"));
        assert!(started.elapsed() < Duration::from_secs(25));
        assert!(!fake.dir().join("calls/1/done").exists());
    }
}

#[tokio::test]
async fn who_never_answers_is_at_a_limit() {
    let limit = Some(Duration::from_secs(2));
    // Nothing at all, and nothing after its first answer.
    let silent = json!({"stdin": "talk", "steps": ["hang"]});
    let fake = Fake::new(&[silent]);
    let options = ProcessOptions { first_output: limit, ..fake.options() };
    let report = fake.acp().options(options).run(&fake.brief(), &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Limit("no output for 2s since its start".into()));

    let fake = Fake::new(&[talk(&[vec![json!("hang")]])]);
    let options = ProcessOptions { idle: limit, grace: Duration::from_millis(100), ..fake.options() };
    let report = fake.acp().options(options).run(&fake.brief(), &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Limit("silent for 2s".into()));
    assert_eq!(heard(&fake).len(), 3);
}

#[tokio::test]
async fn who_dies_in_the_middle_has_no_result_and_who_never_began_is_refused() {
    let mut dies = talk(&[vec![words("I will"), json!({"stderr": "out of memory\n"})]]);
    dies["exit"] = json!("KILL");
    let report = run(&Fake::new(&[dies])).await.unwrap();
    assert_eq!(trouble(&report), Some(Trouble::NoResult), "{report:?}");
    assert_eq!(report.said, "I will");

    let usage = json!({"stdin": "ignore", "steps": [{"stderr": "unknown option --acp\n"}], "exit": 2});
    let error = run(&Fake::new(&[usage])).await.unwrap_err();
    assert!(matches!(error, AgentError::Refused { .. }), "{error:?}");
    assert!(error.to_string().contains("unknown option --acp"), "{error}");
}

#[tokio::test]
async fn errors_come_through() {
    let error = |error: Value| {
        let answer = vec![json!({"answer": {"to": "session/prompt", "with": {"error": error}}})];
        Fake::new(&[talk(&[answer, leaves()])])
    };
    let refused = run(&error(json!({"code": -32000, "message": "Authentication required"}))).await.unwrap_err();
    assert!(matches!(refused, AgentError::Auth { .. }), "{refused:?}");
    let report = run(&error(json!({"code": -32603, "data": {"errorKind": "rate_limit"}}))).await.unwrap();
    assert_eq!(trouble(&report), Some(Trouble::RateLimit));
}

#[tokio::test]
async fn floods_and_huge_lines_have_limits() {
    // What follows a line that is too long is read.
    let flood = |bytes: u64, line: u64| vec![json!({"flood": {"bytes": bytes, "line": line}}), json!({"stdout": "\n"})];
    let fake = Fake::new(&[talk(&[flood(30_000_000, 0), flood(1_000_000, 50), end_turn(), leaves()])]);
    assert_eq!(run(&fake).await.unwrap().end, SessionEnd::Finished);

    let fake = Fake::new(&[talk(&[flood(50_000_000, 0), vec![json!("hang")]])]);
    let options = ProcessOptions { output_bytes: 1 << 20, ..fake.options() };
    let report = fake.acp().options(options).run(&fake.brief(), &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Limit("output limit of 1048576 bytes".into()));
}

#[tokio::test]
async fn who_asks_without_listening_is_given_up() {
    // Each request is refused in some 100 bytes; its long id comes back with it.
    let request = json!({"id": "x".repeat(1 << 20), "method": "news"});
    let asks: Vec<Value> = (0..20).map(|_| print(&request)).collect();
    let fake = Fake::new(&[json!({"stdin": "ignore", "steps": ([asks, vec![json!("hang")]].concat())})]);
    let options = ProcessOptions { grace: Duration::from_millis(300), ..fake.options() };
    let mut brief = fake.brief();
    brief.time_limit = Some(Duration::from_secs(30));
    let report = fake.acp().options(options).run(&brief, &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Failed("it does not read what it is told".into()));
}
