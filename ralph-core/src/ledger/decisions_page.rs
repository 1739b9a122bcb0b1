//! DECISIONS.md: the queue as people read it.
//!
//! Whatever an agent or a verifier wrote stands in code, where nothing has a meaning: it cannot be an entry, an answer or
//! a link.

use std::{
    cmp::Reverse,
    fmt::Write as _,
    time::{Duration, SystemTime},
};

use super::{
    decisions::{Answered, Queued, Resolved, Withdrawn},
    quote, time,
};
use crate::{decision::Decision, plan::Proposal, vcs::DiffStat};

/// How long texts may be in a line, in characters.
const TEXT_MAX: usize = 300;

/// The same for what becomes part of the plan by an approval: nobody approves what is not shown.
const PROPOSED_MAX: usize = 4_000;

/// How much of a block is shown.
const QUESTION_LINES: usize = 40;
const EVIDENCE_LINES: usize = 20;
const BLOCK_WIDTH: usize = 300;

/// How many options have a letter.
const LETTERS: usize = 26;

/// How a question is answered.
pub(super) const ANSWER: &str = "run `ralph btw`, or `ralph btw --answer ID=…`";

/// Renders the queue. The same queue gives the same page, so waiting is counted up to the newest question.
pub(super) fn render(all: &[Queued]) -> String {
    let now = all.iter().map(|queued| queued.decision.asked).max();
    let now = now.unwrap_or(SystemTime::UNIX_EPOCH);
    let (mut waiting, mut resolved) = (Vec::new(), Vec::new());
    for queued in all {
        match &queued.resolved {
            None => waiting.push(queued),
            Some(how) => resolved.push((queued, how)),
        }
    }
    waiting.sort_by_key(|queued| (Reverse(queued.decision.priority(now)), queued.decision.asked));
    resolved.sort_by_key(|(_, how)| Reverse(at(how)));

    let mut page = format!(
        "# Decisions\n\nThis page is rendered: what is written here is not read. To answer, {ANSWER}.\n\n## Pending\n"
    );
    if waiting.is_empty() {
        page.push_str("\nNothing waits for you.\n");
    }
    for queued in waiting {
        pending(&mut page, queued, now);
    }
    page.push_str("\n## Resolved\n");
    if resolved.is_empty() {
        page.push_str("\nNothing yet.\n");
    }
    for (queued, how) in resolved {
        settled(&mut page, queued, how);
    }
    page
}

fn at(how: &Resolved) -> u64 {
    match how {
        Resolved::Answered(answered) => answered.at,
        Resolved::Withdrawn(withdrawn) => withdrawn.at,
    }
}

/// An entry in full: what to decide, how to say it, and what is known about it. Writing to a string cannot fail.
fn pending(page: &mut String, queued: &Queued, now: SystemTime) {
    let decision = &queued.decision;
    let question = &decision.question;
    heading(page, queued);
    let _ = writeln!(page, "{}", waited(queued.waited(now)));
    let id = queued.id.as_str();
    let _ = writeln!(page, "- to answer: `ralph btw --answer {id}=…`, saying {}", question.expected());
    if let Some(stat) = &decision.stat {
        let _ = writeln!(page, "- the work changes {}", changes(stat));
    }
    if let Some(commands) = commands(decision) {
        let _ = writeln!(page, "- to see the work: {commands}");
    }
    let whose = if question.from_agent { "The agent asks (its words)" } else { "The question" };
    block(page, whose, &question.text, QUESTION_LINES);
    options(page, decision);
    proposed(page, &decision.proposed);
    if !decision.said.trim().is_empty() {
        block(page, "What the agent wrote about it (its words, nobody checked them)", &decision.said, EVIDENCE_LINES);
    }
    if !decision.output.trim().is_empty() {
        block(page, "The end of a verifier's output", &decision.output, EVIDENCE_LINES);
    }
}

/// An entry that waits no longer: what it came to.
fn settled(page: &mut String, queued: &Queued, how: &Resolved) {
    let question = &queued.decision.question;
    heading(page, queued);
    match how {
        Resolved::Answered(Answered { reply, by, at, .. }) => {
            let (at, by) = (time::stamp(*at), name(by));
            let _ = writeln!(page, "\n- answered: {at} by {by}: {}", code(&reply.text()));
        }
        Resolved::Withdrawn(Withdrawn { why, at }) => {
            let _ = writeln!(page, "\n- withdrawn: {}: {}", time::stamp(*at), code(why));
        }
    }
    let whose = if question.from_agent { "the agent asked" } else { "the question was" };
    let _ = writeln!(page, "- {whose}: {}", code(&question.text));
}

