//! What is to be done: plans, phases, items, and the seam that they come from.

use std::{fmt, fmt::Debug, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    cx::Cx,
    error::{BoxError, Retry},
    id::{Digest, ItemId, ItemRef, PhaseId},
    tier::Tier,
};

/// An ordered list of phases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// The phases, in the order in which they are walked.
    pub phases: Vec<Arc<Phase>>,
}

impl Plan {
    /// A plan of these phases.
    pub fn new(phases: impl IntoIterator<Item = Phase>) -> Self {
        Self { phases: phases.into_iter().map(Arc::new).collect() }
    }

    /// The item that `item` names, with its phase.
    pub fn find(&self, item: &ItemRef) -> Option<(&Arc<Phase>, &Arc<Item>)> {
        let phase = self.phases.iter().find(|phase| phase.id == item.phase)?;
        Some((phase, phase.item(&item.item)?))
    }
}

/// A PRD: items, with what they share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Phase {
    /// Its id; holds no `/`.
    pub id: PhaseId,
    /// Its title, for people.
    pub title: String,
    /// What the phase is for (`Objective:`).
    pub objective: Option<String>,
    /// The commands that judge every item of the phase (`Verify:`), in order.
    pub verify: Vec<String>,
    /// The commands that make a fresh workspace usable (`Setup:`).
    pub setup: Vec<String>,
    /// The commands that tell whether the surroundings are fit for work (`Env-Check:`).
    pub env_check: Vec<String>,
    /// Pointers that every session of the phase should follow (`Context:`).
    pub context: Vec<String>,
    /// The commands that must pass on a clean checkout of the branch before the phase is done (`Auto-Gate:`).
    pub auto_gate: Vec<String>,
    /// What a person must approve before the phase is done (`Manual-Gate:`), as the plan words it.
    pub manual_gate: Option<String>,
    /// How many blocked items of the phase end the run (`Max-Blockers:`), instead of the budget's.
    pub max_blockers: Option<u32>,
    /// The items in file order.
    pub items: Vec<Arc<Item>>,
}

impl Default for PhaseId {
    fn default() -> Self {
        Self::new("P1")
    }
}

impl Phase {
    /// A phase of these items with nothing else said.
    pub fn new(id: impl Into<PhaseId>, items: impl IntoIterator<Item = Item>) -> Self {
        Self { id: id.into(), items: items.into_iter().map(Arc::new).collect(), ..Self::default() }
    }

    /// The item with this id.
    pub fn item(&self, id: &ItemId) -> Option<&Arc<Item>> {
        self.items.iter().find(|item| item.id == *id)
    }

    /// Whether anything but its items stands between it and its end.
    pub fn is_gated(&self) -> bool {
        !self.auto_gate.is_empty() || self.manual_gate.is_some()
    }

    /// The full name of one of its items.
    pub fn name(&self, item: &Item) -> ItemRef {
        ItemRef { phase: self.id.clone(), item: item.id.clone() }
    }
}

/// An item that an agent proposes; it becomes one when a person approves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// One line.
    pub title: String,
    /// What must hold when it is done, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// The command that would verify it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
}

/// One unit of work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// Its id within the phase.
    pub id: ItemId,
    /// One line, without the id.
    pub title: String,
    /// What the plan says of it now.
    pub status: ItemStatus,
    /// What must hold when it is done, one line each.
    pub criteria: Vec<String>,
    /// The item's own verify commands, run before the phase's.
    pub verify: Vec<String>,
    /// Pointers for the session that works on it.
    pub context: Vec<String>,
    /// How strong a model it deserves (`Tier:`), where the plan says so.
    pub tier: Option<Tier>,
    /// Changes to the set of checks, such as `-test-evidence`, and [`Item::REQUIRE_RED`].
    pub checks: Vec<String>,
    /// Decisions that a person took about it, as the plan records them.
    pub decisions: Vec<String>,
    /// The fingerprint of everything the plan says about the item except its status and its decisions.
    pub digest: Digest,
    /// Where it stands in its file, counted from 1; 0 where there is no file.
    pub line: usize,
}

impl Item {
    /// What an item's `Checks:` say where its own verifier must fail before there is any work.
    pub const REQUIRE_RED: &str = "require-red";

    /// Whether its own verifier must fail before there is any work, where its `Checks:` say so or the contrary.
    pub fn requires_red(&self) -> Option<bool> {
        self.checks.iter().rev().find_map(|entry| {
            let (out, name) = match entry.trim().strip_prefix('-') {
                Some(name) => (true, name.trim()),
                None => (false, entry.trim().trim_start_matches('+').trim()),
            };
            (name == Self::REQUIRE_RED).then_some(!out)
        })
    }

    /// An open item with nothing but a title.
    pub fn new(id: impl Into<ItemId>, title: impl Into<String>) -> Self {
        let (id, title) = (id.into(), title.into());
        let digest = Digest::of(format!("{id}\n{title}").as_bytes());
        Self {
            id,
            title,
            status: ItemStatus::Open,
            criteria: Vec::new(),
            verify: Vec::new(),
            context: Vec::new(),
            tier: None,
            checks: Vec::new(),
            decisions: Vec::new(),
            digest,
            line: 0,
        }
    }
}

