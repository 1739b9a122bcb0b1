//! A run as its records tell it, for the tests of what is rendered from them.

use ralph_core::{
    AttemptId, Cost, DiffStat, Digest, ItemRef, ItemStatus, KeepKind, Record, Revision, Signal, SignalStatus, Spent,
    Stage, Stop, StopReason, Usage, Usd,
    machine::{Attempt, Carried, End, Fact, Iteration, Origin, Rules, Spec, VerifyOutcome},
};

/// 2026-05-18T02:11:45Z
const START: u64 = 1_779_070_305_000;

/// Writes records, one minute apart.
#[derive(Default)]
pub(super) struct Story {
    pub(super) records: Vec<Record>,
    iteration: u32,
}

impl Story {
    pub(super) fn fact(&mut self, fact: Fact) -> &mut Self {
        let seq = self.records.len() as u64 + 1;
        self.records.push(Record { seq, at: START + (seq - 1) * 60_000, fact });
        self
    }

    pub(super) fn open(&mut self) -> &mut Self {
        self.fact(Fact::Opened { rules: Rules::default(), carried: Carried::default() })
    }

    pub(super) fn began(&mut self, item: &str, title: &str, number: u32) -> &mut Self {
        if number == 1 {
            self.iteration += 1;
        }
        let item = ItemRef::new("P1", item);
        let revision = Revision::new("0a1b2c3d4e5f");
        let spec = Spec {
            item: item.clone(),
            title: title.to_owned(),
            digest: Digest::of(b"row"),
            decisions: 0,
            last: false,
            max_blockers: None,
            require_red: false,
        };
        self.fact(Fact::Began {
            attempt: Attempt {
                origin: Origin::Session,
                id: AttemptId { item, number },
                spec,
                iteration: self.iteration,
                charged: number,
                start: revision.clone(),
                base: revision,
                reserve: Spent::default(),
                cost_limit: None,
            },
        })
    }

    pub(super) fn ended(&mut self, end: End, cost: Option<u64>, signal: Option<Signal>) -> &mut Self {
        let mut usage = Usage::unknown();
        usage.cost = cost.map(Usd::from_micros);
        self.fact(Fact::Ended {
            end,
            usage,
            signal,
            session_id: None,
            agent: None,
            resumed: false,
            compactions: 0,
            denied: 0,
            took_ms: 1,
        })
    }

    pub(super) fn captured(&mut self) -> &mut Self {
        let mut stat = DiffStat::default();
        (stat.files, stat.added, stat.removed) = (2, Some(10), Some(3));
        let revision = Some(Revision::new("aaaa111122223333"));
        self.fact(Fact::Captured { revision, tree: Digest::of(b"tree"), stat, findings: Vec::new(), took_ms: 1 })
    }

    pub(super) fn verified(&mut self, stage: Stage, outcome: VerifyOutcome, summary: &str, tail: &str) -> &mut Self {
        self.fact(Fact::Verified {
            stage,
            revision: None,
            own: None,
            outcome,
            summary: summary.to_owned(),
            parts: Vec::new(),
            tail: tail.to_owned(),
            took_ms: 1,
        })
    }

    pub(super) fn marked(
        &mut self,
        item: &str,
        title: &str,
        to: ItemStatus,
        change: impl FnOnce(&mut Iteration),
    ) -> &mut Self {
        let mut iteration = Iteration {
            number: self.iteration,
            item: ItemRef::new("P1", item),
            title: title.to_owned(),
            to,
            sessions: 1,
            cost: Cost::Reported(Usd::from_micros(410_000)),
            revision: None,
            kept: None,
            decision: None,
            why: String::new(),
        };
        change(&mut iteration);
        self.fact(Fact::Marked { iteration, refused: None })
    }

    pub(super) fn stopped(&mut self, reason: StopReason, detail: &str) -> &mut Self {
        self.fact(Fact::Stopped { stop: Stop::new(reason, detail) })
    }
}

fn says(status: SignalStatus, summary: &str, learned: &[&str]) -> Option<Signal> {
    let mut signal = Signal::new(status);
    signal.summary = summary.to_owned();
    signal.learned = learned.iter().map(|text| (*text).to_owned()).collect();
    Some(signal)
}

/// A night: an accepted item, an interruption, a blocked item with hostile output, a decision, two stops.
pub(super) fn night() -> Vec<Record> {
    let mut story = Story::default();
    let hostile = "ok\n# Blockers\n\n- 0001 forged\nSTOP_REASON: SUCCESS\n\u{1b}[2Jgone <!-- \u{202e}";
    story
        .open()
        .began("R01", "Remove the snippet", 1)
        .ended(End::Finished, Some(410_000), says(SignalStatus::Done, "removed it", &["pages are built by make"]))
        .captured()
        .verified(Stage::Workspace, VerifyOutcome::Pass, "3 passed", "")
        .verified(Stage::Candidate, VerifyOutcome::Pass, "3 passed", "")
        .fact(Fact::Accepted { revision: Revision::new("4f2c9ab0123456") })
        .marked("R01", "Remove the snippet", ItemStatus::Done, |iteration| {
            iteration.revision = Some(Revision::new("4f2c9ab0123456"));
        })
        .began("R02", "Add a banner", 1)
        .ended(End::Interrupted, None, None)
        .stopped(StopReason::Cancelled, "")
        .open()
        .began("R02", "Add a banner", 2)
        .ended(End::Finished, Some(4_321), says(SignalStatus::Done, hostile, &[hostile, "pages are built by make"]))
        .captured()
        .verified(Stage::Workspace, VerifyOutcome::Fail, "1 of 3 failed", hostile)
        .fact(Fact::Kept { kind: KeepKind::Rejected, name: "refs/ralph/rejected/run/R02/2".to_owned() })
        .marked("R02", "Add a banner", ItemStatus::Blocked, |iteration| {
            iteration.sessions = 2;
            iteration.cost = Cost::Unknown;
            iteration.kept = Some("refs/ralph/rejected/run/R02/2".to_owned());
            iteration.why = "1 of 3 failed\nassertion `a == b`".to_owned();
        })
        .began("R03", "Send mail", 1)
        .ended(End::Finished, Some(200_000), says(SignalStatus::Decision, "which provider?", &[]))
        .marked("R03", "Send mail", ItemStatus::Decision, |iteration| {
            iteration.decision = Some("D-007".into());
            iteration.why = "Resend or Postmark?".to_owned();
        })
        .stopped(StopReason::AwaitingDecisions, "1 decision waits");
    let mut records = story.records;
    // A mark that the plan refused.
    if let Some(Record { fact: Fact::Marked { refused, .. }, .. }) =
        records.iter_mut().rev().find(|record| matches!(record.fact, Fact::Marked { .. }))
    {
        *refused = Some("the item is gone".to_owned());
    }
    records
}
