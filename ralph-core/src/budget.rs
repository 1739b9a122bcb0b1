//! Money, usage and the limits of a run.

use std::{fmt, iter::Sum, ops::Add, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

/// US dollars, exact to the millionth; never negative.
///
/// ```
/// use ralph_core::Usd;
/// let cost: Usd = "0.1".parse().unwrap();
/// assert_eq!(cost + "0.2".parse().unwrap(), "0.3".parse().unwrap());
/// assert_eq!(cost.to_string(), "$0.10");
/// ```
///
/// In JSON it is a decimal number of dollars in quotes, such as `"0.25"`: exact, and with a unit that cannot be mistaken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Usd(u64);

impl Usd {
    /// No money.
    pub const ZERO: Self = Self(0);

    /// So many millionths of a dollar.
    pub fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// The amount in millionths of a dollar.
    pub fn micros(self) -> u64 {
        self.0
    }

    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// What a program reports as a floating-point number; `None` for what is no amount (negative, not a number).
    pub fn from_f64(dollars: f64) -> Option<Self> {
        let micros = (dollars * 1e6).round();
        // 2^63 is far above any bill and exact as f64, so the cast below cannot lose anything that matters.
        (0.0..9.2e18).contains(&micros).then_some(Self(micros as u64))
    }

    /// What is left of it after `other`, at least nothing.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl From<Usd> for String {
    fn from(amount: Usd) -> Self {
        let decimal = format!("{}.{:06}", amount.0 / 1_000_000, amount.0 % 1_000_000);
        let short = decimal.trim_end_matches('0');
        // Cents are always written.
        let cents = decimal.len() - 4;
        decimal[..short.len().max(cents)].to_owned()
    }
}

impl TryFrom<String> for Usd {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl Add for Usd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Usd {
    /// With cents; below a cent with as many places as it takes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, micros) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if self.0 > 0 && self.0 < 10_000 {
            let places = format!("{micros:06}");
            return write!(f, "${dollars}.{}", places.trim_end_matches('0'));
        }
        let cents = (self.0 + 5_000) / 10_000;
        write!(f, "${}.{:02}", cents / 100, cents % 100)
    }
}

impl FromStr for Usd {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim().trim_start_matches('$');
        let refuse = || format!("`{text}` is not an amount of dollars such as 12.50");
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || part.len() > 6 || !plain(whole) || !plain(part) {
            return Err(refuse());
        }
        let whole: u64 = whole.parse().map_err(|_| refuse())?;
        let part: u64 = format!("{part:0<6}").parse().map_err(|_| refuse())?;
        whole.checked_mul(1_000_000).and_then(|micros| micros.checked_add(part)).map(Self).ok_or_else(refuse)
    }
}

/// What one session used. `None` is *unknown*, which is never the same as nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// What the agent says it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
    /// What it cost by the user's own prices, where the agent does not say. Never taken for what an agent says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Usd>,
    /// The tokens, where the agent reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
}

impl Usage {
    /// Nothing known.
    pub fn unknown() -> Self {
        Self::default()
    }

    /// The same with a known cost.
    #[must_use]
    pub fn with_cost(mut self, cost: Usd) -> Self {
        self.cost = Some(cost);
        self
    }

    /// The same with a cost by the user's own prices.
    #[must_use]
    pub fn with_estimate(mut self, estimate: Usd) -> Self {
        self.estimate = Some(estimate);
        self
    }

    /// The same with known tokens.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// What is known of the cost.
    pub fn known_cost(&self) -> Cost {
        match (self.cost, self.estimate) {
            (Some(cost), _) => Cost::Reported(cost),
            (None, Some(estimate)) => Cost::Estimated(estimate),
            (None, None) => Cost::Unknown,
        }
    }

    /// What was used since `before`, where agents count on from there; unknown where either is.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let less = |total: Option<Usd>, before: Option<Usd>| total.zip(before).map(|(a, b)| a.saturating_sub(b));
        Self {
            cost: less(self.cost, before.cost),
            estimate: less(self.estimate, before.estimate),
            tokens: self.tokens.zip(before.tokens).map(|(total, before)| Tokens {
                input: total.input.saturating_sub(before.input),
                output: total.output.saturating_sub(before.output),
                cache_read: total.cache_read.saturating_sub(before.cache_read),
                cache_write: total.cache_write.saturating_sub(before.cache_write),
            }),
        }
    }

    /// What both used together; unknown where either is, an estimate where one is.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let cost = self.known_cost() + other.known_cost();
        Self {
            cost: if let Cost::Reported(sum) = cost { Some(sum) } else { None },
            estimate: if let Cost::Estimated(sum) = cost { Some(sum) } else { None },
            tokens: self.tokens.zip(other.tokens).map(|(a, b)| Tokens {
                input: a.input.saturating_add(b.input),
                output: a.output.saturating_add(b.output),
                cache_read: a.cache_read.saturating_add(b.cache_read),
                cache_write: a.cache_write.saturating_add(b.cache_write),
            }),
        }
    }
}

