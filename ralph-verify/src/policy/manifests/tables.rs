//! Walking tables of TOML and JSON: what is not of the expected kind is an error that names it.

use std::sync::LazyLock;

use serde_json::Value as Json;
use toml::{Table, Value};

/// Reads TOML.
pub(super) fn toml(text: &str) -> Result<Table, String> {
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        format!("line {line}: {}", error.message())
    })
}

/// Reads a JSON object.
pub(super) fn json(text: &str) -> Result<serde_json::Map<String, Json>, String> {
    match serde_json::from_str(text) {
        Ok(Json::Object(map)) => Ok(map),
        Ok(_) => Err("it is not an object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The table called `key`; empty where there is none.
pub(super) fn table<'a>(parent: &'a Table, key: &str) -> Result<&'a Table, String> {
    static NONE: LazyLock<Table> = LazyLock::new(Table::new);
    match parent.get(key) {
        None => Ok(&NONE),
        Some(Value::Table(table)) => Ok(table),
        Some(_) => Err(format!("`{key}` is not a table")),
    }
}

/// The table at the end of `keys`.
pub(super) fn table_at<'a>(root: &'a Table, keys: &[&str]) -> Result<&'a Table, String> {
    keys.iter().try_fold(root, |parent, key| table(parent, key))
}

/// The strings of the array called `key`; none where there is no such key.
pub(super) fn strings<'a>(parent: &'a Table, key: &str) -> Result<Vec<&'a str>, String> {
    match parent.get(key) {
        None => Ok(Vec::new()),
        Some(value) => all_strings(value, key),
    }
}

/// The strings of an array.
pub(super) fn all_strings<'a>(value: &'a Value, key: &str) -> Result<Vec<&'a str>, String> {
    let wrong = || format!("`{key}` is not a list of strings");
    let Value::Array(values) = value else { return Err(wrong()) };
    values.iter().map(|value| value.as_str().ok_or_else(wrong)).collect()
}

/// The text called `key`, where there is one.
pub(super) fn text<'a>(parent: &'a Table, key: &str) -> Result<Option<&'a str>, String> {
    match parent.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` is not a string")),
    }
}
