//! Files of which only a part counts: what a runner takes from them.

use std::{collections::BTreeMap, sync::Arc};

use ralph_core::{Change, EntryKind, GateError, ItemBoundary, Tree};

/// How much of such a file is read.
const BYTES: usize = 1 << 20;

/// What counts in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    /// All of it.
    Whole,
    /// These keys of a JSON object.
    Json(&'static [&'static str]),
    /// These tables and values, by dotted names.
    Toml(&'static [&'static str]),
    /// These sections, and those whose names begin so before a colon.
    Ini(&'static [&'static str]),
}

impl Watch {
    /// Whether `change` touches what counts. What cannot be read counts.
    pub(super) async fn touched(self, change: &Change, item: &ItemBoundary) -> Result<bool, GateError> {
        let is_file = |kind| matches!(kind, None | Some(EntryKind::File | EntryKind::Executable));
        if self == Self::Whole || change.after.is_none() || !is_file(change.after) || !is_file(change.before) {
            return Ok(true);
        }
        let [before, after] = [read(&item.base_tree, &change.path).await?, read(&item.tree, &change.path).await?];
        let (Some(before), Some(after)) = (before, after) else { return Ok(true) };
        Ok(match self {
            Self::Whole => true,
            Self::Json(keys) => differ(json(&before, keys), json(&after, keys)),
            Self::Toml(keys) => differ(toml(&before, keys), toml(&after, keys)),
            Self::Ini(names) => {
                [true, false].into_iter().any(|deep| ini(&before, names, deep) != ini(&after, names, deep))
            }
        })
    }
}

/// The text of a file; empty where there is none, `None` where it cannot be told.
async fn read(tree: &Arc<dyn Tree>, path: &[u8]) -> Result<Option<String>, GateError> {
    let content = tree.read(path, BYTES + 1).await.map_err(GateError::other)?.unwrap_or_default();
    let text = String::from_utf8(content).ok().filter(|text| text.len() <= BYTES);
    Ok(text.map(|text| text.trim_start_matches('\u{feff}').to_owned()))
}

fn differ<T: PartialEq>(before: Option<T>, after: Option<T>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => before != after,
        (None, _) | (_, None) => true,
    }
}

fn json(text: &str, keys: &[&str]) -> Option<Vec<Option<serde_json::Value>>> {
    if text.trim().is_empty() {
        return Some(vec![None; keys.len()]);
    }
    let root: serde_json::Map<_, _> = serde_json::from_str(text).ok()?;
    Some(keys.iter().map(|key| root.get(*key).cloned()).collect())
}

fn toml(text: &str, keys: &[&str]) -> Option<Vec<Option<toml::Value>>> {
    let root = toml::Value::Table(text.parse().ok()?);
    let value = |key: &&str| key.split('.').try_fold(&root, |value, part| value.get(part)).cloned();
    Some(keys.iter().map(value).collect())
}

/// The lines of these sections. Whether an indented header is one depends on the reader: `deep` takes it for one.
fn ini<'a>(text: &'a str, names: &[&str], deep: bool) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut sections: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut name = "";
    for line in text.lines() {
        let header = if deep { line.trim_start() } else { line };
        if let Some((inner, _)) = header.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            name = inner.trim();
        } else if !line.trim().is_empty() && !line.trim_start().starts_with(['#', ';']) {
            let counts =
                |wanted: &&str| name == *wanted || name.strip_prefix(wanted).is_some_and(|r| r.starts_with(':'));
            if names.iter().any(counts) {
                sections.entry(name).or_default().push(line.trim_end());
            }
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_files() {
        let keys = ["tool.pytest"];
        let toml = |text| toml(text, &keys);
        assert!(!differ(toml("a = 1\n[tool.pytest]\nx = 1"), toml("b = 2 # c\n[tool.pytest]\nx = 1")));
        assert!(differ(toml("[tool.pytest]\nx = 1"), toml("[tool.pytest]\nx = 2")));
        assert!(differ(toml("[tool.pytest]\nx = 1"), toml("")));
        assert!(differ(toml(""), toml("[tool.pytest")));
        let json = |text| json(text, &["scripts"]);
        assert!(!differ(json(r#"{"a": 1, "scripts": {"t": "x"}}"#), json(r#"{"scripts": {"t": "x"}}"#)));
        assert!(differ(json(r#"{"scripts": {"t": "x"}}"#), json("{}")));
        assert!(differ(json("{}"), json("[]")));
        assert!(!differ(json(""), json("{}")));
    }

    #[test]
    fn sections() {
        let ini = |text| [true, false].map(|deep| ini(text, &["tool:pytest", "tox"], deep));
        let base = ini("[a]\nx=1\n[tool:pytest]\naddopts = -q\n");
        assert_eq!(base, ini("[a]\nx=2\n# c\n[tool:pytest]\n; d\naddopts = -q\n\n"));
        for other in [
            "[tool:pytest]\naddopts = -k none\n",
            "[a]\n",
            "[tool:pytest]\naddopts = -q\n [b]\n more = 1\n",
            "[a]\n [tool:pytest]\n addopts = -q -k none\n",
        ] {
            assert_ne!(base, ini(other), "{other}");
        }
        assert_ne!(ini("[tox:env]\na=1"), ini("[tox:env]\na=2"));
    }
}
