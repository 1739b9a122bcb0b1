//! Gemini CLI, run headless.
//!
//! # How an ending is read
//!
//! Gemini CLI prints one JSON object a line and a `result` at the end. It calls answers that were cut off at the limit
//! of output, or for safety, a success like any other: that cannot be seen. The API's errors are known by their status,
//! which is in the body that `result.error.message` quotes, and, modulo 256, the exit code. The message itself is its own
//! or the API's, never the agent's, and is looked at, by how it begins, only where there is no status.
//!
//! | what is seen | outcome |
//! | --- | --- |
//! | `result` with status `success`, exit code 0, and no `error` event since the model last said or did something | [`SessionEnd::Finished`] |
//! | `result` with status `success` otherwise (a loop was detected, a stream broke) | [`SessionEnd::Failed`]: what it left is judged all the same |
//! | `result` with another status: | |
//! | `error.type` `FatalTurnLimitedError` | [`SessionEnd::Limit`]: the limit was set by the caller |
//! | no `error` at all (the model said nothing) | [`SessionEnd::Failed`] |
//! | `[API Error: You have exhausted your daily quota` | [`Trouble::UsageWindow`]; when it is over is not said |
//! | `[API Error: models/x is not found]` | [`AgentError::Refused`] |
//! | `[API Error: exception TypeError: fetch failed` | [`Trouble::Network`] |
//! | a status 401, 403; `API_KEY_INVALID` as the reason of a 400 | [`AgentError::Auth`] |
//! | a status 402, 404 | [`AgentError::Refused`] |
//! | a status 429 | [`Trouble::RateLimit`] |
//! | a status 500 and above, 408, 409, 425; none of these | [`Trouble::Overload`] |
//! | any other status from 400 | [`SessionEnd::Failed`] |
//! | no result, exit code 41 | [`AgentError::Auth`] |
//! | no result, no event, exit code 1 to 127, a complaint on stderr | [`AgentError::Refused`] |
//! | no result, no event, exit code 144 and above | as for the status that it stands for |
//! | otherwise, whatever the exit | [`Trouble::NoResult`] |
//!
//! Tokens are those of the `result`, of this session alone. There is no cost.
//!
//! Format: as printed by Gemini CLI 0.61.0 (December 2026), recorded in `tests/transcripts/gemini/`.

use std::{path::PathBuf, time::Duration};

use ralph_core::{
    AgentBackend, AgentError, Brief, Cancel, Capabilities, Cx, SessionEnd, SessionReport, Tokens, Trouble, Usage,
    async_trait,
};
use ralph_process::StopSignal;

use crate::{
    cause::Cause,
    exit::Exit,
    json::{Object, end_of, one_line},
    outcome::{DETAIL_MAX, Outcome, no_result, refused},
    permissions::Permissions,
    session::{ProcessOptions, Start, failure, last_lines},
    setters::setters,
};

/// Its first event comes within a few seconds; servers that it starts first can take longer.
const FIRST_OUTPUT: Duration = Duration::from_secs(180);

/// Only tools, and the prompt that it repeats, are lines as long as that.
const LINE_MAX: usize = 2 << 20;

