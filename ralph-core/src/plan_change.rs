//! What an answer changes in the plan: the row is open again, an item is added.

use crate::{
    answer::{Answer, Reply},
    cx::Cx,
    decision::DecisionKind,
    id::{ItemId, ItemRef, PhaseId},
    plan::{ItemStatus, Marked, PlanError, PlanSource, Proposal},
};

/// What an answer changes in the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanChange {
    /// Nothing.
    Nothing,
    /// The item keeps the answer.
    Note {
        /// Which.
        item: ItemRef,
    },
    /// The item keeps the answer and is open again.
    Reopen {
        /// Which.
        item: ItemRef,
        /// The status that it should have now.
        from: ItemStatus,
    },
    /// The phase gets these items.
    Extend {
        /// Which.
        phase: PhaseId,
        /// The items.
        items: Vec<Proposal>,
    },
}

impl PlanChange {
    /// What `reply` changes, said to a question of this kind in `phase`: about `item`, or about `proposed` items.
    pub fn of(
        kind: DecisionKind,
        phase: &PhaseId,
        item: Option<&ItemId>,
        proposed: &[Proposal],
        reply: &Reply,
    ) -> Self {
        let of_phase = |item: &ItemId| ItemRef { phase: phase.clone(), item: item.clone() };
        match (kind, item, reply) {
            (DecisionKind::Scope, _, Reply::Approve) => Self::Extend { phase: phase.clone(), items: proposed.to_vec() },
            (DecisionKind::Scope, _, _) => Self::Nothing,
            // Whatever is asked about an item keeps it waiting.
            (_, Some(item), _) => Self::Reopen { item: of_phase(item), from: ItemStatus::Decision },
            (_, None, Reply::Reopen(item)) => Self::Reopen { item: of_phase(item), from: ItemStatus::Done },
            (_, None, Reply::Retire(item)) => Self::Note { item: of_phase(item) },
            (_, None, _) => Self::Nothing,
        }
    }

    /// Writes it into `plan`, with the answer. Doing it twice is doing it once.
    ///
    /// Answers what the plan said instead, where it said something else and was left alone.
    ///
    /// # Errors
    /// As the plan's.
    pub async fn write(&self, plan: &dyn PlanSource, answer: &Answer, cx: &Cx) -> Result<Option<String>, PlanError> {
        let line = answer.line();
        match self {
            Self::Nothing => Ok(None),
            Self::Note { item } => plan.note(item, &line, cx).await.map(|()| None),
            // First the words, then the mark: an open item has the answer that opened it.
            Self::Reopen { item, from } => {
                plan.note(item, &line, cx).await?;
                Ok(match plan.mark(item, *from, ItemStatus::Open, cx).await? {
                    Marked::Written | Marked::AlreadySo => None,
                    Marked::Refused(Some(found)) => Some(format!("{item} is marked {found}")),
                    Marked::Refused(None) => Some(format!("{item} is not in the plan")),
                })
            }
            Self::Extend { phase, items } => plan.extend(phase, items, &line, cx).await.map(|()| None),
        }
    }
}
