//! requirements.txt and its kin.

use super::{
    Manifest, Place,
    place::{self, is_address},
    python,
};

/// Options that say where packages come from.
const PLACES: &[&str] = &["-i", "--index-url", "--pypi-url", "--extra-index-url", "-f", "--find-links"];

/// Options with a file to read.
const FILES: &[&str] = &["-r", "--requirement", "-c", "--constraint"];

pub(super) fn parse(source: &str, place: &Place) -> Result<Manifest, String> {
    let mut found = Manifest::default();
    for (number, line) in lines(source) {
        take(&line, place, &mut found).map_err(|why| format!("line {number}: {why}"))?;
    }
    Ok(found)
}

/// Lines without comments, put together where they are continued; with their numbers.
fn lines(source: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, line) in source.lines().enumerate() {
        let (number, mut text) = open.take().unwrap_or((index + 1, String::new()));
        // A comment line in the middle of a continued line ends it, as pip has it.
        let comment = line.trim_start().starts_with('#');
        match line.strip_suffix('\\').filter(|_| !comment) {
            Some(start) => {
                text.push_str(start);
                open = Some((number, text));
            }
            None => {
                if !comment {
                    text.push_str(line);
                }
                lines.push((number, without_comment(&text)));
            }
        }
    }
    lines.extend(open.map(|(number, text)| (number, without_comment(&text))));
    lines.retain(|(_, line)| !line.is_empty());
    lines
}

/// A comment begins the line or stands behind white space.
fn without_comment(line: &str) -> String {
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        if c == '#' && before.is_whitespace() {
            return line[..at].trim().to_owned();
        }
        before = c;
    }
    line.trim().to_owned()
}

fn take(line: &str, place: &Place, found: &mut Manifest) -> Result<(), String> {
    if !line.starts_with('-') {
        // Options of one requirement: `--hash=…`, `--global-option=…`.
        let requirement = line.find(" --").map_or(line, |at| &line[..at]).trim();
        return package(requirement, place, found);
    }
    let (option, value) = option(line);
    match option {
        option if FILES.contains(&option) => match place.resolve(value).filter(|_| !is_address(value)) {
            Some(path) => found.includes.push(path),
            None => found.need_source("requirements of", value),
        },
        "-e" | "--editable" => package(value, place, found)?,
        option if PLACES.contains(&option) && (is_address(value) || place.resolve(value).is_none()) => {
            found.need_source("package index", value);
        }
        // `--no-index`, `--pre`, `--trusted-host` and the like name no package and no place.
        _ => {}
    }
    Ok(())
}

/// `--option value`, `--option=value`, `-o value` and `-ovalue`.
fn option(line: &str) -> (&str, &str) {
    if !line.starts_with("--") {
        let (option, value) = line.split_at(line.char_indices().nth(2).map_or(line.len(), |(at, _)| at));
        return (option, value.trim().trim_start_matches('='));
    }
    match line.find(|c: char| c == '=' || c.is_whitespace()) {
        Some(at) => (&line[..at], line[at + 1..].trim_start_matches(['=', ' ', '\t'])),
        None => (line, ""),
    }
}

/// A requirement, an address or a path.
fn package(text: &str, place: &Place, found: &mut Manifest) -> Result<(), String> {
    let is_named = text.split_once('@').is_some_and(|(name, at)| {
        let name = name.split('[').next().unwrap_or(name).trim();
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
            && is_address(at.trim())
    });
    if is_address(text) && !is_named {
        // The package's name, where the address tells it.
        let egg = text.split_once("egg=").map(|(_, egg)| egg.split(['&', '[', ' ']).next().unwrap_or(egg));
        let from = place::origin(text.split([' ', ';']).next().unwrap_or(text));
        let name = egg.unwrap_or_else(|| from.rsplit('/').next().unwrap_or(&from)).to_owned();
        python::located(&name, text, place, found);
        return Ok(());
    }
    let is_path = text.starts_with(['.', '/', '~']) || (text.contains('/') && !text.contains('@'));
    let is_archive = [".whl", ".tar.gz", ".zip"].iter().any(|end| text.ends_with(end)) && !is_named;
    if is_path || is_archive {
        let path = text.split(['[', ';', ' ']).next().unwrap_or(text);
        python::located(path, path, place, found);
        return Ok(());
    }
    python::requirement(text, place, found)
}
