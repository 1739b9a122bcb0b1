//! What really holds, read beside the engine: in the verifier's own memory, the plan's source and the queue.
//!
//! [`LawBook`] reads the records alone, which a host that is bent could word as it likes. This reader knows what the
//! verifier said, what stood in the plan, and what people answered.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    people::items,
    plan::Seen,
    verifier::{Judgement, Said, fingerprint, is_done},
    world::Shared,
};
use crate::{
    AttemptId, DecisionId, DecisionKind, ItemRef, ItemStatus, PhaseId, Record, Reply, Revision, Stage, StopReason, Tip,
    machine::{Attempt, End, Fact, Mode, Origin},
    testing::laws::{LawBook, Violation},
};

/// Why an item may be called done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// Its work was accepted.
    Accepted,
    /// A person said that the branch has it, and the branch passed.
    Confirmed,
    /// A person marked it so.
    ByHand,
}

/// The account of one simulated run.
#[derive(Debug, Default)]
pub(super) struct Account {
    book: LawBook,
    seq: u64,
    /// What stood in the plan at the last look, and what was proven then.
    looked: Seen,
    looked_proofs: BTreeMap<ItemRef, Proof>,
    attempt: Option<Attempt>,
    /// Whether its work was accepted.
    landed: bool,
    /// What its clean-up made of it, if anything.
    tidied: Option<Option<Revision>>,
    /// Items about which a person said something.
    heard: BTreeSet<ItemRef>,
    /// Items of which a person chose to accept the work.
    chosen: BTreeSet<ItemRef>,
    pub(super) proofs: BTreeMap<ItemRef, Proof>,
    /// Items of which a person said that they are done on the branch.
    claimed: BTreeSet<ItemRef>,
    /// The record with which the last attempt at a phase's items began.
    began: BTreeMap<PhaseId, u64>,
    /// The record with which a question was asked.
    asked: BTreeMap<DecisionId, u64>,
    /// The record with which the question was asked that a phase's approval answers.
    approved: BTreeMap<PhaseId, u64>,
    finished: BTreeSet<PhaseId>,
    violations: Vec<Violation>,
}

impl Account {
    pub(super) fn violations(&self) -> Vec<Violation> {
        self.book.violations().iter().chain(&self.violations).cloned().collect()
    }

    pub(super) fn broken(&mut self, law: &'static str, what: String) {
        self.violations.push(Violation { law, what });
    }

