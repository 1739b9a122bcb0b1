//! The next backend where one cannot be used.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use ralph_core::{
    AgentBackend, AgentError, Brief, Capabilities, Clock, Cx, SessionEnd, SessionReport, SystemClock, Tokens, Trouble,
    Usage, Usd, async_trait,
};

use super::{brief_for, same_name, several::Several, signed};
use crate::json::one_line;

/// How much of what a backend says for itself is kept, in characters.
const WORDS_MAX: usize = 300;

/// Asks the backends in order, the next one at once where one is *out*: unavailable, unusable, not installed, refused.
///
/// Who was out is passed over until the time that it stated, or for a while (5 minutes, if not told otherwise). A session
/// that failed, or came to a limit, is an outcome like any other: no one else is asked.
///
/// Where all are out, the session is [`SessionEnd::Unavailable`] until the first of them is to be asked again, with what
/// each of them said; where none of them will be back by itself, it is an error, or [`SessionEnd::Unusable`] if there was
/// a session. Where nobody was asked, nothing was used.
///
/// It can do what all of them can. [`SessionReport::agent`] names who it was, and [`Brief::resume`] reaches only whom it
/// names; who refuses to resume is not out, and its refusal is given as it is: without `resume` it can be asked again.
/// For what holds of all sessions of one call see
/// [the module](crate::wrap#several-sessions-in-one-call).
///
/// ```
/// use ralph_agents::wrap::Fallback;
/// use ralph_core::{
///     AgentBackend, AttemptId, Brief, Cx, ItemRef, RunId, SessionEnd, Trouble, agent_fn,
///     testing::{ScriptedAgent, turn},
/// };
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let folder = tempfile::tempdir().unwrap();
/// let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
/// let brief = Brief::new(folder.path(), "Add a greeting.", RunId::new("run"), attempt);
/// let first = ScriptedAgent::new([turn().is_unavailable(Trouble::UsageWindow, None)]);
/// let agent = Fallback::new(first).or(agent_fn("second", |_| Ok("done".to_owned()))).unwrap();
/// for _ in 0..2 {
///     let report = agent.run(&brief, &Cx::new()).await.unwrap();
///     assert_eq!((report.end, report.agent.as_deref()), (SessionEnd::Finished, Some("second")));
/// }
/// # });
/// ```
#[derive(Debug)]
pub struct Fallback {
    name: String,
    places: Vec<Place>,
    cool_down: Duration,
    clock: Arc<dyn Clock>,
}

#[derive(Debug)]
struct Place {
    backend: Arc<dyn AgentBackend>,
    out: Mutex<Option<Out>>,
}

/// That a backend is out, why, and when it is to be asked again.
#[derive(Clone, Debug)]
struct Out {
    again: SystemTime,
    why: Why,
    words: String,
    advice: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    /// It will be back by itself.
    Trouble(Trouble),
    Missing(String),
    Login,
    Refused,
}

impl Place {
    fn lock(&self) -> MutexGuard<'_, Option<Out>> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fallback {
    /// `first`, which is asked before all others.
    pub fn new(first: impl AgentBackend) -> Self {
        let mut fallback = Self {
            name: String::new(),
            places: Vec::new(),
            cool_down: Duration::from_secs(5 * 60),
            clock: Arc::new(SystemClock::new()),
        };
        fallback.add(first);
        fallback
    }

    /// The same with one more, which is asked after the ones before it.
    ///
    /// # Errors
    /// [`AgentError::Refused`] where one of them has its name.
    pub fn or(mut self, next: impl AgentBackend) -> Result<Self, AgentError> {
        if self.places.iter().any(|place| place.backend.name() == next.name()) {
            return Err(same_name(next.name()));
        }
        self.add(next);
        Ok(self)
    }

    /// The same, passing over who was out for so long where it did not say until when.
    #[must_use]
    pub fn cool_down(mut self, cool_down: Duration) -> Self {
        self.cool_down = cool_down;
        self
    }

