//! In which file and line the commands of a plan stand.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ralph_core::Phase;

use crate::project::Project;

/// The files from which a phase's commands come: its PRD, the plan, the settings, in this order.
pub(super) struct Sources<'a> {
    project: &'a Project,
    /// The PRD, up to its first item.
    head: (PathBuf, String),
    plan: (PathBuf, String),
    settings: (PathBuf, String),
}

impl<'a> Sources<'a> {
    pub(super) fn of(project: &'a Project, plan: &Path, prd: &Path, phase: &Phase) -> Self {
        // What cannot be read has no lines to name.
        let read = |path: &Path| (path.to_owned(), fs::read_to_string(path).unwrap_or_default());
        let (prd, mut text) = read(&project.root.join(prd));
        if let Some(first) = phase.items.iter().map(|item| item.line).min() {
            text = text.lines().take(first.saturating_sub(1)).map(|line| format!("{line}\n")).collect();
        }
        Self { project, head: (prd, text), plan: read(plan), settings: read(&project.settings()) }
    }

    /// Where a common verifier stands; line 0 where that cannot be told.
    pub(super) fn of_verifier(&self, command: &str) -> (String, usize) {
        let files = [(&self.head, line_of(&self.head.1, "verify", command))];
        let plan = (&self.plan, line_of(&self.plan.1, "verify", command).filter(|_| self.plan.0 != self.head.0));
        let settings = (&self.settings, setting(&self.settings.1, command));
        let found = files.into_iter().chain([plan, settings]).find_map(|((path, _), line)| Some((path, line?)));
        // What is in no file was set by a flag or in the environment.
        let (path, line) = found.unwrap_or((&self.plan.0, 0));
        (self.project.relative(path), line)
    }

    /// The line of the plan in which a gate's command stands; 0 where that cannot be told.
    pub(super) fn of_gate(&self, command: &str) -> usize {
        line_of(&self.plan.1, "auto-gate", command).unwrap_or(0)
    }
}

/// The first line with this key, in whatever form, that ends in this command.
fn line_of(text: &str, key: &str, command: &str) -> Option<usize> {
    let is_it = |line: &str| {
        let before = line.trim_end().trim_end_matches('`').strip_suffix(command.trim_end_matches('`'));
        before.is_some_and(|before| {
            let letters = before.trim_matches(|c: char| !c.is_ascii_alphabetic());
            letters.eq_ignore_ascii_case(key)
        })
    };
    text.lines().position(is_it).map(|index| index + 1)
}

/// The line of the settings that sets this command.
fn setting(text: &str, command: &str) -> Option<usize> {
    let is_it = |line: &str| {
        let table: Result<toml::Table, _> = toml::from_str(line);
        table.is_ok_and(|table| table.get("command").and_then(toml::Value::as_str) == Some(command))
    };
    text.lines().position(is_it).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_line() {
        for (line, found) in [
            ("Verify: npm test", true),
            ("  - **Verify:** `npm test`  ", true),
            ("verify:npm test", true),
            ("Verify: npm test -- a", false),
            ("Verify: cd a && npm test", false),
            ("Auto-Gate: npm test", false),
            ("npm test", false),
        ] {
            assert_eq!(line_of(&format!("\n{line}\n"), "verify", "npm test"), found.then_some(2), "{line}");
        }
        assert_eq!(line_of("a\n  Auto-Gate: make", "auto-gate", "make"), Some(2));
        assert_eq!(setting("[verify]\ncommand = 'make \"x\"'\n", "make \"x\""), Some(2));
        assert_eq!(setting("# command = \"make\"\nsetup = \"make\"\n", "make"), None);
    }
}
