//! The seam to what must open before work goes on.

use std::{fmt::Debug, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    cx::Cx,
    decision::Question,
    error::{BoxError, Retry},
    id::{ItemId, Revision, RunId},
    plan::{Item, Phase},
    vcs::{Change, Tree},
};

/// Where work waits for a gate.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Boundary {
    /// An item's work has passed its verifier once and would be verified again and accepted.
    Item(ItemBoundary),
    /// Every item of a phase is done.
    Phase(PhaseBoundary),
}

/// An item's work at the gate.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ItemBoundary {
    /// The run.
    pub run: RunId,
    /// The phase.
    pub phase: Arc<Phase>,
    /// The item.
    pub item: Arc<Item>,
    /// The work.
    pub revision: Revision,
    /// Its files.
    pub tree: Arc<dyn Tree>,
    /// The files that it started from.
    pub base_tree: Arc<dyn Tree>,
    /// What it changes, by path.
    pub changes: Arc<[Change]>,
}

impl ItemBoundary {
    /// The boundary of `revision`, for hosts and for tests of gates.
    pub fn new(
        run: RunId,
        phase: Arc<Phase>,
        item: Arc<Item>,
        revision: Revision,
        base_tree: Arc<dyn Tree>,
        tree: Arc<dyn Tree>,
        changes: impl Into<Arc<[Change]>>,
    ) -> Self {
        Self { run, phase, item, revision, tree, base_tree, changes: changes.into() }
    }
}

/// A phase at its gates.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PhaseBoundary {
    /// The run.
    pub run: RunId,
    /// The phase.
    pub phase: Arc<Phase>,
    /// The tip of the branch.
    pub revision: Revision,
    /// Its files.
    pub tree: Arc<dyn Tree>,
    /// A clean checkout of it, without build caches, set up.
    pub folder: PathBuf,
    /// Items whose own verifier a person retired, because a later item rightly overtook it.
    pub retired: Vec<ItemId>,
    /// Where to write a verifier's full output, if anywhere.
    pub log: Option<PathBuf>,
}

impl PhaseBoundary {
    /// The boundary of `phase` at `revision`, for hosts and for tests of gates.
    pub fn new(run: RunId, phase: Arc<Phase>, revision: Revision, tree: Arc<dyn Tree>, folder: PathBuf) -> Self {
        Self { run, phase, revision, tree, folder, retired: Vec::new(), log: None }
    }
}

/// What a gate says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// Go on.
    Open,
    /// No. At an item this fails the attempt, with the reason for the next one; at a phase a person is asked what to do.
    /// The first paragraph is the reason; what follows an empty line is shown as output.
    Closed(String),
    /// A person must say; the work is parked.
    Ask(Question),
}

/// Why a gate could not be judged. Never taken for open.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// The verifier that it is made of could not judge. The run stops until a person has put that right.
    #[error("the gate's verifier is broken: {0}")]
    Broken(String),
    /// Anything else.
    #[error("the gate could not be judged")]
    Other(#[source] BoxError),
}

impl GateError {
    /// It could not be judged, because of `error`.
    pub fn other(error: impl Into<BoxError>) -> Self {
        Self::Other(error.into())
    }

    /// Whether asking again makes sense.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Broken(_) => Retry::Never,
            Self::Other(_) => Retry::Soon,
        }
    }
}

/// Says whether work may go *on*. (Whether it is *true* is a [`Verifier`](crate::Verifier)'s word.)
///
/// # Contract
/// - Judged on facts: the revision's content, never on what an agent says about it.
/// - A gate that meets a boundary it does not know answers [`Ruling::Ask`], never [`Ruling::Open`].
/// - Several gates at an item: `Closed` outweighs `Ask`, `Ask` outweighs `Open`; several that ask become one question. At
///   a phase they are asked in order, and the first that is not open has the word.
/// - An approval covers the words of a question, for the same work or phase: a gate that asks just that is open, and one
///   that asks anything else asks a person again. So a question names what it is about, and no revision and no time: work
///   that is carried over to a later tip is asked about in the same words.
///
/// # Cancellation
/// Dropping the future leaves nothing behind.
///
/// # Idempotence
/// Asked again after a crash; the same revision gets the same ruling.
///
/// # Errors
/// [`GateError::Broken`] at a phase stops the run with VERIFIER_BROKEN. Any other error leaves it open; the gate is asked
/// again when the run goes on.
///
/// # Implementing
/// Run `ralph_core::gate_conformance!` (feature `testing`) on your implementation.
/// ```
/// use ralph_core::{Boundary, Cx, DecisionKind, Gate, GateError, Question, Ruling, async_trait};
///
/// /// Licence changes are for people.
/// #[derive(Debug)]
/// struct Licence;
///
/// #[async_trait]
/// impl Gate for Licence {
///     fn name(&self) -> &str {
///         "licence"
///     }
///     async fn judge(&self, boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
///         let Boundary::Item(at) = boundary else {
///             return Ok(Ruling::Ask(Question::new(DecisionKind::Protected, "go on?")));
///         };
///         if !at.changes.iter().any(|change| change.path == b"LICENSE") {
///             return Ok(Ruling::Open);
///         }
///         Ok(Ruling::Ask(Question::new(DecisionKind::Protected, "The licence would change. Accept?")))
///     }
/// }
/// ```
#[async_trait]
pub trait Gate: Debug + Send + Sync + 'static {
    /// Its name, for people and records.
    fn name(&self) -> &str;

    /// Judges what stands at `boundary`.
    async fn judge(&self, boundary: &Boundary, cx: &Cx) -> Result<Ruling, GateError>;
}
