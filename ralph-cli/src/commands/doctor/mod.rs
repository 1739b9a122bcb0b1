//! `ralph doctor`: whether everything is there that a run needs.

mod agent;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use ralph_core::{
    Caches, Cx, ItemStatus, Phase, RunId, Site, Stage, Target, Vcs as _, Verdict, Verifier, VerifyError, chain,
    ledger::{FileDecisions, Holder, LedgerLock, holder},
    printable,
};
use ralph_vcs::{BranchState, GitVcs, Preflight};
use ralph_verify::CommandVerifier;
use serde::Serialize;

use crate::{
    args,
    error::CliError,
    output,
    plan::{PlanFile, ReadPlan},
    project::Project,
    report::{SCHEMA_VERSION, count, wrap},
    runs,
    settings::{self, Settings},
    wire,
};

/// Less room than this will not last for a night.
const ROOM: u64 = 1 << 30;
const WIDTH: usize = 96;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mark {
    Ok,
    Warning,
    Failed,
}

/// One line of the table.
#[derive(Debug, Serialize)]
struct Row {
    what: &'static str,
    mark: Mark,
    text: String,
    /// The end of a command's output.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tail: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Report {
    schema_version: u32,
    usable: bool,
    checks: Vec<Row>,
}

#[derive(Debug, Default)]
struct Table(Vec<Row>);

impl Table {
    fn add(&mut self, what: &'static str, mark: Mark, text: impl Into<String>) {
        self.0.push(Row { what, mark, text: text.into(), tail: Vec::new() });
    }
}

pub(crate) async fn doctor(directory: &Path, args: &args::Doctor) -> Result<u8, CliError> {
    let project = Project::find(directory)?;
    let mut table = Table::default();
    examine(&project, args, &mut table).await;
    let usable = table.0.iter().all(|row| row.mark != Mark::Failed);
    if args.json {
        output::print_json(&Report { schema_version: SCHEMA_VERSION, usable, checks: table.0 })?;
    } else {
        output::print(&page(&table.0, usable))?;
    }
    Ok(u8::from(!usable))
}

async fn examine(project: &Project, args: &args::Doctor, table: &mut Table) {
    let settings = match settings::load(&project.settings(), &args.overrides.set) {
        Ok(loaded) => loaded.settings,
        Err(error) => return table.add("settings", Mark::Failed, error.to_string()),
    };
    let set = if project.settings().exists() { project.relative(&project.settings()) } else { "defaults".to_owned() };
    table.add("settings", Mark::Ok, set);
    agent::agents(&settings, project, table).await;
    let read = plan(project, args.plan.as_deref(), &settings, table);
    let live = lock(project, table);
    state(project, table);
    disk(&settings, project, table);
    let branch = match &read {
        Some((prd, read)) => super::run::info(project, &settings, prd, read).branch,
        None => "ralph/plan".to_owned(),
    };
    let Some((vcs, found)) = git(&settings, project, &branch, read.is_some(), table).await else { return };
    let Some(phase) = read.and_then(|(_, read)| first_open(&read)) else { return };
    if live {
        return table.add("verifier", Mark::Warning, "not run: a run is at work in the workspaces");
    }
    // Held while a workspace is used. Without `state/` there was no run yet, and nothing to be in the way of.
    let holder = Holder::this_process("ralph doctor", None, SystemTime::now());
    let _lock = match project.ledger.state().exists().then(|| LedgerLock::take(&project.ledger, &holder)).transpose() {
        Ok(lock) => lock,
        Err(error) => return table.add("verifier", Mark::Warning, format!("not run: {}", chain(&error))),
    };
    judge(&settings, &vcs, &found, phase, table).await;
}

