//! Our side of the conversation: what an agent prints goes in, what is to be said to it comes out.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::{
    acp::{
        outcome::{Failure, Stop, outcome},
        permission,
        update::Told,
        usage,
    },
    exit::Exit,
    json::{Object, one_line},
    lines::Lines,
    outcome::Outcome,
    permissions::Permissions,
};

/// The version of the protocol that is spoken here.
const VERSION: u64 = 1;

/// Modes that approve everything, of agents that are known.
const APPROVE_ALL: [&str; 4] = ["bypassPermissions", "agent-full-access", "full-access", "yolo"];

/// The error for a request that is not served here.
const NO_SUCH_METHOD: i64 = -32601;

/// What a session is for.
#[derive(Clone, Debug)]
pub struct Task {
    /// The folder to work in, an absolute path.
    pub folder: String,
    /// The whole prompt.
    pub prompt: String,
    /// What the agent may do.
    pub permissions: Permissions,
    /// The mode to work in, by its id. Default: for [`Permissions::All`] one that approves everything, if the agent offers
    /// one that is known here; else the agent's own choice.
    pub mode: Option<String>,
    /// The model, by the value that the agent has for it. Default: the agent's own choice.
    pub model: Option<String>,
}

impl Task {
    /// A prompt in a folder, with leave to edit files.
    pub fn new(folder: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self {
            folder: folder.into(),
            prompt: prompt.into(),
            permissions: Permissions::default(),
            mode: None,
            model: None,
        }
    }
}

/// The client's side of one session.
///
/// Pure: it is pushed what the agent prints, cut anywhere, gives what is to be said to that, one JSON object each, and is
/// asked for the [`Outcome`] once the agent has ended. Tolerant: what is no JSON, unknown, or not as expected is passed
/// over, and so is a line of more than [`Client::LINE_MAX`] bytes. Memory is bounded by that line.
///
/// ```
/// use ralph_agents::{Exit, acp::{Client, Task}};
/// use ralph_core::SessionEnd;
///
/// let mut client = Client::new(Task::new("/a/workspace", "Add a greeting."));
/// assert!(client.begin().contains("initialize"));
/// let say = client.push(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1}}\n");
/// assert!(say[0].contains("session/new"));
/// let say = client.push(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"sessionId\":\"s1\"}}\n");
/// assert!(say[0].contains("session/prompt"));
/// client.push(br#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"refusal"}}"#);
/// client.push(b"\n");
/// assert!(client.is_over());
/// let outcome = client.outcome(Exit::Code(0), "");
/// assert!(matches!(outcome.end, Ok(SessionEnd::Failed(_))));
/// ```
#[derive(Debug)]
pub struct Client {
    lines: Lines,
    talk: Talk,
}

/// Where the conversation stands: which of our requests is not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Initialize,
    NewSession,
    /// A mode or a model.
    Setting,
    Prompt,
    /// None, and none will follow.
    Over,
}

/// What has been learnt so far, and how the conversation goes on.
#[derive(Debug)]
pub(crate) struct Talk {
    task: Task,
    pub(crate) stage: Stage,
    /// The id of the last request of ours.
    id: u64,
    /// What is to be set before the prompt: methods with their parameters.
    settings: VecDeque<(&'static str, Value)>,
    /// It was asked to end.
    asked: bool,
    /// Whether it was before it came to an end by itself.
    pub(crate) cut_short: bool,
    pub(crate) agent: Option<String>,
    pub(crate) session_id: Option<String>,
    pub(crate) told: Told,
    /// How many times a permission was not given.
    pub(crate) denied: u32,
    pub(crate) stop: Option<Stop>,
    pub(crate) failure: Option<Failure>,
}

impl Client {
    /// How long a line may be, in bytes. The longest seen is 3 MB, what a tool printed; a longer one is skipped.
    pub const LINE_MAX: usize = 8 << 20;

    /// The client of a session that has not begun.
    pub fn new(task: Task) -> Self {
        let talk = Talk {
            task,
            stage: Stage::Initialize,
            id: 0,
            settings: VecDeque::new(),
            asked: false,
            cut_short: false,
            agent: None,
            session_id: None,
            told: Told::default(),
            denied: 0,
            stop: None,
            failure: None,
        };
        Self { lines: Lines::new(Self::LINE_MAX), talk }
    }

