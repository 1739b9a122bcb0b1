//! What a person should do after a stop.

use crate::stop::StopReason;

/// What a person should do after a stop.
pub(super) fn advice(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Success => "Look at what was done (`ralph diff`) and merge the branch.",
        StopReason::Cancelled => "`ralph run` goes on where the run stood.",
        StopReason::Fault => {
            "Something of ralph's own failed, or the disk. `ralph doctor` looks for it; then `ralph run` goes on."
        }
        StopReason::PlanInvalid => "Correct the plan: `ralph check` names every place. Then `ralph run` goes on.",
        StopReason::NotApproved => {
            "Read what changed and approve it: `ralph approve --by WHO`. Then `ralph run` goes on."
        }
        StopReason::BranchMoved => {
            "The run's branch is gone or was rewritten. Put it back, or begin anew: `ralph run --new`."
        }
        StopReason::Environment => {
            "Put the surroundings right (a service, a tool, `Setup:`), then `ralph run` goes on."
        }
        StopReason::VerifierBroken => {
            "The verify command could not judge, on the branch either. Run it by hand on a clean checkout, correct it, then `ralph run` goes on."
        }
        StopReason::AgentUnavailable => {
            "See that the agent is installed, logged in and within its limits; then `ralph run` goes on."
        }
        StopReason::BlockerLimit => {
            "Too many items are blocked: read BLOCKERS.md, correct the items or their verifiers, then `ralph retry ITEM` and `ralph run`."
        }
        StopReason::NoProgress => {
            "Sessions change nothing or undo each other. Read the last iteration: the item may be too large, or its verifier cannot be satisfied."
        }
        StopReason::BudgetExhausted => {
            "A budget was used up, by design. Review what is there; `ralph run` goes on with a new budget (cost and tokens are raised by a flag)."
        }
        StopReason::AutoGateFailed => {
            "The items are done, and the branch does not pass: DECISIONS.md has the verifier's output. `ralph btw` answers (try again, or reopen the item that is at fault), then `ralph run` goes on."
        }
        StopReason::AwaitingDecisions => "Only what waits for you is left: `ralph btw` asks, then `ralph run` goes on.",
        StopReason::ManualGate => {
            "A person must open the phase's gate: look at the branch (`ralph diff`), answer with `ralph btw`, then `ralph run` goes on."
        }
        StopReason::Checkpoint => {
            "A planned pause: look at what was done so far (`ralph diff`), answer with `ralph btw`, then `ralph run` goes on."
        }
        StopReason::ItemsBlocked => {
            "What is left is blocked or carries an unknown mark: read BLOCKERS.md, then `ralph retry ITEM` or correct the plan."
        }
    }
}
