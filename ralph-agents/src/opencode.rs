//! opencode, run headless.
//!
//! # How an ending is read
//!
//! opencode prints one JSON object a line and no last word: what it comes to is said by the last step and the exit.
//! Texts decide nothing.
//!
//! | what is seen | outcome |
//! | --- | --- |
//! | an `error` as the last event: by its `data.statusCode` | |
//! | 401, 403 | [`AgentError::Auth`] |
//! | 402, 404 | [`AgentError::Refused`] |
//! | 429 | [`Trouble::RateLimit`] |
//! | 500 and above, 408, 409, 425; none (an unknown model, too) | [`Trouble::Overload`] |
//! | any other status from 400 | [`SessionEnd::Failed`] |
//! | `step_finish` with reason `stop` as the last event, exit code 0 | [`SessionEnd::Finished`] |
//! | the same with another reason (`length`; `tool-calls` where a tool was rejected) or another exit code | [`SessionEnd::Failed`] |
//! | no event, exit code other than 0, a complaint on stderr | [`AgentError::Refused`] |
//! | [`ProcessOptions::first_output`] has passed: it tries for ever, and in silence, to reach a provider that fails | [`Trouble::Network`] |
//! | otherwise, whatever the exit (signals, output lost) | [`Trouble::NoResult`] |
//!
//! Tokens and cost are the sum of the steps that ended. The cost is what opencode makes of the prices that it knows: none at all for
//! tokens that were used means that it knows none. The steps of subagents (tool `task`) are not shown, so with them
//! what was used is unknown.
//!
//! Format: as printed by opencode 1.18.33 (December 2026), recorded in `tests/transcripts/opencode/`.

use std::{path::PathBuf, time::Duration};

use ralph_core::{
    AgentBackend, AgentError, Brief, Cancel, Capabilities, Cx, SessionEnd, SessionReport, Tokens, Trouble, Usage, Usd,
    async_trait,
};
use ralph_process::StopSignal;

use crate::{
    cause::Cause,
    exit::Exit,
    json::{Object, end_of, one_line},
    outcome::{DETAIL_MAX, Outcome, no_result, refused, unavailable},
    permissions::Permissions,
    session::{How, ProcessOptions, Start},
    setters::setters,
};

/// Its first event comes within ten seconds or so, when the model has answered.
const FIRST_OUTPUT: Duration = Duration::from_secs(300);

/// Only tools print lines as long as that.
const LINE_MAX: usize = 2 << 20;

