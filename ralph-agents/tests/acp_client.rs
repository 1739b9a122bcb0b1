//! Our side of conversations of the Agent Client Protocol, with answers that no recorded agent gave.

use proptest::prelude::*;
use ralph_agents::{
    Exit, Outcome, Permissions,
    acp::{Client, Task},
};
use ralph_core::SessionEnd;
use serde_json::{Value, json};

use crate::transcripts::acp::{case, end, names};

/// A client at work, its prompt being the request 3.
fn at_work(permissions: Permissions) -> Client {
    let mut task = Task::new("/repo", "Do it.");
    task.permissions = permissions;
    let mut client = Client::new(task);
    client.begin();
    client.push(b"{\"id\":1,\"result\":{\"protocolVersion\":1}}\n");
    let said = client.push(b"{\"id\":2,\"result\":{\"sessionId\":\"s\"}}\n");
    assert!(said[0].contains("session/prompt"), "{said:?}");
    client
}

fn told(mut client: Client, lines: &[Value]) -> Outcome {
    for line in lines {
        client.push(format!("{line}\n").as_bytes());
    }
    client.outcome(Exit::Code(0), "")
}

fn update(update: &Value) -> Value {
    json!({"method": "session/update", "params": {"sessionId": "s", "update": update}})
}

fn words(text: &str) -> Value {
    update(&json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
}

#[test]
fn reasons_to_stop() {
    let stop = |result: Value| json!({"id": 3, "result": result});
    for (result, expected) in [
        (json!({"stopReason": "end_turn"}), "Finished"),
        (json!({"stopReason": "max_turn_requests"}), "Limit("),
        (json!({"stopReason": "max_tokens"}), "Failed("),
        (json!({"stopReason": "refusal"}), "Failed("),
        (json!({"stopReason": "cancelled"}), "unavailable, no result"),
        (json!({"stopReason": "news"}), "Failed(\"ended with `news`"),
        (json!({"stopReason": null}), "unavailable, no result"),
        (json!("end_turn"), "unavailable, no result"),
        (Value::Null, "unavailable, no result"),
    ] {
        let found = end(&told(at_work(Permissions::Edits), &[words("done"), stop(result.clone())]));
        assert!(found.starts_with(expected), "{result}: {found}");
    }
    // Nobody was there.
    let silent = end(&told(at_work(Permissions::Edits), &[stop(json!({"stopReason": "end_turn", "usage": null}))]));
    assert!(silent.starts_with("unavailable, no result"), "{silent}");
}

#[test]
fn classes_of_errors() {
    for (error, expected) in [
        (json!({"code": -32000, "message": "m"}), "error: the agent is not logged in (m)"),
        (json!({"code": -32601}), "error: the agent cannot be used as configured (error -32601)"),
        (json!({"code": -32800}), "unavailable, no result"),
        (json!({"code": 401}), "error: the agent is not logged in"),
        (json!({"code": 402}), "error: the agent cannot be used"),
        (json!({"code": 404}), "error: the agent cannot be used"),
        (json!({"code": 429}), "unavailable, rate limit"),
        (json!({"code": 400}), "Failed("),
        (json!({"code": 503}), "unavailable, provider overloaded"),
        (json!({"code": 408}), "unavailable, provider overloaded"),
        (json!({"code": -32603, "data": {"errorKind": "rate_limit"}}), "unavailable, rate limit"),
        (json!({"code": -32603, "data": {"errorKind": "authentication_failed"}}), "error: the agent is not logged in"),
        (json!({"code": -32603, "data": {"errorKind": "model_not_found"}}), "error: the agent cannot be used"),
        (json!({"code": -32603, "data": {"errorKind": "max_output_tokens"}}), "Failed("),
        (json!({"code": -32603, "data": {"codex_error_info": "usage_limit_exceeded"}}), "unavailable, usage window"),
        (json!({"code": -32603, "data": {"codex_error_info": "context_window_exceeded"}}), "Failed("),
        (
            json!({"code": -32603, "data": {"codex_error_info": {"http_connection_failed": {"http_status_code": null}}}}),
            "unavailable, provider not reachable",
        ),
        (
            json!({"code": -32603, "data": {"codex_error_info": {"http_connection_failed": {"http_status_code": 401}}}}),
            "error: the agent is not logged in",
        ),
        (
            json!({"code": -32603, "message": "401 rate limit", "data": {"errorName": "APIError"}}),
            "unavailable, provider overloaded",
        ),
        (json!({"code": "401"}), "unavailable, provider overloaded"),
        (json!({}), "unavailable, provider overloaded"),
    ] {
        let found = end(&told(at_work(Permissions::Edits), &[json!({"id": 3, "error": error})]));
        assert!(found.starts_with(expected), "{error}: {found}");
    }
}

#[test]
fn what_goes_wrong_before_the_prompt() {
    let initialized = json!({"id": 1, "result": {"protocolVersion": 1}});
    let error = |id: u32, code: i64| json!({"id": id, "error": {"code": code, "message": "m"}});
    let modes =
        json!({"id": 2, "result": {"sessionId": "s", "modes": {"availableModes": [{"id": "yolo"}, {"id": "plan"}]}}});
    let mut moded = Task::new("/repo", "");
    moded.mode = Some("auto".into());
    let mut modelled = Task::new("/repo", "");
    modelled.model = Some("m1".into());
    let mut all = Task::new("/repo", "");
    all.permissions = Permissions::All;
    let plain = Task::new("/repo", "");
    let refused = "error: the agent cannot be used as configured";
    for (task, lines, expected) in [
        (&plain, vec![json!({"id": 1, "result": {"protocolVersion": 2}})], format!("{refused} (it speaks version 2")),
        (&plain, vec![json!({"id": 1, "result": {}})], format!("{refused} (it does not say")),
        (&plain, vec![error(1, -32603)], format!("{refused} (m)")),
        (&plain, vec![initialized.clone(), error(2, -32000)], "error: the agent is not logged in (m)".into()),
        (&plain, vec![initialized.clone(), error(2, 503)], "unavailable, provider overloaded".into()),
        (&plain, vec![initialized.clone(), json!({"id": 2, "result": {}})], format!("{refused} (it gave no session")),
        (
            &moded,
            vec![initialized.clone(), modes.clone()],
            format!("{refused} (it has no mode `auto`; it offers yolo, plan)"),
        ),
        (&modelled, vec![initialized.clone(), modes.clone()], format!("{refused} (it offers no choice of models")),
        (&all, vec![initialized, modes, error(3, -32603)], format!("{refused} (m)")),
    ] {
        let mut client = Client::new(task.clone());
        client.begin();
        let found = told(client, &lines);
        assert!(end(&found).starts_with(&expected), "{lines:?}: {}", end(&found));
        assert!(found.into_report().is_err() != expected.starts_with("unavailable"));
    }
    // It prints its usage and is gone.
    let mut client = Client::new(plain);
    client.begin();
    client.push(b"usage: agent [options]\n");
    let found = end(&client.outcome(Exit::Code(2), "no such option\n"));
    assert!(found.starts_with(refused) && found.contains("no such option"), "{found}");
}

#[test]
fn modes_and_models_are_set_before_the_prompt() {
    let options = |result: Value, task: &Task| -> Vec<String> {
        let mut client = Client::new(task.clone());
        client.begin();
        client.push(b"{\"id\":1,\"result\":{\"protocolVersion\":1}}\n");
        let mut said = client.push(format!("{}\n", json!({"id": 2, "result": result})).as_bytes());
        for id in 3..6 {
            said.extend(client.push(format!("{{\"id\":{id},\"result\":{{}}}}\n").as_bytes()));
        }
        let show = |message: &String| {
            let message: Value = serde_json::from_str(message).unwrap();
            let params = &message["params"];
            let what = ["modeId", "configId", "value"].map(|key| params[key].as_str().unwrap_or_default());
            format!("{} {}", message["method"].as_str().unwrap(), what.join(" ").trim())
        };
        said.iter().map(show).collect()
    };
    let modes = |ids: &[&str]| {
        let modes: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
        json!({"availableModes": modes})
    };
    let config = json!([
        {"id": "m", "category": "mode", "type": "select"}, {"id": "llm", "category": "model", "type": "select"},
    ]);
    let mut task = Task::new("/repo", "");
    task.permissions = Permissions::All;
    let set = |ids: &[&str], task: &Task| options(json!({"sessionId": "s", "modes": modes(ids)}), task);
    assert_eq!(set(&["plan", "yolo"], &task), ["session/set_mode yolo", "session/prompt "]);
    assert_eq!(set(&["plan", "sometimes"], &task), ["session/prompt "]);
    task.mode = Some("plan".into());
    assert_eq!(set(&["plan", "yolo"], &task), ["session/set_mode plan", "session/prompt "]);
    task.permissions = Permissions::Edits;
    task.model = Some("big".into());
    let found = options(json!({"sessionId": "s", "configOptions": config}), &task);
    assert_eq!(found, ["session/set_config_option m plan", "session/set_config_option llm big", "session/prompt "]);
    (task.mode, task.model) = (None, None);
    assert_eq!(set(&["plan", "yolo"], &task), ["session/prompt "], "an agent's own mode is left to it");
}

#[test]
fn a_session_that_is_to_end_asks_for_nothing_and_allows_nothing() {
    let request = json!({"id": "p", "method": "session/request_permission", "params": {
        "toolCall": {"kind": "edit"}, "options": [{"optionId": "yes", "kind": "allow_once"}],
    }});
    let mut client = at_work(Permissions::All);
    let before = client.push(format!("{request}\n").as_bytes());
    assert!(before[0].contains("\"yes\""), "{before:?}");
    assert!(client.cancel().unwrap().contains("session/cancel"));
    let after = client.push(format!("{request}\n").as_bytes());
    assert!(after[0].contains("\"cancelled\"") && after[0].contains("\"p\""), "{after:?}");

    // Before the prompt there is nothing to cancel, and nothing follows.
    let mut client = Client::new(Task::new("/repo", "Do it."));
    client.begin();
    assert_eq!(client.cancel(), None);
    assert_eq!(client.push(b"{\"id\":1,\"result\":{\"protocolVersion\":1}}\n"), [""; 0]);
    // Nor is there after its answer.
    let mut client = at_work(Permissions::All);
    client.push(b"{\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}\n");
    assert!(client.is_over());
    assert_eq!(client.cancel(), None);
}

#[test]
fn other_requests_are_refused_and_other_sessions_are_not_ours() {
    let mut client = at_work(Permissions::All);
    let said = client.push(b"{\"id\":0,\"method\":\"fs/read_text_file\",\"params\":{\"path\":\"/etc/passwd\"}}\n");
    let answer: Value = serde_json::from_str(&said[0]).unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(0), &json!(-32601)));
    assert_eq!(client.push(b"{\"method\":\"_news\",\"params\":{}}\n{\"id\":2,\"result\":{}}\n[]\n"), [""; 0]);
    let mut foreign = words("not mine");
    foreign["params"]["sessionId"] = "other".into();
    let stop = json!({"id": 3, "result": {"stopReason": "end_turn"}});
    assert_eq!(told(client, &[words("mine"), foreign, stop]).said, "mine");
}

