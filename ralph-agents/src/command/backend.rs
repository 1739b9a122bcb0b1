//! Runs the command.

use std::{borrow::Cow, path::PathBuf};

use ralph_core::{AgentBackend, AgentError, Brief, Cancel, Capabilities, Cx, SessionEnd, SessionReport, async_trait};
use ralph_process::{CUT_MARK, StopSignal};

use super::protocol::{Opening, Protocol, other_version};
use crate::{
    exit::Exit,
    json::end_of,
    session::{Ended, How, ProcessOptions, Start, failure},
    setters::setters,
};

/// How long a line of the protocol may be, in bytes.
const LINE_MAX: usize = 2 << 20;

/// Any command that takes a prompt on its stdin and works in the current folder.
///
/// Exit code 0 is [`SessionEnd::Finished`], 126 and 127 are [`AgentError::NotFound`] (that is how a shell says it),
/// everything else is [`SessionEnd::Failed`]: what it left is judged all the same. The end of its stdout counts as its
/// final message. It is asked to end with SIGTERM. What it used is unknown.
///
/// An agent that was written for Ralph can say more, in lines of JSON: see [`crate::command`]. What it can do has to be
/// known before it runs, so it is said here ([`CommandAgent::reports_cost`] and the others); usage beyond that is taken
/// all the same.
///
/// It sees the basics of the environment ([`ralph_process::env`]), what [`ProcessOptions`] names, and what
/// [`Brief::env`] and [`crate::command`] tell it.
///
/// ```
/// use ralph_agents::CommandAgent;
/// use ralph_core::{AgentBackend, AttemptId, Brief, Cx, ItemRef, RunId, SessionEnd};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let folder = tempfile::tempdir().unwrap();
/// let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
/// let brief = Brief::new(folder.path(), "Add a greeting.", RunId::new("run"), attempt);
/// let agent = CommandAgent::new("sh").args(["-c", "cat >task; echo noted"]);
/// let report = agent.run(&brief, &Cx::new()).await.unwrap();
/// assert_eq!(report.end, SessionEnd::Finished);
/// assert_eq!(report.said, "noted\n");
/// assert_eq!(std::fs::read_to_string(folder.path().join("task")).unwrap(), "Add a greeting.");
///
/// let script = r#"echo '{"ralph": 1}'
///     echo '{"type": "usage", "cost_usd": "0.12"}'
///     echo '{"type": "result", "status": "ok", "said": "noted"}'"#;
/// let agent = CommandAgent::new("sh").args(["-c", script]).reports_cost();
/// let report = agent.run(&brief, &Cx::new()).await.unwrap();
/// assert_eq!((report.end, report.said.as_str()), (SessionEnd::Finished, "noted"));
/// assert_eq!(report.usage.cost.unwrap().to_string(), "$0.12");
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct CommandAgent {
    program: PathBuf,
    args: Vec<String>,
    options: ProcessOptions,
    can: Capabilities,
}

impl CommandAgent {
    /// `program`, a name on the `PATH` or a path, without arguments.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            options: ProcessOptions::default(),
            can: Capabilities::none(),
        }
    }

    setters!(args);

    /// The variables of our own environment that its sessions see beyond the basics, by name: for telling them to a person.
    pub fn variables(&self) -> Vec<String> {
        self.options.visible(&[])
    }

    /// The same with these options.
    #[must_use]
    pub fn options(mut self, options: ProcessOptions) -> Self {
        self.options = options;
        self
    }

    /// The same, which says what its sessions cost.
    #[must_use]
    pub fn reports_cost(mut self) -> Self {
        self.can = self.can.with_cost();
        self
    }

    /// The same, which says how many tokens its sessions use.
    #[must_use]
    pub fn reports_tokens(mut self) -> Self {
        self.can = self.can.with_tokens();
        self
    }

    /// The same, which goes on with the session in `RALPH_RESUME`.
    #[must_use]
    pub fn resumes(mut self) -> Self {
        self.can = self.can.with_resume();
        self
    }

    /// The same, which ends by itself before it costs more than `RALPH_COST_LIMIT_USD`.
    #[must_use]
    pub fn keeps_cost_limit(mut self) -> Self {
        self.can = self.can.with_cost_limit();
        self
    }

    /// The same, which answers by the JSON schema in `RALPH_SCHEMA`.
    #[must_use]
    pub fn answers_schema(mut self) -> Self {
        self.can = self.can.with_structured();
        self
    }
}

