//! Cargo.toml.

use toml::{Table, Value};

use super::{
    Manifest, Place,
    place::origin,
    tables::{self, table, text},
};

/// The tables that hold dependencies; Cargo takes both spellings.
const TABLES: &[&str] =
    &["dependencies", "dev-dependencies", "dev_dependencies", "build-dependencies", "build_dependencies"];

pub(super) fn parse(source: &str, place: &Place) -> Result<Manifest, String> {
    let root = tables::toml(source)?;
    let mut found = Manifest::default();
    sections(&root, place, &mut found)?;
    for (target, value) in table(&root, "target")? {
        let Value::Table(target) = value else { return Err(format!("`target.{target}` is not a table")) };
        sections(target, place, &mut found)?;
    }
    dependencies(table(table(&root, "workspace")?, "dependencies")?, place, &mut found)?;
    // Both put something in the place of a known dependency.
    for (registry, value) in table(&root, "patch")? {
        let Value::Table(patches) = value else { return Err(format!("`patch.{registry}` is not a table")) };
        dependencies(patches, place, &mut found)?;
    }
    for (spec, value) in table(&root, "replace")? {
        // `name:1.0.0`, or `registry#name@1.0.0`.
        let name = spec.rsplit('#').next().unwrap_or(spec);
        let name = name.split([':', '@']).next().unwrap_or(name);
        dependency(name, value, place, &mut found)?;
    }
    Ok(found)
}

fn sections(parent: &Table, place: &Place, found: &mut Manifest) -> Result<(), String> {
    TABLES.iter().try_for_each(|key| dependencies(table(parent, key)?, place, found))
}

fn dependencies(table: &Table, place: &Place, found: &mut Manifest) -> Result<(), String> {
    table.iter().try_for_each(|(name, value)| dependency(name, value, place, found))
}

fn dependency(name: &str, value: &Value, place: &Place, found: &mut Manifest) -> Result<(), String> {
    let how = match value {
        Value::String(_) => {
            found.need(key(name), name, None);
            return Ok(());
        }
        Value::Table(how) => how,
        _ => return Err(format!("the dependency `{name}` is neither a version nor a table")),
    };
    // The workspace's own table says what it is.
    if how.get("workspace") == Some(&Value::Boolean(true)) {
        return Ok(());
    }
    let package = text(how, "package")?.unwrap_or(name);
    let from = if let Some(url) = text(how, "git")? {
        Some(origin(url))
    } else if let Some(path) = text(how, "path")? {
        match place.beyond(path) {
            None => return Ok(()),
            beyond => beyond,
        }
    } else {
        let index = text(how, "registry-index")?.map(origin);
        index.or(text(how, "registry")?.filter(|name| *name != "crates-io").map(|name| format!("the registry {name}")))
    };
    found.need(key(package), package, from);
    Ok(())
}

/// The registry keeps names apart that differ in more than case and dashes.
fn key(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}
