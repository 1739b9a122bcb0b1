//! Durations as people write them: `45m`, `1h 30m`, `90s`.

use std::time::Duration;

use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, de::Error};

/// Reads a positive duration.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let refuse = || format!("`{text}` is not a time such as 45m, 8h or 90s");
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).ok_or_else(refuse)?);
    // Days are no fixed span to jiff; here they are 24 hours.
    if unit.trim() == "d" {
        let days: u64 = number.parse().map_err(|_| refuse())?;
        return days.checked_mul(86_400).map(Duration::from_secs).ok_or_else(refuse);
    }
    let duration: SignedDuration = text.parse().map_err(|_| refuse())?;
    match Duration::try_from(duration) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        Ok(_) | Err(_) => Err(refuse()),
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, seconds) in [("45m", 2700), ("8h", 28_800), ("1h 30m", 5400), ("90s", 90), ("30d", 2_592_000)] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for bad in ["", "45", "-1h", "0s", "soon", "1 fortnight"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
