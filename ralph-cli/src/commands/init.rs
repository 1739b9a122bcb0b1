//! `ralph init`: the first settings and the first PRD.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use crate::{args, error::CliError, init, output, project::Project, settings::Settings};

pub(crate) fn init(directory: &Path, args: &args::Init) -> Result<u8, CliError> {
    let project = Project::find(directory)?;
    let task = args.task.as_deref().map(one_line).transpose()?;
    let (agent, found_agent) = agent(args.agent.as_deref())?;
    let check = init::find_check(&project.root);

    let ledger = &project.ledger;
    ledger.create().map_err(|error| CliError::failed("the control folder cannot be made", &error))?;
    let mut page = String::new();
    let settings = ledger.settings();
    let name = project.relative(&settings);
    if write_new(&settings, &init::settings(agent.as_deref(), check.as_ref()))? {
        page.push_str(&format!("wrote  {name}\n       {found_agent}\n       "));
        page.push_str(&match &check {
            Some(check) => {
                let setup = check.setup.as_ref().map(|setup| format!(", after `{setup}`")).unwrap_or_default();
                format!("check: `{}`, from {}{setup}\n", check.command, check.from)
            }
            None => "check: none was found; name one as `verify.command`\n".to_owned(),
        });
    } else {
        let lost = if args.agent.is_some() { "; --agent has no effect: set it there" } else { "" };
        page.push_str(&format!("left   {name} as it is{lost}\n"));
    }
    let prds = project.prds();
    let plan = match prds.first() {
        Some(there) => {
            let lost = if task.is_some() { "; the task was not added: write it there" } else { "" };
            page.push_str(&format!("left   {} as it is{lost}\n", project.relative(there)));
            project.relative(there)
        }
        None => {
            let prd = ledger.root().join("PRD-P1.md");
            write_new(&prd, &init::prd(task.as_deref()))?;
            page.push_str(&format!("wrote  {}\n", project.relative(&prd)));
            project.relative(&prd)
        }
    };
    if args.claude {
        page.push_str(&claude(&project)?);
    }
    page.push_str("\nNext:\n");
    for (command, what) in [
        (format!("edit {plan}"), "say what is to be done, and what tells that it is"),
        ("ralph check".to_owned(), "what is wrong or odd in settings and plan"),
        ("ralph doctor".to_owned(), "whether agent and check work; runs the check once"),
        ("ralph run --dry-run".to_owned(), "what the first session would be told; costs nothing"),
        ("ralph run".to_owned(), "begin"),
    ] {
        page.push_str(&format!("  {command:<28} {what}\n"));
    }
    output::print(&page)?;
    Ok(0)
}

/// Writes what is for Claude Code; what to say of it.
fn claude(project: &Project) -> Result<String, CliError> {
    Ok(btw(project)? + &hooks(project)?)
}

/// Writes the hooks and the criteria that they hold a session to.
fn hooks(project: &Project) -> Result<String, CliError> {
    let criteria = project.ledger.criteria();
    let name = project.relative(&criteria);
    let mut page = if write_new(&criteria, init::CRITERIA)? {
        format!(
            "wrote  {name}\n       what a session must bring about before it may end; binds nobody until you edit it\n"
        )
    } else {
        format!("left   {name} as it is\n")
    };
    let name = init::CLAUDE_SETTINGS_PATH;
    page.push_str(&if write_new(&project.root.join(name), init::CLAUDE_SETTINGS)? {
        format!(
            "wrote  {name}\n       hooks: a budget for subagents (`[spawn]`), and no end before the criteria hold (`[hook]`).\n       \
             They need `ralph` on the PATH; without it, Claude Code starts no subagents here.\n"
        )
    } else {
        format!("left   {name} as it is; for the hooks, add to its `hooks`:\n{}", init::CLAUDE_SETTINGS)
    });
    Ok(page)
}

/// Writes the command for Claude Code; what to say of it.
fn btw(project: &Project) -> Result<String, CliError> {
    let path = project.root.join(init::BTW_PATH);
    let fail = |error: io::Error| CliError::failed(format!("{} cannot be written", path.display()), &error);
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(fail)?;
    if !write_new(&path, init::BTW)? {
        return Ok(format!("left   {} as it is\n", init::BTW_PATH));
    }
    Ok(format!(
        "wrote  {}\n       `/btw` in Claude Code shows what waits for you in every project, and takes your answers.\n       \
         If your version has a `/btw` of its own, give the file another name: it is that of the command.\n",
        init::BTW_PATH
    ))
}

/// The backend to write, and what to say of it.
fn agent(given: Option<&str>) -> Result<(Option<String>, String), CliError> {
    match given {
        // It needs a program, which only the user knows.
        Some("command" | "acp" | "scripted") => Ok((None, "agent: name your program in [agent]".to_owned())),
        Some(name) => {
            let text = format!("agent.backend = {}", toml::Value::String(name.to_owned()));
            toml::from_str::<Settings>(&text).map_err(|_| {
                let known = "claude, codex, gemini, opencode, acp and command";
                CliError::usage(format!("--agent {name}: there are {known}"))
            })?;
            Ok((Some(name.to_owned()), format!("agent: {name}")))
        }
        None => {
            let there = |name: &&str| which::which(name).map(|path| ((*name).to_owned(), path));
            let found = ["claude", "codex", "gemini", "opencode"].iter().find_map(|name| there(name).ok());
            Ok(match found {
                Some((name, path)) => {
                    let said = format!("agent: {name} ({})", path.display());
                    (Some(name), said)
                }
                None => (None, "agent: none was found; name one in [agent]".to_owned()),
            })
        }
    }
}

fn one_line(task: &str) -> Result<String, CliError> {
    let line = task.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() { Err(CliError::usage("--task says nothing")) } else { Ok(line) }
}

/// Writes a file that is not there yet; whether it did.
fn write_new(path: &Path, text: &str) -> Result<bool, CliError> {
    let fail = |error: io::Error| CliError::failed(format!("{} cannot be written", path.display()), &error);
    match fs::File::options().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| true).map_err(fail),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(fail(error)),
    }
}
