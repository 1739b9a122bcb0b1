//! When a usage limit is over, as Codex says it.

use std::time::SystemTime;

use jiff::{
    SignedDuration, ZonedDateTime,
    civil::{Date, Time},
};

/// A wall clock time, with its day unless it is today.
///
/// Codex prints the local time to the minute, `4:40 AM`, and puts the day before it, `Dec 2nd, 2026 4:40 AM`, where it
/// is another than today's. (So it is in its source, `format_retry_timestamp`; the first is recorded.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reset {
    date: Option<Date>,
    time: Time,
}

impl Reset {
    /// Reads the end of a message: `… try again at 4:40 AM.`
    pub(crate) fn of(message: &str) -> Option<Self> {
        let message = message.trim_end().strip_suffix('.')?;
        let (_, at) = message.rsplit_once("ry again at ")?;
        let words: Vec<&str> = at.split_whitespace().collect();
        let (date, [time, half]) = match words[..] {
            [time, half] => (None, [time, half]),
            [month, day, year, time, half] => {
                let day = day.strip_suffix(',')?.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                (Some(Date::strptime("%b %d %Y", format!("{month} {day} {year}")).ok()?), [time, half])
            }
            _ => return None,
        };
        let time = Time::strptime("%I:%M %p", format!("{time} {half}")).ok()?;
        Some(Self { date, time })
    }

    /// The moment, for somebody who read the message at `now`, in the time zone of who wrote it. It is the end of that
    /// minute: then it is over for sure.
    ///
    /// `None` where the clock shows that time twice or not at all on that day, or it has passed.
    pub(crate) fn at(self, now: &ZonedDateTime) -> Option<SystemTime> {
        let day = self.date.unwrap_or(now.date());
        let minute = now.time_zone().to_ambiguous_timestamp(day.to_datetime(self.time)).unambiguous().ok()?;
        let end = minute.checked_add(SignedDuration::from_mins(1)).ok()?;
        if end > now.timestamp() { SystemTime::try_from(end).ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, civil::date, tz::TimeZone};
    use proptest::prelude::*;

    use super::*;

    fn new_york(y: i16, m: i8, d: i8, hour: i8, minute: i8) -> ZonedDateTime {
        // The rules of New York, so that the test needs no data of the system.
        let zone = TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").unwrap();
        date(y, m, d).at(hour, minute, 30, 0).to_zoned_datetime(zone).unwrap()
    }

    fn until(words: &str, now: &ZonedDateTime) -> Option<String> {
        let at = Reset::of(&format!("You've hit your usage limit. {words}"))?.at(now)?;
        Some(Timestamp::try_from(at).unwrap().to_string())
    }

    #[test]
    fn a_time_is_of_today_where_no_day_is_said() {
        let now = new_york(2026, 12, 1, 3, 59);
        for (words, at) in [
            ("Visit https://example.com/ to purchase more credits or try again at 4:40 AM.", "2026-12-01T09:41:00Z"),
            ("Try again at 11:05 PM.", "2026-12-02T04:06:00Z"),
            ("Try again at 4:40\u{202f}PM.", "2026-12-01T21:41:00Z"),
            ("Try again at Dec 2nd, 2026 12:00 AM.", "2026-12-02T05:01:00Z"),
            ("Try again at Jan 11th, 2027 4:40 PM.", "2027-01-11T21:41:00Z"),
            // In this very minute.
            ("Try again at 3:59 AM.", "2026-12-01T09:00:00Z"),
        ] {
            assert_eq!(until(words, &now).as_deref(), Some(at), "{words}");
        }
    }

    #[test]
    fn what_is_not_certain_is_not_said() {
        let now = new_york(2026, 12, 1, 5, 0);
        for words in [
            "Try again later.",
            "Please try again in 1.5s.",
            "Try again at 4:40 AM.",
            "Try again at Nov 30th, 2026 4:40 PM.",
            "Try again at 16:40.",
            "Try again at 13:40 PM.",
            "Try again at Dec 32nd, 2026 4:40 PM.",
            "Try again at tomorrow 4:40 PM.",
            "Try again at 4:40 PM. Or ask.",
        ] {
            assert_eq!(until(words, &now), None, "{words}");
        }
        // The hour that a day in autumn has twice, and the one that a day in spring has not.
        let autumn = new_york(2026, 11, 1, 0, 30);
        assert_eq!(until("Try again at 1:30 AM.", &autumn), None);
        assert!(until("Try again at 2:30 AM.", &autumn).is_some());
        assert_eq!(until("Try again at Mar 14th, 2027 2:30 AM.", &autumn), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(words in "(Try again at )?[A-Za-z0-9:, ]{0,24}\\PC{0,4}\\.?") {
            let _ = until(&words, &new_york(2026, 12, 1, 5, 0));
        }
    }
}
