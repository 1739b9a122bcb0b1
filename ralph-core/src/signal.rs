//! What an agent says of its own work: a signal, never a verdict.

use pulldown_cmark::{CodeBlockKind, Event as Md, Parser, Tag, TagEnd};
use serde::{Deserialize, Serialize};

use crate::{decision::DecisionKind, plan::Proposal, text::printable};

/// A session's report about itself (SPEC §9.1). It may park an item; it never advances one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Signal {
    /// Which.
    pub status: SignalStatus,
    /// A line or two about what was done.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// What a person should decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What kind of decision it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<DecisionKind>,
    /// The ways to decide it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The agent's recommendation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommendation: Option<String>,
    /// What later sessions should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learned: Vec<String>,
    /// Items that the agent would add.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposed: Vec<Proposal>,
    /// When it would like to be called again, in milliseconds from now; counts in loops at an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_ms: Option<u64>,
}

/// What an agent claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalStatus {
    /// The item is done, it says.
    Done,
    /// It cannot go on.
    Blocked,
    /// A person must decide something.
    Decision,
}

impl Signal {
    /// How long a text in a signal may be, in characters. What is longer is cut.
    pub const TEXT_MAX: usize = 2_000;
    /// How many options or learnings are read.
    pub const LIST_MAX: usize = 10;
    /// How long a signal may be in all, in bytes of JSON. What is listed last is left out first.
    pub const MAX: usize = 40 * 1024;

    /// A signal with nothing but its status.
    pub fn new(status: SignalStatus) -> Self {
        Self {
            status,
            summary: String::new(),
            question: None,
            kind: None,
            options: Vec::new(),
            recommendation: None,
            learned: Vec::new(),
            proposed: Vec::new(),
            next_ms: None,
        }
    }

    /// Reads the signal of a session: from its structured output where there is any, else from its final message.
    ///
    /// In the message the *last* fenced block with the info string `ralph` counts, outside quotes; without one, the
    /// `---RALPH_STATUS---` block or `<promise>` tag of other loops. An unknown status is no signal.
    ///
    /// ```
    /// use ralph_core::{Signal, SignalStatus};
    /// let said = "All fine.\n```ralph\n{\"status\": \"done\", \"summary\": \"added it\"}\n```\n";
    /// let signal = Signal::read(said, None).unwrap();
    /// assert_eq!((signal.status, signal.summary.as_str()), (SignalStatus::Done, "added it"));
    /// assert_eq!(Signal::read("It is done, complete, finished.", None), None);
    /// ```
    pub fn read(said: &str, structured: Option<&str>) -> Option<Self> {
        if let Some(signal) = structured.and_then(from_json) {
            return Some(signal.within_bounds());
        }
        match last_block(said) {
            Some(block) => from_json(&block).map(Self::within_bounds),
            None => from_status_block(said).or_else(|| from_promise(said)),
        }
    }

    fn within_bounds(mut self) -> Self {
        let size = |signal: &Self| serde_json::to_string(signal).map_or(0, |json| json.len());
        while size(&self) > Self::MAX {
            let shorter = self.proposed.pop().is_some() || self.learned.pop().is_some() || self.options.pop().is_some();
            if !shorter {
                break;
            }
        }
        self
    }
}

/// The shape an agent writes. Everything is optional and lenient but the status.
#[derive(Deserialize)]
struct Raw {
    status: String,
    #[serde(default)]
    summary: Option<String>,
    #[serde(default)]
    question: Option<String>,
    #[serde(default)]
    kind: Option<serde_json::Value>,
    #[serde(default)]
    options: Option<Vec<String>>,
    #[serde(default)]
    recommendation: Option<String>,
    #[serde(default)]
    learned: Option<Vec<String>>,
    #[serde(default)]
    proposed: Option<Vec<serde_json::Value>>,
    #[serde(default)]
    next_minutes: Option<serde_json::Value>,
}

