//! The laws, as a reader of facts.
//!
//! A [`LawBook`] is shown every record of a run, in order, and says which law a record breaks. It knows nothing of how
//! the machine decides: it keeps its own, much simpler account.

mod verdicts;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Answer, AttemptId, DecisionId, Digest, ItemId, ItemRef, ItemStatus, PhaseId, Record, Reply, Revision, Ruling,
    SignalStatus, Spent, Stage, StopReason, Tip, Usd,
    machine::{
        Attempt, Counts, End, Fact, Machine, Mode, Objection, Origin, PhaseSpec, Pick, Readiness, Refusal, Rules,
        VerifyOutcome,
    },
};

/// A broken law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which: `L1` to `L13`.
    pub law: &'static str,
    /// What was seen.
    pub what: String,
}

/// How large a record may be, in bytes of JSON.
const RECORD_MAX: usize = 64 * 1024;

/// A content, where it was judged, for which item and row, and by whom.
type Judged = (Digest, Stage, ItemRef, Digest, String);

/// A candidate that a clean-up made another of, with what was said of it.
#[derive(Debug)]
struct Former {
    revision: Revision,
    passed: BTreeSet<Stage>,
    gate_objects: bool,
}

/// The account of a run, for its laws.
#[derive(Debug, Default)]
pub struct LawBook {
    seq: u64,
    rules: Rules,
    open: bool,
    cancel_asked: bool,
    tip: Option<Revision>,
    /// What a person put on top of it.
    by_hand: BTreeSet<Revision>,
    attempt: Option<Attempt>,
    seen: BTreeSet<AttemptId>,
    /// What the session under way starts from.
    start: Option<Digest>,
    candidate: Option<Revision>,
    passed: BTreeSet<Stage>,
    /// The candidate as it was before a clean-up.
    untidied: Option<Former>,
    /// What the candidates hold.
    trees: BTreeMap<Revision, Digest>,
    /// What verifiers failed, and whether they passed it too.
    failed: BTreeMap<Judged, bool>,
    /// The contents that reviewers vetoed.
    vetoed: BTreeSet<Digest>,
    /// Items of which a person chose that their work is accepted as it is.
    chosen: BTreeSet<ItemRef>,
    /// What reviewers approved, for which row.
    approved: BTreeSet<(Revision, Digest)>,
    /// What a reviewer has an opinion of.
    reviewed: BTreeSet<(Revision, Digest)>,
    /// Items whose own verifier was seen to fail.
    red: BTreeSet<ItemRef>,
    /// The item that the last look found.
    picked: Option<(ItemRef, Digest)>,
    parks: bool,
    signalled: bool,
    /// Captured work that is neither on the branch nor kept, with the attempt that left it.
    loose: BTreeMap<Revision, AttemptId>,
    accepted: BTreeMap<ItemRef, Revision>,
    done: BTreeSet<ItemRef>,
    asked: BTreeSet<ItemRef>,
    known: Spent,
    charged: Spent,
    sessions: u32,
    iterations: BTreeSet<u32>,
    counts: Counts,
    nothing_open: bool,
    closing_passed: bool,
    /// The questions in the queue, with the items that they are about.
    pending: BTreeMap<DecisionId, Option<ItemRef>>,
    /// Those that nobody will answer.
    lost: BTreeSet<DecisionId>,
    taken: BTreeSet<DecisionId>,
    /// Items about which a person answered.
    answered: BTreeSet<ItemRef>,
    /// Items that a person opened again with an answer, in whichever phase.
    reopened: BTreeSet<ItemId>,
    /// Items whose work, or whose state on the branch, a person approved, or the branch overtook.
    may_return: BTreeSet<ItemRef>,
    /// The questions that were asked since work last began.
    recent: BTreeSet<DecisionId>,
    /// Whether a person agreed to one of them that is about a phase.
    answered_phases: bool,
    /// The phase that the last look found at its end.
    at_gates: Option<PhaseSpec>,
    /// What gates have asked so far.
    objections: BTreeSet<Objection>,
    /// The row of the last attempt that a person was asked about, or that was overtaken.
    rows: BTreeMap<ItemRef, Digest>,
    gate_open: Option<(PhaseId, Option<Revision>)>,
    gates_passed: bool,
    gate_objects: bool,
    confirmed: bool,
    /// Whether the base passed when it was last looked at.
    base_passed: bool,
    /// Whether a loop at an interval was told that it is enough.
    enough: bool,
    since_checkpoint: u32,
    machine: Machine,
    violations: Vec<Violation>,
}