    /// The same by this clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    fn add(&mut self, backend: impl AgentBackend) {
        self.places.push(Place { backend: Arc::new(backend), out: Mutex::default() });
        let names: Vec<&str> = self.places.iter().map(|place| place.backend.name()).collect();
        self.name = format!("fallback({})", names.join(", "));
    }

    /// Whether the end of a session says that its backend is out.
    fn ended(&self, end: &SessionEnd) -> Option<Out> {
        match end {
            SessionEnd::Unavailable { trouble, detail, until } => {
                let words = format!("{trouble} ({})", one_line(detail, WORDS_MAX));
                Some(self.out(Why::Trouble(*trouble), words, String::new(), *until))
            }
            SessionEnd::Unusable(why) => Some(self.out(Why::Refused, one_line(why, WORDS_MAX), String::new(), None)),
            _ => None,
        }
    }

    /// Whether an error says so. One that may be gone at once is none of the backend's.
    fn failed(&self, error: &AgentError) -> Option<Out> {
        let (why, advice) = match error {
            AgentError::NotFound { program, advice } => (Why::Missing(program.clone()), advice.as_str()),
            AgentError::Auth { advice, .. } => (Why::Login, advice.as_str()),
            AgentError::Refused { advice, .. } => (Why::Refused, advice.as_str()),
            error if error.retry() == ralph_core::Retry::Never => (Why::Refused, ""),
            _ => return None,
        };
        Some(self.out(why, one_line(&error.to_string(), WORDS_MAX), advice.to_owned(), None))
    }

    fn out(&self, why: Why, words: String, advice: String, until: Option<SystemTime>) -> Out {
        let now = self.clock.now();
        let again = until.filter(|until| *until > now).unwrap_or(now + self.cool_down);
        Out { again, why, words, advice }
    }
}

/// What it comes to when nobody is left to ask.
fn nobody(outs: &[(&str, Out)], last: Option<SessionReport>) -> Result<SessionReport, AgentError> {
    let each: Vec<String> = outs.iter().map(|(name, out)| format!("{name}: {}", out.words)).collect();
    let detail = each.join("; ");
    let back = outs.iter().filter_map(|(_, out)| match out.why {
        Why::Trouble(trouble) => Some((out.again, trouble)),
        Why::Missing(_) | Why::Login | Why::Refused => None,
    });
    let end = match (back.min_by_key(|(again, _)| *again), &last) {
        (Some((again, trouble)), _) => SessionEnd::Unavailable { trouble, detail, until: Some(again) },
        (None, Some(_)) => SessionEnd::Unusable(detail),
        (None, None) => return Err(refusal(outs, detail)),
    };
    Ok(ending(last, end))
}
/// The last report with another end. Where there is none, nobody was asked, and nothing was used.
fn ending(last: Option<SessionReport>, end: SessionEnd) -> SessionReport {
    let Some(mut report) = last else {
        let nothing = Usage::unknown().with_cost(Usd::ZERO).with_tokens(Tokens::default());
        return SessionReport::new(end).with_usage(nothing);
    };
    report.end = end;
    report
}

/// The error where none of them could even begin: of the kind that they share.
fn refusal(outs: &[(&str, Out)], detail: String) -> AgentError {
    let mut advice: Vec<&str> = outs.iter().map(|(_, out)| out.advice.as_str()).filter(|it| !it.is_empty()).collect();
    advice.dedup();
    let advice = advice.join("; ");
    let missing: Vec<&str> = outs
        .iter()
        .filter_map(|(_, out)| if let Why::Missing(program) = &out.why { Some(program.as_str()) } else { None })
        .collect();
    if missing.len() == outs.len() {
        AgentError::NotFound { program: missing.join(", "), advice }
    } else if outs.iter().all(|(_, out)| out.why == Why::Login) {
        AgentError::Auth { detail, advice }
    } else {
        AgentError::Refused { detail, advice }
    }
}