fn from_json(text: &str) -> Option<Signal> {
    let raw: Raw = serde_json::from_str(text).ok()?;
    let status = match raw.status.as_str() {
        "done" => SignalStatus::Done,
        "blocked" => SignalStatus::Blocked,
        "decision" => SignalStatus::Decision,
        _ => return None,
    };
    let list = |list: Option<Vec<String>>| -> Vec<String> {
        list.unwrap_or_default().iter().take(Signal::LIST_MAX).map(|text| cut(text)).collect()
    };
    Some(Signal {
        status,
        summary: raw.summary.as_deref().map(cut).unwrap_or_default(),
        question: raw.question.as_deref().map(cut),
        // Only what an agent may ask; gates and checkpoints are not its to raise.
        kind: raw.kind.and_then(|kind| serde_json::from_value(kind).ok()).filter(|kind| {
            matches!(
                kind,
                DecisionKind::Choice
                    | DecisionKind::Security
                    | DecisionKind::Database
                    | DecisionKind::Dependency
                    | DecisionKind::PublicApi
            )
        }),
        options: list(raw.options),
        recommendation: raw.recommendation.as_deref().map(cut),
        learned: list(raw.learned),
        proposed: raw.proposed.unwrap_or_default().into_iter().take(Signal::LIST_MAX).filter_map(proposal).collect(),
        next_ms: raw.next_minutes.as_ref().and_then(serde_json::Value::as_f64).and_then(minutes),
    })
}

/// Minutes as milliseconds; nothing where they are no time of at most a year.
fn minutes(minutes: f64) -> Option<u64> {
    let millis = (minutes * 60_000.0).round();
    (0.0..=366.0 * 24.0 * 3_600_000.0).contains(&millis).then_some(millis as u64)
}

/// A proposed item; nothing where it has no title.
fn proposal(value: serde_json::Value) -> Option<Proposal> {
    let raw: Proposal = serde_json::from_value(value).ok()?;
    let proposal = Proposal {
        title: one_line(&raw.title),
        criteria: raw.criteria.iter().take(Signal::LIST_MAX).map(|line| one_line(line)).collect(),
        // A command that hides something is no command.
        verify: raw.verify.as_deref().map(one_line).filter(|line| !line.is_empty() && printable(line) == *line),
    };
    (!proposal.title.is_empty()).then_some(proposal)
}

fn one_line(text: &str) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn cut(text: &str) -> String {
    text.trim().chars().take(Signal::TEXT_MAX).collect()
}

/// The content of the last top-level fenced block with the info string `ralph`.
pub(crate) fn last_block(said: &str) -> Option<String> {
    let (mut last, mut open, mut quotes) = (None, None::<String>, 0_u32);
    for event in Parser::new(said) {
        match event {
            Md::Start(Tag::BlockQuote(_)) => quotes += 1,
            Md::End(TagEnd::BlockQuote(_)) => quotes -= 1,
            Md::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if quotes == 0 && info.trim() == "ralph" => {
                open = Some(String::new());
            }
            Md::Text(text) => {
                if let Some(block) = &mut open {
                    block.push_str(&text);
                }
            }
            Md::End(TagEnd::CodeBlock) => {
                if let Some(block) = open.take() {
                    last = Some(block);
                }
            }
            _ => {}
        }
    }
    last
}

/// `---RALPH_STATUS--- … ---END_RALPH_STATUS---`, as frankbria's loop has it. `EXIT_SIGNAL: false` says that it is not
/// done, whatever the status.
fn from_status_block(said: &str) -> Option<Signal> {
    let start = said.rfind("---RALPH_STATUS---")?;
    let block = &said[start..];
    let block = &block[..block.find("---END_RALPH_STATUS---")?];
    let field = |name: &str| {
        block.lines().find_map(|line| line.trim().strip_prefix(name)?.trim_start().strip_prefix(':').map(str::trim))
    };
    let status = match (field("STATUS")?.to_ascii_uppercase().as_str(), field("EXIT_SIGNAL")) {
        ("BLOCKED", _) => SignalStatus::Blocked,
        ("COMPLETE", None | Some("true")) => SignalStatus::Done,
        _ => return None,
    };
    let mut signal = Signal::new(status);
    signal.summary = field("RECOMMENDATION").map(cut).unwrap_or_default();
    Some(signal)
}

