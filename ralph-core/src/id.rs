//! Names of things: runs, phases, items, attempts, decisions, revisions.
//!
//! All are plain newtypes over strings, so that a fact in a journal reads as it is written.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

macro_rules! string_id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps `text` as it is.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    )* };
}

string_id! {
    /// One execution of a plan, from its start to a stop reason; resumable.
    RunId,
    /// A phase of a plan, such as `P1`.
    PhaseId,
    /// An item of a PRD, such as `R03`. Unique within its phase.
    ItemId,
    /// A decision of the queue, such as `D-007`. Never reused within a project.
    DecisionId,
    /// A state of the work as the [`Vcs`](crate::Vcs) names it; for git a commit id.
    Revision,
    /// A fingerprint: of a tree, of an item's row, of a plan. Equal only for equal things.
    Digest,
}

impl Digest {
    /// The SHA-256 of `bytes`, in hexadecimal.
    pub fn of(bytes: &[u8]) -> Self {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(64);
        for byte in Sha256::digest(bytes) {
            text.push(char::from(HEX[usize::from(byte >> 4)]));
            text.push(char::from(HEX[usize::from(byte & 15)]));
        }
        Self(text)
    }

    /// The first twelve characters, for people.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl Revision {
    /// The first ten characters, for people.
    pub fn short(&self) -> &str {
        self.0.get(..10).unwrap_or(&self.0)
    }
}

/// An item of a certain phase; written `P1/R03`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ItemRef {
    /// The phase.
    pub phase: PhaseId,
    /// The item within the phase.
    pub item: ItemId,
}

impl ItemRef {
    /// Names item `item` of phase `phase`. A phase id holds no `/`.
    pub fn new(phase: impl Into<PhaseId>, item: impl Into<ItemId>) -> Self {
        Self { phase: phase.into(), item: item.into() }
    }
}

impl fmt::Display for ItemRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.phase, self.item)
    }
}

impl From<ItemRef> for String {
    fn from(item: ItemRef) -> Self {
        item.to_string()
    }
}

impl TryFrom<String> for ItemRef {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once('/') {
            Some((phase, item)) => Ok(Self::new(phase, item)),
            None => Err(format!("`{text}` is not PHASE/ITEM")),
        }
    }
}

/// One attempt at an item: a session and the verdicts on what it left.
///
/// `number` counts the sessions begun on the item in a run and is never reused, so that an attempt's id is also the
/// idempotency key of everything done on its behalf.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttemptId {
    /// The item.
    pub item: ItemRef,
    /// 1 for the first session begun on the item in this run.
    pub number: u32,
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.item, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_ref_is_one_string_in_json() {
        let item = ItemRef::new("P1", "src/a");
        let json = serde_json::to_string(&item).unwrap();
        assert_eq!(json, "\"P1/src/a\"");
        assert_eq!(serde_json::from_str::<ItemRef>(&json).unwrap(), item);
        assert!(serde_json::from_str::<ItemRef>("\"R01\"").is_err());
    }

    #[test]
    fn digest_is_sha256() {
        assert_eq!(Digest::of(b"").short(), "e3b0c44298fc");
    }
}
