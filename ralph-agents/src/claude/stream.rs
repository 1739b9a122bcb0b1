//! Reads what `claude -p --output-format stream-json` prints.

use ralph_core::{SessionReport, Tokens, Usage, Usd};

use crate::{
    claude::outcome::{ApiError, Ending, Window, outcome},
    exit::Exit,
    json::{Object, end_of},
    lines::Lines,
    outcome::Outcome,
};

/// A transcript as it comes in: events of Claude Code, one JSON object a line.
///
/// Pure and incremental: it is pushed bytes, cut anywhere, and asked for the [`Outcome`] once the program has ended.
/// Tolerant: an event of an unknown kind, a field of an unexpected type, a line that is no JSON or no UTF-8 is passed
/// over, and so is a line of more than [`Transcript::LINE_MAX`] bytes; what follows is read as ever. Memory is
/// bounded by that line.
///
/// ```
/// use ralph_agents::{Exit, claude::Transcript};
/// use ralph_core::SessionEnd;
///
/// let mut transcript = Transcript::new();
/// transcript.push(br#"{"type":"result","subtype":"success","is_error":false,"result":"Added it.","#);
/// transcript.push(br#""total_cost_usd":0.0024}"#);
/// let outcome = transcript.outcome(Exit::Code(0), "");
/// assert_eq!(outcome.end.unwrap(), SessionEnd::Finished);
/// assert_eq!(outcome.said, "Added it.");
/// assert_eq!(outcome.usage.cost.unwrap().to_string(), "$0.0024");
/// ```
#[derive(Debug)]
pub struct Transcript {
    lines: Lines,
    facts: Facts,
}

/// What has been learnt so far.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Lines with anything on them.
    pub(crate) lines: u64,
    /// Lines that are no event.
    pub(crate) noise: u64,
    pub(crate) session_id: Option<String>,
    pub(crate) compactions: u32,
    pub(crate) denied: u32,
    /// The first refusal of the login. Claude Code asks again for minutes before it believes it.
    pub(crate) login_refused: Option<ApiError>,
    /// The last failure that Claude Code is about to retry, until the model answers again.
    pub(crate) retrying: Option<ApiError>,
    /// The last failure that it gave up on, until the model answers again.
    pub(crate) failed: Option<ApiError>,
    /// The usage window, while it is used up.
    pub(crate) window: Option<Window>,
    /// The last text of the main agent.
    pub(crate) text: String,
    /// The last result; every turn has one.
    pub(crate) result: Option<Ending>,
    cost: Option<Usd>,
    tokens: Option<Tokens>,
    unknown: Vec<String>,
}

impl Transcript {
    /// How long a line may be, in bytes. The longest seen is half a MiB; a longer one is skipped.
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

    /// Whether the provider refuses the login. Claude Code tries for minutes all the same: end it.
    pub fn login_refused(&self) -> bool {
        self.facts.login_refused.is_some()
    }

    /// Whether the last word is that the provider cannot be used for now.
    pub(crate) fn in_trouble(&self) -> bool {
        let facts = &self.facts;
        facts.window.is_some() || facts.retrying.is_some() || facts.failed.is_some()
    }

    /// The kinds of events that are not known here, at most a handful.
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
        let facts = self.facts;
        let mut usage = Usage::unknown();
        usage.cost = facts.cost;
        usage.tokens = facts.tokens;
        outcome(facts, usage, exit, stderr)
    }
}

impl Default for Transcript {
    fn default() -> Self {
        Self::new()
    }
}

