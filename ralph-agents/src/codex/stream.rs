//! Reads what `codex exec --json` prints.

use ralph_core::{SessionReport, Tokens};

use crate::{
    codex::{failure::Failure, outcome::outcome, reset::Reset},
    exit::Exit,
    json::{Object, end_of},
    lines::Lines,
    outcome::Outcome,
};

/// Kinds of items: what the model said, thought and did, and warnings of Codex' own (`error`).
const ITEMS: &[&str] = &[
    "agent_message",
    "collab_tool_call",
    "command_execution",
    "error",
    "file_change",
    "mcp_tool_call",
    "reasoning",
    "todo_list",
    "web_search",
];

/// A transcript as it comes in: events of Codex, one JSON object a line.
///
/// Pure and incremental: it is pushed bytes, cut anywhere, and asked for the [`Outcome`] once the program has ended.
/// Tolerant: an event of an unknown kind, a field of an unexpected type, a line that is no JSON or no UTF-8 is passed
/// over, and so is a line of more than [`Transcript::LINE_MAX`] bytes; what follows is read as ever. Memory is
/// bounded by that line.
///
/// ```
/// use ralph_agents::{Exit, codex::Transcript};
/// use ralph_core::SessionEnd;
///
/// let mut transcript = Transcript::new();
/// transcript.push(br#"{"type":"item.completed","item":{"type":"agent_message","text":"Added it."}}"#);
/// transcript.push(b"\n");
/// transcript.push(br#"{"type":"turn.completed","usage":{"input_tokens":500,"cached_input_tokens":"#);
/// transcript.push(br#"400,"output_tokens":20}}"#);
/// let outcome = transcript.outcome(Exit::Code(0), "");
/// assert_eq!(outcome.end.unwrap(), SessionEnd::Finished);
/// assert_eq!(outcome.said, "Added it.");
/// assert_eq!(outcome.usage.tokens.unwrap().input, 100);
/// ```
#[derive(Debug)]
pub struct Transcript {
    lines: Lines,
    facts: Facts,
}

/// How far the last turn has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Turn {
    #[default]
    NotBegun,
    Begun,
    Completed,
    Failed,
}

/// What has been learnt so far.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) session_id: Option<String>,
    pub(crate) turn: Turn,
    /// The first refusal of the login, until the model answers. Codex asks again before it believes it.
    pub(crate) login_refused: Option<Failure>,
    /// The last failure, until the model answers.
    pub(crate) trouble: Option<Failure>,
    /// Whether the model has answered at all.
    pub(crate) answered: bool,
    pub(crate) denied: u32,
    /// The last message of the agent.
    pub(crate) text: String,
    pub(crate) tokens: Option<Tokens>,
    unknown: Vec<String>,
}

impl Transcript {
    /// How long a line may be, in bytes; a longer one is skipped. Only the output of a command is that long, which is
    /// of no interest here.
    pub const LINE_MAX: usize = 2 << 20;

    /// An empty one.
    pub fn new() -> Self {
        Self { lines: Lines::new(Self::LINE_MAX), facts: Facts::default() }
    }

    /// Takes in what was printed, cut anywhere.
    pub fn push(&mut self, bytes: &[u8]) {
        let Self { lines, facts } = self;
        lines.push(bytes, |line| facts.line(line, &mut |_| {}));
    }

    /// Takes in one whole line, without its end, and tells `live` what a person who watches would like to see of it.
    pub(crate) fn line(&mut self, line: &[u8], live: &mut dyn FnMut(&str)) {
        self.facts.line(line, live);
    }

    /// Whether the provider refuses the login. Codex asks again all the same: end it.
    pub fn login_refused(&self) -> bool {
        self.facts.login_refused.is_some()
    }

    /// Whether the last word is that the provider cannot be used for now.
    pub(crate) fn in_trouble(&self) -> bool {
        self.facts.trouble.is_some()
    }

    /// Whether the last word is that it tries to reach its provider again.
    pub fn reconnecting(&self) -> bool {
        self.facts.trouble.as_ref().is_some_and(|failure| failure.retried)
    }

