//! What commands said on the revisions that later work starts from.

use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ralph_core::{Item, Revision, Stage, Target};

use super::{memory_file, rule::Said};

/// How many revisions are remembered. Work starts from the branch's tip, which is one of the last that passed.
const REVISIONS_MAX: usize = 32;

/// What an item writes in `Checks:` to switch test evidence off.
const OFF: &str = "-test-evidence";

/// What each command said, by the revision on which it said so. Clones share it.
///
/// Only clean checkouts of known revisions are remembered: the base's, and those of candidates that passed, for an
/// accepted one is the base of what comes next. A command that did not run on a candidate keeps what it said on that
/// candidate's base, unless the item switched the rule off: then its tests may have gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// What was used last comes last.
    revisions: Revisions,
    /// Where it is kept for a later process.
    file: Option<PathBuf>,
    /// What could not be read or kept.
    trouble: Vec<String>,
}

/// What is known of each revision.
pub(super) type Revisions = VecDeque<(Revision, Commands)>;

/// What each command said.
pub(super) type Commands = BTreeMap<String, Said>;

impl Memory {
    /// A memory that is kept in this file too, with what is there.
    pub(crate) fn in_file(path: PathBuf) -> Self {
        let (revisions, trouble) = match memory_file::read(&path) {
            Ok(revisions) => (revisions, Vec::new()),
            Err(trouble) => (Revisions::new(), vec![trouble]),
        };
        Self(Arc::new(Mutex::new(Known { revisions, file: Some(path), trouble })))
    }

    /// What a person should know: what was kept and could not be read, or could not be kept.
    pub(crate) fn trouble(&self) -> Vec<String> {
        self.known().trouble.clone()
    }

    /// What `command` said on the base of the work that is judged.
    pub(crate) fn base(&self, target: &Target, command: &str) -> Option<Said> {
        let base = target.base.as_ref().filter(|_| matches!(target.stage, Stage::Workspace | Stage::Candidate));
        self.known().of(base?)?.remove(command)
    }

    /// Remembers what was said about `target`, where later work may start from it.
    pub(crate) fn keep(&self, target: &Target, passed: bool, said: impl IntoIterator<Item = (String, Said)>) {
        let fits = match target.stage {
            Stage::Base => true,
            Stage::Candidate => passed,
            Stage::Setup | Stage::Workspace | Stage::Gate => false,
        };
        let Some(revision) = target.revision.as_ref().filter(|_| fits) else { return };
        let mut known = self.known();
        let before = match &target.base {
            Some(base) if base != revision && !switched_off(target.item.as_deref()) => known.of(base),
            Some(_) | None => known.of(revision),
        };
        let mut all = before.unwrap_or_default();
        all.extend(said);
        known.revisions.retain(|(known, _)| known != revision);
        known.revisions.push_back((revision.clone(), all));
        if known.revisions.len() > REVISIONS_MAX {
            known.revisions.pop_front();
        }
        known.write();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn of(&mut self, revision: &Revision) -> Option<Commands> {
        let at = self.revisions.iter().position(|(known, _)| known == revision)?;
        // What is asked for is in use.
        let entry = self.revisions.remove(at)?;
        let said = entry.1.clone();
        self.revisions.push_back(entry);
        Some(said)
    }

    /// A memory that cannot be kept is no reason not to judge; a later process knows less, and a person is told.
    fn write(&mut self) {
        let Some(path) = &self.file else { return };
        if let Err(trouble) = memory_file::write(path, &self.revisions)
            && !self.trouble.contains(&trouble)
        {
            self.trouble.push(trouble);
        }
    }
}

/// Whether the item says that its tests are not to be compared.
pub(crate) fn switched_off(item: Option<&Item>) -> bool {
    item.is_some_and(|item| item.checks.iter().any(|check| check == OFF))
}
