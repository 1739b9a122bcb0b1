//! The one source of time.

use std::{
    fmt::Debug,
    future::Future,
    pin::Pin,
    time::{Duration, SystemTime},
};

/// A boxed wait, as [`Clock::sleep`] returns it.
pub type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Where the engine gets its time from.
///
/// # Contract
/// - `now` is wall time, for records and for people. It may jump.
/// - `monotonic` never goes back, and counts from any fixed origin. All durations are measured with it.
/// - `sleep` ends once `monotonic` has advanced by the duration: the three move together, so that a test that pauses
///   one pauses all.
///
/// # Cancellation
/// Dropping the future of `sleep` ends the wait.
///
/// # Implementing
/// ```
/// use std::time::{Duration, SystemTime};
/// use ralph_core::{Clock, Sleep};
///
/// /// Time that stands still until somebody sleeps.
/// #[derive(Debug, Default)]
/// struct Instant(std::sync::Mutex<Duration>);
///
/// impl Clock for Instant {
///     fn now(&self) -> SystemTime {
///         SystemTime::UNIX_EPOCH + self.monotonic()
///     }
///     fn monotonic(&self) -> Duration {
///         *self.0.lock().unwrap()
///     }
///     fn sleep(&self, duration: Duration) -> Sleep<'_> {
///         *self.0.lock().unwrap() += duration;
///         Box::pin(std::future::ready(()))
///     }
/// }
/// let clock = Instant::default();
/// clock.sleep(Duration::from_secs(3600));
/// assert_eq!(clock.monotonic(), Duration::from_secs(3600));
/// ```
pub trait Clock: Debug + Send + Sync + 'static {
    /// Wall time.
    fn now(&self) -> SystemTime;
    /// Time since a fixed origin; never goes back.
    fn monotonic(&self) -> Duration;
    /// Ends after `duration` of monotonic time.
    fn sleep(&self, duration: Duration) -> Sleep<'_>;
}

/// Milliseconds since the Unix epoch, as facts store wall time; 0 before it.
pub fn millis(at: SystemTime) -> u64 {
    at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The wall time of [`millis`].
pub fn from_millis(at: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(at)
}

/// The real clock: wall time and tokio's timer.
#[cfg(feature = "engine")]
#[derive(Debug)]
pub struct SystemClock {
    origin: std::time::Instant,
}

#[cfg(feature = "engine")]
impl SystemClock {
    /// Counts monotonic time from now.
    pub fn new() -> Self {
        Self { origin: std::time::Instant::now() }
    }
}

#[cfg(feature = "engine")]
impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(feature = "engine")]
impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        Box::pin(tokio::time::sleep(duration))
    }
}
