//! Time that passes only when somebody waits.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use crate::{Clock, Sleep, from_millis};

/// A clock that stands at 2026-01-01T00:00:00Z until somebody sleeps on it; then the sleep is over at once. Clones are
/// the same clock.
#[derive(Clone, Debug, Default)]
pub struct StillClock(Arc<AtomicU64>);

const START_MS: u64 = 1_767_225_600_000;

impl StillClock {
    /// Stands at the start.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }
}

impl Clock for StillClock {
    fn now(&self) -> SystemTime {
        from_millis(START_MS) + self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        // Passes only if the sleep is polled: a race that something else wins costs no time.
        Box::pin(async move { self.advance(duration) })
    }
}
