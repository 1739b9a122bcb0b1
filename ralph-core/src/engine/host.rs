//! The local host: step, perform, durable append, apply, observers; in this order.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::{
    builder::Switches,
    effects::{Call, Fault, Seams},
};
use crate::{
    budget::Spent,
    clock::{from_millis, millis},
    cx::{Cancel, Cx},
    error::Retry,
    event::{Event, Observer},
    id::{DecisionId, ItemRef, Revision, RunId},
    journal::{JournalError, JournalWriter, Opened, Record},
    machine::{Carried, Effect, Fact, Machine, OutOfOrder, Rules, Step},
    stop::{Stop, StopReason},
};

/// How long an effect that was told to end now may take before its future is dropped.
const GRACE: Duration = Duration::from_secs(30);

/// How a run ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The run.
    pub run: RunId,
    /// Why it ended.
    pub stop: Stop,
    /// What it spent.
    pub spent: Spent,
    /// The items that it brought to the branch, with the commits.
    pub accepted: BTreeMap<ItemRef, Revision>,
    /// The items that wait for a person, with their decisions.
    pub parked: BTreeMap<ItemRef, DecisionId>,
    /// Every question that waits for a person.
    pub pending: Vec<DecisionId>,
    /// Where the branch is.
    pub tip: Option<Revision>,
    /// The verifiers that gave one content two verdicts.
    pub flaky: Vec<String>,
}

/// Why a run could not begin or go on. It is left open: running again takes it up where it stood.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// What was asked for cannot be honoured; nothing was done.
    #[error("{0}")]
    Refused(String),
    /// The record could not be opened or written.
    #[error("the run cannot go on without its journal")]
    Journal(#[source] JournalError),
    /// The record does not make sense.
    #[error("record {seq} of the journal does not fit what came before")]
    OutOfOrder {
        /// Which.
        seq: u64,
        /// Why.
        #[source]
        source: OutOfOrder,
    },
    /// A step could not be done.
    #[error(transparent)]
    Fault(Fault),
}

impl RunError {
    /// Whether running again at once makes sense.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Refused(_) | Self::Journal(_) | Self::OutOfOrder { .. } => Retry::Never,
            Self::Fault(_) => Retry::Soon,
        }
    }
}

pub(super) struct Host {
    pub(super) seams: Seams,
    pub(super) run: RunId,
    pub(super) rules: Rules,
    pub(super) carried: Carried,
    pub(super) observers: Vec<Arc<dyn Observer>>,
    pub(super) switches: Switches,
}

/// The state in memory and its record, which move together.
struct Tape {
    machine: Machine,
    writer: Box<dyn JournalWriter>,
    seq: u64,
    /// When the attempt under way began.
    began: SystemTime,
}

impl Tape {
    fn take_in(&mut self, record: &Record) -> Result<(), RunError> {
        self.machine.apply(&record.fact).map_err(|source| RunError::OutOfOrder { seq: record.seq, source })?;
        self.seq = record.seq;
        if let Fact::Began { .. } = record.fact {
            self.began = from_millis(record.at);
        }
        Ok(())
    }
}

impl Host {
    pub(super) async fn drive(self, opened: Opened) -> Result<Outcome, RunError> {
        let mut tape = self.replay(opened)?;
        self.record(&mut tape, Fact::Opened { rules: self.rules.clone(), carried: self.carried.clone() }).await?;
        loop {
            self.note_cancel(&mut tape).await?;
            match tape.machine.step() {
                Step::End(stop) => return Ok(self.outcome(&tape.machine, stop)),
                Step::Record(fact) => self.record(&mut tape, *fact).await?,
                Step::Do { key, redelivered, effect } => {
                    let done = self.perform(&key, redelivered, &effect, tape.began).await;
                    // Before the reply, which may be a consequence of it.
                    self.note_cancel(&mut tape).await?;
                    match done {
                        Ok(fact) => self.record(&mut tape, fact).await?,
                        Err(_) if self.switches.now.is_cancelled() => {
                            let stop = Stop::new(StopReason::Cancelled, "");
                            self.record(&mut tape, Fact::Stopped { stop }).await?;
                        }
                        Err(fault) => match fault.plan_trouble() {
                            // A person's edit, not a fault of ours: the step is asked again once it is put right.
                            Some(stop) => {
                                self.record(&mut tape, Fact::Stopped { stop }).await?;
                            }
                            None => return Err(RunError::Fault(fault)),
                        },
                    }
                }
            }
        }
    }

    /// Records, once, that somebody asked for the end.
    async fn note_cancel(&self, tape: &mut Tape) -> Result<(), RunError> {
        let asked = self.switches.stop.is_cancelled() || self.switches.now.is_cancelled();
        if asked && !tape.machine.cancelled() && tape.machine.stopped().is_none() {
            self.record(tape, Fact::CancelAsked).await?;
        }
        Ok(())
    }

