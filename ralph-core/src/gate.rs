//! The seam to what must open before work goes on.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    cx::Cx,
    decision::Question,
    error::{BoxError, Retry},
    id::{Revision, RunId},
    plan::{Item, Phase},
    vcs::Tree,
};

/// Where work waits for a gate.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Boundary {
    /// An item's work has passed its verifier once and would be verified again and accepted.
    Item(ItemBoundary),
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
}

/// What a gate says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// Go on.
    Open,
    /// No. At an item this fails the attempt, with the reason for the next one.
    Closed(String),
    /// A person must say; the work is parked.
    Ask(Question),
}

/// Why a gate could not be judged. Never taken for open.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// Anything.
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
        Retry::Soon
    }
}

/// Says whether work may go *on*. (Whether it is *true* is a [`Verifier`](crate::Verifier)'s word.)
///
/// # Contract
/// - Judged on facts: the revision's content, never on what an agent says about it.
/// - A gate that meets a boundary it does not know answers [`Ruling::Ask`], never [`Ruling::Open`].
/// - Several gates: `Closed` outweighs `Ask`, `Ask` outweighs `Open`.
///
/// # Cancellation
/// Dropping the future leaves nothing behind.
///
/// # Idempotence
/// Asked again after a crash; the same revision gets the same ruling.
///
/// # Errors
/// An error leaves the run open; the gate is asked again when the run goes on.
///
/// # Implementing
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
///         let read = async |tree: &dyn ralph_core::Tree| {
///             tree.read(b"LICENSE", 1 << 20).await.map_err(GateError::other)
///         };
///         if read(&*at.tree).await? == read(&*at.base_tree).await? {
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