/// Variables of its own, by which a person has logged in.
const KEYS: &[&str] = &[
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_GENAI_USE_GCA",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Gemini CLI, run as `gemini -o stream-json --skip-trust` with the prompt on stdin.
///
/// It heeds no signal while it works: a session that is to end is killed after [`ProcessOptions::grace`].
/// [`Brief::resume`] is `--resume`. [`Permissions::Edits`] is `--approval-mode auto_edit`, in which it has no shell at all;
/// [`Permissions::All`] is `--yolo`. How an ending is read: see [`crate::gemini`].
///
/// ```no_run
/// use ralph_agents::{Gemini, Permissions};
/// let agent = Gemini::new().model("gemini-2.5-pro").permissions(Permissions::All);
/// ```
#[derive(Clone, Debug)]
pub struct Gemini {
    program: PathBuf,
    model: Option<String>,
    permissions: Permissions,
    args: Vec<String>,
    options: ProcessOptions,
}

impl Gemini {
    /// `gemini` on the `PATH`, with the model of the user's settings, allowed to edit.
    pub fn new() -> Self {
        Self {
            program: "gemini".into(),
            model: None,
            permissions: Permissions::default(),
            args: Vec::new(),
            options: ProcessOptions::default(),
        }
    }

    setters!(program, model, permissions, args);

    /// The same with these options. Without [`ProcessOptions::first_output`], three minutes are allowed.
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
        let mut args: Vec<String> = ["-o", "stream-json", "--skip-trust"].map(str::to_owned).into();
        let mut option = |words: &[&str]| args.extend(words.iter().map(|&word| word.to_owned()));
        match self.permissions {
            Permissions::Edits => option(&["--approval-mode", "auto_edit"]),
            Permissions::All => option(&["--yolo"]),
        }
        if let Some(model) = &self.model {
            option(&["-m", model]);
        }
        if let Some(resume) = &brief.resume {
            option(&["--resume", &resume.session_id]);
        }
        args.extend(self.args.iter().cloned());
        args
    }
}

impl Default for Gemini {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl AgentBackend for Gemini {
    fn name(&self) -> &str {
        "gemini"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with_tokens().with_resume()
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
        facts.outcome(ended.how.exit(), &ended.stderr).ended(ended.how, false, cx).into_report()
    }
}

/// What came of a session, given all that it printed and how it ended.
pub fn read(stdout: &[u8], stderr: &str, exit: Exit) -> Outcome {
    let mut facts = Facts::default();
    String::from_utf8_lossy(stdout).lines().for_each(|line| facts.line(line, &mut |_| {}));
    facts.outcome(exit, stderr)
}

/// The `result`.
#[derive(Debug)]
struct Ending {
    success: bool,
    kind: Option<String>,
    message: Option<String>,
}

/// What has been learnt so far.
#[derive(Debug, Default)]
struct Facts {
    begun: bool,
    answered: bool,
    session_id: Option<String>,
    /// The last text of the agent, whose pieces come one by one.
    text: String,
    speaking: bool,
    /// The last `error` event, until the model says or does something.
    complaint: Option<String>,
    result: Option<Ending>,
    tokens: Option<Tokens>,
}

impl Facts {
    fn line(&mut self, line: &str, live: &mut dyn FnMut(&str)) {
        let Some(event) = Object::read(line) else { return };
        match event.text("type").as_deref() {
            Some("init") => {
                self.begun = true;
                self.session_id = event.text("session_id").filter(|id| id.len() <= 100);
            }
            Some("message") if event.text("role").as_deref() == Some("assistant") => {
                self.answers();
                if !std::mem::replace(&mut self.speaking, true) {
                    self.text.clear();
                }
                let piece = event.text("content").unwrap_or_default();
                piece.lines().for_each(&mut *live);
                self.text.push_str(&piece);
                if self.text.len() > 2 * SessionReport::SAID_MAX {
                    self.text = end_of(std::mem::take(&mut self.text), SessionReport::SAID_MAX);
                }
            }
            Some("tool_use") => {
                self.answers();
                self.speaking = false;
                live(&format!("[{}]", event.text("tool_name").unwrap_or_default()));
            }
            Some("error") => self.complaint = Some(event.text("message").unwrap_or_default()),
            Some("result") => self.ends(&event),
            _ => {}
        }
    }

    fn answers(&mut self) {
        (self.answered, self.complaint) = (true, None);
    }

