//! build.gradle, build.gradle.kts and other Gradle scripts: code, of which coordinates that are written out can be read.

use super::{
    Manifest, Place,
    catalog::accessor,
    code::{self, Language, Token},
    place::is_address,
};

/// Calls in a `dependencies` block whose arguments name nothing from outside.
const LOCAL: &[&str] = &["project", "files", "fileTree", "because", "exclude", "gradleApi", "localGroovy", "projects"];

/// Words before a value that are no call.
const KEYWORDS: &[&str] =
    &["def", "val", "var", "if", "else", "for", "while", "return", "in", "is", "as", "true", "false", "null"];

pub(super) fn parse(source: &str, place: &Place) -> Result<Manifest, String> {
    let language = if place.name().to_lowercase().ends_with(".kts") { Language::Kotlin } else { Language::Groovy };
    let tokens = code::read(source, language)?;
    let mut found = Manifest::default();
    // The call before each open bracket.
    let mut open: Vec<(char, String)> = Vec::new();
    // The word that the present statement begins with.
    let mut head = String::new();
    let mut fresh = true;
    for (index, token) in tokens.iter().enumerate() {
        match token {
            Token::Line | Token::Mark(';') => fresh = true,
            Token::Mark(mark @ ('{' | '(' | '[')) => {
                let call = if *mark == '{' && head_of_line(&tokens, index) {
                    head.clone()
                } else {
                    call_before(&tokens, index)
                };
                open.push((*mark, call));
                fresh = *mark == '{';
            }
            Token::Mark('}' | ')' | ']') => {
                open.pop();
                fresh = false;
            }
            Token::Mark(_) => {}
            Token::Word(word) => {
                if fresh {
                    head.clone_from(word);
                    fresh = false;
                } else if within(&open, "dependencies") && !is_local(&open, &head)
                    || within(&open, "plugins") && head == "alias"
                {
                    chain(&tokens, index, &mut found);
                }
            }
            Token::Text { value, open: computed } => {
                let scope = Scope { open: &open, head: &head, tokens: &tokens, index };
                scope.text(value, *computed, &mut found);
                fresh = false;
            }
        }
    }
    Ok(found)
}

/// The word that is called with the bracket at `index`.
fn call_before(tokens: &[Token], index: usize) -> String {
    let before = tokens[..index].iter().rev().find(|token| **token != Token::Line);
    before.and_then(Token::word).unwrap_or_default().to_owned()
}

/// Whether the bracket at `index` follows arguments: `implementation("x") {`.
fn head_of_line(tokens: &[Token], index: usize) -> bool {
    index > 0 && tokens[index - 1].word().is_none()
}

fn within(open: &[(char, String)], call: &str) -> bool {
    open.iter().any(|(_, name)| name == call)
}

fn is_local(open: &[(char, String)], head: &str) -> bool {
    LOCAL.contains(&head) || open.iter().any(|(_, name)| LOCAL.contains(&name.as_str()))
}

/// `libs.x.y` where a dependency is expected.
fn chain(tokens: &[Token], index: usize, found: &mut Manifest) {
    let Some(first) = tokens[index].word() else { return };
    let continues = index > 0 && tokens[index - 1].is('.');
    if continues || LOCAL.contains(&first) || KEYWORDS.contains(&first) || first.starts_with(|c: char| c.is_numeric()) {
        return;
    }
    let mut name = first.to_owned();
    let mut at = index + 1;
    while tokens.get(at).is_some_and(|token| token.is('.'))
        && let Some(word) = tokens.get(at + 1).and_then(Token::word)
    {
        name.push('.');
        name.push_str(word);
        at += 2;
    }
    let next = tokens.get(at);
    // A call, a key or the left side of an assignment.
    let called = next.is_some_and(|next| matches!(next, Token::Mark('(' | '{' | ':' | '=') | Token::Text { .. }));
    let name = name.trim_end_matches(".get");
    if !called && name.contains('.') && !name.starts_with("project.") && !name.starts_with("rootProject.") {
        found.need(accessor(name), name, None);
    } else if !called && !name.contains('.') {
        // A variable: what is in it is seen where it is written out, in this file at least.
        let assigned = tokens.windows(2).any(|pair| pair[0].word() == Some(name) && pair[1].is('='));
        if !assigned && next.is_none_or(|next| matches!(next, Token::Line | Token::Mark(')' | ',' | '}'))) {
            found.need(accessor(name), name, None);
        }
    }
}

