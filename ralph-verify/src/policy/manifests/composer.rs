//! composer.json.

use serde_json::Value;

use super::{Manifest, Place, place::is_address, tables};

pub(super) fn parse(source: &str, place: &Place) -> Result<Manifest, String> {
    let root = tables::json(source)?;
    let mut found = Manifest::default();
    for key in ["require", "require-dev"] {
        let table = match root.get(key) {
            None | Some(Value::Null) => continue,
            Some(Value::Object(table)) => table,
            // PHP writes an empty object so.
            Some(Value::Array(list)) if list.is_empty() => continue,
            Some(_) => return Err(format!("`{key}` is not an object")),
        };
        for name in table.keys().filter(|name| !is_platform(name)) {
            found.need(name.to_lowercase(), name, None);
        }
    }
    let repositories = match root.get("repositories") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list.iter().collect(),
        Some(Value::Object(map)) => map.values().collect(),
        Some(_) => return Err("`repositories` is neither a list nor an object".to_owned()),
    };
    for repository in repositories {
        match repository.get("url").and_then(Value::as_str) {
            Some(url) if is_address(url) || place.resolve(url).is_none() => found.need_source("repository", url),
            Some(_) => {}
            // A package that is described in place.
            None => {
                let url = repository.pointer("/package/dist/url").or(repository.pointer("/package/source/url"));
                if let Some(url) = url.and_then(Value::as_str) {
                    found.need_source("package of", url);
                }
            }
        }
    }
    Ok(found)
}

/// What PHP itself brings: `php`, `ext-json`, `lib-curl`, `composer-plugin-api`.
fn is_platform(name: &str) -> bool {
    !name.contains('/')
}
