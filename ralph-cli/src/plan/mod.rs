//! The plan: a Master Plan with its PRDs, or one PRD; with what the settings add to it.

mod approval;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use ralph_core::{
    Cx, ItemRef, ItemStatus, Marked, Phase, PhaseId, Plan, PlanError, PlanSource, Proposal, SystemClock,
    ledger::{Approval, ApprovedPlan, MarkdownPlan, MarkdownPrd, MasterPlan, Note},
};

use crate::{
    error::CliError,
    looping::Loop,
    project::Project,
    runs,
    settings::{Settings, Verify},
};

/// A plan in files.
#[derive(Clone, Debug)]
pub(crate) struct PlanFile {
    source: Source,
    verify: Option<String>,
    setup: Option<String>,
    env_check: Option<String>,
    /// The last phase that is walked.
    until: Option<PhaseId>,
    /// Whether items need no verifier, since nothing that is done to them is kept.
    unverified: bool,
}

#[derive(Clone, Debug)]
enum Source {
    Prd(MarkdownPrd),
    Master(MarkdownPlan),
    /// The same, loaded only while it is approved.
    Approved(Arc<ApprovedPlan>),
}

/// A plan as it is now, settings included.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadPlan {
    pub(crate) plan: Plan,
    /// What is odd, each with the file that it is about.
    pub(crate) notes: Vec<(PathBuf, Note)>,
    /// The Master Plan's own file, where there is one.
    pub(crate) master: Option<MasterPlan>,
}

impl From<ralph_core::ledger::ReadPlan> for ReadPlan {
    fn from(read: ralph_core::ledger::ReadPlan) -> Self {
        Self { plan: read.plan, notes: read.notes, master: Some(read.master) }
    }
}

impl PlanFile {
    /// The plan in the file at `path`. Nothing else is read yet.
    pub(crate) fn open(project: &Project, path: &Path, settings: &Verify) -> Self {
        let source = if is_master(path) {
            Source::Master(MarkdownPlan::open(&project.root, path))
        } else {
            Source::Prd(MarkdownPrd::open(path))
        };
        let unverified = Loop::of(path).is_ok_and(|looped| !looped.verifies());
        Self {
            source,
            verify: settings.command.clone().filter(|_| !unverified),
            setup: settings.setup.clone(),
            env_check: settings.env_check.clone(),
            until: None,
            unverified,
        }
    }

    /// The same, refusing to be loaded while it is not approved. A single PRD needs no approval: whoever starts it is
    /// there.
    ///
    /// # Errors
    /// Where the runs cannot be listed: a line by hand counts only before the first.
    pub(crate) fn approved(mut self, project: &Project, settings: &Settings) -> Result<Self, CliError> {
        if let Source::Master(master) = &self.source {
            let name = project.relative(master.path());
            let has_run = runs::all(&project.ledger)?.iter().any(|(_, info)| info.plan == name);
            let clock = Arc::new(SystemClock::new());
            let (ledger, covered) = (project.ledger.clone(), approval::coverage(settings));
            self.source =
                Source::Approved(Arc::new(ApprovedPlan::new(master.clone(), ledger, covered, clock, has_run)));
        }
        Ok(self)
    }

    /// Whether it is approved; says why not. Nothing is recorded.
    pub(crate) fn check_approval(&self) -> Result<(), PlanError> {
        let Some(approved) = self.approval() else { return Ok(()) };
        match approved.check()?.1 {
            Approval::Valid(_) | Approval::ByHand(_) => Ok(()),
            Approval::NotApproved(why) => Err(PlanError::NotApproved(why)),
        }
    }

    /// Who asks for the approval, where one is needed.
    pub(crate) fn approval(&self) -> Option<&ApprovedPlan> {
        match &self.source {
            Source::Prd(_) | Source::Master(_) => None,
            Source::Approved(approved) => Some(approved),
        }
    }

    /// The same up to this phase.
    ///
    /// # Errors
    /// Where there is no such phase.
    pub(crate) fn until(mut self, phase: &str) -> Result<Self, CliError> {
        let read = self.read().map_err(|error| CliError::refused(&error))?;
        let known: Vec<&str> = read.plan.phases.iter().map(|phase| phase.id.as_str()).collect();
        if read.master.is_none() {
            return Err(CliError::usage("`--phase` needs a Master Plan, and this is a single PRD"));
        }
        if !known.contains(&phase) {
            return Err(CliError::usage(format!("there is no phase `{phase}`; there are {}", known.join(", "))));
        }
        self.until = Some(PhaseId::new(phase));
        Ok(self)
    }

    /// `plan` without the phases after the last one that is walked.
    pub(crate) fn cut(&self, mut plan: Plan) -> Plan {
        let last = self.until.as_ref().and_then(|until| plan.phases.iter().position(|phase| phase.id == *until));
        if let Some(last) = last {
            plan.phases.truncate(last + 1);
        }
        plan
    }

    pub(crate) fn path(&self) -> &Path {
        match self.master() {
            Err(prd) => prd.path(),
            Ok(master) => master.path(),
        }
    }

    /// The Master Plan, or the PRD that is alone.
    fn master(&self) -> Result<&MarkdownPlan, &MarkdownPrd> {
        match &self.source {
            Source::Prd(prd) => Err(prd),
            Source::Master(master) => Ok(master),
            Source::Approved(approved) => Ok(approved.plan()),
        }
    }