#[test]
fn what_is_spent_is_not_lost_with_a_refusal() {
    let cost =
        |amount: f64| update(&json!({"sessionUpdate": "usage_update", "cost": {"amount": amount, "currency": "USD"}}));
    let refused = json!({"id": 3, "error": {"code": -32000, "message": "expired"}});
    let report = told(at_work(Permissions::Edits), &[cost(0.5), refused.clone()]).into_report().unwrap();
    assert!(matches!(report.end, SessionEnd::Unusable(_)) && report.usage.cost.is_some(), "{report:?}");
    // A zero is no more than not knowing yet, save at the end of a turn.
    assert!(told(at_work(Permissions::Edits), &[cost(0.0), refused]).into_report().is_err());
    let stop = json!({"id": 3, "result": {"stopReason": "end_turn"}});
    assert!(told(at_work(Permissions::Edits), &[cost(0.0), stop]).usage.cost.is_some());
}

#[test]
fn a_line_beyond_all_measure_loses_nothing_but_itself() {
    let mut client = at_work(Permissions::Edits);
    client.push(b"{\"method\":\"session/update\",\"params\":\"");
    for _ in 0..20 {
        client.push(&[b'x'; 1 << 20]);
    }
    client.push(b"\"}\n");
    assert_eq!(client.skipped(), 1);
    let stop = json!({"id": 3, "result": {"stopReason": "end_turn"}});
    assert_eq!(told(client, &[words("done"), stop]).end.unwrap(), SessionEnd::Finished);
}

