//! Replies for the fake agent, and briefs to run it with.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ralph_agents::{Acp, ClaudeCode, Codex, CommandAgent, Gemini, OpenCode, ProcessOptions};
use ralph_core::{AttemptId, Brief, ItemRef, RunId};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_fake-agent");

/// A folder with replies, and a workspace beside it.
pub(crate) struct Fake {
    folder: TempDir,
}

impl Fake {
    /// These replies, one for each session.
    pub(crate) fn new(replies: &[Value]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fake = Self { folder };
        fs::create_dir(fake.dir()).unwrap();
        fs::create_dir(fake.workspace()).unwrap();
        for (number, reply) in (1..).zip(replies) {
            fs::write(fake.dir().join(format!("{number}.json")), reply.to_string()).unwrap();
        }
        fake
    }

    /// One reply, made of steps that end well.
    pub(crate) fn steps(steps: &Value) -> Self {
        Self::new(&[json!({"steps": steps})])
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.folder.path().join("fake")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub(crate) fn brief(&self) -> Brief {
        brief(self.workspace())
    }

    pub(crate) fn options(&self) -> ProcessOptions {
        let set = vec![("FAKE_AGENT_DIR".to_owned(), self.dir().to_str().unwrap().to_owned())];
        ProcessOptions { set, ..ProcessOptions::default() }
    }

    pub(crate) fn command(&self) -> CommandAgent {
        CommandAgent::new(PROGRAM).options(self.options())
    }

    pub(crate) fn claude(&self) -> ClaudeCode {
        ClaudeCode::new().program(PROGRAM).options(self.options())
    }

    pub(crate) fn acp(&self) -> Acp {
        Acp::new(PROGRAM).options(self.options())
    }

    pub(crate) fn codex(&self) -> Codex {
        Codex::new().program(PROGRAM).options(self.options())
    }

    pub(crate) fn gemini(&self) -> Gemini {
        Gemini::new().program(PROGRAM).options(self.options())
    }

    pub(crate) fn opencode(&self) -> OpenCode {
        OpenCode::new().program(PROGRAM).options(self.options())
    }

    /// The record of a session.
    pub(crate) fn call(&self, number: u32) -> Value {
        let path = self.dir().join(format!("calls/{number}/call.json"));
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }

    /// Waits until a session has begun, its signals installed.
    pub(crate) async fn begun(&self, number: u32) {
        let record = self.dir().join(format!("calls/{number}/call.json"));
        until("the session to begin", || record.exists()).await;
    }
}

pub(crate) fn brief(workspace: impl Into<PathBuf>) -> Brief {
    let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
    Brief::new(workspace, "Do it.\n", RunId::new("run"), attempt)
}

/// Waits for a condition, not for ever.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The path of a recorded output of an agent.
pub(crate) fn recorded(agent: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/transcripts/{agent}/{name}.stdout"))
}

/// The same of Claude Code.
pub(crate) fn transcript(name: &str) -> PathBuf {
    recorded("claude", name)
}

/// Some lines of it.
pub(crate) fn lines(path: &Path, wanted: impl Fn(&str) -> bool) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.split_inclusive('\n').filter(|line| wanted(line)).collect()
}

/// Whether a process is there and no zombie.
pub(crate) fn alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}
