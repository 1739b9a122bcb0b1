//! Layers of settings, the strongest first: flags, environment, project file, user file, defaults.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy as _;
use toml::Table;

use super::Settings;
use crate::error::CliError;

/// The prefix of variables that set a value: `RALPH_SET_BUDGET__ITERATIONS=5`.
const PREFIX: &str = "RALPH_SET_";

/// The settings, and where each value that is set comes from.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    /// By key, such as `budget.iterations`.
    pub(crate) values: BTreeMap<String, Value>,
}

/// A value that somebody set.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// As TOML has it.
    pub(crate) text: String,
    /// Who set it.
    pub(crate) source: String,
}

impl Loaded {
    /// Every value that is set, by key, and every other with its default.
    pub(crate) fn rows(&self) -> BTreeMap<String, Value> {
        let mut rows: BTreeMap<String, Value> = super::DEFAULTS
            .iter()
            .map(|(key, text)| ((*key).to_owned(), Value { text: (*text).to_owned(), source: "default".to_owned() }))
            .collect();
        rows.extend(self.values.clone());
        rows
    }
}

impl Value {
    /// The value itself, for machines; nothing where it is unset.
    pub(crate) fn json(&self) -> serde_json::Value {
        let table = format!("value = {}", self.text).parse::<Table>();
        let value = table.ok().and_then(|mut table| table.remove("value"));
        value.and_then(|value| serde_json::to_value(value).ok()).unwrap_or_default()
    }
}

struct Layer {
    source: String,
    table: Table,
}

/// Reads all layers. `flags` are `key=value`, the last one wins.
pub(crate) fn load(project: &Path, flags: &[String]) -> Result<Loaded, CliError> {
    let mut layers = Vec::new();
    if let Some(user) = user_file() {
        layers.extend(file(&user)?);
    }
    layers.extend(file(project)?);
    layers.extend(environment(env::vars())?);
    for flag in flags {
        layers.push(one(&format!("--set {flag}"), flag)?);
    }
    let (mut merged, mut values) = (Table::new(), BTreeMap::new());
    for layer in layers {
        merge(&mut merged, &layer.table, "", &layer.source, &mut values);
    }
    let settings: Settings = merged.try_into().map_err(|error: toml::de::Error| {
        CliError::usage(format!("the settings do not fit together: {}", error.message()))
    })?;
    settings.check().map_err(CliError::usage)?;
    Ok(Loaded { settings, values })
}

/// `ralph/ralph.toml` in the user's configuration folder.
fn user_file() -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    Some(folders.config_dir().join("ralph").join("ralph.toml"))
}

fn file(path: &Path) -> Result<Option<Layer>, CliError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CliError::usage(format!("{}: {error}", path.display()))),
    };
    // Checked alone, so that an error names the file and the line.
    if let Err(error) = toml::from_str::<Settings>(&text) {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        return Err(CliError::usage(format!("{}:{line}: {}", path.display(), explain(error.message()))));
    }
    let table = text.parse().map_err(|error| CliError::usage(format!("{}: {error}", path.display())))?;
    Ok(Some(Layer { source: path.display().to_string(), table }))
}

fn environment(variables: impl Iterator<Item = (String, String)>) -> Result<Vec<Layer>, CliError> {
    let mut layers = Vec::new();
    for (name, value) in variables {
        if let Some(key) = name.strip_prefix(PREFIX) {
            let key = key.to_ascii_lowercase().replace("__", ".");
            layers.push(one(&name, &format!("{key}={value}"))?);
        }
    }
    layers.sort_by(|a, b| a.source.cmp(&b.source));
    Ok(layers)
}

/// A layer of one value: `key=value`, the value as TOML or, where that is none, as plain text.
fn one(source: &str, assignment: &str) -> Result<Layer, CliError> {
    let refuse = |why: &str| CliError::usage(format!("{source}: {why}"));
    let (key, value) = assignment.split_once('=').ok_or_else(|| refuse("KEY=VALUE is needed"))?;
    let key = key.trim();
    let parse = |value: &str| format!("{key} = {value}").parse::<Table>();
    let quoted = toml::Value::String(value.to_owned()).to_string();
    let fits = |table: &Table| table.clone().try_into::<Settings>().map(drop);
    let table = match parse(value) {
        Ok(table) if fits(&table).is_ok() => table,
        // `8h` is no TOML, and `--cost-usd 5` may be meant as a text: what fits is taken.
        _ => parse(&quoted).map_err(|_| refuse(&format!("`{key}` is not the name of a setting")))?,
    };
    fits(&table).map_err(|error| refuse(&explain(error.message())))?;
    Ok(Layer { source: source.to_owned(), table })
}

