//! Recorded output of Gemini CLI, and what is made of it.

use proptest::{prelude::*, sample::Index};
use ralph_agents::{Exit, gemini::read};
use ralph_core::SessionEnd;
use serde_json::json;

use super::{Recorded, end};

const GEMINI: Recorded =
    Recorded { agent: "gemini", read: |pieces, stderr, exit| read(&pieces.concat(), stderr, exit) };

#[test]
fn outcomes() {
    insta::assert_snapshot!(GEMINI.outcomes());
}

#[test]
fn an_exit_code_stands_for_a_status_unless_the_message_has_one() {
    let ends = |message: &str, code| {
        let result = json!({"type": "result", "status": "error", "error": {"type": "unknown", "message": message}});
        end(&read(result.to_string().as_bytes(), "", Exit::Code(code)))
    };
    for (message, code, words) in [
        ("[API Error: x]", 145, "error: the agent is not logged in"),
        ("[API Error: x]", 148, "error: the agent cannot be used"),
        ("[API Error: x]", 173, "unavailable, rate limit"),
        ("[API Error: x]", 144, "Failed("),
        ("[API Error: {\"error\":{\"code\":503,\"message\":\"x\"}}]", 173, "unavailable, provider overloaded"),
        ("[API Error: x]", 143, "unavailable, provider overloaded"),
        // Words of others in it.
        ("[API Error: You said: models/x is not found]", 1, "unavailable, provider overloaded"),
    ] {
        let found = ends(message, code);
        assert!(found.starts_with(words), "{message}, {code}: {found}");
    }
}

#[test]
fn an_error_counts_only_as_the_last_word() {
    let (stdout, ..) = GEMINI.case("success");
    let stdout = String::from_utf8(stdout).unwrap();
    let error = "{\"type\":\"error\",\"severity\":\"warning\",\"message\":\"hm\"}\n";
    let before = |kind: &str| {
        let at = stdout.find(&format!("{{\"type\":\"{kind}\"")).unwrap();
        let events = format!("{}{error}{}", &stdout[..at], &stdout[at..]);
        end(&read(events.as_bytes(), "", Exit::Code(0)))
    };
    assert_eq!(before("tool_use"), "Finished");
    assert_eq!(before("result"), "Failed(\"hm\")");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn arbitrary_bytes_never_panic(
        name in prop::sample::select(GEMINI.names()),
        junk: Vec<u8>,
        at: Index,
        code: i32,
    ) {
        GEMINI.spoil(&name, &junk, at, code);
    }

    #[test]
    fn words_never_change_the_class(text in GEMINI.any_line("[API Error: You have exhausted your daily quota]")) {
        let (stdout, ..) = GEMINI.case("success");
        let words = serde_json::to_string(&text).unwrap();
        let stdout = String::from_utf8(stdout).unwrap().replace("\"All done: hello.txt is committed.\"", &words);
        let outcome = read(stdout.as_bytes(), &text, Exit::Code(0));
        prop_assert_eq!(outcome.end.unwrap(), SessionEnd::Finished);
        prop_assert_eq!(outcome.said, text);
    }
}
