//! A world that answers whatever is asked, within reason.

use std::collections::BTreeSet;

use ralph_core::{
    Answer, DecisionId, DecisionKind, DiffStat, Digest, Finding, FindingKind, ItemId, ItemRef, Part, PhaseId,
    PlanChange, Proposal, Question, Reply, Revision, Ruling, Signal, SignalStatus, Stage, Stop, StopReason, Tip,
    Tokens, Trouble, Usage, Usd,
    machine::{
        CarriedOver, Counts, Effect, End, Fact, Objection, PhaseSpec, Pick, Readiness, Refusal, Spec, VerifyOutcome,
    },
};

/// Choices of a seed: proptest shrinks the list, and a list that is used up says 0.
pub(super) struct Dice<'a> {
    pub(super) rolls: &'a [u32],
    pub(super) at: usize,
}

impl Dice<'_> {
    pub(super) fn roll(&mut self, sides: u32) -> u32 {
        let roll = self.rolls.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        roll % sides
    }

    pub(super) fn spent(&self) -> bool {
        self.at >= self.rolls.len()
    }
}

/// A plan that only the test sees: the status of each item, and a world that answers within reason.
pub(super) struct World<'a> {
    pub(super) dice: Dice<'a>,
    pub(super) status: Vec<char>,
    /// How many phases the items are dealt out to, in order.
    pub(super) phases: usize,
    pub(super) gated: bool,
    pub(super) asked: u32,
    pub(super) answered: BTreeSet<DecisionId>,
    pub(super) edits: u32,
    pub(super) tip: u32,
    pub(super) made: u32,
    pub(super) every: bool,
}

