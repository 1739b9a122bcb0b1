//! The questions as people and machines see them.

use std::{
    fmt::Write as _,
    time::{Duration, SystemTime},
};

use ralph_core::{Proposal, ledger::Queued, printable};
use serde::Serialize;

use super::desk::{Desk, Pending, place};
use crate::report::{SCHEMA_VERSION, count, wrap};

/// How wide the page is.
const WIDTH: usize = 96;
const INDENT: &str = "    ";

/// How many lines of output are shown.
const OUTPUT_LINES: usize = 12;

/// All that waits, as one page.
pub(super) fn page(desk: &Desk) -> String {
    let pending = desk.pending();
    let mut page = String::new();
    desk.notes.iter().for_each(|note| page.push_str(&format!("⚠ {}\n", printable(note))));
    if pending.is_empty() {
        page.push_str("Nothing waits for you.\n");
        return page;
    }
    let verb = if pending.len() == 1 { "waits" } else { "wait" };
    let _ = writeln!(page, "{} {verb} for you.", count(pending.len() as u64, "question"));
    for one in &pending {
        page.push('\n');
        page.push_str(&question(&one.project.name, one.queued));
    }
    page.push_str("\nAnswer with `ralph btw --answer PROJECT:D-007=…`; `ralph diff ITEM` shows the work.\n");
    page
}

/// One question with everything that belongs to it.
pub(crate) fn question(project: &str, queued: &Queued) -> String {
    let decision = &queued.decision;
    let asked = &decision.question;
    let waited = waited(queued.waited(SystemTime::now()));
    let mut text =
        format!("{}:{}  {}  {}{waited}\n", printable(project), queued.id, asked.kind, printable(&place(queued)));
    let mut part = |label: &str, body: &str, most: usize| {
        if body.trim().is_empty() {
            return;
        }
        let all: Vec<&str> = body.trim_end().lines().collect();
        let cut = all.len().saturating_sub(most);
        if !label.is_empty() {
            let _ = writeln!(text, "  {label}");
        }
        for line in &all[cut..] {
            wrap(&printable(line), WIDTH - INDENT.len(), "")
                .iter()
                .for_each(|line| text.push_str(&format!("{INDENT}{line}\n")));
        }
    };
    part(if asked.from_agent { "the agent asks (its words):" } else { "" }, &asked.text, 40);
    part("the agent wrote:", &decision.said, OUTPUT_LINES);
    part("the end of the output:", &decision.output, OUTPUT_LINES);
    for (option, letter) in asked.options.iter().zip('A'..='Z') {
        part("", &format!("{letter}) {option}"), 3);
    }
    part("recommended:", asked.recommendation.as_deref().unwrap_or_default(), 3);
    for proposal in &decision.proposed {
        part("", &proposed(proposal), OUTPUT_LINES);
    }
    if let Some(stat) = &decision.stat {
        let lines = match (stat.added, stat.removed) {
            (Some(added), Some(removed)) => format!(", +{added} −{removed} lines"),
            _ => String::new(),
        };
        let kept = decision.kept.as_ref().map(|kept| format!(", kept as {kept}")).unwrap_or_default();
        part("", &format!("the work: {}{lines}{kept}", count(stat.files, "file")), 3);
    }
    let look = match (&decision.kept, &decision.item, &decision.revision) {
        (Some(_), Some(item), _) => format!("look at it with `ralph diff {item}`"),
        (None, None, Some(tip)) => format!("look at the branch with `ralph diff`; it is at {}", tip.short()),
        _ => String::new(),
    };
    part("", &look, 3);
    part("", &format!("say {}", asked.expected()), 3);
    text
}

fn proposed(proposal: &Proposal) -> String {
    let mut text = format!("+ {}", proposal.title);
    proposal.criteria.iter().for_each(|line| text.push_str(&format!("\n  - {line}")));
    proposal.verify.iter().for_each(|command| text.push_str(&format!("\n  Verify: {command}")));
    text
}

fn stamp(at: SystemTime) -> String {
    jiff::Timestamp::try_from(at).map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default()
}

fn waited(waited: Duration) -> String {
    let minutes = waited.as_secs() / 60;
    match (minutes / 60, minutes % 60) {
        (0, 0) => String::new(),
        (0, minutes) => format!("  waiting for {minutes} min"),
        (hours, _) => format!("  waiting for {hours} h"),
    }
}

/// All that waits, for machines.
pub(super) fn document(desk: &Desk) -> impl Serialize {
    #[derive(Serialize)]
    struct Document {
        schema_version: u32,
        pending: Vec<One>,
        notes: Vec<String>,
    }
    #[derive(Serialize)]
    struct One {
        project: String,
        root: String,
        priority: u64,
        waited_s: u64,
        asked_at: String,
        /// What would be an answer.
        expected: String,
        #[serde(flatten)]
        queued: Queued,
    }
    let now = SystemTime::now();
    let pending = desk.pending();
    let pending = pending.iter().map(|Pending { project, queued }| One {
        project: project.name.clone(),
        root: project.root.display().to_string(),
        priority: queued.decision.priority(now),
        waited_s: queued.waited(now).as_secs(),
        asked_at: stamp(queued.decision.asked),
        expected: queued.decision.question.expected(),
        queued: Queued::clone(queued),
    });
    Document { schema_version: SCHEMA_VERSION, pending: pending.collect(), notes: desk.notes.clone() }
}
