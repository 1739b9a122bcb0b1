//! Recorded conversations with agents of the Agent Client Protocol, replayed.

use std::{fmt::Write as _, fs, path::PathBuf};

use proptest::prelude::*;
use ralph_agents::{
    Exit, Outcome, Permissions,
    acp::{Client, Task},
};
use ralph_core::SessionEnd;
use serde_json::Value;

const AGENTS: [&str; 5] = ["claude", "codex", "codex-zed", "gemini", "opencode"];

/// A recorded case, such as `gemini/success`.
pub(crate) struct Case {
    pub(crate) stdout: Vec<u8>,
    stderr: String,
    exit: Exit,
    /// What the recording client said.
    sent: Vec<Value>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

pub(crate) fn case(name: &str) -> Case {
    let file = |kind: &str| fs::read(folder().join(format!("acp-{name}.{kind}"))).unwrap();
    let text = |kind: &str| String::from_utf8(file(kind)).unwrap();
    let code = text("exit").trim().strip_prefix("code ").unwrap().parse().unwrap();
    // A last line says how the agent ended, and is none.
    let sent = text("sent.jsonl").lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Case { stdout: file("stdout"), stderr: text("stderr"), exit: Exit::Code(code), sent }
}

pub(crate) fn names() -> Vec<String> {
    let mut names = Vec::new();
    for agent in AGENTS {
        for entry in fs::read_dir(folder().join(format!("acp-{agent}"))).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            names.extend(file.strip_suffix(".stdout").map(|case| format!("{agent}/{case}")));
        }
    }
    names.sort();
    assert_eq!(names.len(), 40, "the transcripts are not there");
    names
}

/// What was recorded with this task: with a mode, if one was set, and else as the agent comes.
fn task(case: &Case) -> Task {
    let prompt = "Create hello.txt with the text hello and commit it.";
    let set = case.sent.iter().any(|message| message["method"] == "session/set_mode");
    let permissions = if set { Permissions::All } else { Permissions::Edits };
    let mut task = Task::new("/repo", prompt);
    task.permissions = permissions;
    task
}

/// Replays a case line by line; what was said to it, and what came of it. Where the recording client cancelled, so does
/// this one, at the same place: once a tool runs.
fn replay(case: &Case, task: Task) -> (Vec<Value>, Outcome) {
    let cancels = case.sent.iter().any(|message| message["method"] == "session/cancel");
    let (mut client, mut said) = (Client::new(task), Vec::new());
    said.push(client.begin());
    for line in case.stdout.split_inclusive(|&byte| byte == b'\n') {
        said.extend(client.push(line));
        if cancels && String::from_utf8_lossy(line).contains("\"tool_call\"") {
            said.extend(client.cancel());
        }
    }
    let said = said.iter().map(|message| serde_json::from_str(message).unwrap()).collect();
    (said, client.outcome(case.exit, &case.stderr))
}

pub(crate) fn end(outcome: &Outcome) -> String {
    match &outcome.end {
        Ok(SessionEnd::Unavailable { trouble, detail, .. }) => format!("unavailable, {trouble}: {detail}"),
        Ok(end) => format!("{end:?}"),
        Err(error) => format!("error: {error}"),
    }
}

fn show(name: &str, said: &[Value], outcome: &Outcome) -> String {
    let mut text = format!("{name}\n  {}\n", end(outcome));
    match (outcome.usage.cost, outcome.usage.tokens) {
        (None, None) => text.push_str("  usage unknown\n"),
        (cost, tokens) => {
            let cost = cost.map_or("cost unknown".to_owned(), |cost| cost.to_string());
            let tokens = tokens.map_or("tokens unknown".to_owned(), |t| {
                format!("tokens {} in {} out {} read {} written", t.input, t.output, t.cache_read, t.cache_write)
            });
            writeln!(text, "  {cost}, {tokens}").unwrap();
        }
    }
    if !outcome.said.is_empty() {
        writeln!(text, "  said: {}", outcome.said.trim_end()).unwrap();
    }
    if outcome.denied > 0 {
        writeln!(text, "  denied: {}", outcome.denied).unwrap();
    }
    assert!(outcome.session_id.is_some(), "{name}");
    let steps: Vec<&str> = said.iter().filter_map(|message| message["method"].as_str()).skip(2).collect();
    writeln!(text, "  {}", steps.join(", ")).unwrap();
    for message in said {
        if let Some(outcome) = message["result"].get("outcome") {
            writeln!(text, "  answered {} {}", outcome["outcome"], outcome["optionId"]).unwrap();
        } else if message["error"].is_object() {
            writeln!(text, "  answered error {}", message["error"]["code"]).unwrap();
        }
    }
    text
}

