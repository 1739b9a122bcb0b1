//! Any command as an agent.

use std::path::PathBuf;

use ralph_core::{AgentBackend, AgentError, Brief, Cancel, Capabilities, Cx, SessionEnd, SessionReport, async_trait};
use ralph_process::StopSignal;

use crate::{
    exit::Exit,
    json::end_of,
    session::{How, ProcessOptions, Start, failure},
};

/// Any command that takes a prompt on its stdin and works in the current folder.
///
/// Exit code 0 is [`SessionEnd::Finished`], 126 and 127 are [`AgentError::NotFound`] (that is how a shell says it),
/// everything else is [`SessionEnd::Failed`]: what it left is judged all the same. The end of its stdout counts as its
/// final message. It is asked to end with SIGTERM. What it used is unknown.
///
/// It sees the basics of the environment ([`ralph_process::env`]), what [`ProcessOptions`] names, and what
/// [`Brief::env`] tells it.
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
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct CommandAgent {
    program: PathBuf,
    args: Vec<String>,
    options: ProcessOptions,
}

impl CommandAgent {
    /// `program`, a name on the `PATH` or a path, without arguments.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), args: Vec::new(), options: ProcessOptions::default() }
    }

    /// The same with more arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The same with these options.
    #[must_use]
    pub fn options(mut self, options: ProcessOptions) -> Self {
        self.options = options;
        self
    }
}

#[async_trait]
impl AgentBackend for CommandAgent {
    fn name(&self) -> &str {
        "command"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none()
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        let start = Start {
            program: &self.program,
            args: self.args.clone(),
            keys: &[],
            set: &[],
            stop_signal: StopSignal::Terminate,
            line_bytes: SessionReport::SAID_MAX,
        };
        let mut said = Tail::default();
        let on_line = |line: &str| {
            said.push(line);
            cx.live(line);
        };
        let ended = start.run(&self.options, brief, cx, &Cancel::new(), on_line).await?;
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
        Ok(SessionReport::new(end).with_said(said.0))
    }
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
}
