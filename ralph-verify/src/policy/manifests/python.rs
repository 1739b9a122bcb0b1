//! Names and requirements of Python packages (PEP 503, PEP 508).

use super::{Manifest, Place, place};

/// Takes in one requirement as PEP 508 has it: `name[extra] >=1 ; marker` or `name @ url`.
pub(super) fn requirement(text: &str, place: &Place, found: &mut Manifest) -> Result<(), String> {
    let text = text.trim();
    let wrong = || format!("`{text}` is not a requirement");
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c)).unwrap_or(text.len());
    let name = &text[..end];
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || name.ends_with(['.', '_', '-']) {
        return Err(wrong());
    }
    let mut rest = text[end..].trim_start();
    if let Some(extras) = rest.strip_prefix('[') {
        rest = extras.split_once(']').ok_or_else(wrong)?.1.trim_start();
    }
    if let Some(url) = rest.strip_prefix('@') {
        let url = url.trim();
        let url = url.split([' ', ';']).next().unwrap_or(url);
        located(name, url, place, found);
        return Ok(());
    }
    if !rest.is_empty() && !rest.starts_with(['(', '<', '>', '=', '!', '~', ';']) {
        return Err(wrong());
    }
    found.need(key(name), name, None);
    Ok(())
}

/// Takes in a package with the place that it comes from.
pub(super) fn located(name: &str, at: &str, place: &Place, found: &mut Manifest) {
    let path = at.strip_prefix("file:").map(|path| path.trim_start_matches("//"));
    let from = match path {
        Some(path) => place.beyond(path),
        None if place::is_address(at) => Some(place::origin(at)),
        None => place.beyond(at),
    };
    if let Some(from) = from {
        found.need(key(name), name, Some(from));
    }
}

/// Runs of `-`, `_` and `.` are one, and case does not count.
pub(super) fn key(name: &str) -> String {
    let mut key = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '-' | '_' | '.' if key.ends_with('-') => {}
            '-' | '_' | '.' => key.push('-'),
            c => key.extend(c.to_lowercase()),
        }
    }
    key
}