fn plan(
    project: &Project,
    given: Option<&Path>,
    settings: &Settings,
    table: &mut Table,
) -> Option<(PathBuf, ReadPlan)> {
    let prd = match project.plan(given) {
        Ok(path) => path,
        Err(error) => {
            table.add("plan", Mark::Failed, error.to_string());
            return None;
        }
    };
    match PlanFile::open(project, &prd, &settings.verify).read() {
        Ok(read) => {
            let all = || read.plan.phases.iter().flat_map(|phase| &phase.items);
            let open = all().filter(|item| item.status == ItemStatus::Open).count();
            let items = count(all().count() as u64, "item");
            let text = format!("{}: {items}, {open} open", project.relative(&prd));
            match read.notes.len() {
                0 => table.add("plan", Mark::Ok, text),
                odd => {
                    table.add("plan", Mark::Warning, format!("{text}; {odd} odd: see `ralph check`"));
                }
            }
            approval(project, &prd, settings, table);
            Some((prd, read))
        }
        Err(error) => {
            let text = chain(&error).replace(&format!("{}/", project.root.display()), "");
            table.add("plan", Mark::Failed, text);
            None
        }
    }
}

/// Whether a Master Plan is signed.
fn approval(project: &Project, path: &Path, settings: &Settings, table: &mut Table) {
    let plan = match PlanFile::open(project, path, &settings.verify).approved(project, settings) {
        Ok(plan) => plan,
        Err(error) => return table.add("approval", Mark::Failed, error.to_string()),
    };
    if plan.approval().is_none() {
        return;
    }
    match plan.check_approval() {
        Ok(()) => table.add("approval", Mark::Ok, "the plan is approved"),
        Err(error) => {
            let text = chain(&error).replace(&format!("{}/", project.root.display()), "");
            table.add("approval", Mark::Failed, text);
        }
    }
}

/// The phase that a run would work on.
fn first_open(read: &ReadPlan) -> Option<Phase> {
    let phases = &read.plan.phases;
    let open = |phase: &&Arc<Phase>| phase.items.iter().any(|item| item.status == ItemStatus::Open);
    phases.iter().find(open).or(phases.last()).map(|phase| Phase::clone(phase))
}

/// Whether a run is at work.
fn lock(project: &Project, table: &mut Table) -> bool {
    match holder(&project.ledger) {
        Ok(None) => table.add("lock", Mark::Ok, "no run is at work"),
        Ok(Some(live)) => {
            table.add("lock", Mark::Warning, format!("held by {live}"));
            return true;
        }
        Err(error) => table.add("lock", Mark::Failed, chain(&error)),
    }
    false
}

/// Whether what is recorded can be read. What cannot is named and left alone.
fn state(project: &Project, table: &mut Table) {
    let ledger = &project.ledger;
    let runs = match ledger.runs() {
        Ok(runs) => runs,
        Err(error) => return table.add("records", Mark::Failed, format!("the runs cannot be listed: {error}")),
    };
    let mut whole = 0_u64;
    for run in &runs {
        if !runs::journal(ledger).path(run).exists() {
            let lost =
                "has no journal: what it did is known by the branch and the PRD alone; the next run is a new one";
            table.add("records", Mark::Warning, format!("run {run} {lost}"));
            continue;
        }
        if !runs::is_described(ledger, run) {
            let lost = "does not say what it is about (`run.json`): it cannot be taken up; the next run is a new one";
            table.add("records", Mark::Warning, format!("run {run} {lost}"));
        }
        match runs::journal(ledger).read(run) {
            Ok(_) => whole += 1,
            Err(error) => table.add("records", Mark::Failed, format!("run {run}: {}", chain(&error))),
        }
    }
    if ledger.decisions().exists()
        && let Err(error) = FileDecisions::new(ledger.clone()).list()
    {
        table.add("records", Mark::Failed, chain(&error));
    }
    let text = if runs.is_empty() { "no run yet".to_owned() } else { format!("{} can be read", count(whole, "run")) };
    table.add("records", Mark::Ok, text);
}

