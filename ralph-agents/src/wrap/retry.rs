//! Another session where one was lost to a short trouble.

use std::{sync::Arc, time::Duration};

use ralph_core::{
    AgentBackend, AgentError, Brief, Capabilities, Clock, Cx, SessionEnd, SessionReport, SystemClock, Trouble,
    async_trait, chain, engine::Backoff,
};

use super::several::Several;

/// Runs the session again where it ended [`SessionEnd::Unavailable`] for a short trouble: a rate limit, an overload, the
/// network, no result.
///
/// It is for who calls a backend directly. **The engine needs none**: it waits by itself, counts these sessions, lets
/// people see and end the wait, and goes on after a restart.
///
/// Waits grow and are spread at random; a time that the agent states is kept. When the waits would together go beyond a
/// bound (which a usage window mostly does, and one without a stated time always), or the brief's limits, or there were
/// enough tries, the last report is given as it is. Cancelling ends the wait at once. A refusal after the first
/// session is [`SessionEnd::Unusable`], since something may have been spent. For what holds of all sessions of one call
/// see [the module](crate::wrap#several-sessions-in-one-call); a session that was lost in the middle is repeated even if it
/// had changed something.
///
/// ```
/// use ralph_agents::wrap::Retry;
/// use ralph_core::{
///     AgentBackend, AttemptId, Brief, Cx, ItemRef, RunId, SessionEnd, Trouble,
///     testing::{ScriptedAgent, StillClock, turn},
/// };
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let folder = tempfile::tempdir().unwrap();
/// let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
/// let brief = Brief::new(folder.path(), "Add a greeting.", RunId::new("run"), attempt);
/// let inner = ScriptedAgent::new([
///     turn().is_unavailable(Trouble::Overload, None).costs("0.10"),
///     turn().says("done").costs("0.20"),
/// ]);
/// let agent = Retry::new(inner).clock(StillClock::new()); // really 15 seconds
/// let report = agent.run(&brief, &Cx::new()).await.unwrap();
/// assert_eq!(report.end, SessionEnd::Finished);
/// assert_eq!(report.usage.cost.unwrap().to_string(), "$0.30");
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Retry {
    inner: Arc<dyn AgentBackend>,
    times: u32,
    wait_at_most: Duration,
    backoff: Backoff,
    clock: Arc<dyn Clock>,
}

impl Retry {
    /// At most 3 more sessions, with at most 10 minutes of waiting in all, by the waits of [`Backoff::default`].
    pub fn new(inner: impl AgentBackend) -> Self {
        Self {
            inner: Arc::new(inner),
            times: 3,
            wait_at_most: Duration::from_secs(600),
            backoff: Backoff::default(),
            clock: Arc::new(SystemClock::new()),
        }
    }

    /// The same with at most so many more sessions after the first.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }

    /// The same, waiting at most so long in all.
    #[must_use]
    pub fn wait_at_most(mut self, bound: Duration) -> Self {
        self.wait_at_most = bound;
        self
    }

    /// The same with these waits.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// The same by this clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// How long to wait before session number `again` after the first, having `waited` so long already; `None` where
    /// there is none to be.
    fn wait(&self, again: u32, end: &SessionEnd, waited: Duration) -> Option<Duration> {
        let SessionEnd::Unavailable { trouble, until, .. } = end else { return None };
        if again > self.times || (*trouble == Trouble::UsageWindow && until.is_none()) {
            return None;
        }
        let wait = self.backoff.wait(again - 1, *until, self.clock.now());
        (waited.saturating_add(wait) <= self.wait_at_most).then_some(wait)
    }
}

#[async_trait]
impl AgentBackend for Retry {
    /// That of the inner one.
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        let mut several = Several::new(brief, cx, &*self.clock);
        let mut report = self.inner.run(brief, cx).await?;
        several.add(&report);
        let mut waited = Duration::ZERO;
        for again in 1.. {
            let Some(wait) = self.wait(again, &report.end, waited) else { break };
            if several.next(wait).is_none() {
                break;
            }
            if let SessionEnd::Unavailable { trouble, .. } = &report.end {
                cx.live(&format!("[{trouble}: another session in {wait:.0?}]"));
            }
            tokio::select! {
                biased;
                () = cx.cancel().cancelled() => {
                    report.end = SessionEnd::Cancelled;
                    break;
                }
                () = self.clock.sleep(wait) => waited += wait,
            }
            let Some(next) = several.next(Duration::ZERO) else { break };
            match self.inner.run(&next, cx).await {
                Ok(next) => {
                    several.add(&next);
                    report = next;
                }
                // There was a session, and what it used must not get lost.
                Err(error) if error.retry() == ralph_core::Retry::Never => {
                    report.end = SessionEnd::Unusable(chain(&error));
                }
                Err(_) => {}
            }
        }
        Ok(several.total(report))
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use ralph_core::{
        AttemptId, Cancel, ItemRef, RunId, Usage, Usd,
        testing::{ScriptedAgent, StillClock, Turn, turn},
    };

    use super::*;

    fn brief() -> Brief {
        let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
        Brief::new(std::env::temp_dir(), "", RunId::new("run"), attempt)
    }

    fn out(trouble: Trouble, until: Option<SystemTime>) -> Turn {
        turn().is_unavailable(trouble, until).costs("0.10")
    }

    fn steady() -> Backoff {
        let mut backoff = Backoff::default();
        backoff.jitter = false;
        backoff
    }

