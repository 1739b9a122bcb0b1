//! People who edit, mark, answer, commit and end things at any time.

use std::sync::Arc;

use super::{agent::THEN, plan::Trouble, world::Shared};
use crate::{Decision, DecisionKind, Digest, Item, ItemRef, ItemStatus, Plan, machine::Mode};

/// What a person does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deed {
    /// Answers a question.
    Answers,
    /// Answers what is no answer.
    Mumbles,
    /// Rewords an item.
    EditsRow,
    /// Marks an item as done.
    Ticks,
    /// Marks an item as open.
    Reopens,
    /// Marks an item as blocked.
    Blocks,
    /// Marks an item as waiting for a decision.
    SetsAside,
    /// Marks an item with what nobody knows.
    Scribbles,
    /// Takes an item out of the plan.
    Removes,
    /// Adds an item.
    Adds,
    /// Takes the verifier of a phase away.
    TakesVerifier,
    /// Breaks the plan, or its approval.
    BreaksPlan,
    /// Puts it right.
    MendsPlan,
    /// Commits something of their own.
    Commits,
    /// Commits what no verifier passes.
    CommitsBadly,
    /// Commits an item's work.
    CommitsWork,
    /// Rewrites the branch.
    Rewrites,
    /// Asks for the end.
    Cancels,
    /// Asks for the end at once.
    CancelsNow,
}

impl Deed {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::Answers,
        Self::Mumbles,
        Self::EditsRow,
        Self::Ticks,
        Self::Reopens,
        Self::Blocks,
        Self::SetsAside,
        Self::Scribbles,
        Self::Removes,
        Self::Adds,
        Self::TakesVerifier,
        Self::BreaksPlan,
        Self::MendsPlan,
        Self::Commits,
        Self::CommitsBadly,
        Self::CommitsWork,
        Self::Rewrites,
        Self::Cancels,
        Self::CancelsNow,
    ];
}

impl Shared {
    /// A person does something.
    pub(super) fn does(&self, deed: Deed) {
        self.saw("people", format!("{deed:?}"));
        match deed {
            Deed::Answers => {
                self.answer_one();
            }
            Deed::Mumbles => {
                for (id, _) in self.decisions.pending() {
                    let refused = self.decisions.answer(&id, "", "lead", THEN).is_err();
                    if !refused {
                        self.broken("L3", "no word at all was taken for an answer".to_owned());
                    }
                }
            }
            Deed::EditsRow => self.edit_item(|item, number| {
                item.criteria.push(format!("and more {number}"));
                item.digest = Digest::of(format!("{}{number}", item.digest).as_bytes());
            }),
            Deed::Ticks => self.mark_by_hand(ItemStatus::Done),
            Deed::Reopens => self.mark_by_hand(ItemStatus::Open),
            Deed::Blocks => self.mark_by_hand(ItemStatus::Blocked),
            Deed::SetsAside => self.mark_by_hand(ItemStatus::Decision),
            Deed::Scribbles => self.mark_by_hand(ItemStatus::Unknown),
            Deed::Removes => {
                let roll = self.roll_person(100);
                self.plan.held.edit(|plan| {
                    let Some(phase) = some(&mut plan.phases, roll) else { return };
                    let phase = Arc::make_mut(phase);
                    if !phase.items.is_empty() {
                        phase.items.remove(roll % phase.items.len());
                    }
                });
            }
            // A goal is of one item.
            Deed::Adds if self.scenario.mode == Mode::Goal => {}
            Deed::Adds => self.add_item(),
            Deed::TakesVerifier => {
                let roll = self.roll_person(100);
                self.plan.held.edit(|plan| {
                    if let Some(phase) = some(&mut plan.phases, roll) {
                        Arc::make_mut(phase).verify.clear();
                    }
                });
            }
            Deed::BreaksPlan => {
                let trouble = Trouble::ALL[self.roll_person(3)];
                self.plan.trouble(Some(trouble));
            }
            Deed::MendsPlan => self.plan.trouble(None),
            Deed::Commits => self.commit("by-hand", &format!("the operator's {}", self.roll_person(1000))),
            Deed::CommitsBadly => self.commit("broken-build", "x"),
            Deed::CommitsWork => {
                let items = items(&self.plan.held.plan());
                let roll = self.roll_person(items.len());
                if let Some(item) = items.get(roll) {
                    self.commit(item.item.as_str(), "good");
                }
            }
            Deed::Rewrites => self.vcs.rewrite_by_hand(self.vcs.files()),
            Deed::Cancels => self.switch(|switches| switches.stop.cancel()),
            Deed::CancelsNow => self.switch(|switches| switches.now.cancel()),
        }
    }

    /// What a person does on a whim.
    pub(super) fn whim(&self) {
        let deed = Deed::ALL[self.roll_person(Deed::ALL.len())];
        // What ends everything else is enough now and then.
        let ends = matches!(deed, Deed::Rewrites | Deed::TakesVerifier | Deed::Removes | Deed::CommitsBadly);
        if !ends || self.roll_person(4) == 0 {
            self.does(deed);
        }
    }