#[async_trait]
impl AgentBackend for Fallback {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        let all = self.places.iter().map(|place| place.backend.capabilities());
        all.reduce(Capabilities::and).unwrap_or_default()
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        let mut several = Several::new(brief, cx, &*self.clock);
        let (mut outs, mut last) = (Vec::new(), None);
        for place in &self.places {
            let name = place.backend.name();
            let known = place.lock().clone().filter(|out| out.again > self.clock.now());
            if let Some(out) = known {
                outs.push((name, out));
                continue;
            }
            if cx.cancel().is_cancelled() {
                return Ok(several.total(ending(last, SessionEnd::Cancelled)));
            }
            // What the limits leave is nothing for another one: the last report says that there is to be one.
            let Some(next) = several.next(Duration::ZERO) else { break };
            if !outs.is_empty() {
                cx.live(&format!("[{name} is asked instead]"));
            }
            let own = brief_for(&next, name);
            let out = match place.backend.run(&own, cx).await {
                Ok(report) => {
                    several.add(&report);
                    let out = self.ended(&report.end);
                    let report = signed(report, name);
                    let Some(out) = out else { return Ok(several.total(report)) };
                    last = Some(report);
                    out
                }
                // The session to go on with may be gone, which says nothing about a fresh one.
                Err(error @ AgentError::Refused { .. }) if own.resume.is_some() => {
                    return last.map(|report| several.total(report)).ok_or(error);
                }
                Err(error) => match self.failed(&error) {
                    Some(out) => out,
                    // Where there was a session, its report must not get lost, and says that there is to be another.
                    None => return last.map(|report| several.total(report)).ok_or(error),
                },
            };
            cx.live(&format!("[{name} is out: {}]", out.words));
            *place.lock() = Some(out.clone());
            outs.push((name, out));
        }
        let report = match last {
            Some(report) if outs.len() < self.places.len() => report,
            last => nobody(&outs, last)?,
        };
        Ok(several.total(report))
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::{
        AttemptId, Cancel, ItemRef, Resume, RunId,
        testing::{ScriptedAgent, StillClock, Turn, turn},
    };

    use super::*;
    use crate::wrap::Named;

    fn brief() -> Brief {
        let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
        Brief::new(std::env::temp_dir(), "", RunId::new("run"), attempt)
    }

    fn out(trouble: Trouble, until: Option<SystemTime>) -> Turn {
        turn().is_unavailable(trouble, until).costs("0.10")
    }

    /// Two scripted ones, `a` and `b`.
    struct Two {
        a: ScriptedAgent,
        b: ScriptedAgent,
        clock: StillClock,
        agent: Fallback,
    }

    fn two(a: impl IntoIterator<Item = Turn>, b: impl IntoIterator<Item = Turn>) -> Two {
        let (a, b, clock) = (ScriptedAgent::new(a), ScriptedAgent::new(b), StillClock::new());
        let agent = Fallback::new(Named::new("a", a.clone())).or(Named::new("b", b.clone())).unwrap();
        Two { agent: agent.clock(clock.clone()), a, b, clock }
    }

    impl Two {
        async fn run(&self) -> Result<SessionReport, AgentError> {
            self.agent.run(&brief(), &Cx::new()).await
        }

        fn sessions(&self) -> (usize, usize) {
            (self.a.briefs().len(), self.b.briefs().len())
        }
    }

    #[tokio::test]
    async fn the_next_one_is_asked_and_all_is_paid() {
        let two = two([out(Trouble::Overload, None)], [turn().costs("0.20").says("done")]);
        let report = two.run().await.unwrap();
        assert_eq!((&report.end, report.agent.as_deref()), (&SessionEnd::Finished, Some("b")));
        assert_eq!(report.usage.cost, Some("0.30".parse().unwrap()));
        // An error costs nothing, and what failed is nobody's to do over.
        let two = self::two([turn().is_missing()], [turn().costs("0.20").crashes("no"), turn()]);
        let report = two.run().await.unwrap();
        assert_eq!((&report.end, two.sessions()), (&SessionEnd::Failed("no".into()), (1, 1)));
        assert_eq!(report.usage.cost, Some("0.20".parse().unwrap()));
        let two = self::two([turn().hits_limit("time")], [turn()]);
        assert_eq!((two.run().await.unwrap().agent.as_deref(), two.sessions()), (Some("a"), (1, 0)));
    }

