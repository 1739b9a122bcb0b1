//! Recorded output of Codex, and what is made of it.

use proptest::{prelude::*, sample::Index};
use ralph_agents::{Exit, Outcome, codex::Transcript};
use ralph_core::SessionEnd;
use serde_json::json;

use super::{Recorded, end};

const CODEX: Recorded = Recorded { agent: "codex", read };

fn read(pieces: &[&[u8]], stderr: &str, exit: Exit) -> Outcome {
    let mut transcript = Transcript::new();
    for piece in pieces {
        transcript.push(piece);
    }
    transcript.outcome(exit, stderr)
}

/// What comes of these events, after which it exits with 1.
fn ended(events: &str) -> String {
    end(&CODEX.outcome(events.as_bytes(), "", Exit::Code(1)))
}

fn lines(name: &str, wanted: impl Fn(&str) -> bool) -> String {
    let stdout = String::from_utf8(CODEX.case(name).0).unwrap();
    stdout.split_inclusive('\n').filter(|line| wanted(line)).collect()
}

#[test]
fn outcomes() {
    assert!(CODEX.names().len() > 60, "the transcripts are not there");
    insta::assert_snapshot!(CODEX.outcomes());
}

#[test]
fn every_kind_of_event_is_known() {
    for name in CODEX.names() {
        let mut transcript = Transcript::new();
        transcript.push(&CODEX.case(&name).0);
        assert_eq!(transcript.unknown(), [""; 0], "{name}");
    }
    // The control.
    let mut transcript = Transcript::new();
    transcript.push(b"{\"type\":\"news\"}\n{\"type\":\"item.started\",\"item\":{\"type\":\"dance\"}}\n");
    assert_eq!(transcript.unknown(), ["news", "item dance"]);
}

#[test]
fn a_refused_login_shows_at_the_first_retry() {
    for (name, refused) in [("error-401", true), ("error-403", true), ("error-429", false), ("error-529", false)] {
        let (stdout, ..) = CODEX.case(name);
        let retry = lines(name, |line| line.contains("Reconnecting... 1/2"));
        let at = stdout.windows(retry.len()).position(|bytes| bytes == retry.as_bytes()).unwrap();
        let mut transcript = Transcript::new();
        transcript.push(&stdout[..at]);
        assert!(!transcript.login_refused());
        transcript.push(retry.as_bytes());
        assert_eq!(transcript.login_refused(), refused, "{name}");
    }
}