    /// A person puts right what they can: the plan, its marks, the branch.
    pub(super) fn puts_right(&self) {
        self.saw("people", "puts right");
        self.plan.trouble(None);
        self.plan.held.edit(|plan| {
            for phase in &mut plan.phases {
                let phase = Arc::make_mut(phase);
                if phase.verify.is_empty() {
                    phase.verify.push("check".to_owned());
                }
                for item in &mut phase.items {
                    if matches!(item.status, ItemStatus::Blocked | ItemStatus::Unknown) {
                        Arc::make_mut(item).status = ItemStatus::Open;
                    }
                }
            }
        });
        let mut files = self.vcs.files();
        let spoilt = ["broken-build", "needs-more"].map(|name| files.remove(name).is_some());
        if spoilt.contains(&true) {
            self.vcs.commit_by_hand(files);
        }
    }

    /// Answers a question, if there is one.
    pub(super) fn answer_one(&self) -> bool {
        let pending = self.decisions.pending();
        let Some((id, decision)) = pending.get(self.roll_person(pending.len())) else { return false };
        let said = self.reply(decision);
        self.saw("answers", format!("{}: {}", decision.question.kind, word(&said)));
        if let Err(why) = self.decisions.answer(id, &said, "lead", THEN) {
            self.broken("L3", format!("`{said}` was no answer to {decision:?}: {why}"));
        }
        true
    }

    fn reply(&self, decision: &Decision) -> String {
        let yes = self.is_calm() || self.roll_person(100) < 60;
        let consent = || if yes { "approve" } else { "reject: not so" }.to_owned();
        if let Some(first) = decision.question.options.first() {
            return if yes { first.clone() } else { "other: do it otherwise".to_owned() };
        }
        match decision.question.kind {
            DecisionKind::Checkpoint => if yes { "continue" } else { "stop" }.to_owned(),
            DecisionKind::AutoGate => {
                let items: Vec<ItemRef> =
                    items(&self.plan.held.plan()).into_iter().filter(|item| item.phase == decision.phase).collect();
                let item = items.get(self.roll_person(items.len()));
                match (item, self.roll_person(3)) {
                    (Some(item), 0) => format!("retire {}", item.item),
                    (Some(item), 1) => format!("reopen {}", item.item),
                    (Some(item), _) if self.is_calm() => format!("reopen {}", item.item),
                    _ => "retry".to_owned(),
                }
            }
            DecisionKind::Choice
            | DecisionKind::Security
            | DecisionKind::Database
            | DecisionKind::Dependency
            | DecisionKind::PublicApi
            | DecisionKind::Protected
            | DecisionKind::Scope
            | DecisionKind::AlreadyDone
            | DecisionKind::ManualGate => consent(),
        }
    }

    fn edit_item(&self, change: impl FnOnce(&mut Item, usize)) {
        let (which, number) = (self.roll_person(100), self.roll_person(1000));
        self.plan.held.edit(|plan| {
            if let Some(item) =
                some(&mut plan.phases, which).and_then(|phase| some(&mut Arc::make_mut(phase).items, which / 7))
            {
                change(Arc::make_mut(item), number);
            }
        });
    }

    fn mark_by_hand(&self, to: ItemStatus) {
        let items = items(&self.plan.held.plan());
        let Some(item) = items.get(self.roll_person(items.len())) else { return };
        let mut before = None;
        self.plan.held.edit(|plan| {
            let phase = plan.phases.iter_mut().find(|phase| phase.id == item.phase);
            let found =
                phase.and_then(|phase| Arc::make_mut(phase).items.iter_mut().find(|found| found.id == item.item));
            if let Some(found) = found {
                before = Some(found.status);
                Arc::make_mut(found).status = to;
            }
        });
        if let Some(before) = before {
            self.marked_by_hand(item, before, to);
        }
    }

    fn add_item(&self) {
        let (which, number) = (self.roll_person(100), 100 + self.roll_person(800));
        self.plan.held.edit(|plan| {
            let id = format!("R{number}");
            let taken = plan.phases.iter().flat_map(|phase| &phase.items).any(|item| item.id.as_str() == id);
            if let Some(phase) = some(&mut plan.phases, which).filter(|_| !taken) {
                Arc::make_mut(phase).items.push(Item::new(id.as_str(), "added by hand").into());
            }
        });
    }

    fn commit(&self, name: &str, content: &str) {
        let mut files = self.vcs.files();
        files.insert(name.to_owned(), content.as_bytes().to_vec());
        self.vcs.commit_by_hand(files);
    }
}

/// Every item's name.
pub(super) fn items(plan: &Plan) -> Vec<ItemRef> {
    plan.phases.iter().flat_map(|phase| phase.items.iter().map(|item| phase.name(item))).collect()
}

fn some<T>(of: &mut [T], roll: usize) -> Option<&mut T> {
    let count = of.len().max(1);
    of.get_mut(roll % count)
}

fn word(said: &str) -> &str {
    said.split([' ', ':']).next().unwrap_or_default()
}
