//! pyproject.toml: PEP 621, PEP 735, the build system, and what Poetry, uv, PDM and Hatch add.

use toml::{Table, Value};

use super::{
    Manifest, Place,
    place::origin,
    python,
    tables::{self, all_strings, strings, table, table_at, text},
};

pub(super) fn parse(source: &str, place: &Place) -> Result<Manifest, String> {
    let root = tables::toml(source)?;
    let project = table(&root, "project")?;
    let mut found = Manifest::default();
    let mut lists = vec![
        strings(project, "dependencies")?,
        strings(table(&root, "build-system")?, "requires")?,
        strings(table_at(&root, &["tool", "uv"])?, "dev-dependencies")?,
        strings(table_at(&root, &["tool", "uv"])?, "override-dependencies")?,
    ];
    let groups: [&[&str]; 2] = [&["project", "optional-dependencies"], &["tool", "pdm", "dev-dependencies"]];
    for group in groups {
        for (name, value) in table_at(&root, group)? {
            lists.push(all_strings(value, name)?);
        }
    }
    for (name, value) in table_at(&root, &["tool", "hatch", "envs"])? {
        let Value::Table(env) = value else { return Err(format!("`tool.hatch.envs.{name}` is not a table")) };
        lists.push(strings(env, "dependencies")?);
        lists.push(strings(env, "extra-dependencies")?);
    }
    for (name, value) in table(&root, "dependency-groups")? {
        lists.push(group(name, value)?);
    }
    for text in lists.into_iter().flatten() {
        python::requirement(text, place, &mut found)?;
    }
    poetry(table_at(&root, &["tool", "poetry"])?, place, &mut found)?;
    sources(table_at(&root, &["tool", "uv", "sources"])?, place, &mut found)?;
    indexes(&root, &mut found)?;
    // `name[extra]` of the project itself.
    if let Some(own) = text(project, "name")? {
        let own = python::key(own);
        found.needs.retain(|dependency, _| dependency.key != own || dependency.origin.is_some());
    }
    Ok(found)
}

/// A group holds requirements and names of other groups.
fn group<'a>(name: &str, value: &'a Value) -> Result<Vec<&'a str>, String> {
    let wrong = || format!("`dependency-groups.{name}` is not a list of requirements");
    let Value::Array(entries) = value else { return Err(wrong()) };
    let mut list = Vec::new();
    for entry in entries {
        match entry {
            Value::String(text) => list.push(text.as_str()),
            Value::Table(other) if other.len() == 1 && other.contains_key("include-group") => {}
            _ => return Err(wrong()),
        }
    }
    Ok(list)
}

fn poetry(poetry: &Table, place: &Place, found: &mut Manifest) -> Result<(), String> {
    let mut all = vec![table(poetry, "dependencies")?, table(poetry, "dev-dependencies")?];
    for (name, value) in table(poetry, "group")? {
        let Value::Table(group) = value else { return Err(format!("`tool.poetry.group.{name}` is not a table")) };
        all.push(table(group, "dependencies")?);
    }
    for (name, value) in all.into_iter().flatten().filter(|(name, _)| *name != "python") {
        match value {
            Value::String(_) => found.need(python::key(name), name, None),
            Value::Table(how) => poetry_one(name, how, place, found)?,
            // One for each of several markers.
            Value::Array(ways) => {
                for how in ways {
                    let Value::Table(how) = how else { return Err(format!("`{name}` is not a dependency of Poetry")) };
                    poetry_one(name, how, place, found)?;
                }
            }
            _ => return Err(format!("`{name}` is not a dependency of Poetry")),
        }
    }
    Ok(())
}

fn poetry_one(name: &str, how: &Table, place: &Place, found: &mut Manifest) -> Result<(), String> {
    for key in ["git", "url", "path", "file"] {
        if let Some(at) = text(how, key)? {
            python::located(name, at, place, found);
            return Ok(());
        }
    }
    found.need(python::key(name), name, text(how, "source")?.map(|source| format!("the source {source}")));
    Ok(())
}

/// `tool.uv.sources` says where packages come from that are named elsewhere.
fn sources(table: &Table, place: &Place, found: &mut Manifest) -> Result<(), String> {
    for (name, value) in table {
        let ways: Vec<&Table> = match value {
            Value::Table(how) => vec![how],
            Value::Array(ways) => ways.iter().filter_map(Value::as_table).collect(),
            _ => return Err(format!("`tool.uv.sources.{name}` is not a table")),
        };
        let key = python::key(name);
        let whole = ways.iter().all(|how| !how.contains_key("marker"));
        for how in ways {
            let mut at = None;
            for key in ["git", "url", "path"] {
                at = at.or(text(how, key)?);
            }
            if let Some(at) = at {
                python::located(name, at, place, found);
            } else if let Some(index) = text(how, "index")? {
                found.need(key.clone(), name, Some(format!("the index {index}")));
            }
        }
        // What is named elsewhere comes from here, unless only in some environments.
        if whole {
            found.needs.retain(|dependency, _| dependency.key != key || dependency.origin.is_some());
        }
    }
    Ok(())
}

/// Places that packages may come from.
fn indexes(root: &Table, found: &mut Manifest) -> Result<(), String> {
    let lists = [(table_at(root, &["tool", "uv"])?, "index"), (table_at(root, &["tool", "poetry"])?, "source")];
    for (parent, key) in lists {
        for entry in parent.get(key).and_then(Value::as_array).into_iter().flatten() {
            if let Some(url) = entry.get("url").and_then(Value::as_str) {
                found.need_source("package index", &origin(url));
            }
        }
    }
    Ok(())
}
