//! What people are asked about an item, and what an agent's own words come to.

use super::{
    lane::{Fate, Matter, Query, Sense, Work},
    state::About,
    terms::Iteration,
};
use crate::{
    decision::{DecisionKind, Question},
    plan::Proposal,
    signal::{Signal, SignalStatus},
};

/// What a session's own words come to, where they do not leave it to the verdicts.
pub(super) fn signalled(work: &Work) -> Option<Fate> {
    let signal = work.signal.as_ref()?;
    match signal.status {
        SignalStatus::Done => None,
        SignalStatus::Blocked => {
            let said = [signal.question.as_deref().unwrap_or_default(), &signal.summary];
            let why = said.iter().find(|text| !text.is_empty()).unwrap_or(&"without a reason");
            Some(Fate::Rejected(format!("the agent is blocked: {why}")))
        }
        SignalStatus::Decision => {
            let matter = Matter { question: asked_by_agent(signal), sense: Sense::Words, gates: Vec::new() };
            Some(Fate::Parked(Box::new(matter)))
        }
    }
}

/// What a person is asked about items that a session would add.
pub(super) fn scope(iteration: &Iteration, items: Vec<Proposal>) -> Query {
    let more = match items.len() {
        1 => "one more item. Add it?".to_owned(),
        several => format!("{several} more items. Add them?"),
    };
    let text = format!("The agent that worked on {} proposes {more}", iteration.item.item);
    Query {
        phase: iteration.item.phase.clone(),
        question: Question::new(DecisionKind::Scope, text),
        about: About::Scope { items },
        output: String::new(),
        item: Some(iteration.item.clone()),
        mark: None,
    }
}

/// What a person is asked where a session left things as they were and the verifier passes all the same.
pub(super) fn changed_nothing(work: &Work, summary: &str, against: Option<&String>) -> Matter {
    let item = &work.attempt.id.item.item;
    if work.revision.is_none() {
        let text = format!("The session changed nothing, and the verifier passes already ({summary}). Is {item} done?");
        let question = Question::new(DecisionKind::AlreadyDone, text);
        return Matter { question, sense: Sense::AlreadyDone, gates: Vec::new() };
    }
    // The work of an earlier attempt, which failed for another reason than its verifier.
    let failed = against.map_or_else(String::new, |why| format!(" It was turned down before: {why}."));
    let text = format!(
        "The session added nothing to the work of an earlier attempt, which passes ({summary}).{failed} Is it right?"
    );
    let question = Question::new(DecisionKind::Choice, text).with_options(["accept the work", "start again"]);
    Matter { question, sense: Sense::Work, gates: Vec::new() }
}

fn asked_by_agent(signal: &Signal) -> Question {
    let text = signal.question.clone().filter(|text| !text.is_empty()).unwrap_or_else(|| signal.summary.clone());
    let mut question = Question::new(signal.kind.unwrap_or(DecisionKind::Choice), text);
    question.options.clone_from(&signal.options);
    question.recommendation.clone_from(&signal.recommendation);
    question.from_agent = true;
    question
}