    /// The files that the loop writes marks into.
    pub(crate) fn prds(&self) -> Result<Vec<PathBuf>, PlanError> {
        Ok(match self.master() {
            Err(prd) => vec![prd.path().to_owned()],
            Ok(master) => master.master()?.phases.iter().map(|phase| master.root().join(&phase.prd)).collect(),
        })
    }

    /// The file with the items of this phase, approved or not.
    ///
    /// # Errors
    /// Where the plan cannot be read, or has no such phase.
    pub(crate) fn prd_path(&self, phase: &PhaseId) -> Result<PathBuf, PlanError> {
        let missing = || PlanError::Invalid(vec![format!("{}: there is no phase {phase}", self.path().display())]);
        match self.master() {
            Err(prd) => Ok(prd.path().to_owned()),
            Ok(master) => {
                let read = master.master()?;
                let planned = read.phases.iter().find(|planned| planned.id == *phase).ok_or_else(missing)?;
                Ok(master.root().join(&planned.prd))
            }
        }
    }

    /// The whole plan with everything in it, approved or not.
    pub(crate) fn read(&self) -> Result<ReadPlan, PlanError> {
        match self.master() {
            Err(prd) => self.alone(prd),
            Ok(master) => self.with_settings(master.read()?.into()),
        }
    }

    /// The same, if it is approved where it has to be.
    fn read_approved(&self) -> Result<ReadPlan, PlanError> {
        match self.approval() {
            Some(approved) => self.with_settings(approved.read()?.into()),
            None => self.read(),
        }
    }

    fn alone(&self, prd: &MarkdownPrd) -> Result<ReadPlan, PlanError> {
        let read = prd.read()?;
        let notes = read.notes.into_iter().map(|note| (prd.path().to_owned(), note)).collect();
        self.with_settings(ReadPlan { plan: Plan::new([read.phase]), notes, master: None })
    }

    fn with_settings(&self, mut read: ReadPlan) -> Result<ReadPlan, PlanError> {
        let mut problems = Vec::new();
        for phase in &mut read.plan.phases {
            let file = self.prd_of(&phase.id, read.master.as_ref());
            problems.extend(self.complete(Arc::make_mut(phase), &file));
        }
        if problems.is_empty() { Ok(read) } else { Err(PlanError::Invalid(problems)) }
    }

    /// Where the items of a phase are, for people.
    pub(crate) fn prd_of(&self, phase: &PhaseId, master: Option<&MasterPlan>) -> String {
        let planned = master.and_then(|master| master.phases.iter().find(|planned| planned.id == *phase));
        planned.map_or_else(|| self.path().display().to_string(), |planned| planned.prd.clone())
    }

    /// Adds what the settings say where the phase says nothing; answers what is missing even so.
    fn complete(&self, phase: &mut Phase, file: &str) -> Vec<String> {
        let fill = |own: &mut Vec<String>, usual: &Option<String>| {
            if own.is_empty() {
                own.extend(usual.clone());
            }
        };
        fill(&mut phase.verify, &self.verify);
        fill(&mut phase.setup, &self.setup);
        fill(&mut phase.env_check, &self.env_check);
        let open = || phase.items.iter().filter(|item| item.status == ItemStatus::Open);
        // An item that still says what to write in its place is nobody's wish.
        let unedited = open().filter(|item| item.title.starts_with('<') && item.title.ends_with('>'));
        let mut problems: Vec<String> = unedited
            .map(|item| format!("{file}:{}: {} is still a placeholder; say what is to be done", item.line, item.id))
            .collect();
        if phase.verify.is_empty() && !self.unverified {
            let advice = "add a `Verify:` line to it or above the items, or set `verify.command`";
            let without = phase.items.iter().filter(|item| item.verify.is_empty());
            problems
                .extend(without.map(|item| format!("{file}:{}: nothing verifies {}; {advice}", item.line, item.id)));
        }
        problems
    }

    fn inner(&self) -> &dyn PlanSource {
        match &self.source {
            Source::Prd(prd) => prd,
            Source::Master(master) => master,
            Source::Approved(approved) => &**approved,
        }
    }
}

#[async_trait]
impl PlanSource for PlanFile {
    async fn load(&self, _cx: &Cx) -> Result<Plan, PlanError> {
        Ok(self.cut(self.read_approved()?.plan))
    }

    async fn mark(&self, item: &ItemRef, from: ItemStatus, to: ItemStatus, cx: &Cx) -> Result<Marked, PlanError> {
        self.inner().mark(item, from, to, cx).await
    }

    async fn note(&self, item: &ItemRef, decision: &str, cx: &Cx) -> Result<(), PlanError> {
        self.inner().note(item, decision, cx).await
    }

    async fn extend(&self, phase: &PhaseId, items: &[Proposal], decision: &str, cx: &Cx) -> Result<(), PlanError> {
        self.inner().extend(phase, items, decision, cx).await
    }
}

/// The name of a Master Plan in the control folder.
pub(crate) const MASTER_PLAN: &str = "MASTER-PLAN.md";

/// Whether the file is a Master Plan: by its name, or because it names phases with PRDs and a PRD reader finds no items.
pub(crate) fn is_master(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if name.contains("master-plan") || name.contains("master_plan") {
        return true;
    }
    let Ok(bytes) = fs::read(path) else { return false };
    MasterPlan::parse(&bytes, &name).is_ok() && MarkdownPrd::open(path).read().is_err()
}
