//! The queue of decisions in files: `state/decisions/D-001.json` and so on, and the page rendered from them.

use std::{
    io,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    decisions_store::{Found, Store},
    layout::Ledger,
    time,
};
use crate::{
    answer::{Answer, BadReply, Reply},
    clock::{from_millis, millis},
    cx::Cx,
    decision::{Decision, DecisionError, DecisionSink},
    id::DecisionId,
    text::{is_deceptive, printable},
};

/// How long a person's name may be, in characters.
const NAME_MAX: usize = 100;

/// A decision in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Queued {
    /// Its name.
    pub id: DecisionId,
    /// What is asked.
    pub decision: Decision,
    /// What became of it; nothing while it waits.
    pub resolved: Option<Resolved>,
}

impl Queued {
    /// Whether it waits for a person.
    pub fn is_pending(&self) -> bool {
        self.resolved.is_none()
    }

    /// What a person answered, if one has.
    pub fn answer(&self) -> Option<Answer> {
        let answered = self.answered()?;
        let Answered { reply, by, at, said: _, settled: _ } = answered;
        Some(Answer::new(self.id.clone(), reply.clone(), by.clone(), from_millis(*at)))
    }

    /// How long it has waited until `now`.
    pub fn waited(&self, now: SystemTime) -> Duration {
        now.duration_since(self.decision.asked).unwrap_or_default()
    }

    fn answered(&self) -> Option<&Answered> {
        match &self.resolved {
            Some(Resolved::Answered(answered)) => Some(answered),
            Some(Resolved::Withdrawn(_)) | None => None,
        }
    }
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolved {
    /// A person answered it.
    Answered(Answered),
    /// Nobody did: it no longer stands.
    Withdrawn(Withdrawn),
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Answered {
    /// What it means.
    pub reply: Reply,
    /// The words.
    pub said: String,
    /// Who said them.
    pub by: String,
    /// When, in milliseconds since the epoch.
    pub at: u64,
    /// Whether what follows from it outside of the queue was done, see [`FileDecisions::settle`].
    #[serde(default)]
    pub settled: bool,
}

/// That a question no longer stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Withdrawn {
    /// Why.
    pub why: String,
    /// When, in milliseconds since the epoch.
    pub at: u64,
}

/// Why an answer was not taken. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// Nothing was asked under this id.
    #[error("there is no decision `{}`", printable(.0.as_str()))]
    Unknown(DecisionId),
    /// It waits no longer.
    #[error("{id} waits no longer: {}", told(.resolved))]
    Resolved {
        /// Its id.
        id: DecisionId,
        /// What became of it.
        resolved: Resolved,
    },
    /// What was said is no answer to it.
    #[error(transparent)]
    Bad(#[from] BadReply),
    /// Nobody is known to have said it.
    #[error("`{0}` is no name to answer under: one line of at most {NAME_MAX} characters is")]
    Nobody(String),
    /// The queue could not be read or written.
    #[error(transparent)]
    Queue(#[from] DecisionError),
}

fn told(resolved: &Resolved) -> String {
    match resolved {
        Resolved::Answered(Answered { reply, by, at, .. }) => {
            format!("{} answered `{}` at {}", printable(by), printable(&reply.text()), time::stamp(*at))
        }
        Resolved::Withdrawn(Withdrawn { why, at }) => {
            format!("it was taken back at {}: {}", time::stamp(*at), printable(why))
        }
    }
}

/// The queue in the control folder. The files in `state/` are the truth; DECISIONS.md is rendered from them and never
/// read. Nothing is kept in memory: several processes may ask and answer at the same time.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use ralph_core::ledger::{FileDecisions, Ledger};
/// # let folder = tempfile::tempdir()?;
/// let queue = FileDecisions::new(Ledger::at(folder.path()));
/// assert!(queue.list()?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FileDecisions {
    store: Store,
}

impl FileDecisions {
    /// The queue of `ledger`. Nothing is touched yet.
    pub fn new(ledger: Ledger) -> Self {
        Self { store: Store::new(ledger) }
    }

    /// What a person should know: files that were moved aside, a page that could not be written.
    pub fn trouble(&self) -> Vec<String> {
        self.store.trouble()
    }

    /// Every decision, by id. A file that cannot be read is moved aside and told, see [`Self::trouble`].
    pub fn list(&self) -> Result<Vec<Queued>, DecisionError> {
        self.store.all().map_err(looking)
    }

    /// Writes DECISIONS.md anew. A hand-edited one is kept aside and told.
    pub fn render(&self) -> Result<(), DecisionError> {
        let _lock = self.store.lock().map_err(looking)?;
        let all = self.list()?;
        self.store.write_page(&all).map_err(recording)
    }

    /// Takes what a person `said` as the answer to `id`, understood by [`Question::reply`](crate::Question::reply).
    ///
    /// The answer is durable when this returns, and a crash on the way leaves it given or not. What follows from it
    /// outside of the queue is the caller's, who says by [`Self::settle`] that it is done.
    ///
    /// # Errors
    /// [`AnswerError`] says why it was not taken; then not a byte has changed.
    pub fn answer(&self, id: &DecisionId, said: &str, by: &str, at: SystemTime) -> Result<Answer, AnswerError> {
        let by = by.trim();
        if by.is_empty() || by.chars().count() > NAME_MAX || by.chars().any(|c| c.is_control() || is_deceptive(c)) {
            return Err(AnswerError::Nobody(printable(&by.chars().take(NAME_MAX).collect::<String>())));
        }
        // What is refused is refused before the lock, whose making would be a trace.
        self.understand(id, said)?;
        let _lock = self.store.lock().map_err(recording)?;
        let (mut queued, reply) = self.understand(id, said)?;
        let (said, by, at) = (said.trim().to_owned(), by.to_owned(), millis(at));
        let answer = Answer::new(id.clone(), reply.clone(), by.clone(), from_millis(at));
        queued.resolved = Some(Resolved::Answered(Answered { reply, said, by, at, settled: false }));
        self.store.save(&queued).map_err(recording)?;
        self.store.show();
        Ok(answer)
    }