impl World<'_> {
    fn phase(&self, index: usize) -> usize {
        index * self.phases / self.status.len()
    }

    fn phase_name(phase: usize) -> PhaseId {
        PhaseId::new(format!("P{phase}"))
    }

    fn name(&self, index: usize) -> ItemRef {
        ItemRef::new(Self::phase_name(self.phase(index)), format!("R{index}").as_str())
    }

    fn indices(&self, phase: usize) -> impl Iterator<Item = usize> {
        (0..self.status.len()).filter(move |index| self.phase(*index) == phase)
    }

    fn spec(&self, index: usize) -> Spec {
        Spec {
            item: self.name(index),
            title: format!("item {index}"),
            digest: Digest::new(format!("{index}/{}", self.edits)),
            decisions: 0,
            last: self.indices(self.phase(index)).filter(|index| self.status[*index] == ' ').count() == 1,
            max_blockers: None,
            require_red: index % 3 == 1,
        }
    }

    fn pick(&self, parked: &[ItemRef], finished: &[PhaseId]) -> Pick {
        let undecided =
            (0..self.status.len()).find(|index| self.status[*index] == '?' && !parked.contains(&self.name(*index)));
        if let Some(index) = undecided {
            return Pick::Undecided(self.spec(index));
        }
        for phase in 0..self.phases {
            let done = self.indices(phase).all(|index| self.status[index] == 'x');
            if done && finished.contains(&Self::phase_name(phase)) {
                continue;
            }
            if done {
                return Pick::Gates(PhaseSpec {
                    phase: Self::phase_name(phase),
                    gated: self.gated,
                    gates: Digest::new(format!("gates/{}", self.edits)),
                });
            }
            return match self.indices(phase).find(|index| self.status[*index] == ' ') {
                Some(index) => Pick::Item(self.spec(index)),
                None => Pick::Waiting(self.counts_of(self.indices(phase))),
            };
        }
        Pick::Nothing
    }

    /// Any answer to any question: the machine has to cope.
    fn reply(&mut self) -> Reply {
        let item = ItemId::new(format!("R{}", self.dice.roll(4)));
        match self.dice.roll(9) {
            0..=2 => Reply::Approve,
            3 => Reply::Reject("no".to_owned()),
            4 => Reply::Continue,
            5 => Reply::Retry,
            6 => Reply::Reopen(item),
            7 => Reply::Retire(item),
            _ => Reply::Choice("accept the work".to_owned()),
        }
    }

    fn revision(&mut self) -> Revision {
        self.made += 1;
        Revision::new(format!("r{}", self.made))
    }

    fn counts_of(&self, indices: impl Iterator<Item = usize>) -> Counts {
        let mut counts = Counts::default();
        for index in indices {
            match self.status[index] {
                ' ' => counts.open += 1,
                'x' => counts.done += 1,
                '?' => counts.decision += 1,
                _ => counts.blocked += 1,
            }
        }
        counts
    }

    pub(super) fn answer(&mut self, effect: &Effect) -> Fact {
        let took_ms = u64::from(self.dice.roll(1000));
        match effect {
            Effect::Look { expect, parked, pending, finished } => {
                let at = expect.clone().unwrap_or_else(|| Revision::new("start"));
                let tip = match self.dice.roll(40) {
                    1 => {
                        self.tip += 1;
                        Tip::Ahead(Revision::new(format!("by-hand-{}", self.tip)))
                    }
                    2 => Tip::Lost("gone".to_owned()),
                    _ => Tip::At(at),
                };
                self.edits += u32::from(self.dice.roll(20) == 1);
                if self.dice.roll(10) == 1 {
                    let index = self.dice.roll(self.status.len() as u32) as usize;
                    self.status[index] = [' ', 'x', '?', '!'][self.dice.roll(4) as usize];
                }
                let pick = match self.dice.roll(60) {
                    1 => Pick::Invalid("line 3".to_owned()),
                    2 => Pick::NotApproved("stale".to_owned()),
                    _ => self.pick(parked, finished),
                };
                let mut answers = Vec::new();
                for id in pending {
                    if self.dice.roll(4) == 1 {
                        self.answered.insert(id.clone());
                        let reply = self.reply();
                        answers.push(Answer::new(id.clone(), reply, "lead", std::time::UNIX_EPOCH));
                    }
                }
                let waits = |item: &&ItemRef| {
                    (0..self.status.len()).any(|index| self.name(index) == **item && self.status[index] == '?')
                };
                let moot = parked.iter().filter(|item| !waits(item)).cloned().collect();
                let counts = self.counts_of(0..self.status.len());
                let lost = if self.dice.roll(30) == 1 { pending.first().cloned() } else { None };
                let lost = lost.into_iter().collect();
                Fact::Looked { tip, pick, counts, answers, moot, lost }
            }
            Effect::TakeIn { answer, change } => {
                if let PlanChange::Reopen { item, .. } = change
                    && let Some(index) = (0..self.status.len()).find(|index| self.name(*index) == *item)
                {
                    self.status[index] = ' ';
                }
                let refused = (self.dice.roll(12) == 1).then(|| "gone".to_owned());
                Fact::TookIn { answer: answer.clone(), refused }
            }
            Effect::Withdraw { ids, .. } => Fact::Withdrawn { ids: ids.clone() },
            Effect::Rebase { .. } => match self.dice.roll(3) {
                1 => Fact::Rebased { onto: None, conflicts: vec!["a".to_owned()] },
                _ => {
                    let (revision, tree) = (self.revision(), Digest::new("carried"));
                    Fact::Rebased {
                        onto: Some(CarriedOver { revision, tree, stat: DiffStat::default() }),
                        conflicts: Vec::new(),
                    }
                }
            },
            Effect::Publish { revision } => Fact::Published {
                revision: revision.clone(),
                error: (self.dice.roll(2) == 1).then(|| "no network".to_owned()),
            },
            Effect::VerifyPlan { revision, .. } => Fact::Verified {
                stage: Stage::Gate,
                revision: Some(revision.clone()),
                own: None,
                outcome: [VerifyOutcome::Pass, VerifyOutcome::Fail, VerifyOutcome::Broken][self.dice.roll(3) as usize],
                summary: "s".to_owned(),
                parts: Vec::new(),
                tail: String::new(),
                took_ms,
            },
            Effect::JudgePhase { phase, opened, .. } => match self.dice.roll(8) {
                1 => Fact::NotJudged { phase: phase.clone(), stop: Stop::new(StopReason::VerifierBroken, "exit 127") },
                roll => Fact::Judged {
                    phase: Some(phase.clone()),
                    ruling: match roll {
                        2..=3 => Ruling::Closed("red\n\nthe end of it".to_owned()),
                        4..=5 if opened.is_empty() => Ruling::Ask(Question::new(DecisionKind::ManualGate, "approve?")),
                        _ => Ruling::Open,
                    },
                    by: vec![Objection::new(
                        "manual-gate",
                        ["approve?", "approve it?"][self.dice.roll(2) as usize % 2],
                    )],
                    opened: opened.clone(),
                    took_ms,
                },
            },
            Effect::Prepare { .. } => Fact::Prepared {
                readiness: match self.dice.roll(30) {
                    1 => Readiness::Environment("no database".to_owned()),
                    2 => Readiness::StartUnusable("conflict".to_owned()),
                    _ => Readiness::Ready(Digest::new("base")),
                },
                took_ms,
            },
            Effect::Session { .. } => self.session(took_ms),
            Effect::Capture { .. } => {
                let tree = Digest::new(format!("tree-{}", self.dice.roll(6)));
                let unchanged = self.dice.roll(5) == 1;
                let findings = match self.dice.roll(12) {
                    1 => vec![Finding { kind: FindingKind::SpecialFile, path: "pipe".to_owned() }],
                    _ => Vec::new(),
                };
                Fact::Captured {
                    revision: if unchanged { None } else { Some(self.revision()) },
                    tree: if unchanged { Digest::new("base") } else { tree },
                    stat: DiffStat::default(),
                    findings,
                    took_ms,
                }
            }
            Effect::Verify { stage, revision, .. } => {
                let outcome = match self.dice.roll(8) {
                    1..=2 => VerifyOutcome::Fail,
                    3 => VerifyOutcome::Broken,
                    4 => VerifyOutcome::Unready,
                    _ => VerifyOutcome::Pass,
                };
                let passed = outcome == VerifyOutcome::Pass;
                Fact::Verified {
                    stage: *stage,
                    revision: revision.clone(),
                    own: None,
                    outcome,
                    summary: "s".to_owned(),
                    parts: vec![Part::new("v", passed).with_tests(Some(u64::from(self.dice.roll(4))))],
                    tail: String::new(),
                    took_ms,
                }
            }
            Effect::VerifyOwn { item, revision, .. } => {
                let verdicts =
                    [VerifyOutcome::Fail, VerifyOutcome::Pass, VerifyOutcome::Broken, VerifyOutcome::Unready];
                Fact::Verified {
                    stage: Stage::Base,
                    revision: Some(revision.clone()),
                    own: Some(item.clone()),
                    outcome: verdicts[self.dice.roll(4) as usize],
                    summary: "s".to_owned(),
                    parts: Vec::new(),
                    tail: String::new(),
                    took_ms,
                }
            }
            Effect::Tidy { reserve, .. } => {
                let (end, usage) = self.end();
                let stat = DiffStat::default();
                let finished = end == End::Finished && self.dice.roll(4) > 0;
                let work = finished.then(|| CarriedOver {
                    revision: self.revision(),
                    tree: Digest::new(format!("tree-{}", self.dice.roll(6))),
                    stat,
                });
                let (why, agent) = (String::new(), "tidy".to_owned());
                Fact::Tidied { end, work, why, agent, usage, reserve: *reserve, took_ms }
            }
            Effect::Review { .. } if self.dice.roll(12) == 1 => {
                self.edits += 1;
                Fact::NotAccepted { why: Refusal::ItemChanged }
            }
            Effect::Review { attempt, revision, reserve, .. } => {
                let (end, usage) = self.end();
                let outcome = match self.dice.roll(5) {
                    1 => VerifyOutcome::Fail,
                    2 => VerifyOutcome::Broken,
                    _ => VerifyOutcome::Pass,
                };
                Fact::Reviewed {
                    revision: revision.clone(),
                    row: attempt.spec.digest.clone(),
                    by: "critic".to_owned(),
                    outcome: if end == End::Finished { outcome } else { VerifyOutcome::Broken },
                    end,
                    summary: "s".to_owned(),
                    tail: String::new(),
                    usage,
                    reserve: *reserve,
                    took_ms,
                }
            }
            Effect::Judge { opened, .. } => Fact::Judged {
                phase: None,
                by: vec![Objection::new("dependencies", "may it?")],
                opened: opened.clone(),
                took_ms,
                ruling: match self.dice.roll(4) {
                    1 => Ruling::Closed("no".to_owned()),
                    2 => Ruling::Ask(Question::new(DecisionKind::Dependency, "may it?")),
                    _ => Ruling::Open,
                },
            },
            Effect::Accept { revision, .. } => match self.dice.roll(12) {
                1 => {
                    self.edits += 1;
                    Fact::NotAccepted { why: Refusal::ItemChanged }
                }
                2 => Fact::NotAccepted { why: Refusal::Overtaken(Revision::new("other")) },
                3 => Fact::NotAccepted { why: Refusal::Lost("gone".to_owned()) },
                4 => Fact::NotAccepted { why: Refusal::Barred("checked out".to_owned()) },
                _ => Fact::Accepted { revision: revision.clone() },
            },
            Effect::Keep { kind, .. } => Fact::Kept { kind: *kind, name: format!("{kind}/x") },
            Effect::Ask { request } => {
                self.asked += 1;
                let item = request.item.clone().filter(|_| request.proposed.is_empty());
                Fact::Asked { id: DecisionId::new(format!("D-{}", self.asked)), item }
            }
            Effect::Mark { iteration, .. } => {
                let index: usize = iteration.item.item.as_str()[1..].parse().unwrap();
                self.status[index] = match iteration.to {
                    // What is done at an interval is never done.
                    ralph_core::ItemStatus::Done if self.every => ' ',
                    ralph_core::ItemStatus::Done => 'x',
                    ralph_core::ItemStatus::Decision => '?',
                    ralph_core::ItemStatus::Open => ' ',
                    _ => '!',
                };
                Fact::Marked { iteration: iteration.clone(), refused: None }
            }
            Effect::Round { .. } => {
                let verdicts =
                    [VerifyOutcome::Fail, VerifyOutcome::Pass, VerifyOutcome::Broken, VerifyOutcome::Unready];
                let enough = match self.dice.roll(6) {
                    roll @ 0..=3 => Some(verdicts[roll as usize]),
                    _ => None,
                };
                Fact::Rounded { enough, summary: "s".to_owned(), until: 0, took_ms }
            }
            Effect::Wait { .. } => Fact::Waited { took_ms },
            other => unreachable!("{other:?}"),
        }
    }

    /// How a session ends, and what it used.
    fn end(&mut self) -> (End, Usage) {
        let end = match self.dice.roll(14) {
            1 => End::Failed("exit 1".to_owned()),
            2 => End::Limit("time".to_owned()),
            3 => End::Cancelled,
            4 => End::Interrupted,
            5..=6 => End::Unavailable {
                trouble: Trouble::Overload,
                detail: "529".to_owned(),
                wait_ms: u64::from(self.dice.roll(100_000)),
                until: 0,
            },
            7 => End::NoAgent("not installed".to_owned()),
            8 => End::Unusable("no credit".to_owned()),
            _ => End::Finished,
        };
        let reports = !matches!(end, End::Interrupted | End::NoAgent(_));
        let mut usage = Usage::unknown();
        if reports && self.dice.roll(3) > 0 {
            usage = usage.with_cost(Usd::from_micros(u64::from(self.dice.roll(300_000))));
        }
        if reports && self.dice.roll(3) > 0 {
            usage = usage.with_tokens(Tokens { output: u64::from(self.dice.roll(3_000)), ..Tokens::default() });
        }
        if reports && self.dice.roll(4) == 1 {
            usage = usage.with_estimate(Usd::from_micros(u64::from(self.dice.roll(300_000))));
        }
        (end, usage)
    }

    fn session(&mut self, took_ms: u64) -> Fact {
        let (end, usage) = self.end();
        let reports = !matches!(end, End::Interrupted | End::NoAgent(_));
        let session_id = (reports && self.dice.roll(2) == 1).then(|| format!("s{}", self.dice.roll(3)));
        let resumed = self.dice.roll(2) == 1;
        let mut signal = match self.dice.roll(8) {
            1 => Some(Signal::new(SignalStatus::Blocked)),
            2 => Some(Signal::new(SignalStatus::Decision)),
            3 => Some(Signal::new(SignalStatus::Done)),
            _ => None,
        };
        if let Some(signal) = signal.as_mut().filter(|_| self.dice.roll(4) == 1) {
            signal.proposed.push(Proposal { title: "more".to_owned(), criteria: Vec::new(), verify: None });
        }
        Fact::Ended { end, usage, signal, session_id, agent: None, resumed, compactions: 0, denied: 0, took_ms }
    }
}