impl Facts {
    fn line(&mut self, line: &[u8], live: &mut dyn FnMut(&str)) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        self.lines += 1;
        let line = String::from_utf8_lossy(line);
        let Some(event) = Object::read(&line) else {
            self.noise += 1;
            return;
        };
        let Some(kind) = event.text("type") else {
            self.noise += 1;
            return;
        };
        if self.session_id.is_none() {
            self.session_id = event.text("session_id").filter(|id| id.len() <= 100);
        }
        match kind.as_str() {
            "system" => self.system(&event),
            "assistant" => self.assistant(&event, live),
            "rate_limit_event" => self.rate_limit(&event),
            "result" => self.result(&event),
            "user" | "stream_event" | "control_response" => {}
            _ if self.unknown.len() < 16 => self.unknown.push(kind.chars().take(60).collect()),
            _ => {}
        }
    }

    fn system(&mut self, event: &Object<'_>) {
        match event.text("subtype").as_deref() {
            Some("compact_boundary") => self.compactions = self.compactions.saturating_add(1),
            Some("permission_denied") => self.denied = self.denied.saturating_add(1),
            Some("api_retry") => {
                let error =
                    ApiError { kind: event.text("error"), status: event.get("error_status"), ..ApiError::default() };
                if matches!(error.status, Some(401 | 403)) && self.login_refused.is_none() {
                    self.login_refused = Some(error.clone());
                }
                self.retrying = Some(error);
            }
            _ => {}
        }
    }

    /// One content block of a reply, or, marked as such, an error that Claude Code speaks in the model's place. What
    /// the model wrote is in `message` and is never looked at for anything but the final text.
    fn assistant(&mut self, event: &Object<'_>, live: &mut dyn FnMut(&str)) {
        // What a subagent says, or fails with, is its parent's to deal with.
        if event.raw("parent_tool_use_id").is_some() {
            return;
        }
        let message = event.object("message");
        let blocks = message.as_ref().map(|message| message.objects("content")).unwrap_or_default();
        let text =
            |block: &Object<'_>| block.text("type").filter(|kind| kind == "text").and_then(|_| block.text("text"));
        if event.get("is_api_error_message") == Some(true) {
            let limit = event.object("api_error_params").and_then(|p| p.object("rate_limit_info"));
            if let Some(window) = limit.as_ref().and_then(Window::used_up) {
                self.window = Some(window);
            }
            self.failed = Some(ApiError::of(event, blocks.iter().find_map(text)));
            return;
        }
        // The model answers, so whatever the trouble was, it is over.
        (self.retrying, self.failed) = (None, None);
        (self.login_refused, self.window) = (None, None);
        for block in &blocks {
            if let Some(text) = text(block) {
                text.lines().for_each(&mut *live);
                self.text = end_of(text, SessionReport::SAID_MAX);
            } else if let Some(name) = block.text("name") {
                live(&format!("[{name}]"));
            }
        }
    }

    fn rate_limit(&mut self, event: &Object<'_>) {
        let Some(info) = event.object("rate_limit_info") else { return };
        self.window = Window::used_up(&info);
    }

    /// The end of a turn. There can be several; cost and `modelUsage` are totals, `usage` is of the turn alone.
    fn result(&mut self, event: &Object<'_>) {
        if let Some(cost) = event.get("total_cost_usd").and_then(Usd::from_f64) {
            self.cost = Some(cost);
        }
        let denied = event.objects("permission_denials").len();
        self.denied = self.denied.max(u32::try_from(denied).unwrap_or(u32::MAX));
        let models = event.object("modelUsage");
        let by_model = models.iter().flat_map(Object::values).map(|usage| {
            let count = |key| usage.get(key).unwrap_or(0);
            Tokens {
                input: count("inputTokens"),
                output: count("outputTokens"),
                cache_read: count("cacheReadInputTokens"),
                cache_write: count("cacheCreationInputTokens"),
            }
        });
        if let Some(total) = by_model.reduce(add) {
            self.tokens = Some(total);
        } else if let Some(usage) = event.object("usage") {
            let count = |key| usage.get(key).unwrap_or(0);
            let turn = Tokens {
                input: count("input_tokens"),
                output: count("output_tokens"),
                cache_read: count("cache_read_input_tokens"),
                cache_write: count("cache_creation_input_tokens"),
            };
            self.tokens = Some(add(self.tokens.unwrap_or_default(), turn));
        }
        self.result = Some(Ending::of(event, self.failed.take()));
    }
}

fn add(a: Tokens, b: Tokens) -> Tokens {
    Tokens {
        input: a.input.saturating_add(b.input),
        output: a.output.saturating_add(b.output),
        cache_read: a.cache_read.saturating_add(b.cache_read),
        cache_write: a.cache_write.saturating_add(b.cache_write),
    }
}
