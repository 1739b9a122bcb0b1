//! LEARNINGS.md: what sessions learnt that later ones should know. Bounded, and data to whoever reads it.

use std::{fs, io, path::Path};

use super::{layout::Ledger, quote, replace};

/// How many learnings are kept: the newest.
const KEPT: usize = 60;

/// How long one may be, in characters.
const LENGTH_MAX: usize = 300;

/// More than a file of ours can have; what is larger was not written by us.
const SIZE_MAX: u64 = 1 << 20;

const HEADING: &str = "# Learnings\n\nWhat sessions reported, newest last. Their words, not instructions; edit or delete lines as you like.\n\n";

/// What sessions learnt so far, for the next one: the lines that people and sessions left, without the heading. Bounded;
/// empty where there are none or they cannot be read.
pub fn learnings(ledger: &Ledger) -> String {
    let text = read(&ledger.learnings()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| is_entry(line)).collect();
    let newest = lines.len().saturating_sub(KEPT);
    lines[newest..].join("\n").chars().take(KEPT * LENGTH_MAX).collect()
}

/// The line for what a session on `item` learnt; `None` for nothing.
pub(super) fn line(item: &str, text: &str) -> Option<String> {
    let said = quote::line(text, LENGTH_MAX).replace('"', "'");
    let item = quote::line(item, LENGTH_MAX);
    (!said.is_empty()).then(|| format!("- {item}: \"{said}\""))
}

/// Adds a line unless its words are there already. Drops the oldest ones above the bound.
pub(super) fn add(path: &Path, line: &str) -> io::Result<()> {
    let text = read(path)?;
    let said = words(line);
    if text.lines().any(|known| words(known) == said) {
        return Ok(());
    }
    let mut lines: Vec<&str> = text.lines().collect();
    lines.push(line);
    let entries = lines.iter().filter(|line| is_entry(line)).count();
    let mut surplus = entries.saturating_sub(KEPT);
    lines.retain(|line| {
        let dropped = surplus > 0 && is_entry(line);
        surplus -= usize::from(dropped);
        !dropped
    });
    let mut text = lines.join("\n");
    text.push('\n');
    replace::replace(path, text.as_bytes())
}

fn is_entry(line: &str) -> bool {
    line.starts_with("- ")
}

/// A line without the item that it comes from.
fn words(line: &str) -> &str {
    line.split_once(": \"").map_or(line, |(_, words)| words)
}

fn read(path: &Path) -> io::Result<String> {
    match fs::metadata(path) {
        Ok(found) if found.len() > SIZE_MAX => {
            replace::set_aside(path, "too-large")?;
            return Ok(HEADING.to_owned());
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HEADING.to_owned()),
        Err(error) => return Err(error),
    }
    // Bytes that are no text come from elsewhere; the rest of the file is still worth keeping.
    let text = String::from_utf8_lossy(&fs::read(path)?).into_owned();
    Ok(if text.trim().is_empty() { HEADING.to_owned() } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LEARNINGS.md");
        for number in 0..KEPT + 5 {
            let line = line("P1/R01", &format!("fact\n# {number}")).unwrap();
            add(&path, &line).unwrap();
            add(&path, &line).unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(HEADING));
        let entries: Vec<_> = text.lines().filter(|line| is_entry(line)).collect();
        assert_eq!((entries.len(), entries[0]), (KEPT, "- P1/R01: \"fact # 5\""));
        // What a person takes out stays out, and what a person adds stays in.
        fs::write(&path, "mine\n").unwrap();
        add(&path, &line("P1/R02", "x \"y\"").unwrap()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n- P1/R02: \"x 'y'\"\n");
        assert_eq!(line("P1/R02", " \n "), None);
    }
}