    fn ends(&mut self, event: &Object<'_>) {
        let error = event.object("error");
        let field = |key| error.as_ref().and_then(|error| error.text(key));
        let success = event.text("status").as_deref() == Some("success");
        self.result = Some(Ending { success, kind: field("type"), message: field("message") });
        let Some(stats) = event.object("stats") else { return };
        let count = |key| stats.get::<u64>(key).unwrap_or(0);
        let tokens = Tokens {
            input: count("input"),
            // What it thought is in the total only.
            output: count("total_tokens").saturating_sub(count("input_tokens")).max(count("output_tokens")),
            cache_read: count("cached"),
            cache_write: 0,
        };
        self.tokens = (tokens != Tokens::default()).then_some(tokens);
    }

    fn outcome(self, exit: Exit, stderr: &str) -> Outcome {
        let login = "run `gemini` once and log in, or set GEMINI_API_KEY where ralph runs";
        let detail = |text: &str| one_line(text, DETAIL_MAX);
        let complaint = failure(exit, stderr);
        let status = of_exit(exit);
        let end = match (&self.result, self.complaint) {
            (Some(Ending { success: true, .. }), None) if exit.success() => Ok(SessionEnd::Finished),
            (Some(Ending { success: true, .. }), Some(words)) => Ok(SessionEnd::Failed(detail(&words))),
            (Some(Ending { success: true, .. }), None) => {
                Ok(SessionEnd::Failed(format!("{exit} after a result that says success")))
            }
            (Some(Ending { kind: Some(kind), message, .. }), _) if kind == "FatalTurnLimitedError" => {
                Ok(SessionEnd::Limit(detail(message.as_deref().unwrap_or_default())))
            }
            (Some(Ending { message: Some(message), .. }), _) => cause(message, status).end(detail(message), login),
            (Some(_), words) => Ok(SessionEnd::Failed(detail(&words.unwrap_or_else(|| "no reason given".into())))),
            (None, _) if exit == Exit::Code(41) => Cause::Login.end(complaint, login),
            (None, _) if self.begun => Ok(no_result(exit, &detail(last_lines(stderr)))),
            (None, _) => match (exit, status) {
                (Exit::Code(1..128), _) if !stderr.trim().is_empty() => {
                    Err(refused(complaint, "check the settings of the agent"))
                }
                (_, Some(status)) => Cause::of_status(status).end(complaint, login),
                _ => Ok(no_result(exit, &detail(last_lines(stderr)))),
            },
        };
        let mut usage = Usage::unknown();
        usage.tokens = self.tokens;
        Outcome {
            end,
            usage,
            said: end_of(self.text, SessionReport::SAID_MAX),
            structured: None,
            session_id: self.session_id,
            compactions: 0,
            denied: 0,
            answered: self.answered,
        }
    }
}

/// The status of the API's answer that an exit code stands for.
fn of_exit(exit: Exit) -> Option<u16> {
    match exit {
        Exit::Code(code @ 144..256) => u16::try_from(code + 256).ok(),
        _ => None,
    }
}

/// The cause of an error of the API, by its message and the status that the exit code stands for.
fn cause(message: &str, status: Option<u16>) -> Cause {
    let text = message.strip_prefix("[API Error: ").unwrap_or(message);
    let body = text.rsplit_once(']').and_then(|(body, _)| Object::read(body));
    if let Some(error) = body.and_then(|body| body.object("error")) {
        let invalid = |detail: &Object<'_>| detail.text("reason").as_deref() == Some("API_KEY_INVALID");
        if error.objects("details").iter().any(invalid) {
            return Cause::Login;
        }
        if let Some(status) = error.get("code") {
            return Cause::of_status(status);
        }
    }
    match status {
        _ if text.starts_with("You have exhausted your daily quota") => Cause::Trouble(Trouble::UsageWindow),
        Some(status) => Cause::of_status(status),
        None if text.starts_with("models/") && text.contains(" is not found") => Cause::MODEL,
        None if text.starts_with("exception TypeError: fetch failed") => Cause::Trouble(Trouble::Network),
        None => Cause::Unknown,
    }
}