    #[tokio::test]
    async fn who_is_out_is_passed_over_until_it_is_back() {
        let until = StillClock::new().now() + Duration::from_secs(3600);
        for (until, seconds) in [(Some(until), 3600), (None, 300), (Some(SystemTime::UNIX_EPOCH), 300)] {
            let two = two([out(Trouble::UsageWindow, until), turn(), turn()], vec![turn(); 2]);
            two.run().await.unwrap();
            two.clock.advance(Duration::from_secs(seconds - 1));
            assert_eq!(two.run().await.unwrap().agent.as_deref(), Some("b"));
            assert_eq!(two.sessions(), (1, 2));
            two.clock.advance(Duration::from_secs(1));
            for _ in 0..2 {
                assert_eq!(two.run().await.unwrap().agent.as_deref(), Some("a"));
            }
            two.a.assert_played();
        }
    }

    #[tokio::test]
    async fn all_out_says_what_each_said_and_until_when() {
        let now = StillClock::new().now();
        let (near, far) = (now + Duration::from_secs(60), now + Duration::from_secs(3600));
        let two = two([out(Trouble::UsageWindow, Some(far))], [out(Trouble::RateLimit, Some(near)), turn()]);
        let report = two.run().await.unwrap();
        let detail = "a: usage window used up (scripted); b: rate limit (scripted)".to_owned();
        let end = SessionEnd::Unavailable { trouble: Trouble::RateLimit, detail, until: Some(near) };
        assert_eq!((&report.end, report.usage.cost), (&end, Some("0.20".parse().unwrap())));
        // Nobody is asked meanwhile, and that costs nothing, which is known.
        let report = two.run().await.unwrap();
        assert_eq!((&report.end, report.usage.cost), (&end, Some(Usd::ZERO)));
        assert_eq!(two.sessions(), (1, 1));
        two.clock.advance(Duration::from_secs(60));
        assert_eq!(two.run().await.unwrap().agent.as_deref(), Some("b"));
        // Who will not be back by itself is not waited for.
        let two = self::two([turn().is_missing()], [out(Trouble::Network, Some(far))]);
        let end = two.run().await.unwrap().end;
        assert!(matches!(&end, SessionEnd::Unavailable { until, .. } if *until == Some(far)), "{end:?}");
    }