/// What is known of a cost: what an agent reported, what the user's own prices make of its tokens, or nothing.
///
/// In JSON it is `"0.41"`, `"~0.41"` where it is estimated, and `null` where it is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Option<String>", try_from = "Option<String>")]
pub enum Cost {
    /// The agent says so.
    Reported(Usd),
    /// From tokens and the user's own prices.
    Estimated(Usd),
    /// Not known, which is not nothing.
    Unknown,
}

impl From<Cost> for Option<String> {
    fn from(cost: Cost) -> Self {
        match cost {
            Cost::Reported(amount) => Some(amount.into()),
            Cost::Estimated(amount) => Some(format!("~{}", String::from(amount))),
            Cost::Unknown => None,
        }
    }
}

impl TryFrom<Option<String>> for Cost {
    type Error = String;

    fn try_from(text: Option<String>) -> Result<Self, String> {
        Ok(match text.as_deref().map(|text| text.strip_prefix('~').ok_or(text)) {
            None => Self::Unknown,
            Some(Ok(estimate)) => Self::Estimated(estimate.parse()?),
            Some(Err(amount)) => Self::Reported(amount.parse()?),
        })
    }
}

impl Default for Cost {
    /// Nothing was spent.
    fn default() -> Self {
        Self::Reported(Usd::ZERO)
    }
}

impl Cost {
    /// The amount, reported or estimated.
    pub fn amount(self) -> Option<Usd> {
        match self {
            Self::Reported(amount) | Self::Estimated(amount) => Some(amount),
            Self::Unknown => None,
        }
    }
}

impl fmt::Display for Cost {
    /// `$0.41`, `~$0.41` where it is estimated, `unknown`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reported(amount) => write!(f, "{amount}"),
            Self::Estimated(amount) => write!(f, "~{amount}"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

/// The sum: unknown where one is, estimated where one is.
impl Add for Cost {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        match (self, other) {
            (Self::Reported(a), Self::Reported(b)) => Self::Reported(a + b),
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Reported(a) | Self::Estimated(a), Self::Reported(b) | Self::Estimated(b)) => Self::Estimated(a + b),
        }
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), Add::add)
    }
}

/// Tokens by kind. The kinds do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Read for the first time (without what came from or went to a cache).
    pub input: u64,
    /// Produced, reasoning included.
    pub output: u64,
    /// Read from a cache.
    pub cache_read: u64,
    /// Written to a cache.
    pub cache_write: u64,
}

impl Tokens {
    /// What a token budget counts: input, output and cache writes.
    pub fn billed(&self) -> u64 {
        self.input.saturating_add(self.output).saturating_add(self.cache_write)
    }
}

/// The limits of a run. Iterations, time, sessions, outages and no-progress count per invocation; cost and tokens per
/// run; blockers per invocation and phase, and per invocation and plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Budget {
    /// Items begun.
    pub iterations: u32,
    /// Wall time, measured by a monotonic clock.
    pub time: Duration,
    /// Agent sessions begun.
    pub sessions: u32,
    /// Money. Needs an agent that reports its cost.
    pub cost: Option<Usd>,
    /// Tokens, see [`Tokens::billed`]. Needs an agent that reports them.
    pub tokens: Option<u64>,
    /// Blocked items of one phase that end the run.
    pub blockers_per_phase: u32,
    /// Blocked items in all that end the run.
    pub blockers_per_plan: u32,
    /// Iterations in a row without progress that end the run.
    pub no_progress: u32,
    /// Sessions in a row lost to the agent's own trouble (limits, overload, network) that end the run.
    pub outages: u32,
    /// How long to wait in all for an agent that is not available, without a finished session in between.
    pub wait_at_most: Duration,
    /// Finished phases after which a person must say that the run may go on.
    pub checkpoint_every: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            iterations: 30,
            time: Duration::from_secs(8 * 3600),
            sessions: 100,
            cost: None,
            tokens: None,
            blockers_per_phase: 3,
            blockers_per_plan: 10,
            no_progress: 2,
            outages: 20,
            wait_at_most: Duration::from_secs(6 * 3600),
            checkpoint_every: 5,
        }
    }
}

