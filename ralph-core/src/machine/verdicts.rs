//! Verdicts on the same content that contradict each other.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    state::Machine,
    terms::{Spec, VerifyOutcome},
};
use crate::{
    id::{Digest, ItemRef},
    verify::{Part, Stage},
};

/// What a verifier said of a content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Said {
    content: Digest,
    stage: Stage,
    /// A verifier may ask each item something else, and each row.
    item: Option<(ItemRef, Digest)>,
    verifier: String,
    passed: bool,
}

impl Machine {
    /// Remembers a verdict on `content`. Whoever said the contrary of the very same content at the same stage before is
    /// flaky; a pass does not count then, and the answer says so.
    pub(super) fn contradiction(
        &mut self,
        content: &Digest,
        (stage, item): (Stage, Option<&Spec>),
        outcome: VerifyOutcome,
        parts: &[Part],
    ) -> Option<String> {
        if !matches!(outcome, VerifyOutcome::Pass | VerifyOutcome::Fail) {
            return None;
        }
        let mut turned = Vec::new();
        for part in parts {
            let (content, item) = (content.clone(), item.map(|spec| (spec.item.clone(), spec.digest.clone())));
            let said = Said { content, stage, item, verifier: part.name.clone(), passed: part.passed };
            let contrary = self.verdicts.contains(&Said { passed: !part.passed, ..said.clone() });
            if contrary {
                turned.push(part.name.as_str());
            }
            if contrary || part.flaky {
                self.flaky.insert(part.name.clone());
            }
            self.verdicts.insert(said);
        }
        let counts = outcome == VerifyOutcome::Pass && !turned.is_empty();
        counts.then(|| format!("flaky: {} failed on this very content before, and passes now", turned.join(", ")))
    }

    /// Forgets what a blocked item's work only ever failed: whoever has it tried again may have put the surroundings
    /// right. What has both verdicts stays refused.
    pub(super) fn given_up(&mut self, item: &ItemRef) {
        let passed: BTreeSet<Said> = self.verdicts.iter().filter(|said| said.passed).cloned().collect();
        let is_of = |said: &Said| said.item.as_ref().is_some_and(|(of, _)| of == item);
        self.verdicts
            .retain(|said| said.passed || !is_of(said) || passed.contains(&Said { passed: true, ..said.clone() }));
    }

    /// The verifiers that gave one content two verdicts, by name.
    pub fn flaky(&self) -> impl Iterator<Item = &str> {
        self.flaky.iter().map(String::as_str)
    }
}
