//! What the end of a command says about the work.

use std::collections::BTreeSet;

use ralph_process::End;

use crate::runner::Runner;

/// A command's own judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    Passes,
    Fails,
    /// It could not judge, and why.
    Breaks(String),
    Cancelled,
}

/// The judgement in an end. `broken` holds the codes that the operator gave to "could not judge".
pub(crate) fn judge(end: End, runners: &[Runner], broken: &BTreeSet<i32>) -> Judgement {
    let breaks = |why: String| Judgement::Breaks(why);
    match end {
        End::Exited(0) => Judgement::Passes,
        End::Exited(code) if broken.contains(&code) => breaks(format!("exit {code}")),
        End::Exited(126) => breaks("exit 126, cannot be executed".to_owned()),
        End::Exited(127) => breaks("exit 127, command not found".to_owned()),
        End::Exited(code) if (1..126).contains(&code) => {
            match runners.iter().find_map(|runner| runner.could_not_run(code)) {
                Some(why) => breaks(format!("exit {code}, {why}")),
                None => Judgement::Fails,
            }
        }
        // How a shell reports a command that was killed by a signal.
        End::Exited(code) if (129..=192).contains(&code) => {
            breaks(format!("exit {code}, killed by signal {}", code - 128))
        }
        End::Exited(code) => breaks(format!("exit {code}")),
        End::Signalled(signal) => breaks(format!("killed by signal {signal}")),
        End::TimedOut => breaks("out of time".to_owned()),
        End::Idle | End::NoFirstOutput => breaks("silent for too long".to_owned()),
        End::OutputLimit => breaks("printed too much".to_owned()),
        End::Cancelled => Judgement::Cancelled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zero_passes_and_only_small_codes_fail() {
        let broken = BTreeSet::from([0, 77]);
        let judge = |end| judge(end, &[], &broken);
        assert_eq!(judge(End::Exited(0)), Judgement::Passes);
        for code in [1, 2, 5, 76, 78, 101, 125] {
            assert_eq!(judge(End::Exited(code)), Judgement::Fails, "{code}");
        }
        for code in [77, 126, 127, 128, 137, 139, 255, -1] {
            assert!(matches!(judge(End::Exited(code)), Judgement::Breaks(_)), "{code}");
        }
        for end in [End::Signalled(9), End::TimedOut, End::Idle, End::NoFirstOutput, End::OutputLimit] {
            assert!(matches!(judge(end), Judgement::Breaks(_)), "{end:?}");
        }
        assert_eq!(judge(End::Cancelled), Judgement::Cancelled);
    }

    #[test]
    fn the_runner_knows_which_of_its_codes_are_no_judgement() {
        let judge = |code| judge(End::Exited(code), &[Runner::Pytest], &BTreeSet::new());
        assert_eq!((judge(0), judge(1)), (Judgement::Passes, Judgement::Fails));
        for code in 2..=5 {
            assert!(matches!(judge(code), Judgement::Breaks(_)), "{code}");
        }
        assert_eq!(judge(6), Judgement::Fails);
    }
}
