//! One glyph for each attempt.

use std::{collections::BTreeMap, fmt};

use ralph_core::{
    ItemRef, ItemStatus, KeepKind, Record,
    machine::{End, Fact, Readiness},
};
use serde::Serialize;

/// What came of an attempt, at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Glyph {
    /// Verified twice, on the branch.
    Accepted,
    /// A verdict was against it.
    Failed,
    /// A person is asked.
    Decision,
    /// Interrupted, or lost to the agent's own trouble or that of the surroundings.
    Lost,
    /// A session at an interval, whose work nobody judges.
    Round,
    /// Under way.
    Running,
}

impl fmt::Display for Glyph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accepted => "✓",
            Self::Failed => "✗",
            Self::Decision => "?",
            Self::Lost => "~",
            Self::Round => "·",
            Self::Running => "▸",
        })
    }
}

/// The attempts of each item, in order.
pub(crate) fn attempts(records: &[Record]) -> BTreeMap<ItemRef, Vec<Glyph>> {
    let mut attempts: BTreeMap<ItemRef, Vec<Glyph>> = BTreeMap::new();
    let mut current: Option<ItemRef> = None;
    for record in records {
        let glyph = match &record.fact {
            Fact::Began { attempt } => {
                // An attempt that left nothing to keep ends where the next one begins.
                if let Some(last) = current.as_ref().and_then(|item| attempts.get_mut(item)?.last_mut())
                    && *last == Glyph::Running
                {
                    *last = Glyph::Failed;
                }
                current = Some(attempt.id.item.clone());
                attempts.entry(attempt.id.item.clone()).or_default().push(Glyph::Running);
                continue;
            }
            Fact::Ended {
                end: End::Cancelled | End::Interrupted | End::Unavailable { .. } | End::NoAgent(_) | End::Unusable(_),
                ..
            }
            | Fact::Prepared { readiness: Readiness::Environment(_), .. } => Glyph::Lost,
            Fact::Accepted { .. } => Glyph::Accepted,
            Fact::Kept { kind: KeepKind::Rejected, .. } => Glyph::Failed,
            Fact::Kept { kind: KeepKind::Parked, .. } => Glyph::Decision,
            Fact::Kept { kind: KeepKind::Interrupted, .. } => Glyph::Lost,
            Fact::Marked { iteration, .. } => match iteration.to {
                ItemStatus::Done => Glyph::Accepted,
                ItemStatus::Decision => Glyph::Decision,
                ItemStatus::Open if iteration.why.is_empty() => Glyph::Round,
                ItemStatus::Blocked | ItemStatus::Open | ItemStatus::Unknown => Glyph::Failed,
            },
            _ => continue,
        };
        if let Some(last) = current.as_ref().and_then(|item| attempts.get_mut(item)?.last_mut())
            && (*last == Glyph::Running || glyph == Glyph::Accepted)
        {
            *last = glyph;
        }
    }
    attempts
}
