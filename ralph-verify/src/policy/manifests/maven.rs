//! pom.xml.

use std::collections::BTreeMap;

use roxmltree::{Document, Node};

use super::Manifest;

/// The group of plugins that do not say theirs.
const PLUGINS: &str = "org.apache.maven.plugins";

pub(super) fn parse(source: &str) -> Result<Manifest, String> {
    let document = Document::parse(source).map_err(|error| error.to_string())?;
    let project = document.root_element();
    if project.tag_name().name() != "project" {
        return Err("it is not a project".to_owned());
    }
    let values = values(project);
    let mut found = Manifest::default();
    for node in project.descendants().filter(Node::is_element) {
        match node.tag_name().name() {
            "dependency" | "extension" | "parent" | "annotationProcessorPath" | "path" => {
                coordinate(node, None, &values, &mut found);
            }
            "plugin" => coordinate(node, Some(PLUGINS), &values, &mut found),
            "repository" | "pluginRepository" => {
                if let Some(url) = child(node, "url") {
                    found.need_source("repository", &filled(url, &values));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

fn coordinate(node: Node<'_, '_>, group: Option<&str>, values: &BTreeMap<String, String>, found: &mut Manifest) {
    let Some(artifact) = child(node, "artifactId") else { return };
    let Some(group) = child(node, "groupId").or_else(|| group.map(str::to_owned)) else { return };
    let name = format!("{}:{}", filled(group, values), filled(artifact, values));
    found.need(name.clone(), &name, None);
}

/// The text of the child called `name`.
fn child(node: Node<'_, '_>, name: &str) -> Option<String> {
    node.children().find(|child| child.is_element() && child.tag_name().name() == name).map(text)
}

/// All of a node's text: comments may stand in between.
fn text(node: Node<'_, '_>) -> String {
    let texts: String = node.children().filter_map(|child| child.text().filter(|_| child.is_text())).collect();
    texts.trim().to_owned()
}

/// What `${…}` can stand for in this file.
fn values(project: Node<'_, '_>) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let parent = project.children().find(|child| child.tag_name().name() == "parent");
    for (of, name) in [(parent, "groupId"), (Some(project), "groupId"), (Some(project), "artifactId")] {
        if let Some(text) = of.and_then(|of| child(of, name)) {
            values.insert(format!("pom.{name}"), text.clone());
            values.insert(format!("project.{name}"), text);
        }
    }
    for node in project.descendants().filter(|node| node.tag_name().name() == "properties") {
        for property in node.children().filter(Node::is_element) {
            let (name, text) = (property.tag_name().name().to_owned(), text(property));
            match values.get_mut(&name) {
                // Profiles may differ: then it stands for any of them.
                Some(known) if *known != text => *known = format!("{known}|{text}"),
                Some(_) => {}
                None => {
                    values.insert(name, text);
                }
            }
        }
    }
    values
}

/// `text` with its placeholders filled in, as far as they are known here.
fn filled(mut text: String, values: &BTreeMap<String, String>) -> String {
    // Values may hold placeholders themselves, and may run in a circle.
    for _ in 0..5 {
        let Some((start, rest)) = text.split_once("${") else { break };
        let Some((name, end)) = rest.split_once('}') else { break };
        let Some(value) = values.get(name) else { break };
        text = format!("{start}{value}{end}");
        if text.len() > 1000 {
            break;
        }
    }
    text
}
