//! `ralph check --calibrate N`: whether the verifiers say the same about the same commit, and what `confirm` makes of one
//! that does not.

mod odds;
mod page;
mod subject;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use indicatif::{ProgressBar, ProgressStyle};
use ralph_core::{
    Caches, Cx, Placed, Revision, RunId, Site, Stage, StopReason, Target, Vcs as _, Verdict, Verifier, VerifyError,
    ledger::{Holder, LedgerLock, LockError},
    printable,
};
use ralph_vcs::{BranchState, GitVcs};
use tempfile::TempDir;

use self::subject::{Subject, subjects};
use crate::{
    args,
    commands::run,
    error::CliError,
    output,
    plan::{PlanFile, ReadPlan},
    project::Project,
    settings::{self, Settings},
    wire,
};

/// What the names of folders with outputs begin with, in `state/`.
pub(crate) const FOLDER: &str = "calibration-";

/// How many outputs of runs that did not pass are kept for each verifier.
const KEPT_MAX: usize = 5;

const CLEAN: Site = Site::Clean { lane: 0 };

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Broken,
}

/// What the runs of one verifier came to.
struct Measured {
    subject: Subject,
    passed: u32,
    failed: u32,
    broken: u32,
    total: Duration,
    longest: Duration,
    /// What the first run that failed, or was broken, was told for.
    why: Option<String>,
    /// Outputs that are there, with which run it was.
    logs: Vec<(Outcome, u32, PathBuf)>,
}

impl Measured {
    fn runs(&self) -> u32 {
        self.passed + self.failed + self.broken
    }

    /// Whether all runs came to the same, and that is a judgement.
    fn is_steady(&self) -> bool {
        self.passed == self.runs() || self.failed == self.runs()
    }
}

/// What was measured, and where.
struct Calibration {
    plan: String,
    base: Revision,
    runs: u32,
    confirm: u32,
    verifiers: Vec<Measured>,
}

pub(super) async fn calibrate(project: &Project, args: &args::Check, runs: u32) -> Result<u8, CliError> {
    // Dropping the work ends what it runs, and removes the outputs.
    tokio::select! {
        done = measured(project, args, runs) => done,
        () = run::any_signal() => Err(CliError::cancelled()),
    }
}

async fn measured(project: &Project, args: &args::Check, runs: u32) -> Result<u8, CliError> {
    let settings = settings::load(&project.settings(), &args.overrides.set)?.settings;
    let path = project.plan(args.plan.as_deref())?;
    let plan = PlanFile::open(project, &path, &settings.verify);
    let read = plan.read().map_err(|error| CliError::refused(&error))?;
    let subjects = subjects(project, &settings, &plan, &path, &read);
    if subjects.is_empty() {
        return Err(CliError::usage(format!("{} names no verifier", project.relative(&path))));
    }
    let (vcs, base) = base(project, &settings, &path, &read).await?;
    let (_lock, logs) = hold(project, runs)?;
    let mut bench = Bench { settings: &settings, vcs: &vcs, base: &base, logs: &logs, runs, ready: None };
    let mut verifiers = Vec::new();
    for (index, subject) in subjects.into_iter().enumerate() {
        verifiers.push(bench.measure(index + 1, subject).await?);
    }
    let plan = project.relative(&path);
    let found = Calibration { plan, base, runs, confirm: settings.verify.confirm.max(1), verifiers };
    if found.verifiers.iter().any(|measured| !measured.logs.is_empty()) {
        // Somebody will read them.
        let _ = logs.keep();
    }
    if args.json {
        output::print_json(&page::document(&found, project))?;
    } else {
        output::print(&page::page(&found, project))?;
    }
    let steady = found.verifiers.iter().all(Measured::is_steady);
    Ok(if steady { 0 } else { StopReason::VerifierBroken.exit_code() })
}

/// The commit that a run would begin with.
async fn base(
    project: &Project,
    settings: &Settings,
    path: &Path,
    read: &ReadPlan,
) -> Result<(GitVcs, Revision), CliError> {
    let info = run::info(project, settings, path, read);
    let vcs = GitVcs::open(wire::git(settings, project, &info.branch)?).await?;
    let found = vcs.preflight(&Cx::new()).await?;
    let start = match found.branch {
        BranchState::Ours { tip, .. } | BranchState::Known { tip, .. } => Some(tip),
        _ => found.head,
    };
    match start {
        Some(start) if found.refusals.is_empty() => Ok((vcs, start)),
        _ => Err(CliError::usage(found.refusals.join("\n"))),
    }
}

/// Takes the control folder, whose workspace is used, and makes a folder for outputs, which goes unless it is kept.
fn hold(project: &Project, runs: u32) -> Result<(LedgerLock, TempDir), CliError> {
    let ledger = &project.ledger;
    let fail = |error: std::io::Error| CliError::failed("the control folder cannot be written", &error);
    ledger.create().map_err(fail)?;
    let this = Holder::this_process(format!("ralph check --calibrate {runs}"), None, SystemTime::now());
    let lock = LedgerLock::take(ledger, &this).map_err(|error| match error {
        LockError::Held(_) => CliError::usage(format!("{error}; wait for it, or stop it with `ralph stop`")),
        error => CliError::refused(&error),
    })?;
    ralph_process::become_subreaper();
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
    let logs = tempfile::Builder::new().prefix(&format!("{FOLDER}{now}-")).tempdir_in(ledger.state());
    Ok((lock, logs.map_err(fail)?))
}

/// Where verifiers are measured.
struct Bench<'a> {
    settings: &'a Settings,
    vcs: &'a GitVcs,
    base: &'a Revision,
    logs: &'a TempDir,
    runs: u32,
    /// For which commands the folder was set up, and the surroundings were looked at.
    ready: Option<(Vec<String>, Vec<String>)>,
}

