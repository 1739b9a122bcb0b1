//! Files of which only a part counts: what a runner takes from them.

use std::{collections::BTreeMap, sync::Arc};

use ralph_core::{Change, EntryKind, GateError, ItemBoundary, Tree};

use crate::checks::pytest_hooks;

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
    /// All of it, where cargo takes it for a build script: beside a Cargo.toml, or named by one.
    BuildScript,
    /// What pytest calls or reads by its name in a conftest.py; not its fixtures.
    Hooks,
}

impl Watch {
    /// Whether all of a file counts that is one of these.
    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Whole | Self::BuildScript)
    }

    /// Whether `change` touches what counts. What cannot be read counts.
    pub(super) async fn touched(self, change: &Change, item: &ItemBoundary) -> Result<bool, GateError> {
        let is_file = |kind| matches!(kind, None | Some(EntryKind::File | EntryKind::Executable));
        if self == Self::BuildScript {
            return is_build_script(change, item).await;
        }
        if self == Self::Whole || change.after.is_none() || !is_file(change.after) || !is_file(change.before) {
            return Ok(true);
        }
        let [before, after] = [read(&item.base_tree, &change.path).await?, read(&item.tree, &change.path).await?];
        let (Some(before), Some(after)) = (before, after) else { return Ok(true) };
        Ok(match self {
            Self::Whole | Self::BuildScript => true,
            Self::Json(keys) => differ(json(&before, keys), json(&after, keys)),
            Self::Toml(keys) => differ(toml(&before, keys), toml(&after, keys)),
            Self::Ini(names) => {
                [true, false].into_iter().any(|deep| ini(&before, names, deep) != ini(&after, names, deep))
            }
            Self::Hooks => differ(pytest_hooks(&before), pytest_hooks(&after)),
        })
    }
}

/// The text of a file; empty where there is none, `None` where it cannot be told.
async fn read(tree: &Arc<dyn Tree>, path: &[u8]) -> Result<Option<String>, GateError> {
    let content = tree.read(path, BYTES + 1).await.map_err(GateError::other)?.unwrap_or_default();
    let text = String::from_utf8(content).ok().filter(|text| text.len() <= BYTES);
    Ok(text.map(|text| text.trim_start_matches('\u{feff}').to_owned()))
}

/// Whether a `build.rs` is a build script, in either tree, and no module of that name.
async fn is_build_script(change: &Change, item: &ItemBoundary) -> Result<bool, GateError> {
    let Ok(path) = std::str::from_utf8(&change.path) else { return Ok(true) };
    let mut beside = true;
    for (at, _) in path.match_indices('/').rev().chain([(0, "")]) {
        let (folder, rest) = (&path[..at], path[at..].trim_start_matches('/'));
        let manifest = if at == 0 { "Cargo.toml".to_owned() } else { format!("{folder}/Cargo.toml") };
        for tree in [&item.base_tree, &item.tree] {
            if tree.kind(manifest.as_bytes()).await.map_err(GateError::other)?.is_none() {
                continue;
            }
            let text = read(tree, manifest.as_bytes()).await?;
            let Some(named) = text.and_then(|text| toml(&text, &["package.build"])) else { return Ok(true) };
            let named = named.into_iter().flatten().next();
            if beside || named.is_some_and(|named| named.as_str().is_none_or(|named| named.ends_with(rest))) {
                return Ok(true);
            }
        }
        beside = false;
    }
    Ok(false)
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
    fn hooks() {
        let fixture = "import pytest\n\n@pytest.fixture\ndef one():\n    return 1\n";
        let hook = "def pytest_runtest_makereport(item, call):\n    pass\n";
        assert!(!differ(pytest_hooks(""), pytest_hooks(fixture)));
        for more in [
            hook.to_owned(),
            format!("@pytest.hookimpl(tryfirst=True)\n{hook}"),
            format!("try:\n    import x\nexcept ImportError:\n    {}", hook.replace('\n', "\n    ")),
            "collect_ignore = [\"a.py\"]\n".to_owned(),
            "collect_ignore_glob: list[str] = [\"a*\"]\n".to_owned(),
            "pytest_plugins = [\"helper\"]\n".to_owned(),
            "from helper import pytest_collection_modifyitems\n".to_owned(),
            "from helper import quiet as pytest_collection_modifyitems\n".to_owned(),
            "from helper import *\n".to_owned(),
        ] {
            let with = format!("{fixture}{more}");
            assert!(differ(pytest_hooks(fixture), pytest_hooks(&with)), "{more}");
            assert!(!differ(pytest_hooks(&with), pytest_hooks(&format!("{with}\nONE = 1\n"))), "{more}");
        }
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
