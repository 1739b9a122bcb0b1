//! What counts of tests say against a command that exited with 0.

use serde::{Deserialize, Serialize};

use super::{Counts, Tests};
use crate::runner::Runner;

/// What a command said on a revision that later work starts from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Said {
    pub(crate) counts: Counts,
    /// Whether it exited with 0. One that failed may have ended before all was run: more ignored tests say nothing then.
    pub(crate) whole: bool,
}

/// What speaks against a pass, in one line. `base` is what the same command said on the base, where that is known.
pub(crate) fn objection(base: Option<&Said>, now: &Counts) -> Option<String> {
    let lost = now.iter().find_map(|(runner, tests)| unfinished(tests).map(|what| (runner, what)));
    let against = |base: &Said| {
        let of = |runner| now.get(runner).copied().unwrap_or_default();
        base.counts
            .iter()
            .find_map(|(runner, before)| fewer(before, &of(runner), base.whole).map(|what| (*runner, what)))
    };
    let more_ignored = |base: &Said| {
        let of = |runner| base.counts.get(runner).copied().unwrap_or_default();
        let new = now.iter().filter(|_| base.whole && !base.counts.is_empty());
        new.filter(|(runner, _)| !base.counts.contains_key(runner))
            .find_map(|(runner, now)| ignored(&of(runner), now).map(|what| (*runner, what)))
    };
    let failing = |base: &Said| {
        let of = |runner| base.counts.get(runner).copied().unwrap_or_default();
        now.iter().find_map(|(runner, now)| failed(&of(runner), now, base.whole).map(|what| (*runner, what)))
    };
    let found = lost.map(|(runner, what)| (*runner, what));
    let (runner, what) = found.or_else(|| against(base?)).or_else(|| failing(base?)).or_else(|| more_ignored(base?))?;
    let one: Option<&Runner> = if now.len() <= 1 { now.keys().next() } else { None };
    // With one runner there is no doubt whom it is about.
    Some(if one.is_some_and(|one| *one == runner) { what } else { format!("{what} ({runner})") })
}

fn unfinished(tests: &Tests) -> Option<String> {
    let lost = tests.announced.saturating_sub(tests.ended);
    (lost > 0).then(|| format!("{} announced, {} of them without a result", runs(tests.announced), lost))
}

fn fewer(base: &Tests, now: &Tests, whole: bool) -> Option<String> {
    if now.ran < base.ran {
        let now = if now.ran == 0 { "none".to_owned() } else { now.ran.to_string() };
        return Some(format!("{} ran on the base, {now} now", number(base.ran)));
    }
    if whole { ignored(base, now) } else { None }
}

/// Tests that failed, and an exit of 0. Commands may put up with some; of a base that failed it is not known with which,
/// but one more must have been among them.
fn failed(base: &Tests, now: &Tests, whole: bool) -> Option<String> {
    let allowed = if whole { base.failed } else { base.failed.saturating_sub(1) };
    (now.failed > allowed).then(|| {
        let before = if base.failed == 0 { "none".to_owned() } else { base.failed.to_string() };
        format!("exit 0, and {} failed; on the base {before}", number(now.failed))
    })
}

fn ignored(base: &Tests, now: &Tests) -> Option<String> {
    let before = if base.ignored == 0 { "no test".to_owned() } else { number(base.ignored) };
    let were = if base.ignored > 1 { "were" } else { "was" };
    (now.ignored > base.ignored).then(|| format!("{before} {were} ignored on the base, {} now", now.ignored))
}

fn number(tests: u64) -> String {
    format!("{tests} test{}", if tests == 1 { "" } else { "s" })
}

fn runs(runs: u64) -> String {
    format!("{runs} test run{}", if runs == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(ran: u64, ignored: u64) -> Tests {
        Tests { announced: 1, ended: 1, ..Tests::new(ran, 0, ignored) }
    }

    fn judge(base: Option<(Tests, bool)>, now: Option<Tests>) -> Option<String> {
        let counts = |tests: Tests| Counts::from([(Runner::Cargo, tests)]);
        let base = base.map(|(tests, whole)| Said { counts: counts(tests), whole });
        objection(base.as_ref(), &now.map(counts).unwrap_or_default())
    }

    #[test]
    fn only_less_is_held_against_it() {
        let base = Some((said(12, 1), true));
        for (base, now, expected) in [
            (base, Some(said(12, 1)), None),
            (base, Some(said(13, 0)), None),
            (base, Some(said(7, 1)), Some("12 tests ran on the base, 7 now")),
            (base, Some(said(12, 2)), Some("1 test was ignored on the base, 2 now")),
            (base, Some(said(0, 1)), Some("12 tests ran on the base, none now")),
            (base, None, Some("12 tests ran on the base, none now (cargo test)")),
            (Some((said(12, 0), true)), Some(said(12, 3)), Some("no test was ignored on the base, 3 now")),
            // A base that failed may not have come to the ignored ones.
            (Some((said(12, 0), false)), Some(said(12, 3)), None),
            (Some((said(12, 0), false)), Some(said(11, 0)), Some("12 tests ran on the base, 11 now")),
            (None, Some(said(0, 9)), None),
            (None, None, None),
        ] {
            assert_eq!(judge(base, now).as_deref(), expected, "{base:?} {now:?}");
        }
    }

    #[test]
    fn tests_that_fail_are_no_pass() {
        let failing = |ran, failed| Tests { announced: 1, ended: 1, ..Tests::new(ran - failed, failed, 0) };
        for (base, now, expected) in [
            // The command puts up with what fails.
            (Some((failing(12, 2), true)), failing(12, 2), None),
            (Some((failing(12, 2), true)), failing(12, 3), Some("exit 0, and 3 tests failed; on the base 2")),
            (Some((failing(12, 0), true)), failing(12, 1), Some("exit 0, and 1 test failed; on the base none")),
            // One of those that failed on the base was the reason why the command did.
            (Some((failing(12, 2), false)), failing(12, 2), Some("exit 0, and 2 tests failed; on the base 2")),
            (Some((failing(12, 2), false)), failing(12, 1), None),
            (Some((failing(12, 1), false)), failing(12, 1), Some("exit 0, and 1 test failed; on the base 1")),
            (Some((failing(12, 1), false)), failing(12, 0), None),
            (None, failing(12, 1), None),
        ] {
            assert_eq!(judge(base, Some(now)).as_deref(), expected, "{base:?} {now:?}");
        }
    }

    #[test]
    fn a_run_without_a_result_needs_no_base() {
        let lost = Tests { announced: 3, ended: 2, ..Tests::new(12, 0, 0) };
        let expected = "3 test runs announced, 1 of them without a result";
        assert_eq!(judge(None, Some(lost)).as_deref(), Some(expected));
        assert_eq!(judge(Some((said(1, 0), true)), Some(lost)).as_deref(), Some(expected));
    }

    #[test]
    fn a_runner_that_is_new_may_not_bring_ignored_tests_with_it() {
        let base = Said { counts: Counts::from([(Runner::Cargo, said(3, 0))]), whole: true };
        let mut now = base.counts.clone();
        now.insert(Runner::Pytest, said(2, 0));
        assert_eq!(objection(Some(&base), &now), None);
        now.insert(Runner::Pytest, said(2, 1));
        let expected = "no test was ignored on the base, 1 now (pytest)";
        assert_eq!(objection(Some(&base), &now).as_deref(), Some(expected));
    }
}
