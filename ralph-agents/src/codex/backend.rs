//! Runs the program.

use std::{
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use jiff::{Timestamp, ZonedDateTime, tz::TimeZone};
use ralph_core::{
    AgentBackend, AgentError, Brief, Cancel, Capabilities, Cx, SessionEnd, SessionReport, Trouble, async_trait,
};
use ralph_process::StopSignal;
use serde::de::IgnoredAny;
use tempfile::NamedTempFile;

use crate::{
    codex::stream::Transcript,
    permissions::Permissions,
    session::{ProcessOptions, Start},
    setters::setters,
};

/// Its first event comes within a second; servers that it starts first can take longer.
const FIRST_OUTPUT: Duration = Duration::from_secs(180);

/// For how long it may try to reach its provider, unless said otherwise. It would for ever, and prints that it does, so
/// that the limit on silence never ends it.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Variables of its own, by which a person has logged in or chosen a provider. The others that begin with `CODEX_` are
/// those of a session that we may run in.
const KEYS: &[&str] = &[
    "ALL_PROXY",
    "AZURE_OPENAI_API_KEY",
    "CODEX_ACCESS_TOKEN",
    "CODEX_API_KEY",
    "CODEX_CA_CERTIFICATE",
    "CODEX_HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_ORGANIZATION",
    "OPENAI_PROJECT",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Codex, run as `codex exec --json` with the prompt on stdin.
///
/// It is asked to end with SIGTERM: after SIGINT it reports no more than after any other signal, and its tools end
/// with it in either case. A refused login ends the session at the first sign, instead of after its retries, and one that
/// does not reach its provider after a while ([`Codex::patience`]). Codex has no limit of turns or cost. How an ending is
/// read: see [`crate::codex`].
///
/// What one session remembers would stand before all later ones, past every verifier: its memories are off
/// (`features.memories=false`), unless [`Codex::args`] say something of them.
///
/// [`Permissions::Edits`] is `--sandbox workspace-write`: commands run without network, write in the workspace and in
/// folders for temporary files, and not in the workspace's `.git`. An agent that tries to commit fails at that and no
/// more; Ralph commits what it leaves. [`Permissions::All`] is `--dangerously-bypass-approvals-and-sandbox`. Nobody is
/// asked in either case: what is not allowed fails.
///
/// [`Brief::resume`] is `resume ID`, [`Brief::schema`] is `--output-schema`, after which the last message of the agent is
/// the structured output if it is JSON at all. Codex does not check it. A provider of the user's own with a key in a
/// variable (`env_key`) needs that variable in [`ProcessOptions::env`].
///
/// ```no_run
/// use ralph_agents::{Codex, Permissions};
/// use ralph_core::{AgentBackend, AttemptId, Brief, Cx, ItemRef, RunId};
///
/// # async fn example() -> Result<(), ralph_core::AgentError> {
/// let agent = Codex::new().model("gpt-5.5-codex").permissions(Permissions::Edits);
/// let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
/// let brief = Brief::new("/a/workspace", "Add a greeting.", RunId::new("run"), attempt);
/// let report = agent.run(&brief, &Cx::new()).await?;
/// println!("{:?}, {:?}", report.end, report.usage.tokens);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Codex {
    program: PathBuf,
    model: Option<String>,
    permissions: Permissions,
    args: Vec<String>,
    patience: Duration,
    options: ProcessOptions,
}

impl Codex {
    /// `codex` on the `PATH`, with the model of the user's settings, allowed to edit.
    pub fn new() -> Self {
        Self {
            program: "codex".into(),
            model: None,
            permissions: Permissions::default(),
            args: Vec::new(),
            patience: PATIENCE,
            options: ProcessOptions::default(),
        }
    }

    setters!(program, model, permissions, args);

    /// The same, ended once it has been reconnecting for so long without an answer in between; its trouble is then what it
    /// said last. Default: 5 minutes.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
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
        self.options.visible(KEYS)
    }

    fn arguments(&self, brief: &Brief, schema: Option<&Path>) -> Vec<String> {
        // Without analytics it ends at once instead of waiting for a server.
        let mut args: Vec<String> =
            ["exec", "--json", "--skip-git-repo-check", "-c", "analytics.enabled=false"].map(str::to_owned).into();
        let mut option = |words: &[&str]| args.extend(words.iter().map(|&word| word.to_owned()));
        if !self.args.iter().any(|arg| names_memories(arg)) {
            option(&["-c", "features.memories=false"]);
        }
        match self.permissions {
            Permissions::Edits => option(&["--sandbox", "workspace-write"]),
            Permissions::All => option(&["--dangerously-bypass-approvals-and-sandbox"]),
        }
        if let Some(model) = &self.model {
            option(&["--model", model]);
        }
        if let Some(schema) = schema {
            option(&["--output-schema", &schema.to_string_lossy()]);
        }
        args.extend(self.args.iter().cloned());
        if let Some(resume) = &brief.resume {
            args.extend(["resume".to_owned(), resume.session_id.clone()]);
        }
        // The prompt comes by stdin.
        args.push("-".to_owned());
        args
    }

    /// The clock by which Codex says when a limit is over, where that is ours as well.
    fn clock(&self) -> Option<ZonedDateTime> {
        let own = self.options.set.iter().any(|(name, _)| name == "TZ");
        let zone = if own { None } else { TimeZone::try_system().ok() };
        zone.map(|zone| Timestamp::now().to_zoned_datetime(zone))
    }
}

