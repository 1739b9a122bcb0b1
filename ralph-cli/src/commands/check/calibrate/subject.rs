//! What is measured: each command of the plan and the settings once, with where it stands.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use ralph_core::{Item, ItemStatus, Phase};

use super::super::sources::Sources;
use crate::{
    plan::{PlanFile, ReadPlan},
    project::Project,
    settings::Settings,
};

/// A command that judges.
pub(super) struct Subject {
    pub(super) command: String,
    /// The phase whose set-up makes it work.
    pub(super) phase: Arc<Phase>,
    /// Where it stands: `PRD-P1.md:3`.
    pub(super) places: Vec<String>,
    /// Whether a phase's items have it in common.
    pub(super) common: bool,
    /// Open items that are judged by nothing else.
    pub(super) alone: Vec<String>,
    /// The items whose own it is.
    pub(super) own: Vec<Arc<Item>>,
}

impl Subject {
    /// The own items that are still to be done.
    pub(super) fn open(&self) -> Vec<&str> {
        self.named(|status| status != ItemStatus::Done)
    }

    /// The own items that are done.
    pub(super) fn done(&self) -> Vec<&str> {
        self.named(|status| status == ItemStatus::Done)
    }

    fn named(&self, wanted: impl Fn(ItemStatus) -> bool) -> Vec<&str> {
        self.own.iter().filter(|item| wanted(item.status)).map(|item| item.id.as_str()).collect()
    }
}

/// The commands in the order of the plan: of each phase the common ones, then its items' own. That of the settings comes
/// last where no phase uses it.
pub(super) fn subjects(
    project: &Project,
    settings: &Settings,
    plan: &PlanFile,
    path: &Path,
    read: &ReadPlan,
) -> Vec<Subject> {
    let mut found = Found { order: Vec::new(), by_command: BTreeMap::new() };
    for phase in &read.plan.phases {
        let prd = plan.prd_of(&phase.id, read.master.as_ref());
        let sources = Sources::of(project, path, Path::new(&prd), phase);
        let prd = project.relative(Path::new(&prd));
        let is_alone = |item: &&Arc<Item>| item.status == ItemStatus::Open && item.verify.is_empty();
        for command in &phase.verify {
            let subject = found.of(command, phase);
            subject.common = true;
            subject.add_place(sources.of_verifier(command));
            subject.alone.extend(phase.items.iter().filter(is_alone).map(|item| item.id.to_string()));
        }
        for item in &phase.items {
            for command in &item.verify {
                let subject = found.of(command, phase);
                subject.add_place((prd.clone(), item.line));
                subject.own.push(Arc::clone(item));
            }
        }
    }
    if let (Some(command), Some(phase)) = (&settings.verify.command, read.plan.phases.first())
        && !found.by_command.contains_key(command)
    {
        let sources = Sources::of(project, path, path, phase);
        found.of(command, phase).add_place(sources.of_verifier(command));
    }
    found.order
}

struct Found {
    order: Vec<Subject>,
    by_command: BTreeMap<String, usize>,
}

impl Found {
    fn of(&mut self, command: &str, phase: &Arc<Phase>) -> &mut Subject {
        let next = self.order.len();
        let index = *self.by_command.entry(command.to_owned()).or_insert(next);
        if index == next {
            self.order.push(Subject {
                command: command.to_owned(),
                phase: Arc::clone(phase),
                places: Vec::new(),
                common: false,
                alone: Vec::new(),
                own: Vec::new(),
            });
        }
        &mut self.order[index]
    }
}

impl Subject {
    fn add_place(&mut self, (file, line): (String, usize)) {
        let place = if line == 0 { file } else { format!("{file}:{line}") };
        if !self.places.contains(&place) {
            self.places.push(place);
        }
    }
}
