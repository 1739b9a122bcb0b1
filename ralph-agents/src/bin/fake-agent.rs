//! A coding agent for tests: replays numbered replies. Not part of the product.
//!
//! The folder named by `FAKE_AGENT_DIR` holds `1.json`, `2.json`, …: one reply for each session, in the order in which
//! they begin. It can stand in for any command, and for `claude` by printing a recorded transcript. A reply:
//!
//! ```json
//! {
//!   "stdin": "read",
//!   "ignore": ["TERM"],
//!   "on_signal": {"signal": "INT", "steps": [{"stdout": "stopped\n"}], "exit": 0},
//!   "steps": [
//!     {"stdout": "text"}, {"stderr": "text"}, {"stdout_file": "success.stdout"}, {"stdout_bytes": [255, 10]},
//!     {"flood": {"bytes": 1000000, "line": 80}},
//!     {"write": {"path": "a/b.txt", "text": "made\n"}}, {"delete": "c.txt"}, {"mkdir": "d"},
//!     {"symlink": {"path": "link", "target": "a/b.txt"}}, {"chmod": {"path": "d", "mode": "700"}},
//!     {"sh": "git add -A"}, {"spawn": {"sh": "sleep 600", "apart": "session"}},
//!     {"agents": {"count": 3, "at_once": true, "unset": ["RALPH_SPAWN_ID"], "set": {"RALPH_SPAWN_DEPTH": "0"}}},
//!     {"delay_ms": 20}, {"wait_for": "go"}, "hang",
//!     {"hear": "session/prompt"}, {"answer": {"to": "session/prompt", "with": {"result": {}}}}, "hear_end"
//!   ],
//!   "exit": 0
//! }
//! ```
//!
//! - Everything but `steps` can be left out. `stdin` is `read` (to its end, before the first step), `ignore`, or `talk`.
//! - In a talk, `hear` waits for a line of stdin that has this text in it, `hear_end` for its end. `answer` prints an
//!   answer to the last request with this `method`. What was heard is in `heard` of the session's record.
//! - File effects happen below the current folder. `stdout_file` and `wait_for` are looked for in `FAKE_AGENT_DIR`, an
//!   absolute path as it is.
//! - `sh` finds the folder of the session's record in `FAKE_AGENT_CALL`; a line that fails is exit status 99.
//! - `spawn` starts a shell line that outlives the step, its output going nowhere; `apart` is `no` (default), `group`
//!   or `session`.
//! - `agents` asks the spawn budget for so many agents, and starts for each grant another one of this program, with these
//!   variables changed; `at_once` starts all before it waits for any (default: one after the other). Such an agent is one
//!   level below: where its session has no reply of its own, it takes `level-<n>.json`. What was refused is in the
//!   record, one reason a line, as `refused`.
//! - `exit` is a status, or the name of a signal to die of. `ignore` lists signals that change nothing.
//! - Signals are heeded between steps and in `delay_ms`, `wait_for` and `hang`.
//! - A reply that is missing or not understood is exit status 99 and a line on stderr.
//!
//! Each session leaves a record in `calls/<n>/`: `prompt` (what came on stdin, or in a talk by `session/prompt`), `call.json` (`args`, `cwd`, `pid`, the
//! names of all variables in `env`, the values of `RALPH_*` in `ralph`), `children` (the pids of what it spawned, one a
//! line) and, after the last step, `done`.

use std::{
    collections::{BTreeMap, HashMap},
    env, fs, future,
    io::{self, BufRead, Read, Write},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread,
    time::Duration,
};

use ralph_agents::spawn::{Spawn, SpawnBudget, inherited};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::signal::unix::{SignalKind, signal};

