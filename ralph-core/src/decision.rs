//! What only a person can decide, and the seam to whoever asks them.

use std::{
    fmt::{self, Debug},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    answer::Answer,
    cx::Cx,
    error::{BoxError, Retry},
    id::{DecisionId, ItemId, PhaseId, Revision, RunId},
    plan::Proposal,
    vcs::DiffStat,
};

/// What a decision is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DecisionKind {
    /// One of several ways.
    Choice,
    /// Something that concerns security.
    Security,
    /// A change of a database schema.
    Database,
    /// A new dependency.
    Dependency,
    /// A change of the public API.
    PublicApi,
    /// A change of protected paths.
    Protected,
    /// A change of what is to be done.
    Scope,
    /// An item that seems to be done already.
    AlreadyDone,
    /// A person must open a phase's gate.
    ManualGate,
    /// A phase's automatic gate is closed.
    AutoGate,
    /// A forced pause.
    Checkpoint,
}

impl DecisionKind {
    /// Its name, as it is written in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Choice => "choice",
            Self::Security => "security",
            Self::Database => "database",
            Self::Dependency => "dependency",
            Self::PublicApi => "public-api",
            Self::Protected => "protected",
            Self::Scope => "scope",
            Self::AlreadyDone => "already-done",
            Self::ManualGate => "manual-gate",
            Self::AutoGate => "auto-gate",
            Self::Checkpoint => "checkpoint",
        }
    }
}

impl DecisionKind {
    /// What it adds to a decision's priority.
    fn weight(self) -> u64 {
        match self {
            Self::Security | Self::Database => 10,
            Self::Choice
            | Self::Dependency
            | Self::PublicApi
            | Self::Protected
            | Self::Scope
            | Self::AlreadyDone
            | Self::ManualGate
            | Self::AutoGate
            | Self::Checkpoint => 0,
        }
    }
}

impl fmt::Display for DecisionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Question {
    /// What it is about.
    pub kind: DecisionKind,
    /// The question. May be an agent's own words: show it quoted.
    pub text: String,
    /// The ways to answer it, where they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Which of them is recommended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommendation: Option<String>,
    /// Whether the words above are an agent's.
    #[serde(default)]
    pub from_agent: bool,
}

impl Question {
    /// A question of Ralph's own, without options.
    pub fn new(kind: DecisionKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), options: Vec::new(), recommendation: None, from_agent: false }
    }

    /// This question and `other` as one, answered together: the kind is that of the more urgent one.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        if other.kind.weight() > self.kind.weight() {
            self.kind = other.kind;
        }
        self.text = format!("{}\n{}", self.text, other.text);
        self.from_agent |= other.from_agent;
        self
    }

    /// The same with the ways to answer it.
    #[must_use]
    pub fn with_options(mut self, options: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.options = options.into_iter().map(Into::into).collect();
        self
    }

    /// The same, recommending one of them.
    #[must_use]
    pub fn with_recommendation(mut self, recommendation: impl Into<String>) -> Self {
        self.recommendation = Some(recommendation.into());
        self
    }
}

/// A question with where it comes from, on its way into the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Decision {
    /// The step that asks; the same on every replay. A sink knows by it what it has already.
    pub key: String,
    /// The run.
    pub run: RunId,
    /// The phase.
    pub phase: PhaseId,
    /// The item, where it concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemId>,
    /// What is asked.
    pub question: Question,
    /// The work that it is about, kept aside; at a phase the tip of the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// The name under which that work is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// How much that work changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stat: Option<DiffStat>,
    /// What the agent wrote about it, bounded. Show it quoted, and as the agent's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// The end of a verifier's output, bounded. Show it quoted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Items that an agent proposes; approving adds them to the phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposed: Vec<Proposal>,
    /// When it was asked.
    pub asked: SystemTime,
}

impl Decision {
    /// A decision of a phase as a whole, about no work.
    pub fn new(
        key: impl Into<String>,
        run: RunId,
        phase: impl Into<PhaseId>,
        question: Question,
        asked: SystemTime,
    ) -> Self {
        Self {
            key: key.into(),
            run,
            phase: phase.into(),
            item: None,
            question,
            revision: None,
            kept: None,
            stat: None,
            said: String::new(),
            output: String::new(),
            proposed: Vec::new(),
            asked,
        }
    }

    /// The same about an item.
    #[must_use]
    pub fn with_item(mut self, item: impl Into<ItemId>) -> Self {
        self.item = Some(item.into());
        self
    }

    /// The same about this work.
    #[must_use]
    pub fn with_revision(mut self, revision: Revision) -> Self {
        self.revision = Some(revision);
        self
    }

