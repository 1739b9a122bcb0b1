//! The lines that an agent prints which speaks the protocol. What they mean is in the docs of [`crate::command`].

use std::time::{Duration, SystemTime};

use ralph_core::{AgentError, SessionEnd, SessionReport, Tokens, Trouble, Usage, Usd, chain};

use crate::{
    exit::Exit,
    json::{Object, one_line},
    session::{How, failure},
};

/// The version that is spoken here.
const VERSION: u64 = 1;

/// How much of an agent's own words for a failure is kept, in characters.
const DETAIL_MAX: usize = 300;

/// What an agent that speaks the protocol has said so far.
#[derive(Debug, Default)]
pub(super) struct Protocol {
    session_id: Option<String>,
    compactions: u32,
    cost: Option<Usd>,
    tokens: Option<Tokens>,
    /// The last text that it said.
    text: String,
    last: Option<Last>,
}

/// The last event that says how it ends.
#[derive(Debug)]
enum Last {
    Trouble { trouble: Trouble, detail: String, until: Option<SystemTime> },
    Auth { detail: String, advice: String },
    Refused { detail: String, advice: String },
    Result { status: Option<String>, said: Option<String>, structured: Option<String> },
}

/// What the first line of an agent says.
#[derive(Debug)]
pub(super) enum Opening {
    /// It is text like the rest.
    Plain,
    /// What follows are events.
    Events,
    /// It speaks another version of the protocol. Holds which, as written.
    Other(String),
}

impl Opening {
    /// Reads the first line.
    pub(super) fn read(line: &str) -> Self {
        let object = Object::read(line);
        let Some(version) = object.as_ref().and_then(|object| object.raw("ralph")) else { return Self::Plain };
        if version == VERSION.to_string() { Self::Events } else { Self::Other(one_line(version, 40)) }
    }
}

/// The refusal of an agent that speaks another version.
pub(super) fn other_version(version: &str) -> AgentError {
    AgentError::Refused {
        detail: format!("it speaks version {version} of the protocol"),
        advice: format!("this Ralph speaks version {VERSION}: take an agent, or a Ralph, that fits"),
    }
}

impl Protocol {
    /// Takes in a line after the first, and tells `live` what a person who watches would like to see of it.
    pub(super) fn line(&mut self, line: &str, live: &mut dyn FnMut(&str)) {
        let Some(event) = Object::read(line) else {
            live(line);
            return;
        };
        let words = |key| event.text(key).map(|text| one_line(&text, DETAIL_MAX)).filter(|text| !text.is_empty());
        let detail = || words("detail").unwrap_or_else(|| "no reason given".into());
        let advice = || words("advice").unwrap_or_else(|| "see what the agent needs".into());
        match event.text("type").as_deref() {
            Some("say") => {
                if let Some(text) = event.text("text") {
                    text.lines().for_each(live);
                    self.text = text;
                }
            }
            Some("usage") => {
                self.cost = event.raw("cost_usd").and_then(dollars).or(self.cost);
                self.tokens = event.object("tokens").as_ref().and_then(tokens).or(self.tokens);
            }
            // It goes into records and a variable: a name, and not a text.
            Some("session") => {
                let fit = |id: &String| (1..=200).contains(&id.len()) && !id.chars().any(char::is_control);
                self.session_id = event.text("id").filter(fit).or(self.session_id.take());
            }
            Some("compaction") => self.compactions = self.compactions.saturating_add(1),
            Some("trouble") => {
                let trouble = match event.text("trouble").as_deref() {
                    Some("rate_limit") => Trouble::RateLimit,
                    Some("usage_window") => Trouble::UsageWindow,
                    Some("network") => Trouble::Network,
                    // One of an unknown kind is still none of the item's.
                    _ => Trouble::Overload,
                };
                let until = event.get("until").and_then(seconds);
                self.last = Some(Last::Trouble { trouble, detail: detail(), until });
            }
            Some("auth") => self.last = Some(Last::Auth { detail: detail(), advice: advice() }),
            Some("refused") => self.last = Some(Last::Refused { detail: detail(), advice: advice() }),
            Some("result") => {
                let structured = event.raw("structured").filter(|json| json.len() <= SessionReport::SAID_MAX);
                self.last = Some(Last::Result {
                    status: event.text("status"),
                    said: event.text("said"),
                    structured: structured.map(str::to_owned),
                });
            }
            _ => {}
        }
    }