/// What was used so far, or is set aside for sessions in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Spent {
    /// Money, reported and estimated; sessions of unknown cost are in it with what was reserved for them.
    pub cost: Usd,
    /// How much of it is estimated, by the user's own prices.
    #[serde(skip_serializing_if = "Usd::is_zero")]
    pub estimated: Usd,
    /// Tokens, the same way.
    pub tokens: u64,
    /// How many sessions ended without saying what they cost.
    pub unknown_cost: u32,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dollars_read_and_print() {
        for (text, micros, shown) in [
            ("20", 20_000_000, "$20.00"),
            ("$0.41", 410_000, "$0.41"),
            ("0.004321", 4_321, "$0.004321"),
            ("0", 0, "$0.00"),
            ("1.999999", 1_999_999, "$2.00"),
        ] {
            let usd: Usd = text.parse().unwrap();
            assert_eq!((usd.micros(), usd.to_string().as_str()), (micros, shown));
        }
        for bad in ["", "-1", "1.2345678", "1e3", "NaN", ".", "99999999999999999999"] {
            assert!(bad.parse::<Usd>().is_err(), "{bad}");
        }
        for bad in [f64::NAN, -0.01, f64::INFINITY] {
            assert_eq!(Usd::from_f64(bad), None);
        }
        assert_eq!(Usd::from_f64(0.1), Some(Usd(100_000)));
        for (micros, json) in [(250_000, "0.25"), (3_000_000, "3.00"), (4_321, "0.004321"), (0, "0.00")] {
            assert_eq!(String::from(Usd(micros)), json);
        }
    }

    #[test]
    fn what_is_reported_estimated_and_unknown_stay_apart() {
        let usage = Usage::unknown();
        let (one, two) = (Usd(1_000_000), Usd(2_000_000));
        for (known, shown, json) in [
            (usage, "unknown", "null"),
            (usage.with_estimate(one), "~$1.00", "\"~1.00\""),
            (usage.with_estimate(one).with_cost(two), "$2.00", "\"2.00\""),
        ] {
            let cost = known.known_cost();
            assert_eq!((cost.to_string().as_str(), serde_json::to_string(&cost).unwrap().as_str()), (shown, json));
            assert_eq!(serde_json::from_str::<Cost>(json).unwrap(), cost);
        }
        let (reported, estimated) = (Cost::Reported(one), Cost::Estimated(two));
        assert_eq!([reported, estimated].into_iter().sum::<Cost>(), Cost::Estimated(Usd(3_000_000)));
        assert_eq!([reported, Cost::Unknown, estimated].into_iter().sum::<Cost>(), Cost::Unknown);
        assert!(serde_json::from_str::<Cost>("\"~\"").is_err() && serde_json::from_str::<Cost>("1").is_err());
    }

    #[test]
    fn a_session_counts_from_where_the_one_before_was() {
        let tokens = |input| Tokens { input, output: 1, ..Tokens::default() };
        let usage = |cost, input| Usage::unknown().with_cost(Usd(cost)).with_tokens(tokens(input));
        let used = usage(1_600, 200).since(usage(800, 100));
        assert_eq!(used.cost, Some(Usd(800)));
        assert_eq!(used.tokens, Some(Tokens { input: 100, ..Tokens::default() }));
        assert_eq!(used.plus(usage(800, 100)).cost, Some(Usd(1_600)));
        assert_eq!(usage(1_600, 200).since(Usage::unknown()), Usage::unknown());
        let estimated = Usage::unknown().with_estimate(Usd(5));
        assert_eq!(usage(10, 1).plus(estimated).known_cost(), Cost::Estimated(Usd(15)));
        assert_eq!(usage(10, 1).plus(Usage::unknown()).known_cost(), Cost::Unknown);
    }

    proptest! {
        #[test]
        fn json_is_exact(micros in 0..u64::MAX / 2) {
            let json = serde_json::to_string(&Usd(micros)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Usd>(&json).unwrap(), Usd(micros));
        }

        #[test]
        fn adding_never_wraps(a: u64, b: u64) {
            prop_assert!((Usd(a) + Usd(b)).0 >= a.max(b));
        }
    }
}
