//! package.json.

use serde_json::{Map, Value};

use super::{
    Manifest, Place,
    place::{is_address, origin},
    tables,
};

/// The tables that hold dependencies.
const TABLES: &[&str] = &["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];

/// Short names of hosts.
const HOSTS: &[(&str, &str)] = &[
    ("github:", "github.com"),
    ("gitlab:", "gitlab.com"),
    ("bitbucket:", "bitbucket.org"),
    ("gist:", "gist.github.com"),
];

pub(super) fn parse(source: &str, place: &Place) -> Result<Manifest, String> {
    let root = tables::json(source)?;
    let mut found = Manifest::default();
    for key in TABLES {
        for (name, wanted) in object(&root, key)? {
            let Value::String(wanted) = wanted else { return Err(format!("`{key}.{name}` is not a string")) };
            dependency(name, wanted, place, &mut found);
        }
    }
    // These pin what others bring along, and bring something themselves only where they name it or its place.
    let none = Map::new();
    let pnpm = match root.get("pnpm") {
        Some(Value::Object(pnpm)) => pnpm,
        _ => &none,
    };
    for (parent, key) in [(&root, "overrides"), (&root, "resolutions"), (pnpm, "overrides")] {
        overrides(object(parent, key)?, place, &mut found)?;
    }
    Ok(found)
}

fn object<'a>(
    parent: &'a Map<String, Value>,
    key: &str,
) -> Result<impl Iterator<Item = (&'a String, &'a Value)>, String> {
    match parent.get(key) {
        None | Some(Value::Null) => Ok(None.into_iter().flatten()),
        Some(Value::Object(map)) => Ok(Some(map).into_iter().flatten()),
        Some(_) => Err(format!("`{key}` is not an object")),
    }
}

fn overrides<'a>(
    entries: impl Iterator<Item = (&'a String, &'a Value)>,
    place: &Place,
    found: &mut Manifest,
) -> Result<(), String> {
    for (name, value) in entries {
        match value {
            Value::String(wanted) => {
                let brings = wanted.starts_with("npm:") || elsewhere(wanted, place).is_some();
                // The key may say whose dependency it is (`a>b`, `a/b`) and which version (`b@1`).
                let last = name.rsplit('>').next().unwrap_or(name);
                if brings && !last.is_empty() {
                    dependency(package(last), wanted, place, found);
                }
            }
            Value::Object(inner) => overrides(inner.iter(), place, found)?,
            _ => return Err(format!("the override `{name}` is neither a string nor an object")),
        }
    }
    Ok(())
}

fn dependency(name: &str, wanted: &str, place: &Place, found: &mut Manifest) {
    let wanted = wanted.trim();
    if let Some(path) = local(wanted) {
        if let Some(beyond) = place.beyond(path) {
            found.need(key(name), name, Some(beyond));
        }
        return;
    }
    if wanted.starts_with("workspace:") || wanted.starts_with('$') {
        return;
    }
    // Another name for a package: `npm:left-pad@1`. Without a name it is only a version.
    let alias = ["npm:", "jsr:", "patch:"].iter().find_map(|prefix| wanted.strip_prefix(prefix));
    if let Some(alias) = alias {
        let real = package(alias);
        let real = if real.starts_with(|c: char| c.is_ascii_alphabetic() || c == '@') { real } else { name };
        let from = wanted.starts_with("jsr:").then(|| "jsr.io".to_owned());
        found.need(key(real), real, from);
        return;
    }
    found.need(key(name), name, elsewhere(wanted, place));
}

/// The path that a dependency is taken from.
fn local(wanted: &str) -> Option<&str> {
    let prefixed = ["file:", "link:", "portal:"].iter().find_map(|prefix| wanted.strip_prefix(prefix));
    // `file:///x` and `file:/x` both leave the repository.
    prefixed
        .or(Some(wanted)
            .filter(|path| path.starts_with(['.', '/', '~']) && !path.starts_with("~>") && path.contains('/')))
}

/// Where a dependency comes from, if not from the registry.
fn elsewhere(wanted: &str, place: &Place) -> Option<String> {
    if let Some(path) = local(wanted) {
        return place.beyond(path);
    }
    if let Some((prefix, host)) = HOSTS.iter().find(|(prefix, _)| wanted.starts_with(prefix)) {
        let repository = wanted[prefix.len()..].split('#').next().unwrap_or_default();
        return Some(origin(&format!("https://{host}/{repository}")));
    }
    if is_address(wanted) {
        return Some(origin(wanted));
    }
    // `owner/name` is a repository at GitHub.
    let repository = wanted.split('#').next().unwrap_or_default();
    let is_short = repository.matches('/').count() == 1
        && !wanted.contains([' ', ':'])
        && !wanted.starts_with(['@', '^', '~', '>', '<', '=']);
    is_short.then(|| origin(&format!("https://github.com/{repository}")))
}

/// The name in `name@version`, where the name may begin with `@`.
fn package(spec: &str) -> &str {
    match spec.get(1..).and_then(|rest| rest.find('@')) {
        Some(at) => &spec[..=at],
        None => spec,
    }
}

fn key(name: &str) -> String {
    name.to_lowercase()
}
