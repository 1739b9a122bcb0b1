//! Lenient reading of one JSON object: what is not there, or not of the expected kind, is simply unknown.

use std::collections::HashMap;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// The fields of an object, each still as text: a long one costs nothing until it is asked for.
#[derive(Debug)]
pub(crate) struct Object<'a>(HashMap<String, &'a RawValue>);

impl<'a> Object<'a> {
    /// Reads an object; `None` for anything else.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self)
    }

    /// A field as `T`, if it is there and is one.
    pub(crate) fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.raw(key)?).ok()
    }

    /// A field that is a text.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.get(key)
    }

    /// A field that is an object itself.
    pub(crate) fn object(&self, key: &str) -> Option<Self> {
        Self::read(self.raw(key)?)
    }

    /// A field that is a list of objects; what is no object in it is left out.
    pub(crate) fn objects(&self, key: &str) -> Vec<Self> {
        let list: Vec<&'a RawValue> =
            self.raw(key).and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default();
        list.into_iter().filter_map(|raw| Self::read(raw.get())).collect()
    }

    /// A field as it is written; `None` for `null`.
    pub(crate) fn raw(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).map(|raw| raw.get()).filter(|raw| *raw != "null")
    }

    /// All fields that are objects themselves.
    pub(crate) fn values(&self) -> impl Iterator<Item = Self> {
        self.0.values().filter_map(|raw| Self::read(raw.get()))
    }
}

/// `text` on one line, cut to at most `max` characters.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() >= max {
            let room = max.saturating_sub(line.chars().count() + 2);
            line.push(' ');
            line.extend(word.chars().take(room));
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line.trim_start().to_owned()
}
