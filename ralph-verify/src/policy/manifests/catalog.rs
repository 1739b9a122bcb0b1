//! Version catalogs of Gradle: gradle/libs.versions.toml.

use toml::Value;

use super::{
    Dependency, Manifest, Place,
    tables::{self, table, text},
};

pub(super) fn parse(source: &str, place: &Place) -> Result<Manifest, String> {
    let root = tables::toml(source)?;
    let mut found = Manifest::default();
    let catalog = place.name().trim_end_matches(".versions.toml");
    for (alias, value) in table(&root, "libraries")? {
        let module = match value {
            Value::String(notation) => notation.rsplitn(2, ':').last().unwrap_or(notation).to_owned(),
            Value::Table(library) => {
                match (text(library, "module")?, text(library, "group")?, text(library, "name")?) {
                    (Some(module), _, _) => module.to_owned(),
                    (None, Some(group), Some(name)) => format!("{group}:{name}"),
                    _ => return Err(format!("the library `{alias}` has no module")),
                }
            }
            _ => return Err(format!("the library `{alias}` is neither a string nor a table")),
        };
        found.need(module.clone(), &module, None);
        found.offers.insert(Dependency::new(accessor(&format!("{catalog}.{alias}"))));
    }
    for (alias, value) in table(&root, "plugins")? {
        let id = match value {
            Value::String(notation) => notation.split(':').next().unwrap_or(notation),
            Value::Table(plugin) => text(plugin, "id")?.ok_or_else(|| format!("the plugin `{alias}` has no id"))?,
            _ => return Err(format!("the plugin `{alias}` is neither a string nor a table")),
        };
        found.need(format!("plugin {id}"), &format!("plugin {id}"), None);
        found.offers.insert(Dependency::new(accessor(&format!("{catalog}.plugins.{alias}"))));
    }
    for alias in table(&root, "bundles")?.keys() {
        found.offers.insert(Dependency::new(accessor(&format!("{catalog}.bundles.{alias}"))));
    }
    Ok(found)
}

/// The name by which build scripts call an entry: `-` and `_` become dots.
pub(super) fn accessor(name: &str) -> String {
    name.to_lowercase().replace(['-', '_'], ".")
}
