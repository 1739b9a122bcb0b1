//! What lies on the operator's desk: every project with its questions.

use std::{
    cmp::Reverse,
    path::{Path, PathBuf},
    time::SystemTime,
};

use ralph_core::{
    DecisionId, Reply, StopReason, chain,
    ledger::{AnswerError, FileDecisions, Holder, Ledger, LedgerLock, LockError, Presence, Queued, Registry},
};
use serde::Serialize;

use super::id;
use crate::{
    answers,
    crash_point::point,
    error::CliError,
    looping,
    plan::PlanFile,
    project::{LEDGER, Project},
    runs, settings, wire,
};

/// A project with its queue.
#[derive(Debug)]
pub(super) struct Desktop {
    /// What people call it.
    pub(super) name: String,
    pub(super) root: PathBuf,
    ledger: Ledger,
    decisions: FileDecisions,
    all: Vec<Queued>,
}

/// All projects.
#[derive(Debug)]
pub(super) struct Desk {
    registry: Registry,
    projects: Vec<Desktop>,
    /// The one that the person stands in.
    here: Option<usize>,
    /// What a person should know: projects that are gone, files that were moved aside.
    pub(super) notes: Vec<String>,
}

/// A pending question, where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending<'a> {
    pub(super) project: &'a Desktop,
    pub(super) queued: &'a Queued,
}

/// A plan whose run can be taken up.
#[derive(Debug)]
pub(super) struct Resumable<'a> {
    pub(super) project: &'a Desktop,
    /// Its file, where the run says so.
    pub(super) plan: Option<PathBuf>,
}

impl Resumable<'_> {
    /// What a person types to take it up, in its project.
    pub(super) fn again(&self) -> String {
        let plan = self.plan.as_deref().map(|plan| plan.strip_prefix(&self.project.root).unwrap_or(plan));
        looping::again(&plan.map(|plan| plan.display().to_string()).unwrap_or_default())
    }
}

/// An answer that was given.
#[derive(Debug, Serialize)]
pub(super) struct Given {
    pub(super) project: String,
    #[serde(skip)]
    root: PathBuf,
    pub(super) id: DecisionId,
    /// The phase, and the item where it concerns one.
    pub(super) place: String,
    pub(super) answer: String,
    pub(super) by: String,
    /// Whether a run is on, which takes it in by itself.
    pub(super) live: bool,
    /// What a person should know of what followed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

impl Given {
    pub(super) fn line(&self) -> String {
        let mut line = format!("{}:{} {}: {}\n", self.project, self.id, self.place, self.answer);
        if self.live {
            line.push_str("  the run that is on takes it in at its next iteration\n");
        }
        self.notes.iter().for_each(|note| line.push_str(&format!("  {note}\n")));
        line
    }
}

impl Desk {
    /// The known projects, and the one around `directory`.
    pub(super) fn open(directory: &Path) -> Result<Self, CliError> {
        let registry = wire::registry()?;
        let (mut projects, mut notes) = (Vec::new(), Vec::new());
        let known = registry.projects().map_err(|error| CliError::failed("the known projects", &error))?;
        let taken: Vec<String> = known.iter().map(|project| project.name().to_owned()).collect();
        for project in known {
            match project.state {
                Presence::Present => projects.push((project.name().to_owned(), project.root, project.ledger)),
                Presence::Gone => notes.push(format!(
                    "{} is no longer at {} (`ralph btw --forget {}` forgets it)",
                    project.name(),
                    project.root.display(),
                    project.name()
                )),
            }
        }
        notes.extend(registry.trouble());
        let mut here = None;
        if let Ok(project) = Project::find(directory)
            && project.ledger.root().is_dir()
        {
            let known = projects.iter().position(|(_, root, _)| *root == project.root);
            here = Some(known.unwrap_or(projects.len()));
            if known.is_none() {
                let name = project.root.file_name().map(|name| name.to_string_lossy().into_owned());
                let name = name.unwrap_or_else(|| LEDGER.to_owned());
                // One that is known has the name already, also while it is gone; and a path is nobody else's.
                let is_taken = taken.contains(&name);
                let name = if is_taken { project.root.display().to_string() } else { name };
                projects.push((name, project.root, project.ledger));
            }
        }
        let mut desk = Self { registry, projects: Vec::new(), here, notes };
        for (name, root, ledger) in projects {
            let decisions = FileDecisions::new(ledger.clone());
            let all = match decisions.list() {
                Ok(all) => all,
                Err(error) => {
                    desk.notes.push(format!("{name}: {}", chain(&error)));
                    Vec::new()
                }
            };
            desk.notes.extend(decisions.trouble().iter().map(|trouble| format!("{name}: {trouble}")));
            desk.projects.push(Desktop { name, root, ledger, decisions, all });
        }
        Ok(desk)
    }