type Fallible<T = ()> = Result<T, Box<dyn std::error::Error>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    #[serde(default)]
    stdin: Stdin,
    #[serde(default)]
    ignore: Vec<String>,
    on_signal: Option<OnSignal>,
    steps: Vec<Step>,
    #[serde(default)]
    exit: Exit,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Stdin {
    #[default]
    Read,
    Ignore,
    Talk,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Exit {
    Status(u8),
    Signal(String),
}

impl Default for Exit {
    fn default() -> Self {
        Self::Status(0)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OnSignal {
    signal: String,
    steps: Vec<Step>,
    #[serde(default)]
    exit: Exit,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Step {
    Stdout(String),
    Stderr(String),
    StdoutFile(PathBuf),
    StdoutBytes(Vec<u8>),
    Flood {
        bytes: u64,
        line: u64,
    },
    Write {
        path: PathBuf,
        text: String,
    },
    Delete(PathBuf),
    Mkdir(PathBuf),
    Symlink {
        path: PathBuf,
        target: PathBuf,
    },
    Chmod {
        path: PathBuf,
        mode: String,
    },
    Sh(String),
    Spawn {
        sh: String,
        #[serde(default)]
        apart: Apart,
    },
    Agents(Agents),
    DelayMs(u64),
    WaitFor(PathBuf),
    Hear(String),
    Answer {
        to: String,
        with: Map<String, Value>,
    },
    HearEnd,
    Hang,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Apart {
    #[default]
    No,
    Group,
    Session,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Agents {
    count: u32,
    #[serde(default)]
    at_once: bool,
    #[serde(default)]
    unset: Vec<String>,
    #[serde(default)]
    set: BTreeMap<String, String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match session().await {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            // Nothing can be done if stderr is gone as well.
            let _ = writeln!(io::stderr(), "fake-agent: {error}");
            ExitCode::from(99)
        }
    }
}

async fn session() -> Fallible<u8> {
    let dir = PathBuf::from(env::var_os("FAKE_AGENT_DIR").ok_or("FAKE_AGENT_DIR is not set")?);
    let (number, call) = claim(&dir)?;
    let mut file = dir.join(format!("{number}.json"));
    if !file.exists() && level()? > 0 {
        file = dir.join(format!("level-{}.json", level()?));
    }
    let reply =
        fs::read(&file).map_err(|error| format!("no reply for session {number}, {}: {error}", file.display()))?;
    let reply: Reply =
        serde_json::from_slice(&reply).map_err(|error| format!("{} is no reply: {error}", file.display()))?;

    // Before anything is recorded, so that whoever sees the record may send a signal.
    let mut ignored = Vec::new();
    for name in &reply.ignore {
        ignored.push(signal(kind(name)?)?);
    }
    let mut awaited = match &reply.on_signal {
        Some(on) => Some(signal(kind(&on.signal)?)?),
        None => None,
    };
    let mut prompt = Vec::new();
    if reply.stdin == Stdin::Read {
        io::stdin().read_to_end(&mut prompt)?;
    }
    record(&call, &prompt)?;
    let mut ears = Ears::new(reply.stdin == Stdin::Talk, &call);

    let came = async {
        match &mut awaited {
            Some(signal) => drop(signal.recv().await),
            None => future::pending().await,
        }
    };
    let (rest, exit) = tokio::select! {
        done = play(&reply.steps, &dir, &call, &mut ears) => { done?; (None, &reply.exit) }
        () = came => match &reply.on_signal {
            Some(on) => (Some(&on.steps), &on.exit),
            None => (None, &reply.exit),
        },
    };
    if let Some(steps) = rest {
        play(steps, &dir, &call, &mut ears).await?;
    }
    fs::write(call.join("done"), "")?;
    match exit {
        Exit::Status(status) => Ok(*status),
        Exit::Signal(name) => {
            shell(&format!("kill -{name} {}", std::process::id()), &call).status()?;
            future::pending().await
        }
    }
}

/// Takes the next number. Making the folder is what decides between sessions that begin at once.
fn claim(dir: &Path) -> Fallible<(u32, PathBuf)> {
    let calls = dir.join("calls");
    fs::create_dir_all(&calls)?;
    for number in 1.. {
        let call = calls.join(number.to_string());
        match fs::create_dir(&call) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok(made.map(|()| (number, call))?),
        }
    }
    Err("too many sessions".into())
}

fn record(call: &Path, prompt: &[u8]) -> Fallible {
    fs::write(call.join("prompt"), prompt)?;
    fs::write(call.join("children"), "")?;
    let vars: Vec<(String, String)> = env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .collect();
    let ralph: Map<_, _> = vars
        .iter()
        .filter(|(name, _)| name.starts_with("RALPH_"))
        .map(|(name, value)| (name.clone(), value.clone().into()))
        .collect();
    let json = serde_json::json!({
        "args": env::args().skip(1).collect::<Vec<_>>(),
        "cwd": env::current_dir()?,
        "pid": std::process::id(),
        "env": vars.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "ralph": ralph,
    });
    // In one go, so that whoever waits for the file finds all of it.
    fs::write(call.join("call.tmp"), json.to_string())?;
    Ok(fs::rename(call.join("call.tmp"), call.join("call.json"))?)
}

async fn play(steps: &[Step], dir: &Path, call: &Path, ears: &mut Ears) -> Fallible {
    for step in steps {
        tokio::task::yield_now().await;
        match step {
            Step::Stdout(text) => out(text.as_bytes())?,
            Step::Stderr(text) => io::stderr().write_all(text.as_bytes())?,
            Step::StdoutFile(path) => out(&fs::read(dir.join(path))?)?,
            Step::StdoutBytes(bytes) => out(bytes)?,
            Step::Flood { bytes, line } => flood(*bytes, *line)?,
            Step::Write { path, text } => {
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent)?;
                }
                fs::write(path, text)?;
            }
            Step::Delete(path) if path.is_dir() => fs::remove_dir_all(path)?,
            Step::Delete(path) => fs::remove_file(path)?,
            Step::Mkdir(path) => fs::create_dir_all(path)?,
            Step::Symlink { path, target } => std::os::unix::fs::symlink(target, path)?,
            Step::Chmod { path, mode } => {
                let mode = u32::from_str_radix(mode, 8)?;
                fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
            }
            Step::Sh(line) => {
                let status = shell(line, call).status()?;
                if !status.success() {
                    return Err(format!("`{line}`: {status}").into());
                }
            }
            Step::Spawn { sh, apart } => spawn(sh, apart, call)?,
            Step::Agents(asked) => agents(asked, call)?,
            Step::DelayMs(ms) => tokio::time::sleep(Duration::from_millis(*ms)).await,
            Step::WaitFor(path) => {
                while !dir.join(path).exists() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
            Step::Hear(text) => ears.hear(text).await?,
            Step::Answer { to, with } => {
                let id = ears.ids.get(to).ok_or(format!("`{to}` was not heard"))?;
                let mut answer = with.clone();
                answer.extend([("jsonrpc".to_owned(), "2.0".into()), ("id".to_owned(), id.clone())]);
                out(format!("{}\n", Value::from(answer)).as_bytes())?;
            }
            Step::HearEnd => while ears.line().await?.is_some() {},
            Step::Hang => future::pending().await,
        }
    }
    Ok(())
}

/// What is heard on stdin in a talk.
struct Ears {
    lines: Option<Receiver<String>>,
    /// The ids of requests, by method.
    ids: HashMap<String, Value>,
    call: PathBuf,
}

impl Ears {
    fn new(talk: bool, call: &Path) -> Self {
        // A thread, which ends with the program: a runtime would wait for its last line.
        let lines = talk.then(|| {
            let (sender, lines) = channel();
            thread::spawn(move || {
                io::stdin().lock().lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
            });
            lines
        });
        Self { lines, ids: HashMap::new(), call: call.to_owned() }
    }

    async fn hear(&mut self, text: &str) -> Fallible {
        loop {
            match self.line().await? {
                Some(line) if line.contains(text) => return Ok(()),
                Some(_) => {}
                None => return Err(format!("`{text}` was never heard").into()),
            }
        }
    }

    /// The next line; nothing at the end.
    async fn line(&mut self) -> Fallible<Option<String>> {
        let lines = self.lines.as_ref().ok_or("there is no talk")?;
        let line = loop {
            match lines.try_recv() {
                Ok(line) => break line,
                Err(TryRecvError::Disconnected) => return Ok(None),
                Err(TryRecvError::Empty) => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        };
        writeln!(fs::OpenOptions::new().create(true).append(true).open(self.call.join("heard"))?, "{line}")?;
        let message: Value = serde_json::from_str(&line)?;
        if let Some(method) = message["method"].as_str() {
            self.ids.insert(method.to_owned(), message["id"].clone());
            if let Some(prompt) = message["params"]["prompt"][0]["text"].as_str() {
                fs::write(self.call.join("prompt"), prompt)?;
            }
        }
        Ok(Some(line))
    }
}

fn out(bytes: &[u8]) -> Fallible {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    Ok(stdout.flush()?)
}

/// `bytes` bytes in lines of `line` bytes; 0 makes one line of it all.
fn flood(bytes: u64, line: u64) -> Fallible {
    let piece = match line {
        0 => vec![b'x'; 1 << 16],
        line => {
            let mut piece = vec![b'x'; usize::try_from(line)?];
            if let Some(last) = piece.last_mut() {
                *last = b'\n';
            }
            piece
        }
    };
    let mut stdout = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut left = bytes;
    while left > 0 {
        let take = left.min(piece.len() as u64);
        stdout.write_all(&piece[..usize::try_from(take)?])?;
        left -= take;
    }
    Ok(stdout.flush()?)
}

fn spawn(line: &str, apart: &Apart, call: &Path) -> Fallible {
    let mut command = match apart {
        Apart::No | Apart::Group => shell(line, call),
        Apart::Session => {
            let mut command = Command::new("setsid");
            command.args(["sh", "-c", line]);
            command
        }
    };
    if matches!(apart, Apart::Group) {
        command.process_group(0);
    }
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut children = fs::OpenOptions::new().append(true).open(call.join("children"))?;
    Ok(writeln!(children, "{}", child.id())?)
}

/// How many agents are above this one.
fn level() -> Fallible<u32> {
    Ok(env::var("FAKE_AGENT_LEVEL").map_or(Ok(0), |level| level.parse())?)
}

fn agents(asked: &Agents, call: &Path) -> Fallible {
    let mut at_work = Vec::new();
    for _ in 0..asked.count {
        let why = match inherited() {
            None => "no budget is known".to_owned(),
            Some(budget) => match SpawnBudget::open(budget.state).try_spawn(&budget.caller, None) {
                Spawn::Granted(granted) => {
                    at_work.push(agent(asked, granted.env())?);
                    if !asked.at_once {
                        at_work.drain(..).try_for_each(|mut agent| agent.wait().map(drop))?;
                    }
                    continue;
                }
                Spawn::Refused(why) => why.to_string(),
            },
        };
        let mut refused = fs::OpenOptions::new().create(true).append(true).open(call.join("refused"))?;
        writeln!(refused, "{why}")?;
    }
    Ok(at_work.drain(..).try_for_each(|mut agent| agent.wait().map(drop))?)
}

/// Another one of this program, one level below.
fn agent(asked: &Agents, vars: Vec<(String, String)>) -> Fallible<Child> {
    let mut command = Command::new(env::current_exe()?);
    command.envs(vars).env("FAKE_AGENT_LEVEL", (level()? + 1).to_string()).envs(&asked.set);
    for name in &asked.unset {
        command.env_remove(name);
    }
    Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn()?)
}

/// A shell line, which finds the record of its session in `FAKE_AGENT_CALL`.
fn shell(line: &str, call: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]).env("FAKE_AGENT_CALL", call);
    command
}

fn kind(name: &str) -> Fallible<SignalKind> {
    Ok(match name {
        "HUP" => SignalKind::hangup(),
        "INT" => SignalKind::interrupt(),
        "TERM" => SignalKind::terminate(),
        "USR1" => SignalKind::user_defined1(),
        _ => return Err(format!("unknown signal `{name}`").into()),
    })
}