    /// The pending decision with what `said` means to it.
    fn understand(&self, id: &DecisionId, said: &str) -> Result<(Queued, Reply), AnswerError> {
        let queued = match self.store.look(id).map_err(looking)? {
            Found::Whole(queued) => *queued,
            Found::Nothing => return Err(AnswerError::Unknown(id.clone())),
            Found::Damaged(path, why) => {
                let why = io::Error::other(format!("{}: {why}", path.display()));
                return Err(looking(why).into());
            }
        };
        if let Some(resolved) = queued.resolved {
            return Err(AnswerError::Resolved { id: id.clone(), resolved });
        }
        let reply = queued.decision.question.reply(said)?;
        Ok((queued, reply))
    }

    /// The decisions that were answered and not yet settled, by id: what follows from their answers may have been cut
    /// off by a crash, and is to be done again.
    pub fn unsettled(&self) -> Result<Vec<Queued>, DecisionError> {
        let mut all = self.list()?;
        all.retain(|queued| queued.answered().is_some_and(|answered| !answered.settled));
        Ok(all)
    }

    /// Records that what follows from the answer to `id` outside of the queue is done: the row in the plan, the commit.
    /// Does nothing where that is known, or where there is no answer.
    pub fn settle(&self, id: &DecisionId) -> Result<(), DecisionError> {
        self.change(id, |resolved| match resolved {
            Some(Resolved::Answered(answered)) if !answered.settled => {
                answered.settled = true;
                true
            }
            Some(Resolved::Answered(_) | Resolved::Withdrawn(_)) | None => false,
        })
    }

    /// Changes one decision under the lock; `change` says whether it did.
    fn change(&self, id: &DecisionId, change: impl Fn(&mut Option<Resolved>) -> bool) -> Result<(), DecisionError> {
        // An unknown id is no reason to make anything.
        if self.store.one(id).map_err(looking)?.is_none() {
            return Ok(());
        }
        let _lock = self.store.lock().map_err(recording)?;
        let Some(mut queued) = self.store.one(id).map_err(looking)? else { return Ok(()) };
        if change(&mut queued.resolved) {
            self.store.save(&queued).map_err(recording)?;
            self.store.show();
        }
        Ok(())
    }

    fn submit_now(&self, decision: &Decision) -> Result<DecisionId, DecisionError> {
        let _lock = self.store.lock().map_err(recording)?;
        // A step's key is the same on every replay within its run, whatever became of the question.
        let known = |queued: &&Queued| queued.decision.key == decision.key && queued.decision.run == decision.run;
        if let Some(known) = self.list()?.iter().find(known) {
            return Ok(known.id.clone());
        }
        let id = self.store.next_id().map_err(recording)?;
        let queued = Queued { id: id.clone(), decision: decision.clone(), resolved: None };
        self.store.save(&queued).map_err(recording)?;
        // The decision is recorded; a page that could not be written is no reason to ask again.
        self.store.show();
        Ok(id)
    }
}

#[async_trait]
impl DecisionSink for FileDecisions {
    async fn submit(&self, decision: &Decision, _cx: &Cx) -> Result<DecisionId, DecisionError> {
        self.submit_now(decision)
    }

    async fn answers(&self, ids: &[DecisionId], _cx: &Cx) -> Result<Vec<Answer>, DecisionError> {
        let mut answers = Vec::new();
        for (index, id) in ids.iter().enumerate() {
            // Only the files that are asked about: this is called at every iteration.
            let repeated = ids.iter().take(index).any(|before| before == id);
            if !repeated && let Some(queued) = self.store.one(id).map_err(looking)? {
                answers.extend(queued.answer());
            }
        }
        Ok(answers)
    }

    async fn close(&self, id: &DecisionId, why: &str, _cx: &Cx) -> Result<(), DecisionError> {
        self.change(id, |resolved| {
            let waits = resolved.is_none();
            if waits {
                *resolved = Some(withdrawal(why, SystemTime::now()));
            }
            waits
        })
    }

    async fn lost(&self, ids: &[DecisionId], _cx: &Cx) -> Result<Vec<DecisionId>, DecisionError> {
        let mut lost = Vec::new();
        for id in ids {
            match self.store.one(id).map_err(looking)? {
                Some(Queued { resolved: None | Some(Resolved::Answered(_)), .. }) => {}
                Some(Queued { resolved: Some(Resolved::Withdrawn(_)), .. }) | None => lost.push(id.clone()),
            }
        }
        Ok(lost)
    }
}

fn withdrawal(why: &str, at: SystemTime) -> Resolved {
    Resolved::Withdrawn(Withdrawn { why: why.to_owned(), at: millis(at) })
}

fn looking(error: io::Error) -> DecisionError {
    DecisionError::Io { operation: "looked up", source: error.into() }
}

fn recording(error: io::Error) -> DecisionError {
    DecisionError::Io { operation: "recorded", source: error.into() }
}
