//! How long to wait for an agent that is not available.

use std::time::{Duration, SystemTime};

use backon::{BackoffBuilder, ExponentialBuilder};

/// The shortest wait after a first outage.
const FIRST: Duration = Duration::from_secs(15);
/// Where the wait stops doubling. Jitter adds up to as much again.
const CAP: Duration = Duration::from_secs(600);
/// The most that is added to a stated time, so that not everybody comes back in the same second.
const AFTER_RESET_MS: u64 = 30_000;

/// How long to wait after the `outage`-th outage in a row (the first is 1).
///
/// With a stated end (`until`) that lies ahead of `now`: until then and up to half a minute more. Otherwise from 15
/// seconds on, doubling up to ten minutes, and up to as much again of jitter. The same arguments give the same wait;
/// `seed` is where chance comes from.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// let now = SystemTime::UNIX_EPOCH;
/// let wait = ralph_agents::backoff::wait(1, None, now, 7);
/// assert!(wait >= Duration::from_secs(15) && wait <= Duration::from_secs(30));
/// let reset = now + Duration::from_secs(3600);
/// assert!(ralph_agents::backoff::wait(1, Some(reset), now, 7) >= Duration::from_secs(3600));
/// ```
pub fn wait(outage: u32, until: Option<SystemTime>, now: SystemTime, seed: u64) -> Duration {
    let ahead = until.and_then(|until| until.duration_since(now).ok()).filter(|d| !d.is_zero());
    if let Some(ahead) = ahead {
        // At least a second: clocks of two machines never agree to the millisecond.
        let jitter = 1_000 + mix(seed) % (AFTER_RESET_MS - 1_000);
        return ahead.saturating_add(Duration::from_millis(jitter));
    }
    // Long past the cap all waits are alike; more rounds would only cost time.
    let round = outage.clamp(1, 32) as usize;
    ExponentialBuilder::new()
        .with_min_delay(FIRST)
        .with_max_delay(CAP)
        .without_max_times()
        .with_jitter()
        .with_jitter_seed(seed)
        .build()
        .nth(round - 1)
        .unwrap_or(CAP)
}

/// Spreads neighbouring seeds over the whole range (the finalizer of SplitMix64).
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    #[test]
    fn it_doubles_up_to_the_cap() {
        for (outage, base) in [(1, 15), (2, 30), (3, 60), (6, 480), (7, 600), (100, 600)] {
            for seed in 0..50 {
                let wait = wait(outage, None, NOW, seed).as_secs_f64();
                assert!((f64::from(base)..=f64::from(2 * base)).contains(&wait), "{outage}: {wait}");
            }
        }
    }

    #[test]
    fn chance_makes_a_difference() {
        assert_ne!(wait(3, None, NOW, 1), wait(3, None, NOW, 2));
        let reset = Some(NOW + Duration::from_secs(60));
        assert_ne!(wait(3, reset, NOW, 1), wait(3, reset, NOW, 2));
    }

    #[test]
    fn a_reset_that_is_past_is_no_reason_to_hurry() {
        let late = NOW + Duration::from_secs(100);
        assert_eq!(wait(4, Some(NOW), late, 3), wait(4, None, late, 3));
        assert_eq!(wait(4, Some(late), late, 3), wait(4, None, late, 3));
    }

    proptest! {
        #[test]
        fn never_before_the_reset_nor_long_after(outage: u32, ahead in 1_u64..1 << 40, seed: u64) {
            let ahead = Duration::from_secs(ahead);
            let wait = wait(outage, Some(NOW + ahead), NOW, seed);
            prop_assert!(wait > ahead && wait <= ahead + Duration::from_secs(30));
        }

        #[test]
        fn bounded_and_repeatable(outage: u32, seed: u64) {
            let once = wait(outage, None, NOW, seed);
            prop_assert!(once >= FIRST && once <= 2 * CAP);
            prop_assert_eq!(once, wait(outage, None, NOW, seed));
        }
    }
}