impl LawBook {
    /// Before the first record.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was broken so far.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    fn broken(&mut self, law: &'static str, what: impl Into<String>) {
        self.violations.push(Violation { law, what: what.into() });
    }

    fn hold(&mut self, law: &'static str, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            let what = what();
            self.broken(law, what);
        }
    }

    /// Takes in the next record.
    pub fn read(&mut self, record: &Record) {
        let size = serde_json::to_string(record).map_or(usize::MAX, |json| json.len());
        self.hold("L11", size <= RECORD_MAX, || format!("record {} has {size} bytes", record.seq));
        if let Err(error) = self.machine.apply(&record.fact) {
            self.broken("L13", format!("record {} does not replay: {error}", record.seq));
        }
        self.seq = record.seq;
        let opens = matches!(record.fact, Fact::Opened { .. });
        self.hold("L8", self.open || opens, || format!("record {} comes after the end", record.seq));
        self.account(&record.fact);
    }

    fn account(&mut self, fact: &Fact) {
        match fact {
            Fact::Opened { rules, carried } => self.opened(rules, carried.since_checkpoint),
            Fact::CancelAsked => self.cancel_asked = true,
            Fact::Began { attempt } => self.began(attempt),
            Fact::Stopped { stop } => self.stopped(stop.reason),
            Fact::Looked { tip, pick, counts, lost, .. } => {
                self.lost.extend(lost.iter().cloned());
                self.at_gates = match pick {
                    Pick::Gates(spec) => Some(spec.clone()),
                    Pick::Item(_)
                    | Pick::Undecided(_)
                    | Pick::Waiting(_)
                    | Pick::Nothing
                    | Pick::Invalid(_)
                    | Pick::NotApproved(_) => None,
                };
                match (tip, self.tip.clone()) {
                    (Tip::At(found), Some(tip)) if !self.by_hand.contains(found) => {
                        self.hold("L2", *found == tip, || format!("the branch is at {found}, accepted was {tip}"));
                    }
                    (Tip::At(found), _) => self.tip = Some(found.clone()),
                    (Tip::Ahead(found), _) => {
                        self.by_hand.insert(found.clone());
                    }
                    (Tip::Lost(_), _) => {}
                }
                self.counts = *counts;
                self.nothing_open = *pick == Pick::Nothing;
                self.closing_passed = false;
                // Whoever marks an item open again gives it a new start.
                if let Pick::Item(spec) = pick {
                    self.picked = Some((spec.item.clone(), spec.digest.clone()));
                    self.done.remove(&spec.item);
                    self.asked.remove(&spec.item);
                }
            }
            Fact::Ended { end, usage, signal, .. } => {
                let reserve = self.attempt.as_ref().map(|attempt| attempt.reserve).unwrap_or_default();
                self.charge(end, usage, reserve);
                self.parks = signal.as_ref().is_some_and(|signal| signal.status != SignalStatus::Done);
                self.signalled = signal.is_some();
            }
            Fact::Tidied { end, work, usage, reserve, .. } => {
                self.charge(end, usage, *reserve);
                if let (Some(work), Some(revision)) = (work, self.candidate.clone()) {
                    let twice = self.passed_twice(&revision);
                    self.hold("L1", twice, || format!("{revision} was tidied without two passes"));
                    let (passed, gate_objects) = (std::mem::take(&mut self.passed), self.gate_objects);
                    self.untidied = Some(Former { revision, passed, gate_objects });
                    self.candidate = Some(work.revision.clone());
                    self.trees.insert(work.revision.clone(), work.tree.clone());
                }
            }
            Fact::Reviewed { revision, row, end, outcome, usage, reserve, .. } => {
                self.charge(end, usage, *reserve);
                let twice = self.passed_twice(revision);
                self.hold("L1", twice, || format!("{revision} was reviewed without two passes"));
                let of = (revision.clone(), row.clone());
                if *end == End::Finished && matches!(outcome, VerifyOutcome::Pass | VerifyOutcome::Fail) {
                    let first = self.reviewed.insert(of.clone());
                    self.hold("L6", first, || format!("{revision} was reviewed twice"));
                }
                match outcome {
                    _ if *end != End::Finished => {}
                    VerifyOutcome::Pass => {
                        self.approved.insert(of);
                    }
                    VerifyOutcome::Fail => self.vetoed.extend(self.trees.get(revision).cloned()),
                    VerifyOutcome::Broken | VerifyOutcome::Unready => {}
                }
            }
            Fact::Prepared { readiness, .. } => {
                self.start = match readiness {
                    Readiness::Ready(tree) => Some(tree.clone()),
                    Readiness::Environment(_) | Readiness::StartUnusable(_) => None,
                }
            }
            Fact::Captured { revision, tree, .. } => {
                self.candidate.clone_from(revision);
                self.trees.extend(revision.iter().map(|revision| (revision.clone(), tree.clone())));
                self.passed.clear();
                let changed = self.start.as_ref() != Some(tree);
                if let (true, Some(revision), Some(attempt)) = (changed, revision, &self.attempt) {
                    self.loose.insert(revision.clone(), attempt.id.clone());
                }
            }
            Fact::Verified { own: Some(item), outcome, .. } => {
                if *outcome == VerifyOutcome::Fail {
                    self.red.insert(item.clone());
                }
            }
            Fact::Verified { stage, revision, outcome, parts, .. } => {
                let counts = !self.contradicts(*stage, *outcome, parts);
                self.verified(*stage, revision.as_ref(), *outcome, counts);
            }
            Fact::Accepted { revision } => self.accepted(revision),
            Fact::Kept { .. } => {
                let former = self.untidied.as_ref().map(|former| &former.revision);
                for kept in self.candidate.iter().chain(former) {
                    self.loose.remove(kept);
                }
            }
            Fact::Asked { id, item } => {
                self.asked.extend(item.clone());
                if let Some((picked, row)) = self.picked.as_ref().filter(|(picked, _)| item.as_ref() == Some(picked)) {
                    self.rows.insert(picked.clone(), row.clone());
                }
                self.recent.insert(id.clone());
                self.pending.insert(id.clone(), item.clone());
            }
            Fact::TookIn { answer, .. } => self.took_in(answer),
            Fact::Withdrawn { ids } => ids.iter().for_each(|id| {
                self.pending.remove(id);
            }),
            Fact::Rebased { onto, .. } => {
                // What it was made from has a name.
                if let Some(onto) = onto {
                    self.candidate = Some(onto.revision.clone());
                    self.trees.insert(onto.revision.clone(), onto.tree.clone());
                }
            }
            Fact::Judged { phase: None, ruling, opened, by, .. } => {
                self.approved_was_asked(opened, ruling, by);
                self.gate_objects = *ruling != Ruling::Open;
                let returns = self.attempt.as_ref().is_some_and(|attempt| attempt.origin == Origin::Kept);
                self.hold("L3", opened.is_empty() || returns, || format!("nobody opened {opened:?}"));
            }
            Fact::Judged { phase: Some(phase), ruling, opened, by, .. } => {
                self.approved_was_asked(opened, ruling, by);
                let answered = self.answered_phases;
                self.hold("L3", opened.is_empty() || answered, || format!("nobody opened {opened:?} of {phase}"));
                self.gate_open = (*ruling == Ruling::Open).then(|| (phase.clone(), self.tip.clone()));
                self.gates_passed |= *ruling == Ruling::Open;
            }
            Fact::PhaseDone { phase, revision } => self.phase_done(phase, revision),
            Fact::Marked { iteration, .. } => {
                let item = &iteration.item;
                match iteration.to {
                    ItemStatus::Done => {
                        let proven = self.accepted.contains_key(item) || self.confirmed;
                        self.hold("L1", proven, || format!("{item} is marked done and was never accepted"));
                        let first = self.done.insert(item.clone());
                        self.hold("L6", first, || format!("{item} is done twice"));
                    }
                    ItemStatus::Decision => {
                        let asked = self.asked.contains(item);
                        self.hold("L12", asked, || format!("{item} waits for a decision that nobody was asked for"));
                    }
                    // Whoever has it tried again may have put right what was at fault.
                    ItemStatus::Blocked => self.failed.retain(|(_, _, of, _, _), both| *both || of != item),
                    ItemStatus::Open if self.rules.mode != Mode::Items => {}
                    ItemStatus::Open | ItemStatus::Unknown => {
                        self.broken("L12", format!("{item} was marked {}", iteration.to));
                    }
                }
                let lost: Vec<String> = self
                    .loose
                    .iter()
                    .filter(|(revision, by)| by.item == *item && Some(*revision) != self.tip.as_ref())
                    .map(|(revision, _)| revision.to_string())
                    .collect();
                self.hold("L9", lost.is_empty(), || format!("work on {item} is lost: {lost:?}"));
                self.attempt = None;
            }
            Fact::NotAccepted { why } => {
                if let (Refusal::Overtaken(_), Some(attempt)) = (why, &self.attempt) {
                    self.rows.insert(attempt.id.item.clone(), attempt.spec.digest.clone());
                    self.may_return.insert(attempt.id.item.clone());
                }
            }
            Fact::Rounded { enough, .. } => self.enough = *enough == Some(VerifyOutcome::Pass),
            Fact::NotJudged { .. } | Fact::Published { .. } | Fact::Waited { .. } => {}
        }
    }

    /// Nobody approves what was not asked in these words.
    fn approved_was_asked(&mut self, opened: &[Objection], ruling: &Ruling, by: &[Objection]) {
        let unasked: Vec<&Objection> = opened.iter().filter(|one| !self.objections.contains(one)).collect();
        let text = (!unasked.is_empty()).then(|| format!("approved, and never asked: {unasked:?}"));
        self.hold("L3", text.is_none(), || text.unwrap_or_default());
        if matches!(ruling, Ruling::Ask(_)) {
            self.objections.extend(by.iter().cloned());
        }
    }

    fn opened(&mut self, rules: &Rules, carried: u32) {
        if self.seq == 1 {
            self.since_checkpoint = carried;
        }
        self.rules = rules.clone();
        self.enough = false;
        self.open = true;
        self.cancel_asked = false;
        self.sessions = 0;
        self.iterations.clear();
    }

    fn began(&mut self, attempt: &Attempt) {
        let budget = self.rules.budget.clone();
        let fresh = self.seen.insert(attempt.id.clone());
        self.hold("L6", fresh, || format!("attempt {} begins twice", attempt.id));
        self.hold("L2", self.tip.as_ref() == Some(&attempt.base), || format!("{} stands on an old tip", attempt.id));
        match attempt.origin {
            Origin::Session => {
                self.sessions += 1;
                self.iterations.insert(attempt.iteration);
            }
            Origin::Kept | Origin::Branch => {
                // A goal that was reached before any session is nobody's claim: the base has passed.
                let reached = self.rules.mode == Mode::Goal && attempt.origin == Origin::Branch && self.base_passed;
                let may = reached || self.may_return.contains(&attempt.id.item);
                self.hold("L3", may, || format!("{} comes back, and nobody approved it", attempt.id.item));
                let seen = reached || self.rows.get(&attempt.id.item) == Some(&attempt.spec.digest);
                self.hold("L3", seen, || format!("{} comes back for another row than it had", attempt.id.item));
            }
        }
        let (since, every) = (self.since_checkpoint, budget.checkpoint_every);
        self.hold("L8", since < every, || format!("the run goes on beyond the checkpoint after {since} phases"));
        let (sessions, iterations) = (self.sessions, self.iterations.len());
        self.hold("L7", sessions <= budget.sessions, || format!("session {sessions} of {}", budget.sessions));
        self.hold("L7", iterations <= budget.iterations as usize, || {
            format!("iteration {iterations} of {}", budget.iterations)
        });
        if let Some(limit) = budget.cost.filter(|_| attempt.origin == Origin::Session) {
            let charged = self.charged.cost;
            self.hold("L7", charged < limit, || format!("a session begins after {charged} of {limit}"));
            self.hold("L7", attempt.reserve.cost > Usd::ZERO, || "nothing is set aside for a session".to_owned());
        }
        if let Some(limit) = budget.tokens.filter(|_| attempt.origin == Origin::Session) {
            let charged = self.charged.tokens;
            self.hold("L7", charged < limit, || format!("a session begins after {charged} of {limit} tokens"));
        }
        // What an attempt goes on from is part of what it leaves.
        self.loose.remove(&attempt.start);
        self.attempt = Some(attempt.clone());
        self.candidate = (attempt.origin == Origin::Kept).then(|| attempt.start.clone());
        self.untidied = None;
        self.gate_objects = false;
        self.confirmed = false;
        self.recent.clear();
        self.answered_phases = false;
        self.passed.clear();
        self.parks = false;
        self.signalled = false;
    }

    fn took_in(&mut self, answer: &Answer) {
        let id = &answer.decision;
        let first = self.taken.insert(id.clone());
        self.hold("L6", first, || format!("the answer to {id} was taken in twice"));
        let Some(about) = self.pending.remove(id) else {
            return self.broken("L3", format!("an answer to {id}, which nobody asked"));
        };
        let agrees = matches!(answer.reply, Reply::Approve | Reply::Continue | Reply::Choice(_));
        self.answered.extend(about.clone());
        self.chosen.extend(about.clone().filter(|_| matches!(answer.reply, Reply::Choice(_))));
        if let Reply::Reopen(item) = &answer.reply {
            self.reopened.insert(item.clone());
        }
        match about {
            Some(item) if agrees => {
                self.may_return.insert(item);
            }
            Some(_) => {}
            None => {
                self.answered_phases |= agrees && self.recent.contains(id);
                if answer.reply == Reply::Continue {
                    self.since_checkpoint = 0;
                }
            }
        }
    }

    fn phase_done(&mut self, phase: &PhaseId, revision: &Revision) {
        let spec = self.at_gates.take().filter(|spec| spec.phase == *phase);
        let Some(spec) = spec else { return self.broken("L8", format!("{phase} is done with items that are not")) };
        let open = self.gate_open.as_ref() == Some(&(phase.clone(), Some(revision.clone())));
        self.hold("L8", open || !spec.gated, || format!("{phase} is done, and its gates are not open at {revision}"));
        self.since_checkpoint += 1;
    }

    fn stopped(&mut self, reason: StopReason) {
        self.open = false;
        let asked = self.cancel_asked;
        self.hold("L8", asked || reason != StopReason::Cancelled, || "cancelled, and nobody asked for it".to_owned());
        let enough = self.enough && matches!(self.rules.mode, Mode::Every(_));
        if reason == StopReason::Success && !enough {
            let counts = self.counts;
            let finished = self.nothing_open && counts.open + counts.decision + counts.blocked + counts.unknown == 0;
            self.hold("L8", finished, || format!("success with {counts:?}"));
            self.hold("L12", counts.done > 0, || "success without a single item".to_owned());
            let waiting = self.pending.keys().filter(|id| !self.lost.contains(id)).count();
            self.hold("L8", waiting == 0, || format!("success with {waiting} questions in the queue"));
            let verified = !self.accepted.is_empty() || self.closing_passed || self.gates_passed;
            self.hold("L8", verified, || "success of a run in which nothing was verified".to_owned());
        }
    }
}
