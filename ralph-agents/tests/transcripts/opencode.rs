//! Recorded output of opencode, and what is made of it.

use proptest::{prelude::*, sample::Index};
use ralph_agents::opencode::read;
use ralph_core::SessionEnd;

use super::Recorded;

const OPENCODE: Recorded =
    Recorded { agent: "opencode", read: |pieces, stderr, exit| read(&pieces.concat(), stderr, exit) };

#[test]
fn outcomes() {
    insta::assert_snapshot!(OPENCODE.outcomes());
}

#[test]
fn a_price_that_it_does_not_know_is_no_price() {
    let (stdout, stderr, exit) = OPENCODE.case("success-usage");
    let stdout = String::from_utf8(stdout).unwrap();
    let usage = |stdout: &str| read(stdout.as_bytes(), &stderr, exit).usage;
    let known = usage(&stdout);
    assert_eq!((known.cost.unwrap().micros(), known.tokens.unwrap().output), (11_304, 153));
    // The same without a price, and with a subagent whose steps nobody sees.
    let free = usage(&stdout.replace("\"cost\":0.00", "\"cost\":0e-9,\"was\":0.00"));
    assert_eq!((free.cost, free.tokens), (None, known.tokens));
    let task = usage(&stdout.replace("\"tool\":\"bash\"", "\"tool\":\"task\""));
    assert_eq!((task.cost, task.tokens), (None, None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn arbitrary_bytes_never_panic(
        name in prop::sample::select(OPENCODE.names()),
        junk: Vec<u8>,
        at: Index,
        code: i32,
    ) {
        OPENCODE.spoil(&name, &junk, at, code);
    }

    #[test]
    fn words_never_change_the_class(text in OPENCODE.any_line("statusCode 401, rate limit, error")) {
        let (stdout, ..) = OPENCODE.case("success");
        let words = serde_json::to_string(&text).unwrap();
        let stdout = String::from_utf8(stdout).unwrap().replace("\"All done: hello.txt is committed.\"", &words);
        let outcome = read(stdout.as_bytes(), &text, ralph_agents::Exit::Code(0));
        prop_assert_eq!(outcome.end.unwrap(), SessionEnd::Finished);
        prop_assert_eq!(outcome.said, text);
    }
}