fn disk(settings: &Settings, project: &Project, table: &mut Table) {
    let places = [wire::sites(settings, project).ok(), Some(project.ledger.root().to_owned())];
    for place in places.into_iter().flatten() {
        let Some(there) = place.ancestors().find(|folder| folder.exists()) else { continue };
        match rustix::fs::statvfs(there) {
            Ok(stat) => {
                let free = stat.f_bavail.saturating_mul(stat.f_frsize);
                let (mark, low) = if free < ROOM { (Mark::Warning, ": little for a night") } else { (Mark::Ok, "") };
                table.add("disk", mark, format!("{} free at {}{low}", size(free), project.relative(&place)));
            }
            Err(error) => table.add("disk", Mark::Warning, format!("{}: {error}", there.display())),
        }
    }
}

fn size(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10) / (1 << 30);
    if tenths >= 100 { format!("{} GiB", tenths / 10) } else { format!("{}.{} GiB", tenths / 10, tenths % 10) }
}

async fn git(
    settings: &Settings,
    project: &Project,
    branch: &str,
    named: bool,
    table: &mut Table,
) -> Option<(GitVcs, Preflight)> {
    let opened = match wire::git(settings, project, branch) {
        Ok(options) => GitVcs::open(options).await.map_err(|error| chain(&error)),
        Err(error) => Err(error.to_string()),
    };
    let looked = match opened {
        Ok(vcs) => vcs.preflight(&Cx::new()).await.map(|found| (vcs, found)).map_err(|error| chain(&error)),
        Err(error) => Err(error),
    };
    let (vcs, found) = match looked {
        Ok(looked) => looked,
        Err(error) => {
            table.add("git", Mark::Failed, error);
            return None;
        }
    };
    let (objects, refs) = (&found.object_format, &found.ref_format);
    table.add("git", Mark::Ok, format!("{}; objects by {objects}, refs in {refs}", found.git_version));
    // Without a plan the branch's name is made up, and says nothing.
    if named {
        let text = match &found.branch {
            BranchState::Absent => format!("{branch}: will be made at HEAD"),
            BranchState::Ours { tip, .. } | BranchState::Known { tip, .. } => format!("{branch} at {}", tip.short()),
            _ => branch.to_owned(),
        };
        if found.refusals.is_empty() {
            table.add("branch", Mark::Ok, text);
        }
        found.refusals.iter().for_each(|text| table.add("git", Mark::Failed, text));
    }
    found.notes.iter().for_each(|text| table.add("git", Mark::Warning, text));
    Some((vcs, found))
}

/// Stands the branch, or where it would begin, in the clean site, and has it set up, checked and verified there.
async fn judge(settings: &Settings, vcs: &GitVcs, found: &Preflight, phase: Phase, table: &mut Table) {
    let start = match &found.branch {
        BranchState::Ours { tip, .. } | BranchState::Known { tip, .. } => Some(tip.clone()),
        _ => found.head.clone(),
    };
    let Some(start) = start else { return };
    let placed = match vcs.place(Site::Clean { lane: 0 }, &start, Caches::Keep, &Cx::new()).await {
        Ok(placed) => placed,
        Err(error) => return table.add("workspace", Mark::Failed, chain(&error)),
    };
    table.add("workspace", Mark::Ok, format!("{} with {}", placed.folder.display(), start.short()));

    let phase = Arc::new(phase);
    let target = |stage| {
        let mut target = Target::new(&placed.folder, stage, RunId::new("doctor"), Arc::clone(&phase));
        target.revision = Some(start.clone());
        target
    };
    if !phase.setup.is_empty() && !ready("set-up", &wire::setup(settings), &target(Stage::Setup), table).await {
        return;
    }
    if !phase.env_check.is_empty() {
        let _ = ready("env check", &wire::env_check(settings), &target(Stage::Base), table).await;
    }
    eprintln!("running the verifiers on a clean checkout of {} …", start.short());
    let verifier = wire::verifier(settings);
    if !phase.verify.is_empty() {
        let (mark, text, tail) = match verifier.verify(&target(Stage::Base), &Cx::new()).await {
            Ok(Verdict::Pass(evidence)) => (Mark::Ok, format!("passes: {}", evidence.summary), String::new()),
            Ok(Verdict::Fail(evidence)) => {
                let text = format!("fails before any work, so that every item begins in the red: {}", evidence.summary);
                (Mark::Warning, text, evidence.tail)
            }
            Err(error) => broken(&error),
        };
        table.add("verifier", mark, text);
        tail_of(table, &tail);
    }
    own_verifiers(&verifier, &phase, target(Stage::Base), table).await;
}

