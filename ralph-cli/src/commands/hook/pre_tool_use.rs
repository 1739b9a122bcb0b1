//! Before a tool is used: whether one more agent may be started.
//!
//! Hooks fail open: whatever goes wrong here would be leave. So the answer is made aside, and where it does not come, is
//! not to be had, or cannot be made, it is no.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::{fd::AsFd as _, unix::fs::MetadataExt as _},
    path::Path,
    sync::mpsc,
    thread,
    time::Duration,
};

use ralph_agents::spawn::{Caller, Spawn, SpawnBudget, inherited};
use serde_json::json;

use super::{Input, record, say, settings};
use crate::operator;

/// How long an answer may take: less than the time that a hook is given.
const LIMIT: Duration = Duration::from_secs(30);

/// Tools that start one agent: Claude Code's, by its two names, and Codex'.
const SPAWNS: &[&str] = &["Agent", "Task", "collaborationspawn_agent"];

/// A tool that starts as many as it likes, which are not asked about one by one.
const SPAWNS_MANY: &str = "Workflow";

/// Answers the hook; the exit code.
pub(super) fn pre_tool_use(directory: &Path) -> u8 {
    let (answer, answered) = mpsc::channel();
    let directory = directory.to_owned();
    // One that hangs is left behind; one that panics drops its end.
    thread::spawn(move || answer.send(refusal(&directory)));
    let refusal = answered.recv_timeout(LIMIT).unwrap_or_else(|error| Some(format!("there is no answer: {error}")));
    match refusal {
        None => 0,
        Some(why) => deny(&why),
    }
}

fn deny(why: &str) -> u8 {
    let answer = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": format!("ralph: {why}"),
    }});
    match answer_on_stdout(&format!("{answer}\n")) {
        Ok(()) => 0,
        // The other way to say no.
        Err(error) => {
            say(&format!("{why} ({error})"));
            2
        }
    }
}

/// Where it does not arrive, that is an error here: a closed stdout is `/dev/null` by the time we see it.
fn answer_on_stdout(text: &str) -> io::Result<()> {
    let stdout = io::stdout();
    let held = File::from(stdout.as_fd().try_clone_to_owned()?).metadata()?;
    let leads_nowhere =
        fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == held.rdev() && null.ino() == held.ino());
    if leads_nowhere {
        return Err(io::Error::other("stdout leads nowhere"));
    }
    let mut stdout = stdout.lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Why the tool may not be used; `None` where it may.
fn refusal(directory: &Path) -> Option<String> {
    let input = match Input::read() {
        Ok(input) => input,
        Err(error) => return Some(format!("what the hook was told cannot be read ({error})")),
    };
    let Some(tool) = input.tool_name.as_deref() else {
        return Some("what the hook was told names no tool".to_owned());
    };
    if tool == SPAWNS_MANY {
        return Some("nobody can count the agents of a workflow: start them one by one".to_owned());
    }
    if !SPAWNS.contains(&tool) {
        return None;
    }
    let (budget, mut caller) = match budget(&input, directory) {
        Ok(found) => found,
        Err(why) => return Some(why),
    };
    if let Some(agent) = &input.agent_id {
        caller = caller.subagent(agent);
    }
    match budget.try_spawn(&caller, input.tool_use_id.as_deref()) {
        Spawn::Granted(_) => None,
        Spawn::Refused(why) => Some(why.to_string()),
    }
}

/// The budget that binds the session, and who it is in it.
fn budget(input: &Input, directory: &Path) -> Result<(SpawnBudget, Caller), String> {
    if let Some(inherited) = inherited() {
        return Ok((SpawnBudget::open(inherited.state), inherited.caller));
    }
    // It has left its variables out, and everything above it that had them is gone.
    if let Some(inside) = operator::inside_a_session() {
        return Err(format!("this is {inside}, and its spawn budget is not known"));
    }
    let session = input.session().ok_or("what the hook was told names no session")?;
    let projects = input.projects(directory);
    let path = record::spawn_state(session).map_err(|error| error.to_string())?;
    let mut began = projects.iter().filter_map(|project| record::read(&project.ledger, session));
    if began.any(|record| record.spawn) && !SpawnBudget::open(&path).exists() {
        return Err(format!("the spawn budget of this session is gone ({})", path.display()));
    }
    let limits = settings(projects.first()).spawn.limits();
    let budget = SpawnBudget::create(&path, limits)
        .map_err(|error| format!("the spawn budget of this session cannot be made ({}: {error})", path.display()))?;
    Ok((budget, Caller::root()))
}