/// Where its settings are. The keys of its many providers are in its own login, or to be named by the user.
const KEYS: &[&str] = &[
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "OPENCODE_CONFIG",
    "OPENCODE_CONFIG_CONTENT",
    "OPENCODE_CONFIG_DIR",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// opencode, run as `opencode run --format json` with the prompt on stdin.
///
/// It dies at once of any signal, and what it started is ended with it by Ralph. [`Brief::resume`] is `--session`.
/// [`Permissions::Edits`] is what the user's settings of opencode allow, and a session ends at the first tool that they
/// would ask about; [`Permissions::All`] is `--auto`. A provider with a key in a variable needs that variable in
/// [`ProcessOptions::env`]. How an ending is read: see [`crate::opencode`].
///
/// ```no_run
/// use ralph_agents::{OpenCode, Permissions};
/// let agent = OpenCode::new().model("anthropic/claude-sonnet-5").permissions(Permissions::All);
/// ```
#[derive(Clone, Debug)]
pub struct OpenCode {
    program: PathBuf,
    model: Option<String>,
    permissions: Permissions,
    args: Vec<String>,
    options: ProcessOptions,
}

impl OpenCode {
    /// `opencode` on the `PATH`, with the model of the user's settings.
    pub fn new() -> Self {
        Self {
            program: "opencode".into(),
            model: None,
            permissions: Permissions::default(),
            args: Vec::new(),
            options: ProcessOptions::default(),
        }
    }

    setters!(program, model, permissions, args);

    /// The same with these options. Without [`ProcessOptions::first_output`], five minutes are allowed.
    #[must_use]
    pub fn options(mut self, options: ProcessOptions) -> Self {
        self.options = options;
        self
    }

    /// The variables of our own environment that its sessions see beyond the basics, by name: for telling them to a person.
    pub fn variables(&self) -> Vec<String> {
        self.options.visible(KEYS)
    }

    fn arguments(&self, brief: &Brief) -> Vec<String> {
        let mut args: Vec<String> = ["run", "--format", "json"].map(str::to_owned).into();
        let mut option = |words: &[&str]| args.extend(words.iter().map(|&word| word.to_owned()));
        match self.permissions {
            Permissions::Edits => {}
            Permissions::All => option(&["--auto"]),
        }
        if let Some(model) = &self.model {
            option(&["--model", model]);
        }
        if let Some(resume) = &brief.resume {
            option(&["--session", &resume.session_id]);
        }
        args.extend(self.args.iter().cloned());
        args
    }
}

impl Default for OpenCode {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl AgentBackend for OpenCode {
    fn name(&self) -> &str {
        "opencode"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with_cost().with_tokens().with_resume()
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        let start = Start {
            program: &self.program,
            args: self.arguments(brief),
            keys: KEYS,
            set: &[],
            stop_signal: StopSignal::Terminate,
            line_bytes: LINE_MAX,
        };
        let mut options = self.options.clone();
        options.first_output = options.first_output.or(Some(FIRST_OUTPUT));
        let mut facts = Facts::default();
        let on_line = |line: &str| facts.line(line, &mut |words| cx.live(words));
        let ended = start.run(&options, brief, cx, &Cancel::new(), on_line).await?;
        let mut outcome = facts.outcome(ended.how.exit(), &ended.stderr);
        if let (How::Limit(which), true) = (&ended.how, ended.silent) {
            outcome.end = Ok(unavailable(Trouble::Network, format!("{which}, as of a provider that fails"), None));
        }
        outcome.ended(ended.how, ended.silent, cx).into_report()
    }
}

/// What came of a session, given all that it printed and how it ended.
pub fn read(stdout: &[u8], stderr: &str, exit: Exit) -> Outcome {
    let mut facts = Facts::default();
    String::from_utf8_lossy(stdout).lines().for_each(|line| facts.line(line, &mut |_| {}));
    facts.outcome(exit, stderr)
}

/// The last event that counts.
#[derive(Debug, Default)]
enum Last {
    #[default]
    Nothing,
    Step,
    Finish(String),
    Error(Cause, String),
}

/// What has been learnt so far.
#[derive(Debug, Default)]
struct Facts {
    last: Last,
    answered: bool,
    session_id: Option<String>,
    text: String,
    /// Cost and tokens of the steps so far.
    used: Option<(f64, Tokens)>,
    subagents: bool,
}

impl Facts {
    fn line(&mut self, line: &str, live: &mut dyn FnMut(&str)) {
        let Some(event) = Object::read(line) else { return };
        let (Some(kind), part) = (event.text("type"), event.object("part")) else { return };
        if self.session_id.is_none() {
            self.session_id = event.text("sessionID").filter(|id| id.len() <= 100);
        }
        let part_text = |key| part.as_ref().and_then(|part| part.text(key)).unwrap_or_default();
        match kind.as_str() {
            "step_start" => self.last = Last::Step,
            "text" => {
                let text = part_text("text");
                text.lines().for_each(&mut *live);
                (self.answered, self.text) = (true, end_of(text, SessionReport::SAID_MAX));
            }
            "tool_use" => {
                let tool = part_text("tool");
                live(&format!("[{tool}]"));
                self.answered = true;
                self.subagents |= tool == "task";
            }
            "step_finish" => {
                self.answered = true;
                self.last = Last::Finish(part_text("reason"));
                if let Some(part) = &part {
                    self.add(part);
                }
            }
            "error" => {
                let error = event.object("error");
                let data = error.as_ref().and_then(|error| error.object("data"));
                let status = data.as_ref().and_then(|data| data.get("statusCode"));
                let detail = data.and_then(|data| data.text("message")).unwrap_or_default();
                let cause = status.map_or(Cause::Unknown, Cause::of_status);
                self.last = Last::Error(cause, one_line(&detail, DETAIL_MAX));
            }
            _ => {}
        }
    }

    fn add(&mut self, step: &Object<'_>) {
        let tokens = step.object("tokens");
        let cache = tokens.as_ref().and_then(|tokens| tokens.object("cache"));
        let count = |of: &Option<Object<'_>>, key| of.as_ref().and_then(|of| of.get::<u64>(key)).unwrap_or(0);
        let (cost, sum) = self.used.get_or_insert_default();
        *cost += step.get::<f64>("cost").unwrap_or(0.0);
        sum.input = sum.input.saturating_add(count(&tokens, "input"));
        let output = count(&tokens, "output").saturating_add(count(&tokens, "reasoning"));
        sum.output = sum.output.saturating_add(output);
        sum.cache_read = sum.cache_read.saturating_add(count(&cache, "read"));
        sum.cache_write = sum.cache_write.saturating_add(count(&cache, "write"));
    }

    fn outcome(self, exit: Exit, stderr: &str) -> Outcome {
        let complaint = one_line(stderr, DETAIL_MAX);
        let end = match self.last {
            Last::Error(cause, detail) => cause.end(detail, "run `opencode auth login`, or set the provider's key"),
            Last::Finish(reason) if reason == "stop" && exit.success() => Ok(SessionEnd::Finished),
            Last::Finish(reason) => Ok(SessionEnd::Failed(format!(
                "{exit} after a step with the reason `{}`",
                one_line(&reason, DETAIL_MAX)
            ))),
            Last::Nothing if matches!(exit, Exit::Code(1..)) && !complaint.is_empty() => {
                Err(refused(complaint, "check the settings of the agent"))
            }
            Last::Nothing | Last::Step => Ok(no_result(exit, &complaint)),
        };
        let mut usage = Usage::unknown();
        if let (Some((cost, tokens)), false) = (self.used, self.subagents) {
            usage.cost = Usd::from_f64(cost).filter(|cost| *cost > Usd::ZERO);
            usage.tokens = (tokens != Tokens::default()).then_some(tokens);
        }
        Outcome {
            end,
            usage,
            said: self.text,
            structured: None,
            session_id: self.session_id,
            compactions: 0,
            denied: 0,
            answered: self.answered,
        }
    }
}