    pub(super) fn ledgers(&self) -> impl Iterator<Item = &Ledger> {
        self.projects.iter().map(|project| &project.ledger)
    }

    /// The questions that wait, the most urgent first; of equal ones the oldest.
    pub(super) fn pending(&self) -> Vec<Pending<'_>> {
        let now = SystemTime::now();
        let mut pending: Vec<Pending<'_>> = self
            .projects
            .iter()
            .flat_map(|project| {
                project.all.iter().filter(|queued| queued.is_pending()).map(move |queued| Pending { project, queued })
            })
            .collect();
        pending.sort_by_key(|pending| {
            let decision = &pending.queued.decision;
            (Reverse(decision.priority(now)), decision.asked)
        });
        pending
    }

    /// `D-007=Resend` or `web:D-007=Resend`: which project, which question, what is said.
    pub(super) fn understand(&self, text: &str) -> Result<(&Desktop, DecisionId, String), CliError> {
        let (which, said) = text.split_once('=').ok_or_else(|| {
            CliError::usage(format!("--answer {text}: say which question and what, as in `D-007=Resend`"))
        })?;
        let (project, name) = match which.rsplit_once(':') {
            Some((project, name)) => (self.named(project.trim())?, name),
            None => (self.here()?, which),
        };
        let id = id(name);
        // All are understood before one is given.
        let queued = project.all.iter().find(|queued| queued.id == id);
        let queued = queued.ok_or_else(|| CliError::usage(format!("{}: there is no decision `{id}`", project.name)))?;
        if let Some(resolved) = queued.resolved.clone() {
            let error = AnswerError::Resolved { id, resolved };
            return Err(CliError::usage(format!("{}: {error}", project.name)));
        }
        let reply = queued.decision.question.reply(said);
        let reply = reply.map_err(|error| CliError::usage(format!("{}: {id}: {error}", project.name)))?;
        project.fits(queued, &reply)?;
        Ok((project, id, said.to_owned()))
    }

    fn here(&self) -> Result<&Desktop, CliError> {
        self.here.and_then(|here| self.projects.get(here)).ok_or_else(|| {
            CliError::usage("a bare id means the project that one stands in, and this is none: say PROJECT:D-007")
        })
    }

    fn named(&self, name: &str) -> Result<&Desktop, CliError> {
        self.projects.iter().find(|project| project.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.projects.iter().map(|project| project.name.as_str()).collect();
            CliError::usage(format!("there is no known project `{name}`; there are: {}", known.join(", ")))
        })
    }

    /// Gives an answer, and does what follows from it, unless a run is on that will.
    pub(super) async fn answer(
        &self,
        project: &Desktop,
        id: &DecisionId,
        said: &str,
        by: &str,
    ) -> Result<Given, CliError> {
        let asked = project.all.iter().find(|queued| queued.id == *id);
        let place = asked.map(place).unwrap_or_default();
        point("answer");
        let answer = project
            .decisions
            .answer(id, said, by, SystemTime::now())
            .map_err(|error| CliError::usage(format!("{}: {}", project.name, chain(&error))))?;
        point("answered");
        let mut given = Given {
            project: project.name.clone(),
            root: project.root.clone(),
            id: id.clone(),
            place,
            answer: answer.reply.text(),
            by: answer.by,
            live: false,
            notes: project.decisions.trouble(),
        };
        match project.settle().await {
            Ok(Some(notes)) => given.notes.extend(notes),
            Ok(None) => given.live = true,
            // The answer is given all the same: the next run or `btw` does the rest.
            Err(error) => {
                given.notes.push(format!("the answer is recorded; what follows is still to be done: {error}"));
            }
        }
        Ok(given)
    }

    /// The plans about which something was answered and of which no run is on, each once: just now, or also `earlier`.
    pub(super) fn resumable(&self, given: &[Given], earlier: bool) -> Vec<Resumable<'_>> {
        let mut plans: Vec<Resumable<'_>> = Vec::new();
        for given in given.iter().filter(|given| !given.live) {
            let Some(project) = self.projects.iter().find(|project| project.root == given.root) else { continue };
            let asked = project.all.iter().find(|queued| queued.id == given.id);
            let info = asked.and_then(|queued| runs::info(&project.ledger, &queued.decision.run));
            let plan = info.map(|info| project.root.join(info.plan));
            if !plans.iter().any(|known| known.project.root == project.root && known.plan == plan) {
                plans.push(Resumable { project, plan });
            }
        }
        for project in self.projects.iter().filter(|project| earlier && project.was_answered()) {
            if !plans.iter().any(|known| known.project.root == project.root) {
                plans.push(Resumable { project, plan: project.last_plan() });
            }
        }
        plans
    }

    /// Takes a project off the desk.
    pub(super) fn forget(&self, name: &str) -> Result<u8, CliError> {
        let fail = |error: std::io::Error| CliError::failed("the known projects", &error);
        let known = self.registry.projects().map_err(fail)?;
        let Some(project) = known.iter().find(|project| project.name() == name) else {
            return Err(CliError::usage(format!("there is no known project `{name}`")));
        };
        self.registry.forget(&project.id).map_err(fail)?;
        anstream::println!("{name} is forgotten; nothing in {} was touched", project.root.display());
        Ok(0)
    }
}