    /// Folds what is recorded.
    fn replay(&self, opened: Opened) -> Result<Tape, RunError> {
        if let Some(text) = opened.repaired {
            self.tell(&Event::Told { run: self.run.clone(), text });
        }
        let mut tape = Tape { machine: Machine::new(), writer: opened.writer, seq: 0, began: SystemTime::UNIX_EPOCH };
        for record in opened.records {
            tape.take_in(&record)?;
            self.tell(&Event::Replayed { run: self.run.clone(), record });
        }
        Ok(tape)
    }

    /// Durable first, then true, then told (law L5).
    async fn record(&self, tape: &mut Tape, fact: Fact) -> Result<(), RunError> {
        let record = Record { seq: tape.seq + 1, at: millis(self.seams.clock.now()), fact };
        tape.writer.append(&record).await.map_err(RunError::Journal)?;
        tape.take_in(&record)?;
        self.tell(&Event::Recorded { run: self.run.clone(), record });
        Ok(())
    }

    async fn perform(&self, key: &str, redelivered: bool, effect: &Effect, began: SystemTime) -> Result<Fact, Fault> {
        self.tell(&Event::Began { run: self.run.clone(), step: key.to_owned() });
        let call =
            Call { run: &self.run, key, began, stop: &self.switches.stop, cx: self.context(effect, redelivered) };
        let overdue = async {
            self.switches.now.cancelled().await;
            self.seams.clock.sleep(GRACE).await;
        };
        tokio::select! {
            biased;
            done = self.seams.perform(effect, &call) => done,
            () = overdue => Err(Fault { step: key.to_owned(), source: "it did not end when it was told to".into() }),
        }
    }

    fn context(&self, effect: &Effect, redelivered: bool) -> Cx {
        let attempt = match effect {
            Effect::Prepare { attempt, .. }
            | Effect::Rebase { attempt, .. }
            | Effect::Session { attempt, .. }
            | Effect::Capture { attempt }
            | Effect::Judge { attempt, .. }
            | Effect::Accept { attempt, .. }
            | Effect::Keep { attempt, .. }
            | Effect::Tidy { attempt, .. }
            | Effect::Review { attempt, .. }
            | Effect::Verify { attempt: Some(attempt), .. } => Some(attempt.id.clone()),
            Effect::Verify { attempt: None, .. }
            | Effect::VerifyOwn { .. }
            | Effect::VerifyPlan { .. }
            | Effect::Look { .. }
            | Effect::TakeIn { .. }
            | Effect::Withdraw { .. }
            | Effect::JudgePhase { .. }
            | Effect::Ask { .. }
            | Effect::Publish { .. }
            | Effect::Mark { .. }
            | Effect::Round { .. }
            | Effect::Wait { .. } => None,
        };
        let (observers, run, whose) = (self.observers.clone(), self.run.clone(), attempt.clone());
        // What brings work into safety is short, and is done even when everything is to end now.
        let cancel = match effect {
            Effect::Capture { .. }
            | Effect::Accept { .. }
            | Effect::Keep { .. }
            | Effect::Ask { .. }
            | Effect::TakeIn { .. }
            | Effect::Withdraw { .. }
            | Effect::Rebase { .. }
            | Effect::Mark { .. } => Cancel::new(),
            Effect::Look { .. }
            | Effect::Prepare { .. }
            | Effect::Session { .. }
            | Effect::Tidy { .. }
            | Effect::Review { .. }
            | Effect::Verify { .. }
            | Effect::VerifyOwn { .. }
            | Effect::VerifyPlan { .. }
            | Effect::Judge { .. }
            | Effect::JudgePhase { .. }
            | Effect::Publish { .. }
            | Effect::Round { .. }
            | Effect::Wait { .. } => self.switches.now.clone(),
        };
        let mut cx = Cx::new().with_cancel(cancel).with_redelivered(redelivered).with_live(move |line| {
            let event = Event::Live { run: run.clone(), attempt: whose.clone(), line: line.to_owned() };
            observers.iter().for_each(|observer| observer.on_event(&event));
        });
        if let Some(attempt) = attempt {
            cx = cx.with_attempt(attempt);
        }
        cx
    }

    fn tell(&self, event: &Event) {
        for observer in &self.observers {
            observer.on_event(event);
        }
    }

    fn outcome(&self, machine: &Machine, stop: Stop) -> Outcome {
        Outcome {
            run: self.run.clone(),
            stop,
            spent: machine.spent(),
            accepted: machine.accepted().clone(),
            parked: machine.parked().clone(),
            pending: machine.pending().cloned().collect(),
            tip: machine.tip().cloned(),
            flaky: machine.flaky().map(str::to_owned).collect(),
        }
    }
}