/// Where a text stands.
struct Scope<'a> {
    open: &'a [(char, String)],
    head: &'a str,
    tokens: &'a [Token],
    index: usize,
}

impl Scope<'_> {
    fn text(&self, value: &str, computed: bool, found: &mut Manifest) {
        let call = self.open.last().map_or("", |(_, call)| call.as_str());
        let calls = |name: &str| call == name || (self.head == name && !within(self.open, "dependencies"));
        if within(self.open, "plugins") || within(self.open, "pluginManagement") && calls("id") {
            self.plugin(value, computed, call, found);
        } else if (call == "from" || self.key() == Some("from")) && is_address(value) {
            found.need_source("script", value);
        } else if within(self.open, "repositories") {
            if is_address(value) {
                found.need_source("repository", value);
            }
        } else if within(self.open, "dependencies") {
            if !is_local(self.open, self.head) {
                self.dependency(value, computed, call, found);
            }
        } else if let Some(module) = coordinate(value).filter(|_| value.matches(':').count() >= 2) {
            // Written out somewhere else, for use below: `def libs = [x: "g:a:1"]`.
            take(&module, found);
        }
    }

    fn plugin(&self, value: &str, computed: bool, call: &str, found: &mut Manifest) {
        let id = match (call, self.head) {
            // `id("x") version "1"`: the version stands outside of the brackets.
            ("id", _) => value.to_owned(),
            ("kotlin", _) => format!("org.jetbrains.kotlin.{value}"),
            (_, "id") if self.tokens[..self.index].iter().rev().find_map(Token::word) == Some("id") => value.to_owned(),
            _ => return,
        };
        if computed {
            found.computed.push("a plugin's id".to_owned());
        } else if id.contains('.') {
            // Without a dot it is one that Gradle brings.
            found.need(format!("plugin {id}"), &format!("plugin {id}"), None);
        }
    }

    fn dependency(&self, value: &str, computed: bool, call: &str, found: &mut Manifest) {
        match self.key() {
            Some("group") => {
                let Some(name) = self.sibling("name") else {
                    found.computed.push(format!("what is taken from the group `{value}`"));
                    return;
                };
                take(&format!("{value}:{name}"), found);
            }
            Some("name") if self.sibling("group").is_none() => found.computed.push(format!("whose `{value}` is taken")),
            Some(_) => {}
            None if call == "kotlin" => take(&format!("org.jetbrains.kotlin:kotlin-{value}"), found),
            None if call == "npm" || call == "devNpm" => found.need(format!("npm {value}"), value, None),
            None => match coordinate(value) {
                Some(module) => take(&module, found),
                None if computed && !value.contains(' ') => found.computed.push(format!("`{value}`")),
                None => {}
            },
        }
    }

    /// The key that the text is the value of: `group: "x"`, `group = "x"`.
    fn key(&self) -> Option<&str> {
        let before = self.tokens.get(self.index.checked_sub(1)?)?;
        let is_key = before.is(':') || before.is('=');
        self.tokens.get(self.index.checked_sub(2)?)?.word().filter(|_| is_key)
    }

    /// The text with another key in the same call.
    fn sibling(&self, key: &str) -> Option<&str> {
        let start = self.tokens[..self.index].iter().rposition(|token| matches!(token, Token::Line | Token::Mark('(')));
        let near = &self.tokens[start.map_or(0, |at| at + 1)..];
        let end = near.iter().position(|token| matches!(token, Token::Mark(')' | ';'))).unwrap_or(near.len());
        near[..end].windows(3).find_map(|three| match three {
            [Token::Word(word), Token::Mark(':' | '='), Token::Text { value, open: false }] if word == key => {
                Some(value.as_str())
            }
            _ => None,
        })
    }
}

/// Takes in `group:artifact`. A version may be computed, a name not.
fn take(module: &str, found: &mut Manifest) {
    if module.contains('$') {
        found.computed.push(format!("`{module}`"));
    } else {
        found.need(module, module, None);
    }
}

/// `group:artifact` of a coordinate such as `com.example:thing:1.0@aar`.
fn coordinate(value: &str) -> Option<String> {
    if value.contains([' ', '/', '\n']) || value.starts_with(':') {
        return None;
    }
    let mut parts = value.splitn(3, ':');
    let (group, artifact) = (parts.next()?, parts.next()?);
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "._-${}()".contains(c));
    let letters = group.contains(|c: char| c.is_alphabetic());
    (is_name(group) && is_name(artifact) && letters).then(|| format!("{group}:{artifact}"))
}