/// The message of an error, with a suggestion where a name is unknown.
fn explain(message: &str) -> String {
    let message = message.trim();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    let (true, Some((wrong, known))) = (unknown, quoted.split_first()) else { return message.to_owned() };
    let nearest = known.iter().max_by(|a, b| strsim::jaro_winkler(a, wrong).total_cmp(&strsim::jaro_winkler(b, wrong)));
    match nearest {
        Some(nearest) if strsim::jaro_winkler(nearest, wrong) > 0.7 => {
            format!("`{wrong}` is not known here; did you mean `{nearest}`?")
        }
        _ => format!("`{wrong}` is not known here; there are {}", known.join(", ")),
    }
}

fn merge(into: &mut Table, from: &Table, prefix: &str, source: &str, values: &mut BTreeMap<String, Value>) {
    for (name, value) in from {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        if let toml::Value::Table(inner) = value {
            let entry = into.entry(name.clone()).or_insert_with(|| toml::Value::Table(Table::new()));
            if let toml::Value::Table(entry) = entry {
                merge(entry, inner, &key, source, values);
            }
        } else {
            into.insert(name.clone(), value.clone());
            values.insert(key, Value { text: value.to_string(), source: source.to_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_with(text: &str, flags: &[&str]) -> Result<Loaded, CliError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ralph.toml");
        fs::write(&path, text).unwrap();
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        load(&path, &flags)
    }

    #[test]
    fn flags_win_over_the_file() {
        let loaded = load_with("[budget]\niterations = 10\ntime = \"2h\"\n", &["budget.iterations=5"]).unwrap();
        assert_eq!(loaded.settings.budget().iterations, 5);
        assert_eq!(loaded.settings.budget().time.as_secs(), 7200);
        assert_eq!(loaded.values["budget.iterations"].source, "--set budget.iterations=5");
        assert!(loaded.values["budget.time"].source.ends_with("ralph.toml"));
        assert!(!loaded.values.contains_key("budget.sessions"));
    }

    #[test]
    fn the_environment_names_keys() {
        let layers = environment(
            [("RALPH_SET_BUDGET__TIME".to_owned(), "90m".to_owned()), ("OTHER".to_owned(), "x".to_owned())].into_iter(),
        )
        .unwrap();
        assert_eq!(layers.len(), 1);
        assert_eq!(layers[0].table.to_string().trim(), "[budget]\ntime = \"90m\"");
    }

    #[test]
    fn what_is_not_known_is_an_error_with_a_place_and_a_suggestion() {
        for (text, flags, expected) in [
            (
                "[budget]\n\niteratons = 3\n",
                [].as_slice(),
                "ralph.toml:3: `iteratons` is not known here; did you mean `iterations`?",
            ),
            ("[agent]\nbackend = \"clade\"\n", &[], "ralph.toml:2: `clade` is not known here; did you mean `claude`?"),
            ("[budgets]\n", &[], "`budgets` is not known here; did you mean `budget`?"),
            ("[budget]\ntime = \"soon\"\n", &[], "ralph.toml:2: `soon` is not a time"),
            ("[budget\n", &[], "ralph.toml:1:"),
            (
                "",
                &["budget.iteration=5"],
                "--set budget.iteration=5: `iteration` is not known here; did you mean `iterations`?",
            ),
            ("", &["budget.iterations=many"], "--set budget.iterations=many: invalid type"),
            ("", &["budget.iterations=0"], "`budget.iterations` must be at least 1"),
            ("[agent]\nbackend = \"command\"\n", &[], "needs `agent.command"),
        ] {
            let error = load_with(text, flags).unwrap_err();
            assert!(error.to_string().contains(expected), "{text:?} {flags:?}: {error}");
            assert_eq!(error.code, 2);
        }
    }

    #[test]
    fn money_is_read_exactly() {
        for (text, micros) in [("20", 20_000_000), ("0.1", 100_000), ("\"12.50\"", 12_500_000)] {
            let loaded = load_with(&format!("[budget]\ncost_usd = {text}\n"), &[]).unwrap();
            assert_eq!(loaded.settings.budget().cost.unwrap().micros(), micros);
        }
        assert!(load_with("[budget]\ncost_usd = -1\n", &[]).is_err());
    }
}
