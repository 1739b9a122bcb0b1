//! Whether the programs of those who have sessions are there and start.

use std::time::Duration;

use ralph_core::chain;
use ralph_process::{Command, End, capture};

use super::{Mark, Table};
use crate::{
    project::Project,
    settings::{Backend, Settings},
    wire,
};

/// A program that the settings name: in which row it is told, and under which table.
struct Named<'a> {
    row: &'static str,
    table: &'static str,
    backend: Option<Backend>,
    command: &'a [String],
}

/// The agent that works, and those that review and tidy where they are others.
pub(super) async fn agents(settings: &Settings, project: &Project, table: &mut Table) {
    let agent = &settings.agent;
    let working = Named { row: "agent", table: "agent", backend: agent.backend, command: &agent.command };
    if let Err(error) = wire::agent(settings, project) {
        return table.add("agent", Mark::Failed, error.to_string());
    }
    one(&working, settings, project, table).await;
    for (row, key, enabled, other) in [
        ("review", "review.agent", settings.review.enabled, &settings.review.agent),
        ("clean-up", "cleanup.agent", settings.cleanup.enabled, &settings.cleanup.agent),
    ] {
        if let Some(other) = other.as_ref().filter(|_| enabled) {
            let named = Named { row, table: key, backend: Some(other.backend), command: &other.command };
            one(&named, settings, project, table).await;
        }
    }
}

async fn one(named: &Named<'_>, settings: &Settings, project: &Project, table: &mut Table) {
    let Named { row, backend, command, .. } = *named;
    let first = command.first().map(String::as_str);
    // Without any, the agent could not have been put together.
    let Some(program) = backend.and_then(|backend| first.or(backend.program())) else { return };
    if backend == Some(Backend::Scripted) {
        return table.add(row, Mark::Ok, format!("plays the sessions that are recorded in {program}"));
    }
    let path = match which::which_in(program, std::env::var_os("PATH"), &project.root) {
        Ok(path) => path,
        Err(_) => {
            let advice = format!("install it, or name another program in `{}.command`", named.table);
            let text = format!("`{program}` is not a program that can be found: {advice}");
            return table.add(row, Mark::Failed, text);
        }
    };
    if backend.is_none_or(|backend| backend.program().is_none()) {
        return table.add(row, Mark::Ok, format!("{} (there; it was not started)", path.display()));
    }
    let command =
        Command::new(&path, &project.root).arg("--version").envs(ralph_process::env::inherited(&settings.agent.env));
    let said = match capture(&command, Duration::from_secs(20), 64 << 10).await {
        Ok(said) => said,
        Err(error) => return table.add(row, Mark::Failed, format!("`{command}`: {}", chain(&error))),
    };
    let version = String::from_utf8_lossy(&said.stdout).lines().next().unwrap_or_default().trim().to_owned();
    match said.end {
        End::Exited(0) => table.add(row, Mark::Ok, format!("{version} ({})", path.display())),
        End::TimedOut => table.add(row, Mark::Failed, format!("`{command}` did not answer in 20 s")),
        _ => {
            let why = String::from_utf8_lossy(&said.stderr).trim().to_owned();
            table.add(row, Mark::Failed, format!("`{command}` failed: {why}"));
        }
    }
}
