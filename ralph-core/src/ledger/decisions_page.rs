//! DECISIONS.md: the queue as people read it.

use std::{
    cmp::Reverse,
    fmt::Write as _,
    time::{Duration, SystemTime},
};

use super::{decisions::Queued, quote, time};

/// How long texts may be in a line, in characters.
const TEXT_MAX: usize = 300;

/// How many lines of a question are shown.
const QUESTION_LINES: usize = 40;
const QUESTION_WIDTH: usize = 300;

/// How a question is answered.
pub(super) const ANSWER: &str = "write the answer below the item in the PRD, then `ralph retry ITEM`; where the question \
                                 is whether it is done, tick its box";

/// Renders the queue. The same queue gives the same page, so waiting is counted up to the newest question.
pub(super) fn render(all: &[Queued]) -> String {
    let now = all.iter().map(|queued| queued.decision.asked).max();
    let now = now.unwrap_or(SystemTime::UNIX_EPOCH);
    let (mut pending, mut resolved): (Vec<_>, Vec<_>) = all.iter().partition(|queued| queued.answer.is_none());
    pending.sort_by_key(|queued| (Reverse(queued.decision.priority(now)), queued.decision.asked));
    resolved.sort_by_key(|queued| queued.answer.as_ref().map(|answer| Reverse(answer.at)));

    let mut page = format!(
        "# Decisions\n\nThis page is rendered: what is written here is not read. To answer, {ANSWER}.\n\n## Pending\n"
    );
    if pending.is_empty() {
        page.push_str("\nNothing waits for you.\n");
    }
    for queued in pending {
        entry(&mut page, queued, now);
    }
    page.push_str("\n## Resolved\n");
    if resolved.is_empty() {
        page.push_str("\nNothing yet.\n");
    }
    for queued in resolved {
        entry(&mut page, queued, now);
    }
    page
}

fn entry(page: &mut String, queued: &Queued, now: SystemTime) {
    let decision = &queued.decision;
    let question = &decision.question;
    let place = match &decision.item {
        Some(item) => format!("{}/{item}", decision.phase),
        None => decision.phase.to_string(),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(page, "\n### {} {} — {}\n", line(queued.id.as_str()), question.kind, line(&place));
    let _ = write!(page, "- asked: {} in run {}", time::stamp_of(decision.asked), line(decision.run.as_str()));
    match &queued.answer {
        Some(answer) if answer.withdrawn => {
            let _ = writeln!(page, "\n- withdrawn: {}: {}", time::stamp(answer.at), line(&answer.text));
        }
        Some(answer) => {
            let (at, by) = (time::stamp(answer.at), line(&answer.by));
            let _ = writeln!(page, "\n- answered: {at} by {by}: {}", line(&answer.text));
        }
        None => {
            let waited = now.duration_since(decision.asked).unwrap_or_default();
            let _ = writeln!(page, "{}", waiting(waited));
        }
    }
    if let Some(revision) = &decision.revision {
        let _ = writeln!(page, "- the work is kept as: {}", line(revision.as_str()));
    }
    for (option, letter) in question.options.iter().zip('A'..='Z') {
        let _ = writeln!(page, "- option {letter}: {}", line(option));
    }
    if let Some(recommended) = &question.recommendation {
        let _ = writeln!(page, "- recommended: {}", line(recommended));
    }
    let whose = if question.from_agent { "The agent asks (its words)" } else { "The question" };
    let block = quote::block(&question.text, QUESTION_LINES, QUESTION_WIDTH);
    // An indented block right after a list would belong to its last item; the words in between end the list.
    let _ = write!(page, "\n{whose}:\n\n{block}");
}

fn line(text: &str) -> String {
    quote::line(text, TEXT_MAX)
}

fn waiting(waited: Duration) -> String {
    let minutes = waited.as_secs() / 60;
    match (minutes / 60, minutes % 60) {
        (0, 0) => String::new(),
        (0, minutes) => format!(", waiting for {minutes} min when this was written"),
        (hours, minutes) => format!(", waiting for {hours} h {minutes} min when this was written"),
    }
}
