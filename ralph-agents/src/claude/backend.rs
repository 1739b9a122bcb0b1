//! Runs the program.

use std::{path::PathBuf, time::Duration};

use ralph_core::{AgentBackend, AgentError, Brief, Cancel, Capabilities, Cx, SessionReport, async_trait};
use ralph_process::StopSignal;

use crate::{
    claude::stream::Transcript,
    permissions::{Permissions, is_root},
    session::{ProcessOptions, Start, is_on},
    setters::setters,
};

/// Its first event comes within a second; servers that it starts first can take longer.
const FIRST_OUTPUT: Duration = Duration::from_secs(180);

/// Variables of its own, by which a person has logged in or chosen a provider. Those of a cloud are let through only
/// where that cloud is chosen.
const KEYS: &[&str] = &[
    "ANTHROPIC_*",
    "API_TIMEOUT_MS",
    "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
    "CLAUDE_CODE_CLIENT_CERT",
    "CLAUDE_CODE_CLIENT_KEY",
    "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_MAX_RETRIES",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
    "CLAUDE_CODE_SKIP_FOUNDRY_AUTH",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CONFIG_DIR",
    "DISABLE_TELEMETRY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "IS_SANDBOX",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];
const AMAZON: &[&str] = &["AWS_*"];
const GOOGLE: &[&str] =
    &["CLOUD_ML_REGION", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "VERTEX_REGION_*"];
const AZURE: &[&str] = &["AZURE_*"];

/// Set for every session. What one session remembers would stand before all later ones in the same folder, past every
/// verifier; with background tasks it would wait, after its answer, for whatever it left running, and say its last word
/// twice; an update in the middle of the night changes the agent under a run.
const SET: &[(&str, &str)] = &[
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
];

/// Claude Code, run as `claude -p --output-format stream-json --verbose` with the prompt on stdin.
///
/// The first signal that asks it to end is SIGINT, after which it still reports what it used. A refused login ends the
/// session at the first sign, instead of after minutes of retries. [`Brief::cost_limit`] goes to `--max-budget-usd`,
/// which Claude Code checks after each reply, [`Brief::resume`] to `--resume`. [`Permissions::Edits`] is
/// `--permission-mode acceptEdits`, [`Permissions::All`] is `--dangerously-skip-permissions`. How an ending is read: see [`crate::claude`].
///
/// The session has no id of ours: its own is in its first event, and an id can be used only once.
///
/// ```no_run
/// use ralph_agents::{ClaudeCode, Permissions};
/// use ralph_core::{AgentBackend, AttemptId, Brief, Cx, ItemRef, RunId};
///
/// # async fn example() -> Result<(), ralph_core::AgentError> {
/// let agent = ClaudeCode::new().model("sonnet").permissions(Permissions::Edits);
/// let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
/// let brief = Brief::new("/a/workspace", "Add a greeting.", RunId::new("run"), attempt);
/// let report = agent.run(&brief, &Cx::new()).await?;
/// println!("{:?}, {:?}", report.end, report.usage.cost);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ClaudeCode {
    program: PathBuf,
    model: Option<String>,
    permissions: Permissions,
    allowed_tools: Vec<String>,
    args: Vec<String>,
    options: ProcessOptions,
}

impl ClaudeCode {
    /// `claude` on the `PATH`, with the model of the user's settings, allowed to edit.
    pub fn new() -> Self {
        Self {
            program: "claude".into(),
            model: None,
            permissions: Permissions::default(),
            allowed_tools: Vec::new(),
            args: Vec::new(),
            options: ProcessOptions::default(),
        }
    }

    setters!(program, model, permissions, args);

    /// The same with tools that need no permission, in Claude Code's words: `Bash(cargo test *)`.
    #[must_use]
    pub fn allowed_tools(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed_tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// The same with these options. Without [`ProcessOptions::first_output`], three minutes are allowed.
    #[must_use]
    pub fn options(mut self, options: ProcessOptions) -> Self {
        self.options = options;
        self
    }

    /// The variables of our own environment that its sessions see beyond the basics, by name: for telling them to a person.
    pub fn variables(&self) -> Vec<String> {
        self.options.visible(&self.keys())
    }

    fn arguments(&self, brief: &Brief) -> Vec<String> {
        let mut args: Vec<String> = ["-p", "--output-format", "stream-json", "--verbose"].map(str::to_owned).into();
        let mut option = |words: &[&str]| args.extend(words.iter().map(|&word| word.to_owned()));
        match self.permissions {
            Permissions::Edits => option(&["--permission-mode", "acceptEdits"]),
            Permissions::All => option(&["--dangerously-skip-permissions"]),
        }
        if let Some(model) = &self.model {
            option(&["--model", model]);
        }
        if let Some(limit) = brief.cost_limit {
            let (dollars, micros) = (limit.micros() / 1_000_000, limit.micros() % 1_000_000);
            option(&["--max-budget-usd", &format!("{dollars}.{micros:06}")]);
        }
        if let Some(resume) = &brief.resume {
            option(&["--resume", &resume.session_id]);
        }
        if let Some(schema) = &brief.schema {
            option(&["--json-schema", schema]);
        }
        // A list has no end but the next option; the prompt comes by stdin, so that none can be taken for a tool.
        if !self.allowed_tools.is_empty() {
            option(&["--allowedTools"]);
            args.extend(self.allowed_tools.iter().cloned());
        }
        args.extend(self.args.iter().cloned());
        args
    }

    fn keys(&self) -> Vec<&'static str> {
        let clouds = [
            ("CLAUDE_CODE_USE_BEDROCK", AMAZON),
            ("CLAUDE_CODE_USE_VERTEX", GOOGLE),
            ("CLAUDE_CODE_USE_FOUNDRY", AZURE),
        ];
        let chosen = clouds.into_iter().filter(|(name, _)| is_on(&self.options, name));
        KEYS.iter().chain(chosen.flat_map(|(_, keys)| keys)).copied().collect()
    }
}