/// The open items' own commands: a fail is what they are there for, but each must be able to judge.
async fn own_verifiers(verifier: &CommandVerifier, phase: &Phase, base: Target, table: &mut Table) {
    let mut alone = phase.clone();
    alone.verify.clear();
    let mut base = base;
    base.phase = Arc::new(alone);
    let mut can_judge = 0_u64;
    for item in phase.items.iter().filter(|item| item.status == ItemStatus::Open && !item.verify.is_empty()) {
        match verifier.verify(&base.clone().with_item(Arc::clone(item)), &Cx::new()).await {
            Ok(Verdict::Fail(_)) => can_judge += 1,
            Ok(Verdict::Pass(evidence)) => {
                let text = format!("{} passes before any work on it: {}", item.id, evidence.summary);
                table.add("verifier", Mark::Warning, text);
            }
            Err(error) => {
                let (mark, text, tail) = broken(&error);
                table.add("verifier", mark, format!("{} (line {}): {text}", item.id, item.line));
                tail_of(table, &tail);
            }
        }
    }
    if can_judge > 0 {
        let text = format!("those of {} can judge: they fail before the work", count(can_judge, "open item"));
        table.add("verifier", Mark::Ok, text);
    }
}

/// Whether what has to pass before any work passes.
async fn ready(what: &'static str, verifier: &dyn Verifier, target: &Target, table: &mut Table) -> bool {
    eprintln!("running the {what} on a clean checkout …");
    let (mark, text, tail) = match verifier.verify(target, &Cx::new()).await {
        Ok(Verdict::Pass(evidence)) => (Mark::Ok, evidence.summary, String::new()),
        Ok(Verdict::Fail(evidence)) => (Mark::Failed, evidence.summary, evidence.tail),
        Err(error) => broken(&error),
    };
    table.add(what, mark, text);
    tail_of(table, &tail);
    mark == Mark::Ok
}

fn broken(error: &VerifyError) -> (Mark, String, String) {
    let tail = match error {
        VerifyError::Broken { evidence, .. } => evidence.tail.clone(),
        _ => String::new(),
    };
    (Mark::Failed, chain(error), tail)
}

fn tail_of(table: &mut Table, tail: &str) {
    let lines: Vec<&str> = tail.lines().collect();
    let last = lines.iter().skip(lines.len().saturating_sub(12)).map(|line| printable(line)).collect();
    if let Some(row) = table.0.last_mut() {
        row.tail = last;
    }
}

fn page(rows: &[Row], usable: bool) -> String {
    let mut page = String::new();
    for row in rows {
        let glyph = match row.mark {
            Mark::Ok => "\x1b[32m✓\x1b[0m",
            Mark::Warning => "\x1b[33m⚠\x1b[0m",
            Mark::Failed => "\x1b[31m✗\x1b[0m",
        };
        let mut what = row.what;
        for line in row.text.lines().flat_map(|line| wrap(&printable(line), WIDTH - 14, "")) {
            let glyph = if what.is_empty() { " " } else { glyph };
            page.push_str(&format!("{glyph} {what:<11} {line}\n"));
            what = "";
        }
        row.tail.iter().for_each(|line| page.push_str(&format!("              | {line}\n")));
    }
    page.push_str(if usable {
        "\nEverything is there that a run needs.\n"
    } else {
        "\nA run would not get far: put right what is marked with ✗.\n"
    });
    page
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes() {
        for (bytes, text) in
            [(0, "0.0 GiB"), (1 << 30, "1.0 GiB"), ((1 << 30) * 3 / 2, "1.5 GiB"), (70 << 30, "70 GiB")]
        {
            assert_eq!(size(bytes), text);
        }
    }
}
