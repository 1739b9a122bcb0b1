//! Time that counts against limits.

use std::time::{Duration, Instant};

/// How much longer than asked for a pause may take and still be one. A busy machine stays far below this; where it took
/// longer, this program was stopped, or the machine slept.
const OVERDUE: Duration = Duration::from_secs(2);

/// A clock that stands still while this program is stopped (SIGSTOP, a debugger, a frozen container) or its machine
/// sleeps: what nobody could work in is nobody's hang.
///
/// It learns of that from the looks that did not take place, for which the caller says how long each was to take. Of a
/// gap only the pause that was asked for counts. A process that went on while we alone were stopped gains that time.
#[derive(Debug)]
pub(crate) struct Awake {
    looked: Instant,
    passed: Duration,
}

impl Awake {
    /// At zero, now.
    pub(crate) fn new() -> Self {
        Self { looked: Instant::now(), passed: Duration::ZERO }
    }

    /// Looks, after a pause of at most `asked`.
    pub(crate) fn look(&mut self, asked: Duration) {
        let now = Instant::now();
        self.advance(now.duration_since(self.looked), asked);
        self.looked = now;
    }

    fn advance(&mut self, took: Duration, asked: Duration) {
        self.passed += if took > asked + OVERDUE { asked } else { took };
    }

    /// What had passed at the last look.
    pub(crate) fn passed(&self) -> Duration {
        self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_counts_as_the_pause_that_was_asked_for() {
        let ms = Duration::from_millis;
        let mut clock = Awake::new();
        for (took, asked, passed) in [
            (50, 50, 50),
            (10, 50, 60),
            // Late, and still a pause.
            (2_050, 50, 2_110),
            // An hour's sleep.
            (3_600_000, 50, 2_160),
            (2_001, 0, 2_160),
            (40, 50, 2_200),
        ] {
            clock.advance(ms(took), ms(asked));
            assert_eq!(clock.passed(), ms(passed), "{took} ms after a pause of {asked}");
        }
    }
}
