//! go.mod and go.work.

use super::{Manifest, Place};

/// Directives that bring nothing from outside.
const OTHERS: &[&str] = &["module", "go", "toolchain", "godebug", "exclude", "retract", "tool", "use", "ignore"];

pub(super) fn parse(source: &str, place: &Place) -> Result<Manifest, String> {
    let mut found = Manifest::default();
    let mut block: Option<String> = None;
    for (index, line) in source.lines().enumerate() {
        let words = words(line).map_err(|why| format!("line {}: {why}", index + 1))?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let result = match (block.as_deref(), words.as_slice()) {
            (_, []) => Ok(()),
            (Some(_), [")"]) => {
                block = None;
                Ok(())
            }
            (Some(directive), words) => take(directive, words, place, &mut found),
            (None, [directive, "("]) => {
                block = Some((*directive).to_owned());
                Ok(())
            }
            (None, [_, "(", ")"]) => Ok(()),
            (None, [directive, words @ ..]) => take(directive, words, place, &mut found),
        };
        result.map_err(|why| format!("line {}: {why}", index + 1))?;
    }
    match block {
        Some(directive) => Err(format!("the block of `{directive}` does not end")),
        None => Ok(found),
    }
}

fn take(directive: &str, words: &[&str], place: &Place, found: &mut Manifest) -> Result<(), String> {
    match (directive, words) {
        // One that is only needed indirectly counts too: nothing keeps code from using it.
        ("require", [path, _version]) => found.need(key(path), path, None),
        ("replace", words) => {
            let at = words.iter().position(|word| *word == "=>").ok_or("a `replace` without `=>`")?;
            match &words[at + 1..] {
                [path] if is_path(path) => {
                    if let Some(beyond) = place.beyond(path) {
                        found.need(key(words[0]), words[0], Some(beyond));
                    }
                }
                [path, _version] => found.need(key(path), path, None),
                _ => return Err("a `replace` with neither a path nor a version".to_owned()),
            }
        }
        (directive, _) if OTHERS.contains(&directive) => {}
        (directive, _) => return Err(format!("`{directive}` is not understood")),
    }
    Ok(())
}

fn is_path(word: &str) -> bool {
    word.starts_with(['.', '/', '\\', '~']) || word.get(1..2) == Some(":")
}

/// The words of a line, without its comment. Parentheses are words.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '/' if rest.starts_with("//") => break,
            '"' | '`' => rest[1..].find(first).ok_or("a string does not end")? + 2,
            '(' | ')' => 1,
            _ => word_end(rest),
        };
        let word = rest[..end].trim_matches(['"', '`']);
        words.push(word.to_owned());
        rest = rest[end..].trim_start();
    }
    if line.contains("/*") {
        return Err("a comment of a kind that does not belong here".to_owned());
    }
    Ok(words)
}

fn word_end(rest: &str) -> usize {
    let stop = rest.find(|c: char| c.is_whitespace() || "()\"`".contains(c)).unwrap_or(rest.len());
    rest.find("//").filter(|at| *at > 0).map_or(stop, |at| at.min(stop))
}

/// Another major version is the same module: `example.com/m/v2`, `gopkg.in/yaml.v3`.
fn key(path: &str) -> String {
    let is_version =
        |text: &str| text.strip_prefix('v').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let stem = match path.rsplit_once('/') {
        Some((stem, last)) if is_version(last) => stem,
        _ => path,
    };
    match stem.rsplit_once('.') {
        Some((start, last)) if stem.starts_with("gopkg.in/") && is_version(last) => start.to_owned(),
        _ => stem.to_owned(),
    }
}
