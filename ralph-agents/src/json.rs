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
        let list: Vec<&'a RawValue> = self.raw(key).and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default();
        list.into_iter().filter_map(|raw| Self::read(raw.get())).collect()
    }

    /// A field as it is written; `None` for `null`.
    pub(crate) fn raw(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).map(|raw| raw.get()).filter(|raw| *raw != "null")
    }

    /// The names of all fields, in any order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// All fields that are objects themselves.
    pub(crate) fn values(&self) -> impl Iterator<Item = Self> {
        self.0.values().filter_map(|raw| Self::read(raw.get()))
    }
}

/// The last `max` bytes of `text`, or a little less, so that no character is cut.
pub(crate) fn end_of(mut text: String, max: usize) -> String {
    let mut from = text.len().saturating_sub(max);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    if from > 0 {
        text.drain(..from);
        text.shrink_to_fit();
    }
    text
}

/// `text` on one line, cut to at most `max` characters.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        // Enough, whatever the width of its characters.
        if line.len() > 4 * max {
            break;
        }
    }
    if line.chars().count() > max {
        line = line.chars().take(max.saturating_sub(1)).collect();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_as_expected_is_unknown() {
        let object = Object::read(r#"{"a": 1, "b": null, "c": {"d": "x"}, "a": 2}"#).unwrap();
        assert_eq!(object.get::<u8>("a"), Some(2));
        assert_eq!(object.text("a"), None);
        assert_eq!(object.raw("b"), None);
        assert_eq!(object.object("c").unwrap().text("d").as_deref(), Some("x"));
        assert!(object.objects("c").is_empty());
        assert!(Object::read("[1]").is_none() && Object::read("{").is_none());
    }

    #[test]
    fn a_line_is_one_line_and_no_longer_than_it_may_be() {
        assert_eq!(one_line(" a\n\tb  c ", 10), "a b c");
        assert_eq!(one_line("ääää öööö", 8), "ääää öö…");
        assert_eq!(one_line(&"x".repeat(100), 5).chars().count(), 5);
        assert_eq!(one_line("", 5), "");
    }

    #[test]
    fn the_end_is_cut_between_characters() {
        assert_eq!(end_of("aäb".into(), 2), "b");
        assert_eq!(end_of("aäb".into(), 3), "äb");
        assert_eq!(end_of("ab".into(), 9), "ab");
    }
}