#[test]
fn outcomes() {
    let all: Vec<String> = names()
        .iter()
        .map(|name| {
            let case = case(name);
            let (said, outcome) = replay(&case, task(&case));
            show(name, &said, &outcome)
        })
        .collect();
    insta::assert_snapshot!(all.join("\n"));
}

/// The requests are those of the recording client, with the same ids: else the replay would prove nothing.
#[test]
fn what_is_said_fits_the_recorded_answers() {
    for name in names() {
        let case = case(&name);
        let (said, _) = replay(&case, task(&case));
        let requests = |messages: &[Value]| -> Vec<Value> {
            let requests = messages.iter().filter(|message| message["method"].is_string()).cloned();
            let mut requests: Vec<Value> = requests.collect();
            requests[0]["params"]["clientInfo"] = Value::Null;
            // What was offered in one kind of case, and is not here.
            requests[0]["params"]["clientCapabilities"] = Value::Null;
            requests
        };
        assert_eq!(requests(&said), requests(&case.sent), "{name}");
        // And every request of the agent's has its answer.
        let ids = |messages: &[Value]| -> Vec<Value> {
            let answers = messages.iter().filter(|message| message["method"].is_null());
            answers.map(|message| message["id"].clone()).collect()
        };
        assert_eq!(ids(&said), ids(&case.sent), "{name}");
    }
}

/// The older codex-acp ends its turn as cancelled where it is not given a permission.
#[test]
fn a_turn_that_ends_for_want_of_a_permission_has_failed() {
    let mut case = case("codex-zed/deny");
    let (_, outcome) = replay(&case, task(&case));
    // The control: here an edit is allowed, so that the recorded end has no reason.
    assert!(end(&outcome).starts_with("unavailable, no result"), "{outcome:?}");
    let text = String::from_utf8(case.stdout).unwrap();
    case.stdout = text.replace("\"kind\":\"edit\"", "\"kind\":\"execute\"").into_bytes();
    let (said, outcome) = replay(&case, task(&case));
    assert_eq!(said.last().unwrap()["result"]["outcome"]["optionId"], "abort");
    assert!(end(&outcome).starts_with("Failed("), "{outcome:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_cuts_do_not_matter(
        name in prop::sample::select(names()),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let case = case(&name);
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(case.stdout.len() + 1)).collect();
        at.extend([0, case.stdout.len()]);
        at.sort_unstable();
        let run = |pieces: &mut dyn Iterator<Item = &[u8]>| {
            let mut client = Client::new(task(&case));
            let mut said = vec![client.begin()];
            pieces.for_each(|piece| said.extend(client.push(piece)));
            format!("{said:?} {:?}", client.outcome(case.exit, &case.stderr))
        };
        let cut = run(&mut at.windows(2).map(|pair| &case.stdout[pair[0]..pair[1]]));
        prop_assert_eq!(cut, run(&mut std::iter::once(&case.stdout[..])));
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        name in prop::sample::select(names()),
        junk: Vec<u8>,
        at: prop::sample::Index,
        code: i32,
    ) {
        let mut case = case(&name);
        let at = at.index(case.stdout.len() + 1);
        let end = (at + junk.len()).min(case.stdout.len());
        case.stdout.splice(at..end, junk.iter().copied());
        case.exit = Exit::Code(code);
        let task = task(&case);
        let _ = replay(&case, task.clone());
        let mut client = Client::new(task);
        client.push(&junk);
        client.cancel();
        client.push(b"\n");
        let _ = client.outcome(Exit::Signal(code), &String::from_utf8_lossy(&junk));
    }

    /// A line of the protocol with anything in place of a value.
    #[test]
    fn arbitrary_values_never_panic(
        name in prop::sample::select(names()),
        line: prop::sample::Index,
        place: prop::sample::Index,
        value in prop::sample::select(vec!["null", "-1", "1e999", "18446744073709551615", "\"\"", "[]", "{}", "[{}]", "true"]),
    ) {
        let mut case = case(&name);
        let mut lines: Vec<String> = String::from_utf8(case.stdout).unwrap().lines().map(str::to_owned).collect();
        let index = line.index(lines.len());
        let colons: Vec<usize> = lines[index].match_indices("\":").map(|(at, _)| at + 2).collect();
        let at = colons[place.index(colons.len())];
        let end = at + lines[index][at..].find([',', '}', ']']).unwrap_or(0);
        lines[index].replace_range(at..end, value);
        case.stdout = lines.join("\n").into_bytes();
        let task = task(&case);
        let _ = replay(&case, task);
    }
}
