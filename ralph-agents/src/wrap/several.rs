//! Several sessions within one call.

use std::time::Duration;

use ralph_core::{Brief, Clock, Cx, SessionReport, Usage, Usd};

/// What the sessions of one call used so far, and what is left of the brief's limits for another one.
#[derive(Debug)]
pub(super) struct Several<'a> {
    brief: Brief,
    time_limit: Option<Duration>,
    clock: &'a dyn Clock,
    from: Duration,
    /// `None` as long as there was no session.
    used: Option<Usage>,
    compactions: u32,
    denied: u32,
}

impl<'a> Several<'a> {
    /// Counts from now.
    pub(super) fn new(brief: &Brief, cx: &Cx, clock: &'a dyn Clock) -> Self {
        Self {
            time_limit: [brief.time_limit, cx.time_limit()].into_iter().flatten().min(),
            brief: brief.clone(),
            clock,
            from: clock.monotonic(),
            used: None,
            compactions: 0,
            denied: 0,
        }
    }

    /// The brief of another session that begins after `wait`; `None` where the limits leave nothing for it.
    pub(super) fn next(&self, wait: Duration) -> Option<Brief> {
        let mut brief = self.brief.clone();
        let Some(used) = self.used else { return Some(brief) };
        if let Some(limit) = self.time_limit {
            let gone = self.clock.monotonic().saturating_sub(self.from).saturating_add(wait);
            brief.time_limit = Some(limit.checked_sub(gone).filter(|left| !left.is_zero())?);
        }
        if let (Some(limit), Some(spent)) = (brief.cost_limit, used.known_cost().amount()) {
            brief.cost_limit = Some(limit.saturating_sub(spent)).filter(|left| *left > Usd::ZERO);
            brief.cost_limit?;
        }
        Some(brief)
    }

    /// Takes in what a session came to.
    pub(super) fn add(&mut self, report: &SessionReport) {
        self.used = Some(self.used.map_or(report.usage, |used| used.plus(report.usage)));
        self.compactions = self.compactions.saturating_add(report.compactions);
        self.denied = self.denied.saturating_add(report.denied);
        // Whoever resumes the same session again counts on from there.
        if let Some(resume) = &mut self.brief.resume
            && report.session_id.as_ref() == Some(&resume.session_id)
        {
            resume.before = resume.before.plus(report.usage);
        }
    }

    /// The last report, with what all of them used.
    pub(super) fn total(&self, mut report: SessionReport) -> SessionReport {
        report.usage = self.used.unwrap_or(report.usage);
        report.compactions = self.compactions;
        report.denied = self.denied;
        report
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::{AttemptId, Cost, ItemRef, Resume, RunId, SessionEnd, SystemClock, testing::StillClock};

    use super::*;

    fn brief() -> Brief {
        let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
        Brief::new("/w", "", RunId::new("run"), attempt)
    }

    fn report(usage: Usage) -> SessionReport {
        SessionReport::new(SessionEnd::Finished).with_usage(usage)
    }

    fn usd(text: &str) -> Usd {
        text.parse().unwrap()
    }

    #[test]
    fn the_limits_bind_all_together() {
        let (mut brief, clock) = (brief(), StillClock::new());
        brief.time_limit = Some(Duration::from_secs(100));
        brief.cost_limit = Some(usd("1"));
        let mut several = Several::new(&brief, &Cx::new(), &clock);
        assert_eq!(several.next(Duration::from_secs(1000)).unwrap().time_limit, brief.time_limit, "the first one");
        several.add(&report(Usage::unknown().with_cost(usd("0.30"))));
        clock.advance(Duration::from_secs(40));
        let next = several.next(Duration::from_secs(10)).unwrap();
        assert_eq!((next.time_limit, next.cost_limit), (Some(Duration::from_secs(50)), Some(usd("0.70"))));
        assert!(several.next(Duration::from_secs(60)).is_none(), "no time is left");
        several.add(&report(Usage::unknown().with_estimate(usd("0.70"))));
        assert!(several.next(Duration::ZERO).is_none(), "no money is left");
    }

    #[test]
    fn unknown_stays_unknown_and_an_estimate_an_estimate() {
        let clock = SystemClock::new();
        let total = |usages: &[Usage]| {
            let brief = brief();
            let mut several = Several::new(&brief, &Cx::new(), &clock);
            usages.iter().for_each(|usage| several.add(&report(*usage)));
            several.total(report(Usage::unknown())).usage.known_cost()
        };
        let cost = |text: &str| Usage::unknown().with_cost(usd(text));
        assert_eq!(total(&[cost("0.1"), cost("0.2")]), Cost::Reported(usd("0.3")));
        assert_eq!(total(&[cost("0.1"), Usage::unknown().with_estimate(usd("0.2"))]), Cost::Estimated(usd("0.3")));
        assert_eq!(total(&[cost("0.1"), Usage::unknown(), cost("0.2")]), Cost::Unknown);
    }

    #[test]
    fn a_session_that_is_resumed_twice_is_counted_once() {
        let (mut brief, clock) = (brief(), SystemClock::new());
        let before = Usage::unknown().with_cost(usd("1"));
        brief.resume = Some(Resume { agent: "a".into(), session_id: "s".into(), before });
        let mut several = Several::new(&brief, &Cx::new(), &clock);
        let before = |several: &Several<'_>| several.next(Duration::ZERO).unwrap().resume.unwrap().before.cost;
        several.add(&report(Usage::unknown().with_cost(usd("0.5"))).with_session_id("another"));
        assert_eq!(before(&several), Some(usd("1")));
        several.add(&report(Usage::unknown().with_cost(usd("0.5"))).with_session_id("s"));
        assert_eq!(before(&several), Some(usd("1.5")));
    }
}