/// What the protocol tells beyond [`Brief::env`].
fn told(brief: &Brief) -> Vec<(&'static str, String)> {
    let may = [
        ("RALPH_TIER", Some(brief.tier.to_string())),
        ("RALPH_RESUME", brief.resume.as_ref().map(|resume| resume.session_id.clone())),
        ("RALPH_COST_LIMIT_USD", brief.cost_limit.map(String::from)),
        ("RALPH_SCHEMA", brief.schema.clone()),
    ];
    may.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

#[async_trait]
impl AgentBackend for CommandAgent {
    fn name(&self) -> &str {
        "command"
    }

    fn capabilities(&self) -> Capabilities {
        self.can
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        let told = told(brief);
        let set: Vec<(&str, &str)> = told.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let start = Start {
            program: &self.program,
            args: self.args.clone(),
            keys: &[],
            set: &set,
            stop_signal: StopSignal::Terminate,
            line_bytes: LINE_MAX,
        };
        let (mut printed, misfit) = (Printed::Nothing, Cancel::new());
        let on_line = |line: &str| {
            printed.line(line, &mut |words| cx.live(words));
            if let Printed::Other(_) = printed {
                misfit.cancel();
            }
        };
        let ended = start.run(&self.options, brief, cx, &misfit, on_line).await?;
        match printed {
            Printed::Nothing => self.plain(ended, String::new()),
            Printed::Text(said) => self.plain(ended, said.0),
            Printed::Events(protocol) => protocol.report(ended.how, &ended.stderr),
            Printed::Other(_) if cx.cancel().is_cancelled() => Ok(SessionReport::new(SessionEnd::Cancelled)),
            Printed::Other(version) => Err(other_version(&version)),
        }
    }
}

impl CommandAgent {
    /// What came of a command that does not speak the protocol.
    fn plain(&self, ended: Ended, said: String) -> Result<SessionReport, AgentError> {
        let end = match ended.how {
            How::Exit(Exit::Code(0)) => SessionEnd::Finished,
            How::Exit(exit @ Exit::Code(126 | 127)) => {
                return Err(AgentError::NotFound {
                    program: self.program.display().to_string(),
                    advice: format!(
                        "a part of the command is not there or cannot be executed ({})",
                        failure(exit, &ended.stderr)
                    ),
                });
            }
            How::Exit(exit) => SessionEnd::Failed(failure(exit, &ended.stderr)),
            How::Limit(which) => SessionEnd::Limit(which),
            How::Cancelled => SessionEnd::Cancelled,
        };
        Ok(SessionReport::new(end).with_said(said))
    }
}

/// What a command printed, which its first line says.
enum Printed {
    Nothing,
    Text(Tail),
    Events(Protocol),
    /// Events of another version of the protocol.
    Other(String),
}

impl Printed {
    fn line(&mut self, line: &str, live: &mut dyn FnMut(&str)) {
        if let Self::Nothing = self {
            *self = match Opening::read(line) {
                Opening::Plain => Self::Text(Tail::default()),
                Opening::Events => Self::Events(Protocol::default()),
                Opening::Other(version) => Self::Other(version),
            };
        }
        match self {
            Self::Text(tail) => {
                let line = cut(line);
                tail.push(&line);
                live(&line);
            }
            Self::Events(protocol) => protocol.line(line, &mut |words| live(&cut(words))),
            Self::Nothing | Self::Other(_) => {}
        }
    }
}

/// A line of text is kept up to what a final message may have; those of the protocol are longer.
fn cut(line: &str) -> Cow<'_, str> {
    if line.len() <= SessionReport::SAID_MAX {
        return line.into();
    }
    let mut end = SessionReport::SAID_MAX;
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{CUT_MARK}", &line[..end]).into()
}

/// The end of what was printed, in bounded memory.
#[derive(Default)]
struct Tail(String);

impl Tail {
    fn push(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
        // Cut seldom, so that each byte is moved at most once.
        if self.0.len() > 2 * SessionReport::SAID_MAX {
            self.0 = end_of(std::mem::take(&mut self.0), SessionReport::SAID_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_bounded_and_ends_with_the_end() {
        let mut tail = Tail::default();
        for number in 0..100_000 {
            tail.push(&format!("zeile ä {number}"));
            assert!(tail.0.len() <= 2 * SessionReport::SAID_MAX + 32);
        }
        assert!(tail.0.ends_with("zeile ä 99999\n"));
        assert!(tail.0.len() >= SessionReport::SAID_MAX - 4);
    }

    #[test]
    fn a_long_line_of_text_is_cut_between_characters() {
        let max = SessionReport::SAID_MAX;
        let (long, short) = ("x".repeat(max - 1) + "äöü", "x".repeat(max));
        assert_eq!(cut(&long), "x".repeat(max - 1) + CUT_MARK);
        assert_eq!(cut(&short), short);
    }
}
