//! Keys, tokens and the operator's own values.

mod shapes;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use ralph_core::{BoxError, ItemBoundary, async_trait};

use super::{Check, Found, work::is_file};
use crate::policy::is_ledger;

/// How much of a file is looked at, in bytes.
const LARGEST: usize = 1024 * 1024;

/// How many bytes are looked at in all.
const MOST: usize = 64 * 1024 * 1024;

/// Secrets that the work adds: what has the shape of a well-known key, and the operator's own values, word by word, in
/// base64 or percent-encoded. A finding names the kind or the variable, and never the value.
///
/// Lines that were there before, at this path or at one that the work deletes, are not added; placeholders are no keys.
/// The first MiB of a file is looked at.
#[derive(Debug)]
pub(super) struct Secrets {
    values: Vec<values::Value>,
}

impl Secrets {
    /// Looks for these names' values too, where they are long enough to be told from words.
    pub(super) fn new(values: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { values: values.into_iter().filter_map(|(name, value)| values::Value::new(name, &value)).collect() }
    }
}

#[async_trait]
impl Check for Secrets {
    fn name(&self) -> &str {
        "secrets"
    }

    fn about(&self) -> &str {
        "keys and tokens by their shape, and the operator's own values; never shown"
    }

    fn by_default(&self) -> bool {
        true
    }

    fn instead(&self) -> &str {
        "Take secrets out of the files: read them from the environment, and use placeholders in tests and examples."
    }

    async fn look(&self, at: &ItemBoundary) -> Result<Vec<Found>, BoxError> {
        // What is moved was there before.
        let mut gone: BTreeSet<Vec<u8>> = BTreeSet::new();
        let mut left = MOST;
        for change in at.changes.iter().filter(|change| is_file(change.before) && change.after.is_none()) {
            let content = at.base_tree.read(&change.path, LARGEST.min(left)).await?.unwrap_or_default();
            left -= content.len();
            gone.extend(content.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
        }
        let (mut found, mut left) = (Vec::new(), MOST);
        for change in at.changes.iter().filter(|change| change.after.is_some() && !is_ledger(&change.path)) {
            let content = at.tree.read(&change.path, LARGEST.min(left)).await?.unwrap_or_default();
            left -= content.len();
            let before = match change.before {
                Some(_) => at.base_tree.read(&change.path, LARGEST).await?.unwrap_or_default(),
                None => Vec::new(),
            };
            self.file(&change.path, &content, &before, &gone, &mut found);
        }
        Ok(found)
    }
}

impl Secrets {
    fn file(&self, path: &[u8], content: &[u8], before: &[u8], gone: &BTreeSet<Vec<u8>>, found: &mut Vec<Found>) {
        let mut known: BTreeMap<&[u8], usize> = BTreeMap::new();
        for line in before.split(|byte| *byte == b'\n') {
            *known.entry(line).or_default() += 1;
        }
        let lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
        for (index, line) in lines.iter().enumerate() {
            if let Some(count) = known.get_mut(line).filter(|count| **count > 0) {
                *count -= 1;
                continue;
            }
            if gone.contains(*line) {
                continue;
            }
            let number = u32::try_from(index).unwrap_or(u32::MAX - 1) + 1;
            let mut say = |text: String| found.push(Found::new(path, text).line(number));
            let next = lines.get(index + 1).copied().unwrap_or_default();
            shapes::find(&String::from_utf8_lossy(line), &String::from_utf8_lossy(next))
                .into_iter()
                .for_each(|kind| say(format!("{kind} (not shown)")));
            for value in self.values.iter().filter(|value| value.is_in(line)) {
                say(format!("the value of the operator's variable {} (not shown)", value.name));
            }
        }
        // A value of several lines is in none of them alone.
        for value in self.values.iter().filter(|value| value.is_long()) {
            if value.is_in(content) && !value.is_in(before) {
                let text = format!("the value of the operator's variable {} (not shown)", value.name);
                found.push(Found::new(path, text));
            }
        }
    }
}
