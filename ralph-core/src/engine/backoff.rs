//! How long to wait for an agent that is not available.

use std::time::{Duration, SystemTime};

use backon::{BackoffBuilder, ExponentialBuilder};

/// The waits between sessions that are lost to the agent's own trouble: exponential with jitter, unless the agent says
/// when it will be over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backoff {
    /// The first wait.
    pub min: Duration,
    /// The longest wait that is not stated by the agent.
    pub max: Duration,
    /// Whether waits are spread at random, so that many runs do not come back together.
    pub jitter: bool,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { min: Duration::from_secs(15), max: Duration::from_secs(15 * 60), jitter: true }
    }
}

impl Backoff {
    /// No waits but those that the agent states; for tests.
    pub fn none() -> Self {
        Self { min: Duration::ZERO, max: Duration::ZERO, jitter: false }
    }

    /// How long to wait after `outages` earlier ones in a row, at `now`, where the agent says that it will be over at
    /// `until`.
    pub fn wait(&self, outages: u32, until: Option<SystemTime>, now: SystemTime) -> Duration {
        let usual = self.usual(outages);
        match until.and_then(|until| until.duration_since(now).ok()) {
            // A stated time is kept; the jitter of the usual wait comes on top, at most a minute.
            Some(stated) if self.jitter => stated + usual.min(Duration::from_secs(60)) / 4,
            Some(stated) => stated,
            None => usual,
        }
    }

    fn usual(&self, outages: u32) -> Duration {
        let mut builder = ExponentialBuilder::default()
            .with_min_delay(self.min)
            .with_max_delay(self.max)
            .with_max_times(outages as usize + 1);
        if self.jitter {
            builder = builder.with_jitter();
        }
        let longest = self.max.saturating_mul(2);
        builder.build().nth(outages as usize).unwrap_or(self.max).min(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_are_bounded() {
        let backoff = Backoff { jitter: false, ..Backoff::default() };
        let now = SystemTime::UNIX_EPOCH;
        let waits: Vec<u64> = (0..9).map(|n| backoff.wait(n, None, now).as_secs()).collect();
        assert_eq!(waits, [15, 30, 60, 120, 240, 480, 900, 900, 900]);
        assert!(Backoff::default().wait(1000, None, now) <= Duration::from_secs(1800));
    }

    #[test]
    fn a_stated_time_is_kept() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let until = now + Duration::from_secs(7200);
        let wait = Backoff::default().wait(0, Some(until), now);
        assert!((7200..7260).contains(&wait.as_secs()), "{wait:?}");
        // One in the past says nothing about how long to wait.
        assert!(Backoff::default().wait(0, Some(SystemTime::UNIX_EPOCH), now) >= Duration::from_secs(15));
    }
}