    #[tokio::test]
    async fn nobody_who_will_be_back_is_an_error() {
        #[derive(Debug)]
        struct Refuses(&'static str);

        #[async_trait]
        impl AgentBackend for Refuses {
            fn name(&self) -> &str {
                self.0
            }
            fn capabilities(&self) -> Capabilities {
                Capabilities::none()
            }
            async fn run(&self, _brief: &Brief, _cx: &Cx) -> Result<SessionReport, AgentError> {
                let (detail, advice) = (format!("{} says no", self.0), "log in".to_owned());
                match self.0 {
                    "busy" => Err(AgentError::other("no more processes")),
                    "spent" => {
                        let end = SessionEnd::Unusable(detail);
                        Ok(SessionReport::new(end).with_usage(Usage::unknown().with_cost(Usd::from_micros(1))))
                    }
                    "login" | "login2" => Err(AgentError::Auth { detail, advice }),
                    _ => Err(AgentError::Refused { detail, advice }),
                }
            }
        }

        let run = async |names: [&'static str; 2]| {
            let agent = Fallback::new(Refuses(names[0])).or(Refuses(names[1])).unwrap();
            agent.run(&brief(), &Cx::new()).await
        };
        let error = run(["login", "model"]).await.unwrap_err();
        let AgentError::Refused { detail, advice } = &error else { panic!("{error:?}") };
        assert!(detail.contains("login: ") && detail.contains("model says no"), "{detail}");
        assert_eq!(advice, "log in");
        assert!(matches!(run(["login", "login2"]).await, Err(AgentError::Auth { .. })));
        // What may work at once is no reason to pass anybody over.
        assert!(matches!(run(["busy", "login"]).await, Err(AgentError::Other(_))));
        for names in [["spent", "login"], ["login", "spent"]] {
            let report = run(names).await.unwrap();
            assert!(matches!(&report.end, SessionEnd::Unusable(why) if why.contains("login says no")), "{report:?}");
            assert_eq!(report.usage.cost, Some(Usd::from_micros(1)));
        }
        let both = two([turn().is_missing()], [turn().is_missing()]);
        assert!(matches!(both.run().await, Err(AgentError::NotFound { .. })));
    }

    #[tokio::test]
    async fn limits_and_the_switch_bind_all_of_them() {
        let two = two([out(Trouble::Overload, None)], [turn()]);
        let mut brief = brief();
        brief.cost_limit = Some(Usd::from_micros(100_000));
        let report = two.agent.run(&brief, &Cx::new()).await.unwrap();
        assert!(matches!(report.end, SessionEnd::Unavailable { .. }), "{:?}", report.end);
        assert_eq!(two.sessions(), (1, 0));
        let two = self::two([turn().hangs()], [turn()]);
        let cancel = Cancel::new();
        cancel.cancel();
        let report = two.agent.run(&self::brief(), &Cx::new().with_cancel(cancel)).await.unwrap();
        assert_eq!((report.end, two.sessions()), (SessionEnd::Cancelled, (0, 0)));
    }

    #[tokio::test]
    async fn a_session_is_resumed_by_whom_it_was_of() {
        let two = two([out(Trouble::Overload, None)], [turn()]);
        let mut brief = brief();
        let before = Usage::unknown();
        brief.resume = Some(Resume { agent: "a".into(), session_id: "s".into(), before });
        two.agent.run(&brief, &Cx::new()).await.unwrap();
        let resumed = |agent: &ScriptedAgent| agent.briefs()[0].resume.is_some();
        assert!(resumed(&two.a) && !resumed(&two.b));
        assert!(Fallback::new(two.a.clone()).or(two.b.clone()).unwrap_err().to_string().contains("`scripted`"));
    }

    /// Has lost all sessions.
    #[derive(Debug)]
    struct Forgets;

    #[async_trait]
    impl AgentBackend for Forgets {
        fn name(&self) -> &str {
            "forgets"
        }
        fn capabilities(&self) -> Capabilities {
            Capabilities::none()
        }
        async fn run(&self, brief: &Brief, _cx: &Cx) -> Result<SessionReport, AgentError> {
            match brief.resume {
                Some(_) => Err(AgentError::Refused { detail: "no such session".into(), advice: String::new() }),
                None => Ok(SessionReport::new(SessionEnd::Finished)),
            }
        }
    }

    #[tokio::test]
    async fn who_has_lost_a_session_is_not_out() {
        let mut resumed = brief();
        let (agent, before) = ("forgets".to_owned(), Usage::unknown());
        resumed.resume = Some(Resume { agent, session_id: "s".into(), before });
        let other = ScriptedAgent::new([turn()]);
        let agent = Fallback::new(Forgets).or(other.clone()).unwrap();
        assert!(matches!(agent.run(&resumed, &Cx::new()).await, Err(AgentError::Refused { .. })));
        // As the engine does: it is the first to be asked for a fresh one.
        let report = agent.run(&brief(), &Cx::new()).await.unwrap();
        assert_eq!((report.agent.as_deref(), other.briefs().len()), (Some("forgets"), 0));
        // What was paid before it was asked is not lost.
        let first = ScriptedAgent::new([out(Trouble::Overload, None)]);
        let agent = Fallback::new(first).or(Forgets).unwrap();
        let report = agent.run(&resumed, &Cx::new()).await.unwrap();
        assert!(matches!(report.end, SessionEnd::Unavailable { .. }), "{:?}", report.end);
        assert_eq!(report.usage.cost, Some("0.10".parse().unwrap()));
    }
}