impl Bench<'_> {
    /// Runs a verifier so many times, each on a clean checkout.
    async fn measure(&mut self, number: usize, subject: Subject) -> Result<Measured, CliError> {
        let verifier = wire::verifier(self.settings).confirm(1).only(&subject.command);
        let name = printable(subject.command.lines().next().unwrap_or_default());
        let bar = Progress::new(&name, self.runs, self.base);
        let (total, longest) = (Duration::ZERO, Duration::ZERO);
        let (passed, failed, broken) = (0, 0, 0);
        let mut measured = Measured { subject, passed, failed, broken, total, longest, why: None, logs: Vec::new() };
        for run in 1..=self.runs {
            let placed = self.place(&measured.subject).await?;
            let mut target = self.target(&measured.subject, &placed, Stage::Base);
            if !measured.subject.common
                && let Some(item) = measured.subject.own.first()
            {
                target = target.with_item(Arc::clone(item));
            }
            let log = self.logs.path().join(format!("{number:02}-{run:04}.log"));
            target.log = Some(log.clone());
            let from = Instant::now();
            let judged = verifier.verify(&target, &Cx::new()).await;
            let took = from.elapsed();
            let (outcome, why) = outcome(judged)?;
            measured.add(run, outcome, why, took, log);
            bar.step(&name, &measured);
        }
        measured.thin_out();
        Ok(measured)
    }

    /// Stands the commit in the clean site, set up.
    async fn place(&mut self, subject: &Subject) -> Result<Placed, CliError> {
        let placed = self.vcs.place(CLEAN, self.base, Caches::Keep, &Cx::new()).await?;
        let wanted = (subject.phase.setup.clone(), subject.phase.env_check.clone());
        if placed.fresh || self.ready.as_ref() != Some(&wanted) {
            let target = self.target(subject, &placed, Stage::Setup);
            self.fit("set-up", &wire::setup(self.settings), &target).await?;
            self.fit("the environment check", &wire::env_check(self.settings), &target).await?;
            self.ready = Some(wanted);
        }
        Ok(placed)
    }

    /// Makes sure that what has to pass before anything is judged does.
    async fn fit(&self, what: &str, verifier: &dyn Verifier, target: &Target) -> Result<(), CliError> {
        let (outcome, why) = outcome(verifier.verify(target, &Cx::new()).await)?;
        if outcome == Outcome::Passed {
            return Ok(());
        }
        let base = self.base.short();
        Err(CliError::environment(format!("{what} does not pass on {base}, so that nothing can be judged: {why}")))
    }

    fn target(&self, subject: &Subject, placed: &Placed, stage: Stage) -> Target {
        let name = self.logs.path().file_name().unwrap_or_default().to_string_lossy();
        let mut target = Target::new(&placed.folder, stage, RunId::new(name), Arc::clone(&subject.phase));
        target.revision = Some(self.base.clone());
        target
    }
}

fn outcome(judged: Result<Verdict, VerifyError>) -> Result<(Outcome, String), CliError> {
    match judged {
        Ok(Verdict::Pass(evidence)) => Ok((Outcome::Passed, evidence.summary)),
        Ok(Verdict::Fail(evidence)) => Ok((Outcome::Failed, evidence.summary)),
        Err(VerifyError::Broken { why, .. }) => Ok((Outcome::Broken, why)),
        Err(error) => Err(CliError::failed("a verifier", &error)),
    }
}

impl Measured {
    fn add(&mut self, run: u32, outcome: Outcome, why: String, took: Duration, log: PathBuf) {
        let count = match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Failed => &mut self.failed,
            Outcome::Broken => &mut self.broken,
        };
        *count += 1;
        self.total += took;
        self.longest = self.longest.max(took);
        if outcome != Outcome::Passed {
            self.why.get_or_insert(why);
        }
        let kept = self.logs.iter().filter(|(of, _, _)| *of == outcome).count();
        let wanted = if outcome == Outcome::Passed { 1 } else { KEPT_MAX };
        if kept < wanted {
            self.logs.push((outcome, run, log));
        } else {
            remove(&log);
        }
    }

    /// Lets go of outputs that say nothing new: of steady passes all, of other runs that all came to the same all but one.
    fn thin_out(&mut self) {
        let same = [self.passed, self.failed, self.broken].contains(&self.runs());
        let stays = match same {
            true if self.passed > 0 => 0,
            true => 1,
            false => self.logs.len(),
        };
        self.logs.drain(stays..).for_each(|(_, _, log)| remove(&log));
    }
}

/// One that stays is in nobody's way, and goes with the folder.
fn remove(log: &Path) {
    let _ = fs::remove_file(log);
}

/// Shows how far it is: a bar on a terminal, a line for each verifier elsewhere.
struct Progress(Option<ProgressBar>);

impl Progress {
    fn new(name: &str, runs: u32, base: &Revision) -> Self {
        let bar = ProgressBar::new(u64::from(runs));
        // As it is on what is no terminal, or one that cannot move.
        if bar.is_hidden() {
            run::note(&format!("measuring `{name}`: {runs} runs, each on a clean checkout of {}", base.short()));
            return Self(None);
        }
        if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        bar.set_message(name.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(Some(bar))
    }

    fn step(&self, name: &str, so_far: &Measured) {
        let Some(bar) = &self.0 else { return };
        let mut text = format!("{} passed, {} failed", so_far.passed, so_far.failed);
        if so_far.broken > 0 {
            text.push_str(&format!(", {} broken", so_far.broken));
        }
        bar.inc(1);
        bar.set_message(format!("{text}: {name}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
