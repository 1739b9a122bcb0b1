//! Runs the program.

use std::{path::PathBuf, time::Duration};

use ralph_core::{AgentBackend, AgentError, Brief, Cancel, Capabilities, Cx, SessionEnd, SessionReport, async_trait};
use ralph_process::{Dialogue, Input, StopSignal};

use crate::{
    acp::client::{Client, Task},
    exit::Exit,
    permissions::Permissions,
    session::{How, ProcessOptions, Start},
    setters::setters,
};

/// Its first answer comes within seconds; servers that it starts first can take longer.
const FIRST_OUTPUT: Duration = Duration::from_secs(180);

/// How long it may stay after its last answer, with its input closed. Some never go.
const LEAVE: Duration = Duration::from_secs(2);

/// How much may wait for an agent that does not read, beyond the prompt.
const WAITING_MAX: usize = 16 << 20;

/// Any agent that speaks the Agent Client Protocol, such as `gemini --acp` or `opencode acp`.
///
/// For an agent that has a backend of its own take that one: here, what went wrong and what was used is known only as
/// far as the agent says so. How the conversation goes and an ending is read: see [`crate::acp`].
///
/// It sees the basics of the environment ([`ralph_process::env`]) and what [`ProcessOptions`] names, its key among that.
///
/// What it reports is optional in the protocol, so that nothing is promised: a run with a budget of cost or tokens is
/// refused, unless [`Acp::reports`] says better. What it does report is in the report all the same.
///
/// ```no_run
/// use ralph_agents::{Acp, Permissions, ProcessOptions};
/// use ralph_core::{AgentBackend, AttemptId, Brief, Cx, ItemRef, RunId};
///
/// # async fn example() -> Result<(), ralph_core::AgentError> {
/// let options = ProcessOptions { env: vec!["GEMINI_API_KEY".into()], ..ProcessOptions::default() };
/// let agent = Acp::new("gemini").args(["--acp", "--skip-trust"]).permissions(Permissions::All).options(options);
/// let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
/// let brief = Brief::new("/a/workspace", "Add a greeting.", RunId::new("run"), attempt);
/// let report = agent.run(&brief, &Cx::new()).await?;
/// println!("{:?}, {:?}", report.end, report.usage.tokens);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Acp {
    program: PathBuf,
    args: Vec<String>,
    mode: Option<String>,
    model: Option<String>,
    permissions: Permissions,
    reports: Capabilities,
    options: ProcessOptions,
}

impl Acp {
    /// `program`, a name on the `PATH` or a path, without arguments, allowed to edit.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            mode: None,
            model: None,
            permissions: Permissions::default(),
            reports: Capabilities::none(),
            options: ProcessOptions::default(),
        }
    }

    setters!(permissions, args);

    /// The same in this mode of the agent's, by its id, such as `acceptEdits`. See [`Task::mode`] for the default.
    #[must_use]
    pub fn mode(mut self, id: impl Into<String>) -> Self {
        self.mode = Some(id.into());
        self
    }

    /// The same with this model, by the value that the agent has for it. Only of agents that offer a choice by
    /// `configOptions`; others, such as Gemini, are told by an argument.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// The same, promising that this agent reports cost or tokens; nothing else can be promised.
    #[must_use]
    pub fn reports(mut self, what: Capabilities) -> Self {
        self.reports = Capabilities::none().with_cost().with_tokens().and(what);
        self
    }

    /// The variables of our own environment that its sessions see beyond the basics, by name: for telling them to a person.
    pub fn variables(&self) -> Vec<String> {
        self.options.visible(&[])
    }

    /// The same with these options. Without [`ProcessOptions::first_output`], three minutes are allowed.
    #[must_use]
    pub fn options(mut self, options: ProcessOptions) -> Self {
        self.options = options;
        self
    }

    fn task(&self, brief: &Brief) -> Result<Task, AgentError> {
        let folder = std::path::absolute(&brief.workspace).map_err(AgentError::other)?;
        let folder = folder.to_str().ok_or_else(|| AgentError::Refused {
            detail: "the path of the workspace is no UTF-8, and the protocol has no other".into(),
            advice: "work elsewhere".into(),
        })?;
        let mut task = Task::new(folder, brief.prompt.clone());
        task.permissions = self.permissions;
        task.mode.clone_from(&self.mode);
        task.model.clone_from(&self.model);
        Ok(task)
    }
}

#[async_trait]
impl AgentBackend for Acp {
    fn name(&self) -> &str {
        "acp"
    }

    fn capabilities(&self) -> Capabilities {
        self.reports
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        let start = Start {
            program: &self.program,
            args: self.args.clone(),
            keys: &[],
            set: &[],
            stop_signal: StopSignal::Terminate,
            line_bytes: Client::LINE_MAX,
        };
        let mut options = self.options.clone();
        options.first_output = options.first_output.or(Some(FIRST_OUTPUT));
        let mut client = Client::new(self.task(brief)?);
        let first = client.begin() + "\n";
        let over = Cancel::new();
        let leave = async {
            over.cancelled().await;
            tokio::time::sleep(LEAVE.min(options.grace)).await;
        };
        // As JSON, a byte of the prompt is at most six.
        let waiting_max = WAITING_MAX.saturating_add(brief.prompt.len().saturating_mul(6));
        let mut session = Session { client, cx, over: &over, waiting_max };
        let ended = start.talk(&options, brief, cx, first, leave, &mut session).await?;

        let came_to_an_end = session.client.came_to_an_end();
        // The exit after a signal of ours says nothing.
        let exit = if let How::Exit(exit) = ended.how { exit } else { Exit::Signal(15) };
        let mut outcome = session.client.outcome(exit, &ended.stderr);
        match ended.how {
            // It may only not have gone by itself.
            How::Exit(_) => {}
            _ if came_to_an_end => {}
            How::Cancelled => outcome.end = Ok(SessionEnd::Cancelled),
            How::Limit(which) => outcome.end = Ok(SessionEnd::Limit(which)),
        }
        outcome.into_report()
    }
}

/// A client in conversation with its agent.
struct Session<'a> {
    client: Client,
    cx: &'a Cx,
    /// Turned on when the agent may leave.
    over: &'a Cancel,
    waiting_max: usize,
}

impl Dialogue for Session<'_> {
    fn line(&mut self, line: &str, input: &mut Input) {
        let Self { client, cx, .. } = self;
        client.line(line, &mut |words| say(&words, input), &mut |words| cx.live(words));
        if input.waiting() > self.waiting_max && !client.is_over() {
            client.give_up();
        }
        if client.is_over() {
            input.close();
            self.over.cancel();
        }
    }

    fn ask(&mut self, input: &mut Input) -> bool {
        let words = self.client.cancel();
        if let Some(words) = &words {
            say(words, input);
        }
        words.is_some()
    }
}

fn say(words: &str, input: &mut Input) {
    input.write(words.as_bytes());
    input.write(b"\n");
}
