//! What came of a session of Codex. The table is in the docs of [`crate::codex`].

use ralph_core::{AgentError, SessionEnd, Usage};

use crate::{
    codex::{
        failure::Failure,
        stream::{Facts, Turn},
    },
    exit::Exit,
    json::one_line,
    outcome::{DETAIL_MAX, Outcome, no_result, refused},
};

/// What the facts come to.
pub(crate) fn outcome(facts: Facts, exit: Exit, stderr: &str) -> Outcome {
    let failure = facts.login_refused.or(facts.trouble);
    let end = match (facts.turn, failure) {
        (Turn::Completed, _) if exit.success() => Ok(SessionEnd::Finished),
        (Turn::Completed, _) => Ok(SessionEnd::Failed(format!("{exit} after a turn that was completed"))),
        (_, Some(failure)) => failure.end(),
        (Turn::Failed, None) => Failure::of("").end(),
        (turn, None) => without_turn(turn, exit, stderr),
    };
    let mut usage = Usage::unknown();
    usage.tokens = facts.tokens;
    Outcome {
        end,
        usage,
        said: facts.text,
        structured: None,
        session_id: facts.session_id,
        compactions: 0,
        denied: facts.denied,
        answered: facts.answered,
    }
}

/// No end of a turn, and no word on why: killed, crashed, or never begun.
fn without_turn(turn: Turn, exit: Exit, stderr: &str) -> Result<SessionEnd, AgentError> {
    let complaint = complaint(stderr);
    if turn == Turn::NotBegun && matches!(exit, Exit::Code(1..)) && !complaint.is_empty() {
        return Err(refused(complaint, "check the settings of the agent"));
    }
    Ok(no_result(exit, &complaint))
}

/// stderr without the line that is always there.
fn complaint(stderr: &str) -> String {
    let said = |line: &&str| !(line.starts_with("Reading ") && line.ends_with(" from stdin..."));
    let lines: Vec<&str> = stderr.lines().filter(said).collect();
    one_line(&lines.join("\n"), DETAIL_MAX)
}