/// `<promise>COMPLETE</promise>`.
fn from_promise(said: &str) -> Option<Signal> {
    let start = said.rfind("<promise>")? + "<promise>".len();
    let end = said[start..].find("</promise>")? + start;
    matches!(said[start..end].trim(), "COMPLETE" | "DONE").then(|| Signal::new(SignalStatus::Done))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn status(said: &str) -> Option<SignalStatus> {
        Signal::read(said, None).map(|signal| signal.status)
    }

    #[test]
    fn the_last_block_counts() {
        let said = "```ralph\n{\"status\":\"done\"}\n```\ntext\n```ralph\n{\"status\":\"blocked\"}\n```";
        assert_eq!(status(said), Some(SignalStatus::Blocked));
    }

    #[test]
    fn quoted_blocks_and_other_fences_do_not_count() {
        assert_eq!(status("> ```ralph\n> {\"status\":\"done\"}\n> ```"), None);
        assert_eq!(status("```json\n{\"status\":\"done\"}\n```"), None);
        assert_eq!(status("````\n```ralph\n{\"status\":\"done\"}\n```\n````"), None);
        // The control: the same content counts where it may.
        assert_eq!(status("```ralph\n{\"status\":\"done\"}\n```"), Some(SignalStatus::Done));
    }

    #[test]
    fn an_unknown_status_is_no_signal() {
        assert_eq!(status("```ralph\n{\"status\":\"nearly\"}\n```"), None);
        assert_eq!(status("```ralph\nnot json\n```"), None);
    }

    #[test]
    fn an_agent_cannot_raise_a_gate() {
        let said = "```ralph\n{\"status\":\"decision\",\"kind\":\"manual-gate\",\"question\":\"ok?\"}\n```";
        assert_eq!(Signal::read(said, None).unwrap().kind, None);
    }

    #[test]
    fn signals_of_other_loops() {
        let block =
            |status, exit| format!("---RALPH_STATUS---\nSTATUS: {status}\nEXIT_SIGNAL: {exit}\n---END_RALPH_STATUS---");
        assert_eq!(status(&block("COMPLETE", "true")), Some(SignalStatus::Done));
        assert_eq!(status(&block("COMPLETE", "false")), None);
        assert_eq!(status(&block("BLOCKED", "false")), Some(SignalStatus::Blocked));
        assert_eq!(status("<promise>COMPLETE</promise>"), Some(SignalStatus::Done));
        assert_eq!(status("I will say the promise when it is complete"), None);
    }

    #[test]
    fn structured_output_comes_first() {
        let signal = Signal::read("```ralph\n{\"status\":\"done\"}\n```", Some("{\"status\":\"blocked\"}"));
        assert_eq!(signal.unwrap().status, SignalStatus::Blocked);
    }

    #[test]
    fn a_signal_is_bounded_in_all() {
        let long = "\u{1}".repeat(Signal::TEXT_MAX);
        let item = serde_json::json!({"title": "x", "criteria": vec![&long; Signal::LIST_MAX]});
        let flood = serde_json::json!({
            "status": "blocked", "summary": &long, "question": &long, "recommendation": &long,
            "options": vec![&long; 20], "learned": vec![&long; 20], "proposed": vec![&item; 20],
        });
        let signal = Signal::read("", Some(&flood.to_string())).unwrap();
        assert_eq!((signal.status, signal.summary), (SignalStatus::Blocked, long));
        assert!(serde_json::to_string(&Signal::read("", Some(&flood.to_string()))).unwrap().len() <= Signal::MAX);
        // The control: what fits is left as it is.
        let fits = serde_json::json!({"status": "done", "learned": vec!["a"; 10], "proposed": [item]});
        let signal = Signal::read("", Some(&fits.to_string())).unwrap();
        assert_eq!((signal.learned.len(), signal.proposed.len()), (10, 0), "the item alone is too much");
    }

    proptest! {
        #[test]
        fn never_panics_and_stays_bounded(said in "\\PC{0,400}") {
            if let Some(signal) = Signal::read(&said, Some(&said)) {
                prop_assert!(signal.summary.chars().count() <= Signal::TEXT_MAX);
            }
        }
    }
}
