//! `ralph clean`: removes what runs leave behind.

use std::{
    collections::BTreeSet,
    fmt, fs,
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use ralph_agents::spawn::left_behind;
use ralph_core::{
    Cx, KeepKind, Revision, RunId, StopReason, from_millis,
    ledger::{FileDecisions, Holder, LedgerLock, LockError, holder},
};
use ralph_vcs::GitVcs;

use crate::{
    args,
    commands::check::CALIBRATION,
    error::CliError,
    output,
    project::Project,
    report::count,
    runs::{self, RunInfo},
    settings, wire,
};

pub(crate) async fn clean(directory: &Path, args: &args::Clean) -> Result<u8, CliError> {
    let project = Project::find(directory)?;
    let settings = settings::load(&project.settings(), &[])?.settings;
    let age = args.runs_older_than.as_deref().map(settings::parse_duration).transpose();
    let age = age.map_err(|error| CliError::usage(format!("--runs-older-than: {error}")))?;
    let _lock = hold(&project, args.dry_run)?;
    let branch = runs::find(&project.ledger, None)?.map_or_else(|| "ralph/plan".to_owned(), |(_, info)| info.branch);
    let options = wire::git(&settings, &project, &branch)?;
    let vcs = GitVcs::open(options).await?;

    let found = find(&project, &vcs, args, age).await?;
    if found.remove.is_empty() {
        output::print(&format!("Nothing to remove.\n{}", left(&found.left)))?;
        return Ok(0);
    }
    let title = if args.dry_run { "Would remove:" } else { "To be removed:" };
    let list: String = found.remove.iter().map(|thing| format!("  {}\n", thing.render(&project))).collect();
    output::print(&format!("{title}\n{list}{}", left(&found.left)))?;
    if args.dry_run {
        return Ok(0);
    }
    if !args.yes && !agreed()? {
        output::print("Nothing was removed.\n")?;
        return Ok(0);
    }
    remove(&project, &vcs, &found.remove).await?;
    output::print(&format!("Removed {}.\n", count(found.remove.len() as u64, "thing")))?;
    Ok(0)
}

/// Makes sure that no run is at work now, nor begins while things are removed.
fn hold(project: &Project, only_look: bool) -> Result<Option<LedgerLock>, CliError> {
    let refuse =
        |live: &Holder| CliError::usage(format!("a run is at work: {live}; wait for it, or stop it with `ralph stop`"));
    // Without `state/` there never was a run here.
    if only_look || !project.ledger.state().exists() {
        let live = holder(&project.ledger).map_err(|error| CliError::failed("the lock", &error))?;
        return live.map_or(Ok(None), |live| Err(refuse(&live)));
    }
    let this = Holder::this_process("ralph clean", None, SystemTime::now());
    match LedgerLock::take(&project.ledger, &this) {
        Ok(lock) => Ok(Some(lock)),
        Err(LockError::Held(live)) => Err(refuse(&live)),
        Err(error) => Err(CliError::failed("the control folder", &error)),
    }
}

/// Something that goes.
#[derive(Debug)]
enum Thing {
    Workspace(PathBuf),
    Kept(String),
    Logs(PathBuf),
    Run(PathBuf),
    /// A spawn budget of a session that is gone, of whichever project.
    Budget(PathBuf),
}

impl Thing {
    fn render(&self, project: &Project) -> String {
        match self {
            Self::Workspace(path) => format!("workspace  {}", path.display()),
            Self::Kept(name) => format!("kept work  {name}"),
            Self::Logs(path) => format!("logs       {}", project.relative(path)),
            Self::Run(path) => format!("run        {}", project.relative(path)),
            Self::Budget(path) => format!("budget     {}", path.display()),
        }
    }
}

#[derive(Debug, Default)]
struct Found {
    remove: Vec<Thing>,
    /// What was asked for and stays, with why.
    left: Vec<String>,
}

fn left(left: &[String]) -> String {
    if left.is_empty() {
        return String::new();
    }
    format!("Stays:\n{}", left.iter().map(|text| format!("  {text}\n")).collect::<String>())
}

/// What of a run may go.
enum Fate {
    /// It is over, since then.
    Finished(SystemTime),
    /// It can be taken up again. Holds why that is so.
    Open(String),
}

async fn find(project: &Project, vcs: &GitVcs, args: &args::Clean, age: Option<Duration>) -> Result<Found, CliError> {
    let mut found = Found::default();
    let ledger = &project.ledger;
    let all = runs::all(ledger)?;
    match vcs.sites_to_remove() {
        Ok(sites) => match needs_workspaces(project, &all) {
            Some(why) if !sites.is_empty() => found.left.push(format!("the workspaces: {why}")),
            Some(_) => {}
            None => found.remove.extend(sites.into_iter().map(Thing::Workspace)),
        },
        Err(error) => found.left.push(format!("the workspaces: {error}")),
    }
    match left_behind(&wire::spawn_budgets()?, SystemTime::now()) {
        Ok(budgets) => found.remove.extend(budgets.into_iter().map(Thing::Budget)),
        Err(error) => found.left.push(format!("the spawn budgets: {error}")),
    }
    if args.logs {
        found.remove.extend(calibrations(project)?.into_iter().map(Thing::Logs));
    }
    let mut cut_off = BTreeSet::new();
    for (index, (run, info)) in all.iter().enumerate() {
        let newer = all.iter().skip(index + 1).any(|(_, other)| other == info);
        let fate = fate(project, run, info, newer);
        let is_last = is_last(project, &all, index);
        if let Fate::Open(_) = fate {
            cut_off.insert(run.to_string());
        }
        if age.is_none() && !args.logs {
            continue;
        }
        let folder = ledger.run(run);
        match fate {
            Fate::Finished(at) => {
                let is_old = age.is_some_and(|age| older(at, age));
                if is_old && !is_last {
                    found.remove.push(Thing::Run(folder));
                    continue;
                }
                if is_old {
                    let (plan, branch) = (&info.plan, &info.branch);
                    found.left.push(format!(
                        "run {run}: the last of {plan} on {branch}, whose phases and gates the next one knows from it"
                    ));
                }
                if args.logs && folder.join("iterations").is_dir() {
                    found.remove.push(Thing::Logs(folder.join("iterations")));
                }
            }
            Fate::Open(why) => found.left.push(format!("run {run}: {why}")),
        }
    }
    if args.rejected {
        let needed = needed(project)?;
        let kept = vcs.kept(None, &Cx::new()).await?;
        for work in kept.into_iter().filter(|work| work.kind != KeepKind::Parked) {
            let run = work.name.split('/').nth(3).unwrap_or_default();
            if needed.contains(&work.revision) {
                found.left.push(format!("{}: a decision is about it", work.name));
            } else if cut_off.contains(run) {
                found.left.push(format!("{}: its run can go on", work.name));
            } else {
                found.remove.push(Thing::Kept(work.name));
            }
        }
    }
    Ok(found)
}

/// The outputs that `ralph check --calibrate` kept.
fn calibrations(project: &Project) -> Result<Vec<PathBuf>, CliError> {
    let fail = |error: io::Error| CliError::failed("state/ cannot be listed", &error);
    let entries = match fs::read_dir(project.ledger.state()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(fail(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(fail)?;
        let is_one = entry.file_name().to_string_lossy().starts_with(CALIBRATION);
        if is_one && entry.file_type().map_err(fail)?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a run has records, and none of the same plan and branch after it has.
fn is_last(project: &Project, all: &[(RunId, RunInfo)], index: usize) -> bool {
    let mut from = all.iter().skip(index);
    let Some((run, info)) = from.next() else { return false };
    // What cannot be read is not nothing.
    let is_blank = |run: &RunId| runs::records(&project.ledger, run).is_ok_and(|records| records.is_empty());
    !is_blank(run) && from.filter(|(_, other)| other == info).all(|(newer, _)| is_blank(newer))
}

/// Why the workspaces may hold work that is nowhere else: a run that can go on was ended in the middle of a session or of
/// its verification.
fn needs_workspaces(project: &Project, all: &[(RunId, RunInfo)]) -> Option<String> {
    all.iter().enumerate().filter(|(index, _)| is_last(project, all, *index)).find_map(|(_, (run, info))| {
        let records = runs::records(&project.ledger, run).unwrap_or_default();
        let how = match runs::last_stop(&records).map(|stop| stop.reason) {
            None => "was cut off",
            Some(StopReason::Cancelled) => "was cancelled",
            Some(_) => return None,
        };
        let plan = &info.plan;
        Some(format!("run {run} {how}, and its work may be in them; `ralph run {plan}` goes on with it"))
    })
}

/// Whether a run is over. `newer`: whether another one began on the same plan and branch after it.
fn fate(project: &Project, run: &RunId, info: &RunInfo, newer: bool) -> Fate {
    let records = match runs::records(&project.ledger, run) {
        Ok(records) => records,
        Err(error) => return Fate::Open(format!("it cannot be read ({error})")),
    };
    let at = records.last().map_or(SystemTime::now(), |record| from_millis(record.at));
    match runs::last_stop(&records).map(|stop| stop.reason) {
        Some(StopReason::Success) => Fate::Finished(at),
        Some(_) if newer => Fate::Finished(at),
        Some(reason) => Fate::Open(format!("`ralph run {}` would go on with it ({reason})", info.plan)),
        None => Fate::Open("it was cut off, and can be taken up".to_owned()),
    }
}

fn older(at: SystemTime, age: Duration) -> bool {
    SystemTime::now().duration_since(at).is_ok_and(|passed| passed > age)
}

/// The work that decisions without an answer are about.
fn needed(project: &Project) -> Result<BTreeSet<Revision>, CliError> {
    if !project.ledger.decisions().exists() {
        return Ok(BTreeSet::new());
    }
    let queue = FileDecisions::new(project.ledger.clone()).list();
    let queue = queue.map_err(|error| CliError::failed("the decisions", &error))?;
    Ok(queue.into_iter().filter(|queued| queued.is_pending()).filter_map(|queued| queued.decision.revision).collect())
}

/// Asks on a terminal; elsewhere nobody can answer.
fn agreed() -> Result<bool, CliError> {
    if !io::stdin().is_terminal() {
        return Err(CliError::usage("nobody is there to be asked: say `--yes` to remove this, or `--dry-run` to look"));
    }
    eprint!("Remove all of it? [y/N] ");
    let _ = io::stderr().flush();
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|error| CliError::failed("the answer", &error))?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

async fn remove(project: &Project, vcs: &GitVcs, things: &[Thing]) -> Result<(), CliError> {
    let fail =
        |what: &dyn fmt::Display, error: io::Error| CliError::failed(format!("{what} cannot be removed"), &error);
    if things.iter().any(|thing| matches!(thing, Thing::Workspace(_))) {
        vcs.remove_sites().await.map_err(|error| CliError::failed("the workspaces cannot be removed", &error))?;
    }
    for thing in things {
        match thing {
            Thing::Logs(path) | Thing::Run(path) => {
                fs::remove_dir_all(path).map_err(|error| fail(&project.relative(path), error))?;
            }
            // Another `ralph clean` of this user may have been there first.
            Thing::Budget(path) => match fs::remove_dir_all(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(&path.display(), error)),
                Ok(()) | Err(_) => {}
            },
            Thing::Workspace(_) | Thing::Kept(_) => {}
        }
    }
    let kept = things.iter().filter_map(|thing| match thing {
        Thing::Kept(name) => Some(name.clone()),
        _ => None,
    });
    let kept: Vec<String> = kept.collect();
    if !kept.is_empty() {
        let pruned = vcs.prune_kept(&kept, None, &Cx::new()).await;
        pruned.map_err(|error| CliError::failed("kept work cannot be removed", &error))?;
    }
    Ok(())
}
