//! An agent that does what a test says.

use std::{
    collections::VecDeque,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use async_trait::async_trait;

use crate::{
    AgentBackend, AgentError, Brief, Capabilities, Cx, SessionEnd, SessionReport, Tokens, Trouble, Usage, Usd,
};

/// One session of a [`ScriptedAgent`]: what it does in the workspace, then how it ends. Starts as a session that does
/// nothing and finishes.
///
/// ```
/// use ralph_core::testing::turn;
/// let lie = turn().says("All tests pass, I checked twice.");
/// let work = turn().writes("src/greeting.txt", "hello\n").costs("0.25");
/// ```
#[must_use = "a turn does nothing until an agent plays it"]
#[derive(Clone, Debug)]
pub struct Turn {
    effects: Vec<Effect>,
    said: String,
    usage: Usage,
    session_id: Option<String>,
    end: TurnEnd,
}

#[derive(Clone, Debug)]
enum Effect {
    Write(PathBuf, Vec<u8>),
    Remove(PathBuf),
}

#[derive(Clone, Debug)]
enum TurnEnd {
    Finishes,
    Crashes(String),
    Hangs,
    Limit(String),
    Unavailable(Trouble, Option<SystemTime>),
    Refused,
    NotFound,
}

/// A session that does nothing and finishes.
pub fn turn() -> Turn {
    Turn { effects: Vec::new(), said: String::new(), usage: Usage::unknown(), session_id: None, end: TurnEnd::Finishes }
}

impl Turn {
    /// It writes a file, folders included.
    pub fn writes(mut self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) -> Self {
        self.effects.push(Effect::Write(path.as_ref().to_owned(), content.into()));
        self
    }

    /// It removes a file or folder.
    pub fn removes(mut self, path: impl AsRef<Path>) -> Self {
        self.effects.push(Effect::Remove(path.as_ref().to_owned()));
        self
    }

    /// Its final message.
    pub fn says(mut self, text: impl Into<String>) -> Self {
        self.said = text.into();
        self
    }

    /// It reports a `ralph` block with this JSON.
    pub fn signals(self, json: &str) -> Self {
        self.says(format!("```ralph\n{json}\n```\n"))
    }

    /// It reports what it cost, in dollars such as `0.25`. What is no amount is reported as unknown.
    pub fn costs(mut self, dollars: &str) -> Self {
        self.usage.cost = dollars.parse::<Usd>().ok();
        self
    }

    /// It reports so many output tokens.
    pub fn uses_tokens(mut self, output: u64) -> Self {
        self.usage.tokens = Some(Tokens { output, ..Tokens::default() });
        self
    }

    /// It reports this id of its own.
    pub fn in_session(mut self, id: impl Into<String>) -> Self {
        self.session_id = Some(id.into());
        self
    }

    /// It crashes after what it did.
    pub fn crashes(mut self, why: impl Into<String>) -> Self {
        self.end = TurnEnd::Crashes(why.into());
        self
    }

    /// It never ends by itself: it waits to be cancelled or dropped.
    pub fn hangs(mut self) -> Self {
        self.end = TurnEnd::Hangs;
        self
    }

    /// It is ended at a limit, such as `time`.
    pub fn hits_limit(mut self, which: impl Into<String>) -> Self {
        self.end = TurnEnd::Limit(which.into());
        self
    }

    /// It is not available, until a stated time if there is one.
    pub fn is_unavailable(mut self, trouble: Trouble, until: Option<SystemTime>) -> Self {
        self.end = TurnEnd::Unavailable(trouble, until);
        self
    }

    /// It refuses what it is asked for, such as a session to go on with that is gone.
    pub fn refuses(mut self) -> Self {
        self.end = TurnEnd::Refused;
        self
    }

    /// There is no such agent.
    pub fn is_missing(mut self) -> Self {
        self.end = TurnEnd::NotFound;
        self
    }

    fn play(&self, workspace: &Path) -> io::Result<()> {
        for effect in &self.effects {
            match effect {
                Effect::Write(path, content) => {
                    let path = workspace.join(path);
                    if let Some(parent) = path.parent() {
                        fs::create_dir_all(parent)?;
                    }
                    fs::write(path, content)?;
                }
                Effect::Remove(path) => {
                    let path = workspace.join(path);
                    if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
                }
            }
        }
        Ok(())
    }
}

/// Plays one [`Turn`] for each session, in order, in real folders. Clones are the same agent.
///
/// A session without a turn is a session that fails and says so; [`ScriptedAgent::assert_played`] fails a test in which
/// turns are left.
#[derive(Clone, Debug)]
pub struct ScriptedAgent(Arc<Mutex<Script>>);

#[derive(Debug)]
struct Script {
    turns: VecDeque<Turn>,
    briefs: Vec<Brief>,
    missing: u32,
}

impl ScriptedAgent {
    /// Plays `turns`.
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        let script = Script { turns: turns.into_iter().collect(), briefs: Vec::new(), missing: 0 };
        Self(Arc::new(Mutex::new(script)))
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the sessions were given, in order.
    pub fn briefs(&self) -> Vec<Brief> {
        self.lock().briefs.clone()
    }

    /// Every turn was played, and no session was without one.
    ///
    /// # Panics
    /// Where that is not so.
    #[track_caller]
    pub fn assert_played(&self) {
        let script = self.lock();
        assert!(script.turns.is_empty(), "{} turns were not played", script.turns.len());
        assert!(script.missing == 0, "{} sessions had no turn", script.missing);
    }
}

#[async_trait]
impl AgentBackend for ScriptedAgent {
    fn name(&self) -> &str {
        "scripted"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with_cost().with_tokens().with_resume()
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        let next = {
            let mut script = self.lock();
            script.briefs.push(brief.clone());
            let next = script.turns.pop_front();
            script.missing += u32::from(next.is_none());
            next
        };
        let Some(turn) = next else {
            let why = format!("no turn is scripted for attempt {}", brief.attempt);
            return Ok(SessionReport::new(SessionEnd::Failed(why)));
        };
        if let TurnEnd::NotFound = turn.end {
            let (program, advice) = ("scripted".to_owned(), "script it otherwise".to_owned());
            return Err(AgentError::NotFound { program, advice });
        }
        if let TurnEnd::Refused = turn.end {
            let (detail, advice) = ("scripted".to_owned(), "script it otherwise".to_owned());
            return Err(AgentError::Refused { detail, advice });
        }
        turn.play(&brief.workspace).map_err(|error| AgentError::Other(error.into()))?;
        let end = match turn.end {
            TurnEnd::Finishes | TurnEnd::NotFound | TurnEnd::Refused => SessionEnd::Finished,
            TurnEnd::Crashes(why) => SessionEnd::Failed(why),
            TurnEnd::Limit(which) => SessionEnd::Limit(which),
            TurnEnd::Unavailable(trouble, until) => {
                SessionEnd::Unavailable { trouble, detail: "scripted".to_owned(), until }
            }
            TurnEnd::Hangs => {
                cx.cancel().cancelled().await;
                SessionEnd::Cancelled
            }
        };
        let mut report = SessionReport::new(end).with_said(turn.said).with_usage(turn.usage);
        report.session_id = turn.session_id;
        Ok(report)
    }
}