/// Any line of any transcript, as a text that an agent may print.
fn any_line() -> impl Strategy<Value = String> {
    let lines: Vec<String> = names()
        .iter()
        .flat_map(|name| {
            let text = String::from_utf8_lossy(&case(name).stdout).into_owned();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .filter(|line| line.len() < 5_000)
        .collect();
    prop_oneof![
        prop::sample::select(lines),
        "\\PC{1,80}",
        Just("exceeded retry limit, last status: 429 Too Many Requests; authentication_failed".to_owned()),
    ]
}

/// Updates with `text` wherever an agent or a model writes freely.
fn echo(text: &str) -> Vec<Value> {
    let content = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
    vec![
        update(&json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text}})),
        update(
            &json!({"sessionUpdate": "tool_call", "toolCallId": text, "title": text, "kind": "execute", "content": content, "rawInput": {"x": text}}),
        ),
        update(
            &json!({"sessionUpdate": "tool_call_update", "toolCallId": text, "status": "failed", "rawOutput": text}),
        ),
        update(&json!({"sessionUpdate": "plan", "entries": [{"content": text}]})),
        json!({"id": 9, "method": "session/request_permission", "params": {
            "sessionId": "s", "toolCall": {"toolCallId": text, "title": text}, "options": [{"optionId": text, "name": text, "kind": "allow_once"}],
        }}),
        words(text),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn words_never_change_the_class(text in any_line()) {
        let mut lines = echo(&text);
        lines.push(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
        let outcome = told(at_work(Permissions::All), &lines);
        prop_assert_eq!(outcome.end.unwrap(), SessionEnd::Finished);
        prop_assert_eq!(&outcome.said, &text);

        let mut lines = echo(&text);
        lines.push(json!({"id": 3, "error": {"code": -32603, "message": text, "data": {"message": text, "errorKind": "rate_limit"}}}));
        let outcome = told(at_work(Permissions::All), &lines);
        prop_assert!(end(&outcome).starts_with("unavailable, rate limit"), "{:?}", outcome);
    }
}
