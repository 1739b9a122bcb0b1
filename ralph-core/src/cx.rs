//! The context of one call on a seam: cancellation, deadline, attempt, live output.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use event_listener::{Event, listener};

use crate::id::AttemptId;

/// Asks for an end, from any thread, once. Cheap to clone; all clones are one switch.
///
/// ```
/// let cancel = ralph_core::Cancel::new();
/// assert!(!cancel.is_cancelled());
/// cancel.cancel();
/// assert!(cancel.clone().is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct Cancel(Arc<Switch>);

#[derive(Default)]
struct Switch {
    on: AtomicBool,
    event: Event,
}

impl Cancel {
    /// A switch that is off.
    pub fn new() -> Self {
        Self::default()
    }

    /// Turns the switch on. Idempotent.
    pub fn cancel(&self) {
        self.0.on.store(true, Ordering::SeqCst);
        self.0.event.notify(usize::MAX);
    }

    /// Whether the switch is on.
    pub fn is_cancelled(&self) -> bool {
        self.0.on.load(Ordering::SeqCst)
    }

    /// Waits until the switch is on. Dropping the future is harmless.
    pub async fn cancelled(&self) {
        while !self.is_cancelled() {
            listener!(self.0.event => listener);
            // Looked at again after the listener exists: no signal is lost in between.
            if self.is_cancelled() {
                return;
            }
            listener.await;
        }
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

type LiveSink = Arc<dyn Fn(&str) + Send + Sync>;

/// What every call on a seam is told besides its subject.
///
/// Owned and cheap to clone, so that it can move into a spawned task. A seam that can take long watches
/// [`Cx::cancel`] and ends early, leaving nothing behind; dropping the seam's future must do the same.
#[derive(Clone, Default)]
pub struct Cx {
    cancel: Cancel,
    deadline: Option<SystemTime>,
    time_limit: Option<Duration>,
    attempt: Option<AttemptId>,
    redelivered: bool,
    live: Option<LiveSink>,
}

impl Cx {
    /// A context without limits, for calls outside a run (and for tests).
    pub fn new() -> Self {
        Self::default()
    }

    /// The same context under another switch.
    #[must_use]
    pub fn with_cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// The same context with at most `limit` of monotonic time for the call, and the wall-clock time at which that
    /// will be used up.
    #[must_use]
    pub fn with_time_limit(mut self, limit: Duration, now: SystemTime) -> Self {
        self.time_limit = Some(limit);
        self.deadline = now.checked_add(limit);
        self
    }

    /// The same context on behalf of `attempt`.
    #[must_use]
    pub fn with_attempt(mut self, attempt: AttemptId) -> Self {
        self.attempt = Some(attempt);
        self
    }

    /// The same context, saying that this step may have been started before.
    #[must_use]
    pub fn with_redelivered(mut self, redelivered: bool) -> Self {
        self.redelivered = redelivered;
        self
    }

    /// The same context with a receiver for lines of live output.
    #[must_use]
    pub fn with_live(mut self, sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.live = Some(Arc::new(sink));
        self
    }

    /// The switch that asks this call to end.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// How long the call may take, by a monotonic clock. The callee measures it.
    pub fn time_limit(&self) -> Option<Duration> {
        self.time_limit
    }

    /// The wall-clock time by which the call should have ended; for people and for remote services.
    pub fn deadline(&self) -> Option<SystemTime> {
        self.deadline
    }

    /// The attempt on whose behalf the call is made.
    pub fn attempt(&self) -> Option<&AttemptId> {
        self.attempt.as_ref()
    }

    /// Whether the host may have started this very step before (a crash, a lost lease). Every effect but a session
    /// looks whether it has landed and does it again otherwise.
    pub fn redelivered(&self) -> bool {
        self.redelivered
    }

    /// Hands a line of live output to whoever watches. Never blocks on a watcher, and may be dropped.
    pub fn live(&self, line: &str) {
        if let Some(sink) = &self.live {
            sink(line);
        }
    }
}

impl fmt::Debug for Cx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx")
            .field("cancel", &self.cancel)
            .field("deadline", &self.deadline)
            .field("attempt", &self.attempt)
            .field("redelivered", &self.redelivered)
            .finish_non_exhaustive()
    }
}