/// The heading and the beginning of the first line.
fn heading(page: &mut String, queued: &Queued) {
    let decision = &queued.decision;
    let place = match &decision.item {
        Some(item) => format!("{}/{item}", decision.phase),
        None => decision.phase.to_string(),
    };
    let _ = writeln!(page, "\n### {} {} — {}\n", queued.id, decision.question.kind, name(&place));
    let _ = write!(page, "- asked: {} in run {}", time::stamp_of(decision.asked), name(decision.run.as_str()));
}

/// `3 files, 10 lines added, 2 removed`, as far as it was counted.
fn changes(stat: &DiffStat) -> String {
    let files = if stat.files == 1 { "file" } else { "files" };
    let mut text = format!("{} {files}", stat.files);
    match (stat.added, stat.removed) {
        (Some(added), Some(removed)) => {
            let _ = write!(text, ", {added} lines added, {removed} removed");
        }
        (Some(added), None) => {
            let _ = write!(text, ", {added} lines added");
        }
        (None, Some(removed)) => {
            let _ = write!(text, ", {removed} lines removed");
        }
        (None, None) => {}
    }
    text
}

/// How to look at the work. Only plain names become part of a command, which people copy into a shell.
fn commands(decision: &Decision) -> Option<String> {
    let kept = decision.kept.as_deref().or(decision.revision.as_ref().map(|revision| revision.as_str()))?;
    if !quote::is_word(kept) {
        return Some(format!("it is kept as {}", code(kept)));
    }
    Some(match &decision.item {
        Some(item) if quote::is_word(item.as_str()) => format!("`ralph diff {item}` or `git show {kept}`"),
        Some(_) | None => format!("`git show {kept}`"),
    })
}

/// The ways to answer, where they are known.
fn options(page: &mut String, decision: &Decision) {
    let question = &decision.question;
    if question.options.is_empty() && question.recommendation.is_none() {
        return;
    }
    let whose = if question.from_agent { " (the agent's words)" } else { "" };
    let _ = writeln!(page, "\nThe ways to answer{whose}:\n");
    for (option, letter) in question.options.iter().zip('A'..='Z') {
        let _ = writeln!(page, "- {letter}: {}", code(option));
    }
    if question.options.len() > LETTERS {
        let _ = writeln!(page, "- and {} more, which are in the record", question.options.len() - LETTERS);
    }
    if let Some(recommended) = &question.recommendation {
        let _ = writeln!(page, "- recommended: {}", code(recommended));
    }
}

/// The items that approving would add.
fn proposed(page: &mut String, items: &[Proposal]) {
    if items.is_empty() {
        return;
    }
    page.push_str("\nApproving adds these items to the plan (the agent's words):\n\n");
    for (index, Proposal { title, criteria, verify }) in items.iter().enumerate() {
        let (number, full) = (index + 1, |text: &str| quote::code(text, PROPOSED_MAX));
        let _ = writeln!(page, "- item {number}: {}", full(title));
        for criterion in criteria {
            let _ = writeln!(page, "- item {number} must: {}", full(criterion));
        }
        if let Some(verify) = verify {
            let _ = writeln!(page, "- item {number} is verified by: {}", full(verify));
        }
    }
}

/// Words of ours end a list, to whose last item an indented block would belong else.
fn block(page: &mut String, whose: &str, text: &str, lines: usize) {
    let block = quote::block(text, lines, BLOCK_WIDTH);
    let block = if block.trim().is_empty() { "    (nothing)\n" } else { &block };
    let _ = write!(page, "\n{whose}:\n\n{block}");
}

fn code(text: &str) -> String {
    quote::code(text, TEXT_MAX)
}

fn name(text: &str) -> String {
    quote::name(text, TEXT_MAX)
}

fn waited(waited: Duration) -> String {
    let minutes = waited.as_secs() / 60;
    match (minutes / 60, minutes % 60) {
        (0, 0) => String::new(),
        (0, minutes) => format!(", waiting for {minutes} min when this was written"),
        (hours, minutes) => format!(", waiting for {hours} h {minutes} min when this was written"),
    }
}
