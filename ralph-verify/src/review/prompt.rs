//! What a reviewing session is told.

use ralph_core::Candidate;

use super::{Role, diff::shown};

const TEMPLATE: &str = include_str!("prompt.md");

/// How many changed files are listed.
const FILES_MAX: usize = 200;

/// The prompt, in which what was written by others stands in places of its own, as data.
pub(super) fn render(role: Role, work: &Candidate, diff: &str) -> String {
    let role = match role {
        Role::Architect => {
            "You are the architect of this repository: is the work right, complete, and where it belongs? Does it fit the \
             boundaries, names and conventions that are there?"
        }
        Role::Critic => {
            "You are a critic: look for what breaks. Take nothing on trust: try to find the input, the caller, the order of \
             events for which this is wrong, and what the tests do not test."
        }
    };
    let criteria: Vec<String> =
        work.criteria().iter().enumerate().map(|(index, criterion)| format!("{}. {criterion}", index + 1)).collect();
    let mut files: Vec<String> = work
        .changes
        .iter()
        .take(FILES_MAX)
        .map(|change| {
            let what = match (change.before, change.after) {
                (None, _) => "added",
                (Some(_), None) => "removed",
                (Some(_), Some(_)) => "changed",
            };
            format!("- `{}` ({what})", shown(&change.path))
        })
        .collect();
    if work.changes.len() > FILES_MAX {
        files.push(format!("- and {} more", work.changes.len() - FILES_MAX));
    }
    let fence = "`".repeat(longest_run(diff).max(2) + 1);
    let values = [
        ("{{role}}", role.to_owned()),
        ("{{item}}", format!("{}: {}", work.item.id, work.item.title)),
        ("{{criteria}}", criteria.join("\n")),
        ("{{files}}", files.join("\n")),
        ("{{diff}}", format!("{fence}diff\n{diff}{fence}")),
    ];
    let mut text = String::with_capacity(TEMPLATE.len() + diff.len());
    for line in TEMPLATE.lines() {
        match values.iter().find(|(name, _)| line.trim() == *name) {
            Some((_, value)) => text.push_str(value),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// The longest run of backticks, so that a fence is longer.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