    /// The first thing to say, once.
    pub fn begin(&mut self) -> String {
        let capabilities = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
        let info = json!({"name": "ralph", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({"protocolVersion": VERSION, "clientCapabilities": capabilities, "clientInfo": info});
        self.talk.request(Stage::Initialize, "initialize", &params)
    }

    /// Takes in what was printed, cut anywhere, and gives what is to be said to it.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let Self { lines, talk } = self;
        let mut said = Vec::new();
        lines.push(bytes, |line| talk.line(&String::from_utf8_lossy(line), &mut |words| said.push(words), &mut |_| {}));
        said
    }

    /// Takes in one whole line, without its end. `say` gets what is to be said to it, `live` what a person who watches
    /// would like to see of it.
    pub(crate) fn line(&mut self, line: &str, say: &mut dyn FnMut(String), live: &mut dyn FnMut(&str)) {
        self.talk.line(line, say, live);
    }

    /// What to say to an agent that is to end: nothing where it is not at work, and is to be ended otherwise. If it was not
    /// over yet, the outcome is [`SessionEnd::Cancelled`](ralph_core::SessionEnd::Cancelled).
    pub fn cancel(&mut self) -> Option<String> {
        let talk = &mut self.talk;
        talk.asked = true;
        talk.cut_short |= talk.stage != Stage::Over;
        let at_work = talk.stage == Stage::Prompt;
        at_work.then(|| {
            json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": talk.session_id}}).to_string()
        })
    }

    /// Whether it is over: nothing more will be asked of the agent, and its input can be closed.
    pub fn is_over(&self) -> bool {
        self.talk.stage == Stage::Over
    }

    /// Whether it is over and was not cut short.
    pub(crate) fn came_to_an_end(&self) -> bool {
        self.is_over() && !self.talk.cut_short
    }

    /// Gives up on it: it does not read what it is told.
    pub(crate) fn give_up(&mut self) {
        self.talk.fail(Failure::Deaf);
    }

    /// How many lines were skipped because they were too long.
    pub fn skipped(&self) -> u64 {
        self.lines.skipped()
    }

    /// What came of the session, given how the agent ended and what it printed on stderr.
    pub fn outcome(mut self, exit: Exit, stderr: &str) -> Outcome {
        let Self { lines, talk } = &mut self;
        lines.finish(|line| talk.line(&String::from_utf8_lossy(line), &mut |_| {}, &mut |_| {}));
        outcome(self.talk, exit, stderr)
    }
}

impl Talk {
    fn line(&mut self, line: &str, say: &mut dyn FnMut(String), live: &mut dyn FnMut(&str)) {
        let Some(message) = Object::read(line) else { return };
        match (message.text("method"), message.get::<Value>("id").filter(|id| !id.is_null())) {
            (Some(method), Some(id)) => say(self.serve(&method, &id, &message, live)),
            (Some(method), None) if method == "session/update" => self.update(&message, live),
            (Some(_), None) => {}
            (None, Some(id)) if id == self.id && self.stage != Stage::Over => self.answered(&message, say, live),
            (None, _) => {}
        }
    }

    /// Serves a request of the agent's.
    fn serve(&mut self, method: &str, id: &Value, message: &Object<'_>, live: &mut dyn FnMut(&str)) -> String {
        let params = message.object("params").filter(|_| method == "session/request_permission");
        let Some(params) = params else {
            let error = json!({"code": NO_SUCH_METHOD, "message": "not offered by this client"});
            return json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
        };
        self.told.message.pause(live);
        let outcome = if self.asked {
            permission::cancelled()
        } else {
            let answer = permission::answer(&params, self.task.permissions, &self.told.calls);
            self.denied = self.denied.saturating_add(u32::from(!answer.allowed));
            answer.outcome
        };
        json!({"jsonrpc": "2.0", "id": id, "result": outcome}).to_string()
    }

    fn update(&mut self, message: &Object<'_>, live: &mut dyn FnMut(&str)) {
        let Some(params) = message.object("params") else { return };
        // What comes before the prompt is about the agent itself, and other sessions are not ours.
        if self.stage == Stage::Prompt
            && params.text("sessionId") == self.session_id
            && let Some(update) = params.object("update")
        {
            self.told.update(&update, live);
        }
    }

