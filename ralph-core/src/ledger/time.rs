//! Times as they are written in files, and ids made of them.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher as _, Hasher as _},
    time::{SystemTime, UNIX_EPOCH},
};

use jiff::Timestamp;

use crate::id::RunId;

/// `2026-05-18T02:11:45Z` for milliseconds since the epoch; what lies outside of the calendar is the epoch.
pub(super) fn stamp(millis: u64) -> String {
    timestamp(millis).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The same for a point in time.
pub(super) fn stamp_of(time: SystemTime) -> String {
    stamp(millis(time))
}

fn timestamp(millis: u64) -> Timestamp {
    let millis = i64::try_from(millis).unwrap_or_default();
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH)
}

pub(super) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A number that nobody else has: the keys of the standard hasher are random. Tells things apart, and keeps no secret.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A new id such as `20260518-021145-0b2c3d`: sorts by time, to the millisecond by the first three digits of the last
/// part, and is a safe name for a folder.
pub(super) fn run_id(now: SystemTime) -> RunId {
    let millis = millis(now);
    let stamp = timestamp(millis).strftime("%Y%m%d-%H%M%S");
    RunId::new(format!("{stamp}-{:03x}{:03x}", millis % 1000, random() & 0xfff))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps() {
        assert_eq!(stamp(1_779_070_305_999), "2026-05-18T02:11:45Z");
        assert_eq!(stamp(u64::MAX), "1970-01-01T00:00:00Z");
    }
}