    /// What came of it, given how it ended and what it printed on stderr.
    ///
    /// # Errors
    /// That it was refused before anything was spent.
    pub(super) fn report(self, how: How, stderr: &str) -> Result<SessionReport, AgentError> {
        let mut usage = Usage::unknown();
        (usage.cost, usage.tokens) = (self.cost, self.tokens);
        let spent = usage.cost.is_some_and(|cost| cost > Usd::ZERO)
            || usage.tokens.is_some_and(|tokens| tokens != Tokens::default());
        let (mut said, mut structured) = (self.text, None);
        let end = match (how, self.last) {
            (How::Cancelled, _) => SessionEnd::Cancelled,
            // At a limit too: it was reached while the agent was waiting for its provider.
            (_, Some(Last::Trouble { trouble, detail, until })) => SessionEnd::Unavailable { trouble, detail, until },
            (_, Some(Last::Auth { detail, advice })) => unusable(AgentError::Auth { detail, advice }, spent)?,
            (_, Some(Last::Refused { detail, advice })) => unusable(AgentError::Refused { detail, advice }, spent)?,
            (How::Limit(which), _) => SessionEnd::Limit(which),
            (How::Exit(exit), Some(Last::Result { status, said: words, structured: json })) => {
                said = words.unwrap_or(said);
                structured = json;
                ended(status.as_deref(), exit, &said, stderr)
            }
            (How::Exit(exit @ (Exit::Code(0) | Exit::Signal(_))), None) => {
                let detail = format!("{} without a result", failure(exit, stderr));
                SessionEnd::Unavailable { trouble: Trouble::NoResult, detail, until: None }
            }
            (How::Exit(exit @ Exit::Code(_)), None) => SessionEnd::Failed(failure(exit, stderr)),
        };
        let mut report = SessionReport::new(end).with_said(said).with_usage(usage);
        report.structured = structured;
        report.session_id = self.session_id;
        report.compactions = self.compactions;
        Ok(report)
    }
}

/// How a session with a result ended.
fn ended(status: Option<&str>, exit: Exit, said: &str, stderr: &str) -> SessionEnd {
    match status {
        Some("ok") if exit.success() => SessionEnd::Finished,
        Some("ok") => SessionEnd::Failed(format!("{} after a result that says ok", failure(exit, stderr))),
        Some("failed") => SessionEnd::Failed(match one_line(said, DETAIL_MAX) {
            words if words.is_empty() => "it gave up".into(),
            words => words,
        }),
        Some(other) => SessionEnd::Failed(format!("ended with `{}`", one_line(other, 40))),
        None => SessionEnd::Failed("a result without a status".into()),
    }
}

/// A refusal; where something was spent, it is a session and no error.
fn unusable(error: AgentError, spent: bool) -> Result<SessionEnd, AgentError> {
    if spent { Ok(SessionEnd::Unusable(chain(&error))) } else { Err(error) }
}

/// An amount, as it is written in JSON: a number, or a decimal in quotes.
fn dollars(json: &str) -> Option<Usd> {
    let text: String = if json.starts_with('"') { serde_json::from_str(json).ok()? } else { json.to_owned() };
    // Exact where it can be; programs also print 1.2e-05 and 17 digits.
    text.parse().ok().or_else(|| text.parse().ok().and_then(Usd::from_f64))
}

/// Tokens, where at least one kind is said and all that is said are numbers: unknown is not zero.
fn tokens(object: &Object<'_>) -> Option<Tokens> {
    let kinds = ["input", "output", "cache_read", "cache_write"];
    if !kinds.iter().any(|kind| object.raw(kind).is_some()) {
        return None;
    }
    let count = |kind| if object.raw(kind).is_some() { object.get(kind) } else { Some(0) };
    Some(Tokens {
        input: count("input")?,
        output: count("output")?,
        cache_read: count("cache_read")?,
        cache_write: count("cache_write")?,
    })
}