    /// How urgent it is after waiting until `now`: security and database count 10, each full 8 hours of waiting 1.
    pub fn priority(&self, now: SystemTime) -> u64 {
        let waited = now.duration_since(self.asked).unwrap_or(Duration::ZERO).as_secs() / (8 * 3600);
        self.question.kind.weight() + waited
    }
}

/// Why the queue could not be reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecisionError {
    /// It could not be read or written.
    #[error("the decision could not be {operation}")]
    Io {
        /// `recorded` or `looked up`.
        operation: &'static str,
        /// Why.
        #[source]
        source: BoxError,
    },
}

impl DecisionError {
    /// Whether asking again makes sense.
    pub fn retry(&self) -> Retry {
        Retry::Soon
    }
}

/// Takes in what only a person can decide, and knows what was answered.
///
/// # Contract
/// - `submit` records the decision durably and names it; ids are never reused. It does not wait for an answer: the
///   loop goes on with other items.
/// - `answers` says which of the decisions a person has answered since; it is asked at every iteration and never waits.
///   An answer that was given once stays the same.
/// - `close` takes back a question that no longer stands, with the reason; one that is answered stays answered.
/// - `lost` says which of the decisions nobody will answer any more: somebody else took them back, or they are gone from
///   the queue. A run forgets them when it is opened again, and asks anew where something still is to be decided.
/// - Nothing that an agent writes can be an answer (law L3). [`Question::reply`] understands what a person says.
///
/// # Cancellation
/// Short calls; dropping the future leaves the decision recorded or not.
///
/// # Idempotence
/// `submit` of a decision with a known [`Decision::key`] answers the id that it got before; closing twice is closing once.
///
/// # Errors
/// [`DecisionError::Io`] leaves the run open: the step is asked again when the run goes on. An id that is not known is no
/// error: it has no answer, and nothing to close.
///
/// # Implementing
/// Run `ralph_core::decision_conformance!` (feature `testing`) on your implementation.
/// ```
/// use std::sync::Mutex;
/// use ralph_core::{Answer, Cx, Decision, DecisionError, DecisionId, DecisionSink, async_trait};
///
/// #[derive(Debug, Default)]
/// struct Queue {
///     asked: Mutex<Vec<Decision>>,
///     answered: Mutex<Vec<Answer>>, // filled by whatever people use
/// }
///
/// #[async_trait]
/// impl DecisionSink for Queue {
///     async fn submit(&self, decision: &Decision, _cx: &Cx) -> Result<DecisionId, DecisionError> {
///         let mut queue = self.asked.lock().unwrap();
///         let known = queue.iter().position(|asked| asked.key == decision.key);
///         let index = known.unwrap_or_else(|| {
///             queue.push(decision.clone());
///             queue.len() - 1
///         });
///         Ok(DecisionId::new(format!("D-{:03}", index + 1)))
///     }
///     async fn answers(&self, ids: &[DecisionId], _cx: &Cx) -> Result<Vec<Answer>, DecisionError> {
///         let answered = self.answered.lock().unwrap();
///         Ok(answered.iter().filter(|answer| ids.contains(&answer.decision)).cloned().collect())
///     }
///     async fn close(&self, _id: &DecisionId, _why: &str, _cx: &Cx) -> Result<(), DecisionError> {
///         Ok(()) // show it as settled
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use ralph_core::{DecisionKind, Question, RunId};
/// let question = Question::new(DecisionKind::Choice, "Red or blue?");
/// let asked = std::time::SystemTime::now();
/// let decision = Decision::new("P1/R01:1", RunId::new("run"), "P1", question, asked).with_item("R01");
/// let (queue, cx) = (Queue::default(), Cx::new());
/// let id = queue.submit(&decision, &cx).await.unwrap();
/// assert_eq!(queue.submit(&decision, &cx).await.unwrap(), id);
/// # });
/// ```
#[async_trait]
pub trait DecisionSink: Debug + Send + Sync + 'static {
    /// Puts `decision` into the queue.
    async fn submit(&self, decision: &Decision, cx: &Cx) -> Result<DecisionId, DecisionError>;

    /// The answers to those of `ids` that were answered.
    async fn answers(&self, ids: &[DecisionId], cx: &Cx) -> Result<Vec<Answer>, DecisionError>;

    /// Takes the question back, because of `why`.
    async fn close(&self, id: &DecisionId, why: &str, cx: &Cx) -> Result<(), DecisionError>;

    /// Those of `ids` that neither wait nor were answered. A queue that nobody else can take anything from loses none.
    async fn lost(&self, _ids: &[DecisionId], _cx: &Cx) -> Result<Vec<DecisionId>, DecisionError> {
        Ok(Vec::new())
    }
}
