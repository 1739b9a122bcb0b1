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

/// As people write it, to the second.
pub(crate) fn show(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let shown: Vec<String> =
        parts.iter().filter(|(number, _)| *number > 0).map(|(number, unit)| format!("{number}{unit}")).collect();
    if shown.is_empty() { "0s".to_owned() } else { shown.join(" ") }
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
        for text in ["45m", "8h", "1h 30m", "90s", "100h"] {
            let shown = show(parse(text).unwrap());
            assert_eq!(shown, if text == "90s" { "1m 30s" } else { text });
        }
        for bad in ["", "45", "-1h", "0s", "soon", "1 fortnight"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