/// Codex' own message, and what comes of it.
#[test]
fn a_message_is_read_by_how_it_begins() {
    for (message, words) in [
        ("unexpected status 402 Payment Required: x", "error: the agent cannot be used"),
        ("unexpected status 404 Not Found: x", "error: the agent cannot be used"),
        ("unexpected status 408 Request Timeout: x", "unavailable, provider overloaded"),
        ("unexpected status 413 Payload Too Large: x", "Failed("),
        ("unexpected status 429 Too Many Requests: x", "unavailable, rate limit"),
        (
            "exceeded retry limit, last status: 503 Service Unavailable, request id: y",
            "unavailable, provider overloaded",
        ),
        ("Your access token could not be refreshed because it was revoked.", "error: the agent is not logged in"),
        ("Your workspace is out of credits. Add credits to continue.", "error: the agent cannot be used"),
        ("You've hit your usage limit.", "unavailable, usage window"),
        ("You\u{2019}ve hit your usage limit for gpt. Switch to another model now.", "unavailable, usage window"),
        ("request timed out", "unavailable, provider not reachable"),
        // A body that is passed on as it is.
        (r#"{"error":{"code":"model_not_found","message":"x"}}"#, "error: the agent cannot be used"),
        (r#"{"error":{"code":"insufficient_quota","message":"x"}}"#, "error: the agent cannot be used"),
        (r#"{"error":{"code":"invalid_api_key","message":"x"}}"#, "error: the agent is not logged in"),
        (
            r#"{"detail":"The 'x' model is not supported when using Codex with a ChatGPT account."}"#,
            "error: the agent cannot",
        ),
        (r#"{"status":503,"error":{"message":"x"}}"#, "unavailable, provider overloaded"),
        (r#"{"status":400,"error":{"message":"You've hit your usage limit"}}"#, "Failed("),
        // Words of others in it.
        ("unexpected status 400 Bad Request: You've hit your usage limit. 401 Unauthorized", "Failed("),
        ("Incomplete response returned, reason: unexpected status 401 Unauthorized", "Failed("),
        ("stream disconnected before completion: Quota exceeded.", "unavailable, provider not reachable"),
    ] {
        let (given_up, retried) = given_up_and_retried(message);
        assert!(given_up.starts_with(words), "{message}: {given_up}");
        assert!(retried.starts_with(words), "retried, {message}: {retried}");
    }
    // What nobody knows is not the item's fault.
    for message in ["In other news, unexpected status 401", "unexpected status ?: x", ""] {
        let (given_up, retried) = given_up_and_retried(message);
        assert!(given_up.starts_with("unavailable, provider overloaded or failing: "), "{message}: {given_up}");
        assert!(retried.starts_with("unavailable, provider not reachable: "), "retried, {message}: {retried}");
    }
}

/// What comes of a turn that failed with this message, and of a program that was killed before it tried again.
fn given_up_and_retried(message: &str) -> (String, String) {
    let failed = json!({"type": "turn.failed", "error": {"message": message}}).to_string();
    let retried = json!({"type": "error", "message": format!("Reconnecting... 2/5 ({message})")}).to_string();
    (ended(&failed), end(&CODEX.outcome(retried.as_bytes(), "", Exit::Signal(9))))
}

#[test]
fn trouble_is_over_when_the_model_answers() {
    let trouble = lines("error-401", |line| line.contains("Reconnecting... 1/2"));
    let answer = |kind: &str, item: &str| {
        let item = json!({"type": kind, "item": {"type": item, "text": "x", "status": "completed"}});
        ended(&format!("{trouble}{item}\n"))
    };
    for (kind, item) in [("item.started", "command_execution"), ("item.completed", "agent_message")] {
        assert!(answer(kind, item).starts_with("unavailable, no result"), "{kind} {item}");
    }
    // A warning, or the end of a command that was begun before, is no answer.
    for item in ["error", "command_execution"] {
        assert!(answer("item.completed", item).starts_with("error: the agent is not logged in"), "{item}");
    }
}

#[test]
fn the_last_turn_counts() {
    let good = lines("success", |line| !line.contains("thread.started"));
    let bad = lines("error-529", |line| !line.contains("thread.started"));
    let after = |events: &str, code| end(&CODEX.outcome(events.as_bytes(), "", Exit::Code(code)));
    assert_eq!(after(&format!("{bad}{good}"), 0), "Finished");
    assert!(after(&format!("{good}{bad}"), 1).starts_with("unavailable, provider overloaded"));
    assert!(after(&good, 3).starts_with("Failed(\"exit code 3 after"));
    let begun = lines("signal-INT-in-api", |line| line.contains("turn.started"));
    assert!(after(&format!("{good}{begun}"), 1).starts_with("unavailable, no result"));
}

#[test]
fn a_refusal_after_work_is_a_report() {
    let work = lines("error-mid-session-500", |line| line.contains("item_0"));
    let refusal = lines("error-401", |line| line.contains("turn.failed"));
    let report = |events: String| CODEX.outcome(events.as_bytes(), "", Exit::Code(1)).into_report();
    let end = report(format!("{work}{refusal}")).unwrap().end;
    assert!(matches!(&end, SessionEnd::Unusable(why) if why.contains("401 Unauthorized")), "{end:?}");
    report(refusal).unwrap_err();
}

#[test]
fn no_usage_is_not_the_same_as_none() {
    let turn = |usage: &str| {
        let events = format!("{{\"type\":\"turn.completed\"{usage}}}\n");
        CODEX.outcome(events.as_bytes(), "", Exit::Code(0)).usage.tokens
    };
    assert_eq!(turn(""), None);
    assert_eq!(turn(",\"usage\":{\"input_tokens\":0,\"output_tokens\":0}"), None);
    let tokens = turn(",\"usage\":{\"input_tokens\":5,\"cached_input_tokens\":9,\"output_tokens\":1}").unwrap();
    assert_eq!((tokens.input, tokens.cache_read, tokens.output), (0, 9, 1));
}

const WORDS: &str =
    "You've hit your usage limit. Try again at 4:40 AM. unexpected status 401 Unauthorized: turn.failed";

/// A transcript with `text` as what the model said, thought and ran, and as a warning.
fn echo(text: &str) -> String {
    let item = |kind: &str, item: serde_json::Value| json!({"type": kind, "item": item}).to_string() + "\n";
    [
        item("item.completed", json!({"type": "error", "message": text})),
        item("item.completed", json!({"type": "reasoning", "text": text})),
        item("item.started", json!({"type": "command_execution", "command": text, "status": "in_progress"})),
        item(
            "item.completed",
            json!({"type": "command_execution", "command": text, "aggregated_output": text, "exit_code": 1, "status": "failed"}),
        ),
        item("item.completed", json!({"type": "agent_message", "text": text})),
    ]
    .concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_cuts_do_not_matter(
        name in prop::sample::select(CODEX.names()),
        cuts in prop::collection::vec(any::<Index>(), 0..40),
    ) {
        CODEX.cut(&name, &cuts)?;
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        name in prop::sample::select(CODEX.names()),
        junk: Vec<u8>,
        at: Index,
        code: i32,
    ) {
        CODEX.spoil(&name, &junk, at, code);
    }

    #[test]
    fn words_never_change_the_class(text in CODEX.any_line(WORDS)) {
        let done = lines("success", |line| line.contains("turn.completed"));
        let outcome = CODEX.outcome((echo(&text) + &done).as_bytes(), &text, Exit::Code(0));
        prop_assert_eq!(outcome.end.unwrap(), SessionEnd::Finished);
        prop_assert_eq!(outcome.said, text);
    }

    #[test]
    fn words_do_not_hide_a_failure_either(text in CODEX.any_line(WORDS)) {
        let failed = String::from_utf8(CODEX.case("error-529").0).unwrap();
        let found = ended(&(echo(&text) + &failed));
        prop_assert!(found.contains("provider overloaded"), "{}", found);
        // Nor do they stand for one: without an end there is none, whatever was said.
        let found = ended(&echo(&text));
        prop_assert!(found.starts_with("unavailable, no result") , "{}", found);
    }
}
