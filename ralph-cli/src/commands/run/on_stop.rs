//! `run.on_stop`: the operator's own command, told how a run ended, so that somebody learns of it at night.

use std::time::Duration;

use ralph_core::{RunId, Stop, chain};
use ralph_process::{Command, End, capture};

use super::signals::any_signal;
use crate::{project::Project, settings::Settings};

/// How long the command may take.
const LIMIT: Duration = Duration::from_secs(60);

/// How much of its output is read, in bytes.
const OUTPUT_MAX: usize = 64 << 10;

/// Runs the command, where there is one, until a signal ends it; answers what went wrong. It never changes how the run
/// ended.
pub(super) async fn on_stop(project: &Project, settings: &Settings, run: &RunId, stop: &Stop) -> Option<String> {
    let script = settings.run.on_stop.as_ref()?;
    // The operator's own command, in the operator's own environment.
    let command = Command::shell(script, &project.root).envs(std::env::vars_os()).envs([
        ("RALPH_STOP_REASON", stop.reason.name().to_owned()),
        ("RALPH_STOP_DETAIL", stop.detail.clone()),
        ("RALPH_STOP_EXIT", stop.reason.exit_code().to_string()),
        ("RALPH_STOP_RUN", run.to_string()),
    ]);
    // What the run listened to is caught still, and would go unheard. Dropping the command ends it.
    let captured = tokio::select! {
        // It listens before the command begins.
        biased;
        () = any_signal() => return Some("`run.on_stop`: ended by a signal".to_owned()),
        captured = capture(&command, LIMIT, OUTPUT_MAX) => captured,
    };
    let trouble = match captured {
        Ok(done) if done.success() => return None,
        Ok(done) => match done.end {
            End::TimedOut => format!("it took longer than {} s", LIMIT.as_secs()),
            _ => format!("it failed: {}", String::from_utf8_lossy(&done.stderr).trim()),
        },
        Err(error) => chain(&error),
    };
    Some(format!("`run.on_stop`: {trouble}"))
}
