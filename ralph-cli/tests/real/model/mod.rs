//! A model that follows a script, behind the APIs that the agents speak.
//!
//! One script serves them all: what the model does is said in words of ours (`Tool`), and each API's module puts it
//! into calls of the tools that the agent offers.

mod anthropic;
mod http;
mod responses;

use std::{
    collections::HashMap,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex, MutexGuard},
    thread,
};

use serde_json::Value;

/// What the model answers to one request.
#[derive(Clone, Debug)]
pub(super) enum Turn {
    /// Says something, or uses a tool and is asked again.
    Reply { text: String, tool: Option<Tool> },
    /// The provider's trouble, in place of an answer.
    Trouble { status: u16, kind: &'static str, headers: Vec<(String, String)> },
}

/// What the model has the agent do.
#[derive(Clone, Debug)]
pub(super) enum Tool {
    /// Write a file, named from the workspace.
    Write { path: String, content: String },
    /// Run a command.
    Shell(String),
    /// Give the answer that a schema asks for.
    Answer(Value),
}

/// Says this, and has nothing more to do.
pub(super) fn says(text: &str) -> Turn {
    Turn::Reply { text: text.to_owned(), tool: None }
}

/// Writes a file.
pub(super) fn writes(path: &str, content: &str) -> Turn {
    let tool = Tool::Write { path: path.to_owned(), content: content.to_owned() };
    Turn::Reply { text: format!("I write {path}."), tool: Some(tool) }
}

/// Runs a command.
pub(super) fn runs(command: &str) -> Turn {
    Turn::Reply { text: "I run a command.".to_owned(), tool: Some(Tool::Shell(command.to_owned())) }
}

/// Answers as the schema asks, by the tool that there is for that.
pub(super) fn answers(answer: Value) -> Turn {
    Turn::Reply { text: "I answer.".to_owned(), tool: Some(Tool::Answer(answer)) }
}

/// The provider has too much to do.
pub(super) fn overloaded() -> Turn {
    Turn::Trouble { status: 529, kind: "overloaded_error", headers: Vec::new() }
}

/// Too many requests; the next one may come after a second.
pub(super) fn too_many() -> Turn {
    trouble(429, "rate_limit_error", &[("retry-after", "1")])
}

/// Any trouble.
pub(super) fn trouble(status: u16, kind: &'static str, headers: &[(&str, &str)]) -> Turn {
    let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    Turn::Trouble { status, kind, headers: headers.iter().map(owned).collect() }
}

/// A request that reached the model.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Which session of the script it belongs to, from 0.
    pub(super) session: usize,
    /// Everything that the user, or Ralph in the user's place, said so far.
    pub(super) prompt: String,
    /// The last that the model was told: by the user, or by a tool.
    pub(super) last: String,
    /// The whole request as it was sent.
    pub(super) body: String,
    /// What proved who asks.
    pub(super) credential: String,
}

/// The model at work, on loopback. It ends with the process.
#[derive(Clone)]
pub(super) struct Model {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

struct State {
    script: Vec<Vec<Turn>>,
    /// The agent's name for a session → which one of the script it is.
    sessions: HashMap<String, usize>,
    asked: Vec<Asked>,
    surprises: Vec<String>,
}

impl Model {
    /// What each session is answered, in the order in which they begin, turn by turn. A request that is sent again after
    /// some trouble is answered with the next turn.
    pub(super) fn start(script: impl Into<Vec<Vec<Turn>>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let state = State { script: script.into(), sessions: HashMap::new(), asked: Vec::new(), surprises: Vec::new() };
        let model = Self { address: listener.local_addr().unwrap(), state: Arc::new(Mutex::new(state)) };
        let server = model.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (server, stream) = (server.clone(), stream.unwrap());
                thread::spawn(move || http::serve(&server, &stream));
            }
        });
        model
    }

    /// Where it listens, without a `/` at the end.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far. Fails if there was one that the script has no turn for, or none of which anything is known.
    #[track_caller]
    pub(super) fn asked(&self) -> Vec<Asked> {
        let state = self.state();
        assert!(state.surprises.is_empty(), "not in the script: {:#?}", state.surprises);
        state.asked.clone()
    }

    /// The first request of each session.
    #[track_caller]
    pub(super) fn first_asked(&self) -> Vec<Asked> {
        let mut first: Vec<Asked> = Vec::new();
        for asked in self.asked() {
            if asked.session == first.len() {
                first.push(asked);
            }
        }
        first
    }

    /// Fails unless every turn of the script was taken, and no more.
    #[track_caller]
    pub(super) fn told_all(&self) {
        self.asked();
        let state = self.state();
        assert!(state.script.iter().all(Vec::is_empty), "not asked for: {:#?}", state.script);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn surprise(&self, what: String) {
        self.state().surprises.push(what);
    }

    /// The turn that answers this request; none where the script has none.
    fn turn(&self, session: &str, mut asked: Asked) -> Option<Turn> {
        let state = &mut *self.state();
        let next = state.sessions.len();
        asked.session = *state.sessions.entry(session.to_owned()).or_insert(next);
        let turns = state.script.get_mut(asked.session).filter(|turns| !turns.is_empty());
        let turn = turns.map(|turns| turns.remove(0));
        if turn.is_none() || session.is_empty() {
            state.surprises.push(format!("session {} {session:?}: {}", asked.session, asked.last));
        }
        state.asked.push(asked);
        turn
    }
}

/// A request, in the words of any of the APIs, and how it is answered in them.
trait Api {
    /// Everything that the user said in a request, and the last that the model was told.
    fn said(&self, body: &Value) -> (String, String);
    /// Whether it offers tools. What does not is none of the session's own requests: a title, a probe.
    fn offers_tools(&self, body: &Value) -> bool;
    /// A reply, as server-sent events.
    fn reply(&self, body: &Value, text: &str, tool: Option<&Tool>) -> String;
    /// An error's body.
    fn error(&self, kind: &str) -> Value;
}

/// All text in a message's content, however it is nested.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => {
            let keys = ["text", "content", "output"];
            keys.iter().filter_map(|&key| part.get(key)).map(text_of).collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// Server-sent events, each named by its `type`.
fn events(events: &[Value]) -> String {
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(event).collect()
}