impl Default for Codex {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl AgentBackend for Codex {
    fn name(&self) -> &str {
        "codex"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with_tokens().with_resume().with_structured()
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        // Gone with this value.
        let schema = brief.schema.as_deref().map(file).transpose().map_err(AgentError::other)?;
        let start = Start {
            program: &self.program,
            args: self.arguments(brief, schema.as_ref().map(NamedTempFile::path)),
            keys: KEYS,
            set: &[],
            stop_signal: StopSignal::Terminate,
            line_bytes: Transcript::LINE_MAX,
        };
        let mut options = self.options.clone();
        options.first_output = options.first_output.or(Some(FIRST_OUTPUT));
        let (mut transcript, given_up, mut over) = (Transcript::new(), Cancel::new(), None);
        let mut reconnecting: Option<Instant> = None;
        let on_line = |line: &str| {
            transcript.line(line.as_bytes(), &mut |words| cx.live(words));
            reconnecting = reconnecting.or_else(|| Some(Instant::now())).filter(|_| transcript.reconnecting());
            let too_long = reconnecting.is_some_and(|since| since.elapsed() >= self.patience);
            if transcript.login_refused() || too_long {
                given_up.cancel();
            }
            // At first sight, for tomorrow the same words would mean another day.
            over = transcript.reset().and_then(|reset| over.or_else(|| reset.at(&self.clock()?)));
        };
        let ended = start.run(&options, brief, cx, &given_up, on_line).await?;
        let in_trouble = transcript.in_trouble();
        let outcome = transcript.outcome(ended.how.exit(), &ended.stderr);
        let mut outcome = outcome.ended(ended.how, in_trouble, cx);
        if let Ok(SessionEnd::Unavailable { trouble: Trouble::UsageWindow, until, .. }) = &mut outcome.end {
            *until = over;
        }
        if let Some(resume) = &brief.resume {
            outcome.usage = outcome.usage.since(resume.before);
        }
        if brief.schema.is_some() && serde_json::from_str::<IgnoredAny>(&outcome.said).is_ok() {
            outcome.structured = Some(outcome.said.clone());
        }
        outcome.into_report()
    }
}

/// Whether an argument says whether there are memories: `-c features.memories=…`, `--enable memories`.
fn names_memories(arg: &str) -> bool {
    let feature = ["--enable=", "--disable="].iter().find_map(|option| arg.strip_prefix(option)).unwrap_or(arg);
    feature == "memories" || arg.contains("features.memories")
}

/// A file for Codex to read, outside of every workspace.
fn file(text: &str) -> std::io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("ralph-schema-").suffix(".json").tempfile()?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use ralph_core::{AttemptId, ItemRef, Resume, RunId, Usage};

    use super::*;

    #[test]
    fn arguments_say_what_was_asked_for() {
        let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
        let mut brief = Brief::new("/w", "", RunId::new("run"), attempt);
        let start = "exec --json --skip-git-repo-check -c analytics.enabled=false -c features.memories=false";
        let plain = Codex::new().arguments(&brief, None).join(" ");
        assert_eq!(plain, format!("{start} --sandbox workspace-write -"));
        brief.resume = Some(Resume { agent: "codex".into(), session_id: "id".into(), before: Usage::unknown() });
        let all = Codex::new()
            .permissions(Permissions::All)
            .model("gpt")
            .args(["-c", "model_reasoning_effort=low"])
            .arguments(&brief, Some(Path::new("/tmp/s.json")))
            .join(" ");
        assert_eq!(
            all,
            format!(
                "{start} --dangerously-bypass-approvals-and-sandbox --model gpt --output-schema /tmp/s.json \
                 -c model_reasoning_effort=low resume id -"
            )
        );
    }

    #[test]
    fn memories_are_off_unless_the_user_says_something_of_them() {
        let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
        let brief = Brief::new("/w", "", RunId::new("run"), attempt);
        let off = |args: &[&str]| {
            let all = Codex::new().args(args.iter().copied()).arguments(&brief, None);
            all.iter().any(|arg| arg == "features.memories=false")
        };
        assert!(off(&[]) && off(&["-c", "model_reasoning_effort=low"]) && off(&["--enable", "apps"]));
        for own in [
            &["-c", "features.memories=true"][..],
            &["--enable", "memories"],
            &["--enable=memories"],
            &["-cfeatures.memories=true"],
        ] {
            assert!(!off(own), "{own:?}");
        }
    }

    #[test]
    fn what_an_outer_session_sets_is_not_passed_on() {
        // As recorded, with a key at the end for the control.
        let vars = [
            "CODEX_CI",
            "CODEX_SANDBOX_NETWORK_DISABLED",
            "CODEX_SESSION_ID",
            "CODEX_THREAD_ID",
            "CODEX_TOOL_CALL_ID",
            "CODEX_VERSION",
            "CODEX_HOME",
        ];
        let keys: Vec<String> = KEYS.iter().map(|&name| name.to_owned()).collect();
        let passed = ralph_process::env::select(vars.map(|name| (name.into(), "x".into())), &keys);
        assert_eq!(passed, [("CODEX_HOME".into(), "x".into())]);
    }

    #[test]
    fn a_time_zone_of_its_own_makes_its_clock_another() {
        let options = |name: &str| ProcessOptions { set: vec![(name.into(), "UTC".into())], ..Default::default() };
        assert_eq!(Codex::new().options(options("TZ")).clock(), None);
        assert_eq!(Codex::new().options(options("LANG")).clock().is_some(), TimeZone::try_system().is_ok());
    }
}
