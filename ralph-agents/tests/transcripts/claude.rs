//! Recorded output of Claude Code, and what is made of it.

use proptest::{prelude::*, sample::Index};
use ralph_agents::{Exit, Outcome, claude::Transcript};
use ralph_core::{AgentError, SessionEnd};

use super::{Recorded, end};

const CLAUDE: Recorded = Recorded { agent: "claude", read };

fn read(pieces: &[&[u8]], stderr: &str, exit: Exit) -> Outcome {
    let mut transcript = Transcript::new();
    for piece in pieces {
        transcript.push(piece);
    }
    transcript.outcome(exit, stderr)
}

fn case(name: &str) -> (Vec<u8>, String, Exit) {
    CLAUDE.case(name)
}

fn outcome(stdout: &[u8], stderr: &str, exit: Exit) -> Outcome {
    CLAUDE.outcome(stdout, stderr, exit)
}

#[test]
fn outcomes() {
    assert!(CLAUDE.names().len() > 90, "the transcripts are not there");
    insta::assert_snapshot!(CLAUDE.outcomes());
}

#[test]
fn every_kind_of_event_is_known() {
    for name in CLAUDE.names() {
        let mut transcript = Transcript::new();
        transcript.push(&case(&name).0);
        assert_eq!(transcript.unknown(), [""; 0], "{name}");
    }
    // The control.
    let mut transcript = Transcript::new();
    transcript.push(b"{\"type\":\"news\"}\n");
    assert_eq!(transcript.unknown(), ["news"]);
}

#[test]
fn a_refused_login_shows_at_the_first_retry() {
    for (name, refused) in [("error-401-fast", true), ("error-529", false), ("error-429", false)] {
        let (stdout, ..) = case(name);
        let retry = stdout
            .split_inclusive(|&byte| byte == b'\n')
            .position(|line| String::from_utf8_lossy(line).contains("api_retry"));
        let mut transcript = Transcript::new();
        for line in stdout.split_inclusive(|&byte| byte == b'\n').take(retry.unwrap() + 1) {
            assert!(!transcript.login_refused());
            transcript.push(line);
        }
        assert_eq!(transcript.login_refused(), refused, "{name}");
    }
}

#[test]
fn the_interruption_after_a_refused_login_is_still_a_refused_login() {
    let (mut stdout, ..) = case("error-401-fast");
    let end = stdout.windows(9).position(|bytes| bytes == b"api_retry").unwrap();
    let end = end + stdout[end..].iter().position(|&byte| byte == b'\n').unwrap() + 1;
    stdout.truncate(end);
    let (interrupted, ..) = case("signal-INT-in-api");
    let result = interrupted.split(|&byte| byte == b'\n').rfind(|line| !line.is_empty()).unwrap();
    stdout.extend_from_slice(result);
    let outcome = outcome(&stdout, "", Exit::Code(0));
    assert!(matches!(outcome.end, Err(AgentError::Auth { .. })), "{outcome:?}");
}

#[test]
fn a_line_beyond_all_measure_loses_nothing_but_itself() {
    let (stdout, ..) = case("success-usage");
    let mut transcript = Transcript::new();
    transcript.push(b"{\"type\":\"user\",\"message\":\"");
    for _ in 0..50 {
        transcript.push(&[b'x'; 1 << 20]);
    }
    transcript.push(b"\"}\n");
    transcript.push(&stdout);
    assert_eq!(transcript.skipped(), 1);
    let outcome = transcript.outcome(Exit::Code(0), "");
    assert_eq!(outcome.end.unwrap(), SessionEnd::Finished);
    assert_eq!(outcome.usage.cost.unwrap().micros(), 15_568);
}