    /// Our last request was answered.
    fn answered(&mut self, message: &Object<'_>, say: &mut dyn FnMut(String), live: &mut dyn FnMut(&str)) {
        if let Some(error) = message.object("error") {
            return self.fail(Failure::error(self.stage, &error));
        }
        let result = message.object("result");
        match self.stage {
            Stage::Initialize => {
                let field = |key| result.as_ref().and_then(|result| result.get(key));
                let version: Option<u64> = field("protocolVersion");
                if version != Some(VERSION) {
                    return self.fail(Failure::Version(version));
                }
                self.agent = result.and_then(|result| result.object("agentInfo")?.text("name"));
            }
            Stage::NewSession => {
                let id = result.as_ref().and_then(|result| result.text("sessionId"));
                let (Some(result), Some(id)) = (result, id.filter(|id| id.len() <= 1000)) else {
                    return self.fail(Failure::NoSession);
                };
                self.session_id = Some(id);
                match self.wanted(&result) {
                    Ok(settings) => self.settings = settings,
                    Err(failure) => return self.fail(failure),
                }
            }
            Stage::Setting => {}
            Stage::Prompt => {
                self.told.message.pause(live);
                let tokens = result.as_ref().and_then(usage::tokens);
                let reason = result.and_then(|result| result.text("stopReason"));
                self.stop = Some(Stop { reason, tokens });
                self.stage = Stage::Over;
            }
            Stage::Over => {}
        }
        // Who is to end is told nothing new.
        if !self.asked && self.stage != Stage::Over {
            say(self.go_on());
        }
    }

    /// The next request.
    fn go_on(&mut self) -> String {
        if self.session_id.is_none() {
            let params = json!({"cwd": self.task.folder, "mcpServers": []});
            return self.request(Stage::NewSession, "session/new", &params);
        }
        if let Some((method, params)) = self.settings.pop_front() {
            return self.request(Stage::Setting, method, &params);
        }
        // It is not needed any more, and it can be long.
        let text = std::mem::take(&mut self.task.prompt);
        let params = json!({"sessionId": self.session_id, "prompt": [{"type": "text", "text": text}]});
        self.request(Stage::Prompt, "session/prompt", &params)
    }

    fn request(&mut self, stage: Stage, method: &str, params: &Value) -> String {
        self.stage = stage;
        self.id += 1;
        json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).to_string()
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
        self.stage = Stage::Over;
    }

    /// What is to be set before the prompt, given what a new session offers.
    fn wanted(&self, session: &Object<'_>) -> Result<VecDeque<(&'static str, Value)>, Failure> {
        let modes = session.object("modes").map(|modes| modes.objects("availableModes")).unwrap_or_default();
        let modes: Vec<String> = modes.iter().filter_map(|mode| mode.text("id")).collect();
        let options = session.objects("configOptions");
        let option = |category: &str| {
            let of = |option: &&Object<'_>| option.text("category").as_deref() == Some(category);
            options.iter().find(of).and_then(|option| option.text("id"))
        };
        let set_mode = |id: &str| ("session/set_mode", json!({"sessionId": self.session_id, "modeId": id}));
        let set_option = |id: String, value: &str| {
            let params = json!({"sessionId": self.session_id, "configId": id, "value": value});
            ("session/set_config_option", params)
        };
        let mut wanted = VecDeque::new();
        match (&self.task.mode, self.task.permissions) {
            (Some(id), _) if modes.contains(id) => wanted.push_back(set_mode(id)),
            // The newer way. Who has both has them in step.
            (Some(id), _) => match option("mode").filter(|_| modes.is_empty()) {
                Some(option) => wanted.push_back(set_option(option, id)),
                None => return Err(Failure::NotOffered(not_offered("mode", id, &modes))),
            },
            (None, Permissions::All) => {
                let known = APPROVE_ALL.iter().find(|&&known| modes.iter().any(|mode| mode == known));
                wanted.extend(known.map(|id| set_mode(id)));
            }
            (None, Permissions::Edits) => {}
        }
        if let Some(model) = &self.task.model {
            match option("model") {
                Some(option) => wanted.push_back(set_option(option, model)),
                None => return Err(Failure::NotOffered("it offers no choice of models".into())),
            }
        }
        Ok(wanted)
    }
}

fn not_offered(what: &str, wanted: &str, offered: &[String]) -> String {
    let offered = if offered.is_empty() { "none".to_owned() } else { offered.join(", ") };
    one_line(&format!("it has no {what} `{wanted}`; it offers {offered}"), 300)
}
