//! The ways in which a run can end.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a run ended. In the order of precedence: where two apply, the first wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum StopReason {
    /// Somebody asked for the end.
    Cancelled,
    /// Ralph itself, a full disk, a corrupt journal.
    Fault,
    /// The plan broke while the run was on.
    PlanInvalid,
    /// The plan carries no valid approval.
    NotApproved,
    /// The run's branch is no longer where the run left it.
    BranchMoved,
    /// `Env-Check:` or `Setup:` failed on the base.
    Environment,
    /// A verifier could not judge, on the base either.
    VerifierBroken,
    /// The agent is not installed, refuses the login, or was out for too long.
    AgentUnavailable,
    /// Too many items are blocked.
    BlockerLimit,
    /// Iterations pass and nothing gets better.
    NoProgress,
    /// A budget is used up.
    BudgetExhausted,
    /// The phase's automatic gate is closed.
    AutoGateFailed,
    /// Everything that is left waits for a person's decision.
    AwaitingDecisions,
    /// A person must open the gate.
    ManualGate,
    /// A forced pause after a number of phases.
    Checkpoint,
    /// Everything that is left is blocked.
    ItemsBlocked,
    /// Every item is done and every gate open.
    Success,
}

impl StopReason {
    /// Every reason, in order of precedence.
    pub const ALL: [Self; 17] = [
        Self::Cancelled,
        Self::Fault,
        Self::PlanInvalid,
        Self::NotApproved,
        Self::BranchMoved,
        Self::Environment,
        Self::VerifierBroken,
        Self::AgentUnavailable,
        Self::BlockerLimit,
        Self::NoProgress,
        Self::BudgetExhausted,
        Self::AutoGateFailed,
        Self::AwaitingDecisions,
        Self::ManualGate,
        Self::Checkpoint,
        Self::ItemsBlocked,
        Self::Success,
    ];

    /// The program's exit code for it. The only place where reasons become numbers.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Fault => 1,
            Self::PlanInvalid => 2,
            Self::AwaitingDecisions | Self::ManualGate | Self::Checkpoint => 10,
            Self::AutoGateFailed => 11,
            Self::BlockerLimit | Self::ItemsBlocked => 12,
            Self::BudgetExhausted => 13,
            Self::NoProgress => 14,
            Self::BranchMoved | Self::Environment | Self::VerifierBroken => 15,
            Self::AgentUnavailable => 16,
            Self::NotApproved => 17,
            Self::Cancelled => 130,
        }
    }

    /// Its name, as `STOP_REASON:` lines and `--json` show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cancelled => "CANCELLED",
            Self::Fault => "FAULT",
            Self::PlanInvalid => "PLAN_INVALID",
            Self::NotApproved => "NOT_APPROVED",
            Self::BranchMoved => "BRANCH_MOVED",
            Self::Environment => "ENVIRONMENT",
            Self::VerifierBroken => "VERIFIER_BROKEN",
            Self::AgentUnavailable => "AGENT_UNAVAILABLE",
            Self::BlockerLimit => "BLOCKER_LIMIT",
            Self::NoProgress => "NO_PROGRESS",
            Self::BudgetExhausted => "BUDGET_EXHAUSTED",
            Self::AutoGateFailed => "AUTO_GATE_FAILED",
            Self::AwaitingDecisions => "AWAITING_DECISIONS",
            Self::ManualGate => "MANUAL_GATE",
            Self::Checkpoint => "CHECKPOINT",
            Self::ItemsBlocked => "ITEMS_BLOCKED",
            Self::Success => "SUCCESS",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The end of a run: the reason, and the particulars for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// Why.
    pub reason: StopReason,
    /// What exactly, and what to do about it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl Stop {
    /// A stop for `reason`.
    pub fn new(reason: StopReason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason.name())?;
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_ones_in_json() {
        for reason in StopReason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
        assert!(StopReason::ALL.is_sorted(), "the order of precedence is the order of the enum");
    }

    #[test]
    fn only_success_is_zero() {
        for reason in StopReason::ALL {
            assert_eq!(reason.exit_code() == 0, reason == StopReason::Success);
        }
    }
}