impl Default for ClaudeCode {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl AgentBackend for ClaudeCode {
    fn name(&self) -> &str {
        "claude"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with_cost().with_tokens().with_resume().with_cost_limit().with_structured()
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        may_run(self.permissions, is_root(), is_on(&self.options, "IS_SANDBOX"))?;
        let keys = self.keys();
        let start = Start {
            program: &self.program,
            args: self.arguments(brief),
            keys: &keys,
            set: SET,
            stop_signal: StopSignal::Interrupt,
            line_bytes: Transcript::LINE_MAX,
        };
        let mut options = self.options.clone();
        options.first_output = options.first_output.or(Some(FIRST_OUTPUT));
        let (mut transcript, refused) = (Transcript::new(), Cancel::new());
        let on_line = |line: &str| {
            transcript.line(line.as_bytes(), &mut |words| cx.live(words));
            if transcript.login_refused() {
                refused.cancel();
            }
        };
        let ended = start.run(&options, brief, cx, &refused, on_line).await?;
        let in_trouble = transcript.in_trouble();
        let outcome = transcript.outcome(ended.how.exit(), &ended.stderr);
        let mut outcome = outcome.ended(ended.how, in_trouble, cx);
        if let Some(resume) = &brief.resume {
            outcome.usage = outcome.usage.since(resume.before);
        }
        outcome.into_report()
    }
}

/// Claude Code itself refuses this as root, on stderr and after its start; said before, it comes with advice.
fn may_run(permissions: Permissions, root: bool, sandboxed: bool) -> Result<(), AgentError> {
    if permissions == Permissions::All && root && !sandboxed {
        return Err(AgentError::Refused {
            detail: "Claude Code does not skip permissions as root".into(),
            advice: "run ralph as another user, take permissions = \"edits\", or set IS_SANDBOX=1 \
                     if this machine is a sandbox"
                .into(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ralph_core::{AttemptId, ItemRef, Resume, RunId, Usage, Usd};

    use super::*;

    #[test]
    fn arguments_say_what_was_asked_for() {
        let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
        let mut brief = Brief::new("/w", "", RunId::new("run"), attempt);
        let plain = ClaudeCode::new().arguments(&brief).join(" ");
        assert_eq!(plain, "-p --output-format stream-json --verbose --permission-mode acceptEdits");
        brief.resume = Some(Resume { agent: "claude".into(), session_id: "id".into(), before: Usage::unknown() });
        brief.schema = Some("{}".into());
        brief.cost_limit = Some(Usd::from_micros(1_500_000));
        let all = ClaudeCode::new()
            .permissions(Permissions::All)
            .model("opus")
            .allowed_tools(["Bash(git *)", "Read"])
            .args(["--effort", "low"])
            .arguments(&brief)
            .join(" ");
        let options = all.strip_prefix("-p --output-format stream-json --verbose ").unwrap();
        assert_eq!(
            options,
            "--dangerously-skip-permissions --model opus --max-budget-usd 1.500000 --resume id --json-schema {} \
             --allowedTools Bash(git *) Read --effort low"
        );
    }

    #[test]
    fn root_may_skip_permissions_only_in_a_sandbox() {
        let error = may_run(Permissions::All, true, false).unwrap_err();
        assert!(error.to_string().contains("IS_SANDBOX=1"), "{error}");
        for (permissions, root, sandboxed) in
            [(Permissions::All, true, true), (Permissions::All, false, false), (Permissions::Edits, true, false)]
        {
            may_run(permissions, root, sandboxed).unwrap();
        }
    }

    #[test]
    fn the_keys_of_a_cloud_need_the_cloud() {
        let with = |set: &[(&str, &str)]| {
            let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let options = ProcessOptions { set: set.collect(), ..ProcessOptions::default() };
            ClaudeCode::new().options(options).keys()
        };
        assert!(!with(&[("CLAUDE_CODE_USE_BEDROCK", "0")]).contains(&"AWS_*"));
        let keys = with(&[("CLAUDE_CODE_USE_BEDROCK", "1")]);
        assert!(keys.contains(&"AWS_*") && keys.contains(&"ANTHROPIC_*"));
    }
}