/// A result with these fields, and an exit code; what comes of it starts with these words.
#[test]
fn fields_that_contradict_each_other() {
    let good = r#""subtype":"success","is_error":false,"terminal_reason":"completed""#;
    let status = |status: u16| format!(r#""subtype":"success","is_error":true,"api_error_status":{status}"#);
    for (fields, code, words) in [
        (good, 0, "Finished"),
        (good, 3, "Failed(\"exit code 3 after"),
        // Exit 0 and "success" with an error in it.
        (&status(529), 0, "unavailable, provider overloaded"),
        (&status(429), 0, "unavailable, rate limit"),
        (&status(401), 0, "error: the agent is not logged in"),
        (&status(402), 0, "error: the agent cannot be used"),
        (&status(422), 0, "Failed("),
        (&status(408), 0, "unavailable, provider overloaded"),
        // Nobody says what it was.
        (r#""subtype":"success","is_error":true"#, 0, "unavailable, provider overloaded"),
        (r#""subtype":"news","terminal_reason":"api_error""#, 1, "unavailable, provider overloaded"),
        (r#""is_error":false"#, 0, "Failed(\"ended with `nothing said`"),
        (r#""subtype":"success","is_error":"no""#, 0, "unavailable, provider overloaded"),
        (r#""subtype":"news","is_error":false"#, 1, "Failed(\"ended with `news`"),
        (r#""subtype":"news","api_error_status":529"#, 1, "unavailable, provider overloaded"),
        (r#""subtype":"success","is_error":false,"terminal_reason":"news""#, 0, "Failed("),
        (r#""subtype":"success","is_error":false,"stop_reason":"refusal""#, 0, "Failed("),
        (r#""subtype":"error_during_execution","is_error":true"#, 1, "Failed("),
    ] {
        let line = format!("{{{fields},\"type\":\"result\"}}\n");
        let found = end(&outcome(line.as_bytes(), "", Exit::Code(code)));
        assert!(found.starts_with(words), "{fields}, exit code {code}: {found}");
    }
}

#[test]
fn the_last_result_counts() {
    let result = |name: &str| {
        let stdout = String::from_utf8(case(name).0).unwrap();
        stdout.lines().last().unwrap().to_owned() + "\n"
    };
    let (good, bad) = (result("success"), result("error-529"));
    let two = |one: &str, other: &str, code| end(&outcome(format!("{one}{other}").as_bytes(), "", Exit::Code(code)));
    assert_eq!(two(&bad, &good, 0), "Finished");
    assert!(two(&good, &bad, 1).starts_with("unavailable"));
}

#[test]
fn a_usage_window_is_shut_only_while_nothing_goes() {
    let limit = lines_of("oauth-mid-usage-limit", "rejected");
    let paid = limit.replace("\"isUsingOverage\":false", "\"isUsingOverage\":true");
    assert_ne!(limit, paid);
    let (events, ..) = case("error-429");
    let with = |before: &str, after: &str| {
        let events = String::from_utf8_lossy(&events);
        end(&outcome(format!("{before}{after}{events}").as_bytes(), "", Exit::Code(1)))
    };
    let answer = "{\"type\":\"assistant\",\"message\":{\"content\":[]}}\n";
    assert!(with(&limit, "").starts_with("unavailable, usage window used up until 1796100000"));
    assert!(with(&limit, answer).starts_with("unavailable, rate limit"));
    assert!(with(&paid, "").starts_with("unavailable, rate limit"));
}

/// The rate limit events of a case with this word in them.
fn lines_of(name: &str, word: &str) -> String {
    let stdout = String::from_utf8(case(name).0).unwrap();
    let wanted = |line: &&str| line.contains("\"rate_limit_event\"") && line.contains(word);
    stdout.split_inclusive('\n').filter(wanted).collect()
}

/// A transcript with `text` as what the model wrote, what a tool returned, and what a subagent said.
fn echo(text: &str, subagent_error: bool) -> Vec<u8> {
    let text = serde_json::to_string(text).unwrap();
    let error = if subagent_error {
        ",\"error\":\"authentication_failed\",\"is_api_error_message\":true,\"api_error_status\":401"
    } else {
        ""
    };
    format!(
        "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}]}}}}\n\
         {{\"type\":\"user\",\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"content\":{text}}}]}},\"tool_use_result\":{text}}}\n\
         {{\"type\":\"assistant\",\"parent_tool_use_id\":\"t1\",\"message\":{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}]}}{error}}}\n\
         {{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":{text},\"terminal_reason\":\"completed\",\"total_cost_usd\":0.5}}\n"
    )
    .into_bytes()
}

const WORDS: &str = "API Error: 429 rate limit; usage limit reached; 401 authentication_failed";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_cuts_do_not_matter(
        name in prop::sample::select(CLAUDE.names()),
        cuts in prop::collection::vec(any::<Index>(), 0..40),
    ) {
        CLAUDE.cut(&name, &cuts)?;
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        name in prop::sample::select(CLAUDE.names()),
        junk: Vec<u8>,
        at: Index,
        code: i32,
    ) {
        CLAUDE.spoil(&name, &junk, at, code);
    }

    #[test]
    fn words_never_change_the_class(text in CLAUDE.any_line(WORDS), subagent_error: bool) {
        let outcome = outcome(&echo(&text, subagent_error), &text, Exit::Code(0));
        prop_assert_eq!(outcome.end.unwrap(), SessionEnd::Finished);
        prop_assert_eq!(outcome.said, text);
    }

    #[test]
    fn words_do_not_hide_a_failure_either(text in CLAUDE.any_line(WORDS)) {
        let (failed, ..) = case("error-529");
        let mut stdout = echo(&text, false);
        // Without its result, as if the failure came after the words.
        let end = stdout.windows(16).position(|bytes| bytes == b"{\"type\":\"result\"").unwrap();
        stdout.truncate(end);
        stdout.extend_from_slice(&failed);
        let outcome = outcome(&stdout, "", Exit::Code(1));
        prop_assert!(end_is(&outcome, "provider overloaded"), "{:?}", outcome);
    }
}

fn end_is(outcome: &Outcome, words: &str) -> bool {
    end(outcome).contains(words)
}