/// The time so many seconds after the Unix epoch.
fn seconds(after: f64) -> Option<SystemTime> {
    SystemTime::UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(after).ok()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn after(lines: &[&str], how: How) -> Result<SessionReport, AgentError> {
        let mut protocol = Protocol::default();
        for line in lines {
            protocol.line(line, &mut |_| {});
        }
        protocol.report(how, "")
    }

    fn report(lines: &[&str]) -> SessionReport {
        after(lines, How::Exit(Exit::Code(0))).unwrap()
    }

    const OK: &str = r#"{"type":"result","status":"ok"}"#;
    const LOGIN: &str = r#"{"type":"auth","detail":"key expired","advice":"renew it"}"#;
    const LIMIT: &str = r#"{"type":"trouble","trouble":"rate_limit","detail":"slow\ndown","until":1800000000}"#;

    #[test]
    fn only_its_own_first_line_opens_it() {
        for (line, opens) in [(r#"{"ralph":1}"#, true), (r#" {"name": "x", "ralph": 1} "#, true)] {
            assert_eq!(matches!(Opening::read(line), Opening::Events), opens, "{line}");
        }
        for plain in ["", "ralph", "{}", "[1]", r#"{"type":"say"}"#, r#"{"ralph":null}"#, r#"say {"ralph":1}"#] {
            assert!(matches!(Opening::read(plain), Opening::Plain), "{plain}");
        }
        for (line, version) in [(r#"{"ralph":2}"#, "2"), (r#"{"ralph":"1"}"#, "\"1\""), (r#"{"ralph":1.5}"#, "1.5")] {
            let Opening::Other(read) = Opening::read(line) else { panic!("{line}") };
            assert_eq!(read, version);
            assert!(other_version(&read).to_string().contains("speaks version 1"));
        }
    }

    #[test]
    fn what_decides_is_the_last_that_says_how_it_ends() {
        let limit = SessionEnd::Unavailable {
            trouble: Trouble::RateLimit,
            detail: "slow down".into(),
            until: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)),
        };
        assert_eq!(report(&[OK]).end, SessionEnd::Finished);
        assert_eq!(report(&[LIMIT, OK]).end, SessionEnd::Finished);
        assert_eq!(report(&[OK, LIMIT]).end, limit);
        assert_eq!(report(&[LOGIN, OK]).end, SessionEnd::Finished);
        assert!(matches!(after(&[LIMIT, LOGIN], How::Exit(Exit::Code(1))), Err(AgentError::Auth { .. })));
        let said = |status: &str| {
            let line = format!(r#"{{"type":"result","status":{status},"said":"no\nkey"}}"#);
            report(&[&line]).end
        };
        assert_eq!(said("\"failed\""), SessionEnd::Failed("no key".into()));
        assert_eq!(said("\"maybe\""), SessionEnd::Failed("ended with `maybe`".into()));
        assert_eq!(said("7"), SessionEnd::Failed("a result without a status".into()));
        // Words that were said decide nothing.
        let words = r#"{"type":"say","text":"{\"type\":\"auth\"}"}"#;
        assert_eq!(report(&[words, OK]).end, SessionEnd::Finished);
    }

    #[test]
    fn how_it_exits_counts_where_it_says_less() {
        let end = |lines: &[&str], how| after(lines, how).unwrap().end;
        let no_result = |end: &SessionEnd| matches!(end, SessionEnd::Unavailable { trouble: Trouble::NoResult, .. });
        assert!(no_result(&end(&[], How::Exit(Exit::Code(0)))));
        assert!(no_result(&end(&[], How::Exit(Exit::Signal(9)))));
        assert_eq!(end(&[], How::Exit(Exit::Code(3))), SessionEnd::Failed("exit code 3".into()));
        let after_ok = end(&[OK], How::Exit(Exit::Code(3)));
        assert_eq!(after_ok, SessionEnd::Failed("exit code 3 after a result that says ok".into()));
        let limit = || How::Limit("time".into());
        assert_eq!(end(&[OK], limit()), SessionEnd::Limit("time".into()));
        assert!(matches!(end(&[LIMIT], limit()), SessionEnd::Unavailable { .. }));
        assert!(after(&[LOGIN], limit()).is_err());
        for line in [OK, LIMIT, LOGIN] {
            assert_eq!(end(&[line], How::Cancelled), SessionEnd::Cancelled);
        }
    }

    #[test]
    fn a_refusal_that_was_paid_is_a_session() {
        for (usage, paid) in [
            (r#"{"type":"usage","cost_usd":"0.01"}"#, true),
            (r#"{"type":"usage","tokens":{"output":1}}"#, true),
            (r#"{"type":"usage","cost_usd":0,"tokens":{"output":0}}"#, false),
            (r#"{"type":"usage"}"#, false),
        ] {
            match after(&[usage, LOGIN], How::Exit(Exit::Code(1))) {
                Ok(SessionReport { end: SessionEnd::Unusable(why), .. }) => assert!(paid && why.contains("renew it")),
                Err(AgentError::Auth { .. }) => assert!(!paid, "{usage}"),
                other => panic!("{usage}: {other:?}"),
            }
        }
        let refused = r#"{"type":"refused"}"#;
        let Err(AgentError::Refused { detail, advice }) = after(&[refused], How::Exit(Exit::Code(0))) else { panic!() };
        assert_eq!((detail.as_str(), advice.as_str()), ("no reason given", "see what the agent needs"));
    }

    #[test]
    fn the_last_totals_count_and_what_is_no_number_does_not() {
        let usage = |lines: &[&str]| {
            let usage = report(lines).usage;
            (usage.cost.map(Usd::micros), usage.tokens.map(|tokens| (tokens.input, tokens.output, tokens.cache_read)))
        };
        let first = r#"{"type":"usage","cost_usd":"0.12","tokens":{"input":5,"output":1}}"#;
        assert_eq!(usage(&[first]), (Some(120_000), Some((5, 1, 0))));
        let second =
            r#"{"type":"usage","cost_usd":0.1,"tokens":{"input":9,"output":2,"cache_read":3,"cache_write":0}}"#;
        assert_eq!(usage(&[first, second]), (Some(100_000), Some((9, 2, 3))));
        assert_eq!(usage(&[first, r#"{"type":"usage","cost_usd":1.2e-05}"#]), (Some(12), Some((5, 1, 0))));
        for bad in [r#""NaN""#, "-1", r#""a lot""#, "[1]", "null", "{}"] {
            let line = format!(r#"{{"type":"usage","cost_usd":{bad},"tokens":{{"input":{bad}}}}}"#);
            assert_eq!(usage(&[&line]), (None, None), "{bad}");
            assert_eq!(usage(&[first, &line]), (Some(120_000), Some((5, 1, 0))), "{bad}");
        }
        assert_eq!(usage(&[r#"{"type":"usage","tokens":{"input":5,"output":"1"}}"#]).1, None);
        assert_eq!(usage(&[r#"{"type":"usage","tokens":{"images":5}}"#]).1, None);
    }

    #[test]
    fn the_rest_is_taken_over_as_far_as_it_makes_sense() {
        let session = |id: &str| format!(r#"{{"type":"session","id":{id}}}"#);
        let all = report(&[
            &session("\"s-1\""),
            &session("7"),
            &session("\"\""),
            &session("\"a\\nb\""),
            r#"{"type":"compaction"}"#,
            r#"{"type":"compaction"}"#,
            "no event",
            r#"{"type":"telepathy"}"#,
            r#"{"type":"say","text":"I am done."}"#,
            r#"{"type":"result","status":"ok","structured":{"done":true}}"#,
        ]);
        assert_eq!((all.end, all.said.as_str()), (SessionEnd::Finished, "I am done."));
        assert_eq!((all.session_id.as_deref(), all.compactions), (Some("s-1"), 2));
        assert_eq!(all.structured.as_deref(), Some(r#"{"done":true}"#));
        let said = report(&[r#"{"type":"say","text":"a"}"#, r#"{"type":"result","status":"ok","said":""}"#]).said;
        assert_eq!(said, "", "nothing said is something said");
        for until in ["-1", "1e300", "\"soon\"", "null"] {
            let line = format!(r#"{{"type":"trouble","trouble":"network","until":{until}}}"#);
            let end = report(&[&line]).end;
            assert!(matches!(end, SessionEnd::Unavailable { trouble: Trouble::Network, until: None, .. }), "{end:?}");
        }
    }

    /// A value that could stand in any field.
    fn value() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("null".to_owned()),
            Just(r#"{"input":1}"#.to_owned()),
            any::<f64>().prop_map(|number| serde_json::json!(number).to_string()),
            any::<i64>().prop_map(|number| number.to_string()),
            ".{0,9}".prop_map(|text| serde_json::json!(text).to_string()),
            "(ok|failed|network|rate_limit|0.5)".prop_map(|text| format!("\"{text}\"")),
        ]
    }

    fn line() -> impl Strategy<Value = String> {
        let kinds = "(say|usage|session|compaction|trouble|auth|refused|result|else)";
        let keys = "(text|cost_usd|tokens|id|trouble|detail|advice|until|status|said|structured)";
        let event = (kinds, prop::collection::vec((keys, value()), 0..4)).prop_map(|(kind, fields)| {
            let fields = fields.iter().map(|(key, value)| format!(",\"{key}\":{value}"));
            format!("{{\"type\":\"{kind}\"{}}}", fields.collect::<String>())
        });
        prop_oneof![4 => event, 1 => ".{0,40}"]
    }

    proptest! {
        /// No line makes it fall over, what is no JSON is shown and changes nothing, and a last result decides.
        #[test]
        fn whatever_is_printed(lines in prop::collection::vec(line(), 0..12)) {
            let (mut protocol, mut shown) = (Protocol::default(), 0);
            for line in &lines {
                let before = format!("{protocol:?}");
                protocol.line(line, &mut |_| shown += 1);
                if Object::read(line).is_none() {
                    prop_assert_eq!(&before, &format!("{protocol:?}"));
                    prop_assert!(shown > 0);
                }
            }
            let refused = matches!(protocol.last, Some(Last::Auth { .. } | Last::Refused { .. }));
            let decided = protocol.last.is_some();
            match protocol.report(How::Exit(Exit::Code(0)), "") {
                Ok(report) => {
                    prop_assert_eq!(matches!(report.end, SessionEnd::Unusable(_)), refused);
                    let no_result = matches!(report.end, SessionEnd::Unavailable { trouble: Trouble::NoResult, .. });
                    prop_assert_eq!(no_result, !decided);
                }
                Err(_) => prop_assert!(refused),
            }
            let mut all: Vec<&str> = lines.iter().map(String::as_str).collect();
            all.push(OK);
            prop_assert_eq!(after(&all, How::Exit(Exit::Code(0))).unwrap().end, SessionEnd::Finished);
        }
    }
}