    /// When the usage limit that was hit is over, where Codex says so.
    pub(crate) fn reset(&self) -> Option<Reset> {
        self.facts.trouble.as_ref()?.reset
    }

    /// The kinds of events and items that are not known here, at most a handful.
    pub fn unknown(&self) -> &[String] {
        &self.facts.unknown
    }

    /// How many lines were skipped because they were too long.
    pub fn skipped(&self) -> u64 {
        self.lines.skipped()
    }

    /// What came of the session, given how the program ended and what it printed on stderr.
    pub fn outcome(mut self, exit: Exit, stderr: &str) -> Outcome {
        let Self { lines, facts } = &mut self;
        lines.finish(|line| facts.line(line, &mut |_| {}));
        outcome(self.facts, exit, stderr)
    }
}

impl Default for Transcript {
    fn default() -> Self {
        Self::new()
    }
}

impl Facts {
    fn line(&mut self, line: &[u8], live: &mut dyn FnMut(&str)) {
        let line = String::from_utf8_lossy(line);
        let Some(event) = Object::read(&line) else { return };
        let Some(kind) = event.text("type") else { return };
        match kind.as_str() {
            "thread.started" => self.session_id = event.text("thread_id").filter(|id| id.len() <= 100),
            "turn.started" => self.turn = Turn::Begun,
            "turn.completed" => self.completed(&event),
            "turn.failed" => {
                self.turn = Turn::Failed;
                if let Some(message) = event.object("error").and_then(|error| error.text("message")) {
                    self.fails(&message);
                }
            }
            "error" => self.fails(&event.text("message").unwrap_or_default()),
            "item.started" => self.item(&event, true, live),
            "item.completed" => self.item(&event, false, live),
            "item.updated" => {}
            kind => self.note(kind),
        }
    }

    fn note(&mut self, kind: &str) {
        if self.unknown.len() < 16 {
            self.unknown.push(kind.chars().take(60).collect());
        }
    }

    fn fails(&mut self, message: &str) {
        let failure = Failure::of(message);
        if failure.is_login() && self.login_refused.is_none() {
            self.login_refused = Some(failure.clone());
        }
        self.trouble = Some(failure);
    }

    /// The model answers, so whatever the trouble was, it is over.
    fn answers(&mut self) {
        self.answered = true;
        (self.login_refused, self.trouble) = (None, None);
    }

    /// What the model said or does. Its words, and the output of its commands, are never looked at for anything but
    /// the final text; an item `error` is a warning of Codex' own, of which there are some in good sessions too.
    fn item(&mut self, event: &Object<'_>, started: bool, live: &mut dyn FnMut(&str)) {
        let Some(item) = event.object("item") else { return };
        let Some(kind) = item.text("type") else { return };
        if !ITEMS.contains(&kind.as_str()) {
            self.note(&format!("item {kind}"));
        }
        match (kind.as_str(), started) {
            ("error", _) => {}
            (kind, true) => {
                self.answers();
                live(&format!("[{kind}]"));
            }
            ("agent_message", false) => {
                self.answers();
                let text = item.text("text").unwrap_or_default();
                text.lines().for_each(&mut *live);
                self.text = end_of(text, SessionReport::SAID_MAX);
            }
            ("reasoning", false) => self.answers(),
            // The end of what the model started earlier says nothing about the provider of now.
            (_, false) if item.text("status").as_deref() == Some("declined") => {
                self.denied = self.denied.saturating_add(1);
            }
            (_, false) => {}
        }
    }

    /// The end of the turn. Its usage is the thread's, earlier sessions included; all zero, there was none to report.
    fn completed(&mut self, event: &Object<'_>) {
        self.answers();
        self.turn = Turn::Completed;
        let Some(usage) = event.object("usage") else { return };
        let count = |key| usage.get::<u64>(key).unwrap_or(0);
        let (cache_read, cache_write) = (count("cached_input_tokens"), count("cache_write_input_tokens"));
        let tokens = Tokens {
            input: count("input_tokens").saturating_sub(cache_read).saturating_sub(cache_write),
            output: count("output_tokens"),
            cache_read,
            cache_write,
        };
        self.tokens = (tokens != Tokens::default()).then_some(tokens);
    }
}
