//! What commands said on the revisions that later work starts from.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use ralph_core::{Item, Revision, Stage, Target};

use super::rule::Said;

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
pub(crate) struct Memory(Arc<Mutex<VecDeque<(Revision, Commands)>>>);

/// What each command said.
type Commands = BTreeMap<String, Said>;

impl Memory {
    /// What `command` said on the base of the work that is judged.
    pub(crate) fn base(&self, target: &Target, command: &str) -> Option<Said> {
        let base = target.base.as_ref().filter(|_| matches!(target.stage, Stage::Workspace | Stage::Candidate));
        self.of(base?)?.remove(command)
    }

    /// Remembers what was said about `target`, where later work may start from it.
    pub(crate) fn keep(&self, target: &Target, passed: bool, said: impl IntoIterator<Item = (String, Said)>) {
        let fits = match target.stage {
            Stage::Base => true,
            Stage::Candidate => passed,
            Stage::Setup | Stage::Workspace | Stage::Gate => false,
        };
        let Some(revision) = target.revision.as_ref().filter(|_| fits) else { return };
        let before = match &target.base {
            Some(base) if base != revision && !switched_off(target.item.as_deref()) => self.of(base),
            Some(_) | None => self.of(revision),
        };
        let mut all = before.unwrap_or_default();
        all.extend(said);
        let mut revisions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        revisions.retain(|(known, _)| known != revision);
        revisions.push_back((revision.clone(), all));
        if revisions.len() > REVISIONS_MAX {
            revisions.pop_front();
        }
    }

    fn of(&self, revision: &Revision) -> Option<Commands> {
        let mut revisions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = revisions.iter().position(|(known, _)| known == revision)?;
        // What is asked for is in use.
        let entry = revisions.remove(at)?;
        let said = entry.1.clone();
        revisions.push_back(entry);
        Some(said)
    }
}

/// Whether the item says that its tests are not to be compared.
pub(crate) fn switched_off(item: Option<&Item>) -> bool {
    item.is_some_and(|item| item.checks.iter().any(|check| check == OFF))
}