    fn hold(&mut self, law: &'static str, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.broken(law, what());
        }
    }

    /// The number of the last record that was read.
    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    /// Takes in a record, once.
    pub(super) fn read(&mut self, record: &Record, world: &Shared) {
        if record.seq <= self.seq {
            return;
        }
        self.seq = record.seq;
        self.book.read(record);
        match &record.fact {
            Fact::Looked { tip, .. } => {
                self.looked = world.plan.seen();
                self.looked_proofs.clone_from(&self.proofs);
                if let Tip::Ahead(_) = tip {
                    world.saw("branch", "somebody committed on top");
                }
            }
            Fact::Began { attempt } => {
                self.began.insert(attempt.id.item.phase.clone(), record.seq);
                self.finished.remove(&attempt.id.item.phase);
                self.attempt = Some(attempt.clone());
                self.landed = false;
                self.tidied = None;
                world.saw("attempts", format!("{:?}", attempt.origin));
            }
            Fact::TookIn { answer, .. } => {
                let given = world.decisions.answer_to(&answer.decision).as_ref() == Some(answer);
                self.hold("L3", given, || format!("nobody gave the answer {answer:?}"));
                self.took_in(&answer.decision, &answer.reply, world);
            }
            Fact::Asked { id, .. } => {
                self.asked.insert(id.clone(), record.seq);
            }
            Fact::Accepted { revision } => self.accepted(revision, world),
            Fact::Marked { iteration, refused: None } if iteration.to == ItemStatus::Done => {
                self.marked_done(&iteration.item, world);
            }
            Fact::Tidied { work, .. } => {
                world.saw("a clean-up", if work.is_some() { "is verified" } else { "is dropped" });
                self.tidied = Some(work.as_ref().map(|work| work.revision.clone()));
            }
            Fact::Reviewed { outcome, end, .. } => {
                let word = if *end == End::Finished { format!("{outcome:?}") } else { "no review".to_owned() };
                world.saw("reviewed", word);
            }
            Fact::Verified { own: Some(_), outcome, .. } => world.saw("own verifiers", format!("{outcome:?}")),
            Fact::PhaseDone { phase, revision } => self.phase_done(phase, revision, world),
            Fact::Stopped { stop } => {
                world.saw("stops", stop.reason.name());
                if stop.reason == StopReason::Success {
                    self.success(world);
                }
            }
            _ => {}
        }
    }

    fn took_in(&mut self, id: &DecisionId, reply: &Reply, world: &Shared) {
        let asked = world.decisions.asked();
        let number = id.as_str().strip_prefix("D-").and_then(|number| number.parse::<usize>().ok());
        let Some(decision) = number.and_then(|number| asked.get(number.checked_sub(1)?)) else {
            return self.broken("L3", format!("{id} was never asked"));
        };
        let named = match reply {
            Reply::Reopen(item) => Some(item),
            _ => decision.item.as_ref(),
        };
        if matches!(reply, Reply::Choice(choice) if choice == "accept the work") {
            self.chosen.extend(decision.item.iter().map(|item| ItemRef::new(decision.phase.clone(), item.clone())));
        }
        self.heard.extend(named.map(|item| ItemRef::new(decision.phase.clone(), item.clone())));
        match (decision.question.kind, reply, &decision.item) {
            (DecisionKind::ManualGate, Reply::Approve, _) => {
                let seq = self.asked.get(id).copied().unwrap_or(0);
                self.approved.insert(decision.phase.clone(), seq);
            }
            (DecisionKind::AlreadyDone, Reply::Approve, Some(item)) => {
                self.claimed.insert(ItemRef::new(decision.phase.clone(), item.clone()));
            }
            _ => {}
        }
    }

    /// L1, by the verifier's own memory: its last words at both stages are passes of just this content.
    fn accepted(&mut self, revision: &Revision, world: &Shared) {
        let Some(attempt) = self.attempt.clone() else {
            return self.broken("L1", format!("{revision} was accepted without an attempt"));
        };
        let Some(files) = world.vcs.files_of(revision) else {
            return self.broken("L2", format!("{revision} was accepted and is nowhere"));
        };
        let content = fingerprint(&files);
        for stage in [Stage::Workspace, Stage::Candidate] {
            // A clean-up that is dropped was judged as well, by words about something else.
            let about = |one: &Judgement| self.tidied.is_none() || one.content == content;
            let of_attempt = |one: &Judgement| one.attempt.as_ref() == Some(&attempt.id) && one.stage == stage;
            let judged = world.last_words(|one| of_attempt(one) && about(one));
            let of_it = |one: &Judgement| {
                let there = stage == Stage::Workspace || one.revision.as_ref() == Some(revision);
                let same = one.item.as_ref() == Some(&attempt.id.item) && one.content == content;
                there && same && one.said == Said::Pass
            };
            let passed = !judged.is_empty() && judged.iter().all(of_it);
            self.hold("L1", passed, || {
                format!("{revision} was accepted, and the verifier said at {stage}: {judged:?}")
            });
        }
        let (conduct, item) = (world.scenario.conduct, &attempt.id.item);
        let really = is_done(&files, &item.item);
        self.stood_the_review(revision, &attempt, really, world);
        if attempt.spec.require_red {
            let failed = |one: &Judgement| {
                one.stage == Stage::Base
                    && one.attempt.is_none()
                    && one.item.as_ref() == Some(item)
                    && one.said == Said::Fail
            };
            let red = self.heard.contains(item) || !world.last_words(failed).is_empty();
            self.hold("L1", red, || format!("{item} was accepted, and its verifier never failed before the work"));
        }
        if let Some(tidied) = &self.tidied {
            let word = if tidied.as_ref() == Some(revision) { "tidied" } else { "as it was" };
            world.saw("accepted after a clean-up", word);
        }
        world.saw("accepted", format!("{conduct:?}"));
        if !really {
            world.saw("accepted, and not really done", format!("{conduct:?}"));
            self.hold("L1", !conduct.is_sound(), || format!("{item} was accepted, and is not done in {revision}"));
        }
        self.landed = true;
        self.proofs.insert(item.clone(), Proof::Accepted);
    }

    /// L1, by the reviewer's own memory: its last word about just this commit and row is an approval.
    fn stood_the_review(&mut self, revision: &Revision, attempt: &Attempt, really: bool, world: &Shared) {
        let Some(critic) = world.scenario.critic else { return };
        let said = world.last_review(revision, &attempt.spec.digest);
        let approved = said.as_ref().is_some_and(|said| said.approved);
        // A person who was told of a veto has the last word.
        let overruled = self.chosen.contains(&attempt.id.item) && world.vetoed(&attempt.spec.digest);
        if overruled && !approved {
            world.saw("accepted by", "a person, over a veto");
            return;
        }
        self.hold("L1", approved, || format!("{revision} was accepted, and its reviewer said {said:?}"));
        self.hold("L1", really || !critic.is_sound(), || {
            format!("{revision} was accepted by a reviewer that is {critic:?}, and is not done")
        });
        world.saw("accepted by", format!("{critic:?}"));
    }

    fn marked_done(&mut self, item: &ItemRef, world: &Shared) {
        if self.proofs.contains_key(item) {
            return;
        }
        let Some(attempt) = self.attempt.clone().filter(|attempt| attempt.id.item == *item) else {
            return self.broken("L1", format!("{item} was marked done without an attempt"));
        };
        if self.landed {
            // After a crash a mark that was not yet recorded is written again, whatever a person made of it. One that
            // was may be older than what a person did since.
            if world.plan.held.status(item) == Some(ItemStatus::Done) {
                self.proofs.insert(item.clone(), Proof::Accepted);
            }
            return;
        }
        let base = Some(&attempt.base);
        let passed = |judged: &[Judgement]| {
            !judged.is_empty() && judged.iter().all(|one| one.said == Said::Pass && one.revision.as_ref() == base)
        };
        let of_attempt =
            |id: &AttemptId| world.last_words(|one| one.attempt.as_ref() == Some(id) && one.stage == Stage::Candidate);
        let reached = world.scenario.mode == Mode::Goal
            && passed(&world.last_words(|one| one.stage == Stage::Base && one.attempt.is_none()));
        let may = attempt.origin == Origin::Branch && (reached || self.claimed.contains(item));
        let holds = may && passed(&of_attempt(&attempt.id));
        self.hold("L1", holds, || format!("{item} was marked done, and the branch was not seen to have it"));
        world.saw("confirmed", if reached { "a goal" } else { "an item" });
        self.proofs.insert(item.clone(), Proof::Confirmed);
    }

    fn phase_done(&mut self, phase: &PhaseId, revision: &Revision, world: &Shared) {
        self.finished.insert(phase.clone());
        let found = self.looked.plan.phases.iter().find(|known| known.id == *phase).cloned();
        let Some(found) = found else { return self.broken("L12", format!("{phase} is done and not in the plan")) };
        if !found.is_gated() {
            return;
        }
        world.saw("gates passed", if found.manual_gate.is_some() { "manual" } else { "auto" });
        let judged = world.last_words(|one| {
            one.stage == Stage::Gate && one.phase == *phase && one.revision.as_ref() == Some(revision)
        });
        let open = !judged.is_empty() && judged.iter().all(|one| one.said == Said::Pass);
        self.hold("L12", open, || format!("{phase} is done, and its gate said {judged:?}"));
        if found.manual_gate.is_some() {
            let approved = self.approved.get(phase) > self.began.get(phase).max(Some(&0));
            self.hold("L12", approved, || format!("{phase} is done, and nobody approved what it is now"));
        }
    }

    /// L12: the plan's source, read by itself, says that everything is done, and for each item there is a proof.
    fn success(&mut self, world: &Shared) {
        let Seen { plan, trouble } = self.looked.clone();
        self.hold("L12", trouble.is_none(), || format!("success with a plan that is {trouble:?}"));
        let all = items(&plan);
        self.hold("L12", !all.is_empty(), || "success of a plan without items".to_owned());
        for phase in &plan.phases {
            self.hold("L12", !phase.items.is_empty(), || format!("success, and {} has no items", phase.id));
            let passed = !phase.is_gated() || self.finished.contains(&phase.id);
            self.hold("L12", passed, || format!("success, and the gates of {} were not passed", phase.id));
            for item in &phase.items {
                let (name, status) = (phase.name(item), item.status);
                self.hold("L12", status == ItemStatus::Done, || format!("success, and {name} is {status}"));
                let proof = self.looked_proofs.get(&name).copied();
                self.hold("L12", proof.is_some(), || format!("success, and nothing proves {name}"));
                world.saw("done at a success", format!("{proof:?}"));
            }
        }
        let pending: Vec<DecisionId> = world.decisions.pending().into_iter().map(|(id, _)| id).collect();
        self.hold("L12", pending.is_empty(), || format!("success with {pending:?} to be answered"));
    }
}