    async fn run(turns: impl IntoIterator<Item = Turn>, brief: &Brief) -> (SessionReport, u64, usize) {
        let (inner, clock) = (ScriptedAgent::new(turns), StillClock::new());
        let agent = Retry::new(inner.clone()).backoff(steady()).clock(clock.clone());
        let report = agent.run(brief, &Cx::new()).await.unwrap();
        (report, clock.monotonic().as_secs(), inner.briefs().len())
    }

    #[tokio::test]
    async fn short_trouble_is_waited_for_and_all_is_paid() {
        let turns =
            [Trouble::RateLimit, Trouble::Overload, Trouble::Network].map(|trouble| out(trouble, None)).into_iter();
        let (report, waited, _) = run(turns.chain([turn().costs("0.20")]), &brief()).await;
        assert_eq!((&report.end, waited), (&SessionEnd::Finished, 15 + 30 + 60));
        assert_eq!(report.usage.cost, Some("0.50".parse().unwrap()));
        // One that says nothing about its cost leaves the sum unknown.
        let silent = turn().is_unavailable(Trouble::NoResult, None);
        let (report, ..) = run([silent, turn().costs("0.20")], &brief()).await;
        assert_eq!((report.end, report.usage), (SessionEnd::Finished, Usage::unknown()));
    }

    #[tokio::test]
    async fn tries_and_waits_are_bounded() {
        let (report, waited, sessions) = run(vec![out(Trouble::NoResult, None); 9], &brief()).await;
        assert!(matches!(report.end, SessionEnd::Unavailable { trouble: Trouble::NoResult, .. }));
        assert_eq!((waited, sessions), (105, 4));
        assert_eq!(report.usage.cost, Some("0.40".parse().unwrap()));
        let (inner, clock) = (ScriptedAgent::new(vec![out(Trouble::NoResult, None); 9]), StillClock::new());
        let agent = Retry::new(inner.clone()).backoff(steady()).clock(clock.clone());
        agent.times(9).wait_at_most(Duration::from_secs(50)).run(&brief(), &Cx::new()).await.unwrap();
        assert_eq!((clock.monotonic().as_secs(), inner.briefs().len()), (45, 3));
    }

    #[tokio::test]
    async fn a_stated_time_is_kept_where_it_is_near() {
        let at = |seconds| StillClock::new().now() + Duration::from_secs(seconds);
        for (trouble, until, sessions) in [
            (Trouble::RateLimit, Some(at(500)), 2),
            (Trouble::RateLimit, Some(at(601)), 1),
            (Trouble::UsageWindow, Some(at(500)), 2),
            (Trouble::UsageWindow, Some(at(3600)), 1),
            (Trouble::UsageWindow, None, 1),
        ] {
            let (_, waited, seen) = run([out(trouble, until), turn()], &brief()).await;
            assert_eq!((seen, waited), (sessions, if sessions == 2 { 500 } else { 0 }), "{trouble} {until:?}");
        }
    }

    #[tokio::test]
    async fn other_ends_and_refusals_are_not_repeated() {
        for end in [turn(), turn().crashes("no"), turn().hits_limit("time")] {
            assert_eq!(run([end, turn()], &brief()).await.2, 1);
        }
        let agent = Retry::new(ScriptedAgent::new([turn().is_missing(), turn()]));
        assert!(matches!(agent.run(&brief(), &Cx::new()).await, Err(AgentError::NotFound { .. })));
        // After a session it is no error any more, for the session was paid.
        let (report, ..) = run([out(Trouble::Overload, None), turn().is_missing(), turn()], &brief()).await;
        assert!(matches!(&report.end, SessionEnd::Unusable(why) if why.contains("was not found")), "{:?}", report.end);
        assert_eq!(report.usage.cost, Some("0.10".parse().unwrap()));
    }

    #[tokio::test]
    async fn the_limits_of_the_brief_bind_all_sessions() {
        let mut limited = brief();
        limited.time_limit = Some(Duration::from_secs(40));
        let (_, waited, sessions) = run(vec![out(Trouble::Overload, None); 4], &limited).await;
        assert_eq!((waited, sessions), (15, 2), "the second wait would take longer than is left");
        let mut limited = brief();
        limited.cost_limit = Some(Usd::from_micros(200_000));
        assert_eq!(run(vec![out(Trouble::Overload, None); 4], &limited).await.2, 2);
    }

    /// Time stands still until nothing else can happen, so that a wait that is not ended by the switch would be over.
    #[tokio::test(start_paused = true)]
    async fn cancelling_ends_the_wait() {
        let inner = ScriptedAgent::new([out(Trouble::Overload, None), turn()]);
        let (agent, cancel) = (Retry::new(inner.clone()).backoff(steady()), Cancel::new());
        let cx = Cx::new().with_cancel(cancel.clone());
        let started = tokio::time::Instant::now();
        let (brief, later) = (brief(), tokio::time::sleep(Duration::from_secs(5)));
        let (report, ()) = tokio::join!(agent.run(&brief, &cx), async {
            later.await;
            cancel.cancel();
        });
        let report = report.unwrap();
        assert_eq!((report.end, started.elapsed().as_secs()), (SessionEnd::Cancelled, 5));
        assert_eq!((report.usage.cost, inner.briefs().len()), (Some("0.10".parse().unwrap()), 1));
    }
}