/// Where an item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemStatus {
    /// To be done: `[ ]`.
    Open,
    /// Done: `[x]`.
    Done,
    /// Waits for a person: `[?]`.
    Decision,
    /// Could not be done: `[!]`.
    Blocked,
    /// A mark that Ralph does not know: never picked, never done.
    Unknown,
}

impl fmt::Display for ItemStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::Done => "done",
            Self::Decision => "decision",
            Self::Blocked => "blocked",
            Self::Unknown => "unknown",
        })
    }
}

/// What became of a request to change an item's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// The status was changed.
    Written,
    /// The status was already the one asked for.
    AlreadySo,
    /// Nothing was changed: the plan says something else than was expected. `None`: the item is gone.
    Refused(Option<ItemStatus>),
}

/// Why a plan could not be read or marked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The plan says something that Ralph must not guess about. Holds every finding, one line each, with its place.
    #[error("the plan is not valid:\n{}", .0.join("\n"))]
    Invalid(Vec<String>),
    /// The plan carries no valid approval. Says what is wrong and what to do.
    #[error("the plan is not approved: {0}")]
    NotApproved(String),
    /// The plan could not be read or written.
    #[error("the plan could not be {operation}")]
    Io {
        /// `read` or `written`.
        operation: &'static str,
        /// Why.
        #[source]
        source: BoxError,
    },
}

impl PlanError {
    /// Whether asking again makes sense.
    pub fn retry(&self) -> Retry {
        Retry::Never
    }
}

/// Where the plan comes from, and where an item's status is written back.
///
/// # Contract
/// - `load` returns the plan as it is now; it is called afresh in every iteration, since people edit plans.
/// - An unreadable or ambiguous plan is an error with a place. A plan in which no item is recognised is an error too,
///   never an empty plan (law L12).
/// - Item ids are unique within their phase, phase ids within the plan; an item's digest changes when anything that
///   is said about the item changes, except its status and its decisions: what a person approved is told by it from what
///   was edited since.
/// - `mark` is a compare-and-set: it writes only if the item is still there with status `from`, and changes nothing
///   else. It does not look at the digest: the engine has compared rows before it accepted the work.
/// - `note` adds a decision to an item, so that [`Item::decisions`] holds it from then on; nothing where the item is gone.
/// - `extend` adds items at the end of a phase, each with the decision that approved them.
///
/// # Cancellation
/// All calls are short. Dropping the future leaves the plan either unchanged or changed.
///
/// # Idempotence
/// `mark` with a status that the item already has answers [`Marked::AlreadySo`]; `note` of a decision that the item holds
/// and `extend` with a decision that one of the phase's items holds change nothing.
///
/// # Errors
/// [`PlanError::Invalid`] when the content is at fault, [`PlanError::Io`] when it could not be reached.
///
/// # Implementing
/// ```
/// use ralph_core::{
///     Cx, Item, ItemRef, ItemStatus, Marked, Phase, PhaseId, Plan, PlanError, PlanSource, Proposal, async_trait,
/// };
///
/// /// A plan of one item, for ever open.
/// #[derive(Debug)]
/// struct One;
///
/// #[async_trait]
/// impl PlanSource for One {
///     async fn load(&self, _cx: &Cx) -> Result<Plan, PlanError> {
///         Ok(Plan::new([Phase::new("P1", [Item::new("R01", "add a greeting")])]))
///     }
///     async fn mark(
///         &self,
///         _item: &ItemRef,
///         from: ItemStatus,
///         to: ItemStatus,
///         _cx: &Cx,
///     ) -> Result<Marked, PlanError> {
///         Ok(if from == to { Marked::AlreadySo } else { Marked::Refused(Some(ItemStatus::Open)) })
///     }
///     async fn note(&self, _item: &ItemRef, _decision: &str, _cx: &Cx) -> Result<(), PlanError> {
///         Ok(()) // nobody is ever asked
///     }
///     async fn extend(
///         &self,
///         _phase: &PhaseId,
///         _items: &[Proposal],
///         _decision: &str,
///         _cx: &Cx,
///     ) -> Result<(), PlanError> {
///         Err(PlanError::Invalid(vec!["this plan has one item".to_owned()]))
///     }
/// }
/// # fn main() -> Result<(), PlanError> {
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let plan = One.load(&Cx::new()).await?;
/// assert_eq!(plan.phases[0].items[0].title, "add a greeting");
/// # Ok(()) })
/// # }
/// ```
#[async_trait]
pub trait PlanSource: Debug + Send + Sync + 'static {
    /// Reads the plan.
    async fn load(&self, cx: &Cx) -> Result<Plan, PlanError>;

    /// Changes the status of `item` from `from` to `to`.
    async fn mark(&self, item: &ItemRef, from: ItemStatus, to: ItemStatus, cx: &Cx) -> Result<Marked, PlanError>;

    /// Adds `decision`, such as `D-007 (lead, 2026-05-18): Resend`, to what is said about `item`.
    async fn note(&self, item: &ItemRef, decision: &str, cx: &Cx) -> Result<(), PlanError>;

    /// Adds `items` at the end of `phase`, each with `decision`.
    async fn extend(&self, phase: &PhaseId, items: &[Proposal], decision: &str, cx: &Cx) -> Result<(), PlanError>;
}