impl Desktop {
    /// An item that is named has to be there.
    pub(super) fn fits(&self, queued: &Queued, reply: &Reply) -> Result<(), CliError> {
        let (Reply::Reopen(item) | Reply::Retire(item)) = reply else { return Ok(()) };
        let Some(plan) = self.plan(queued)? else { return Ok(()) };
        let read = plan.read().map_err(|error| CliError::refused(&error))?;
        let phase = read.plan.phases.iter().find(|phase| phase.id == queued.decision.phase);
        if phase.is_some_and(|phase| phase.item(item).is_some()) {
            return Ok(());
        }
        Err(CliError::usage(format!("there is no item `{item}` in phase {}", queued.decision.phase)))
    }

    /// The plan that a question belongs to, where its run is known.
    fn plan(&self, queued: &Queued) -> Result<Option<PlanFile>, CliError> {
        let Some(info) = runs::info(&self.ledger, &queued.decision.run) else { return Ok(None) };
        let project = self.project();
        let settings = settings::load(&project.settings(), &[])?.settings;
        Ok(Some(PlanFile::open(&project, &project.root.join(info.plan), &settings.verify)))
    }

    /// The plan of the last run, which goes on.
    pub(super) fn last_plan(&self) -> Option<PathBuf> {
        let (_, info) = runs::find(&self.ledger, None).ok()??;
        Some(self.root.join(info.plan))
    }

    /// Whether the last run stopped before something that it asked was answered.
    fn was_answered(&self) -> bool {
        let Ok(Some((run, _))) = runs::find(&self.ledger, None) else { return false };
        let records = runs::records(&self.ledger, &run).unwrap_or_default();
        let stopped = runs::last_stop(&records).is_some_and(|stop| stop.reason != StopReason::Success);
        let mut asked = self.all.iter().filter(|queued| queued.decision.run == run && queued.answer().is_some());
        stopped && asked.any(|queued| !answers::taken_in(&self.ledger, queued))
    }

    fn project(&self) -> Project {
        Project { root: self.root.clone(), ledger: self.ledger.clone(), environment: None }
    }

    /// Brings answers to their end; `None` where a run is on, which does.
    async fn settle(&self) -> Result<Option<Vec<String>>, CliError> {
        let holder = Holder::this_process("ralph btw", None, SystemTime::now());
        let _lock = match LedgerLock::take(&self.ledger, &holder) {
            Ok(lock) => lock,
            Err(LockError::Held(_)) => return Ok(None),
            Err(error) => return Err(CliError::refused(&error)),
        };
        let project = self.project();
        let settings = settings::load(&project.settings(), &[])?.settings;
        answers::settle(&project, &settings, &self.decisions).await.map(Some)
    }
}

/// The phase of a question, and its item where it concerns one.
pub(crate) fn place(queued: &Queued) -> String {
    let item = queued.decision.item.as_ref().map(|item| format!("/{item}")).unwrap_or_default();
    format!("{}{item}", queued.decision.phase)
}
