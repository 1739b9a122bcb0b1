//! What a number of runs says about a verifier, and what it does not.

/// How sure the bounds are: the rate lies between them in at least so many of a hundred measurements.
pub(super) const CONFIDENCE: f64 = 0.95;

/// How often something happens, as far as runs tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    pub(super) estimate: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Rate {
    /// Of something that happened in `times` of `runs` runs. The bounds are those of Clopper and Pearson, which are exact
    /// and rather too wide than too narrow.
    pub(super) fn of(times: u32, runs: u32) -> Self {
        let tail = (1.0 - CONFIDENCE) / 2.0;
        // The lowest rate at which as many, and the highest at which as few, are still not too much of a surprise.
        let low = if times == 0 { 0.0 } else { root(|p| tail - (1.0 - at_most(times - 1, runs, p))) };
        let high = if times >= runs { 1.0 } else { root(|p| at_most(times, runs, p) - tail) };
        Self { estimate: f64::from(times) / f64::from(runs.max(1)), low, high }
    }

    /// That it happens `times` times in a row.
    pub(super) fn in_a_row(self, times: u32) -> Self {
        let power = |p: f64| p.powf(f64::from(times));
        Self { estimate: power(self.estimate), low: power(self.low), high: power(self.high) }
    }
}

/// The chance of at most `times` in `runs` runs, each with chance `p`, which is neither 0 nor 1.
fn at_most(times: u32, runs: u32, p: f64) -> f64 {
    let (ln_p, ln_q) = (p.ln(), (-p).ln_1p());
    // Logarithms, since the factors of a thousand runs leave the range of numbers.
    let mut ln_choose = 0.0;
    let mut sum = 0.0;
    for k in 0..=times {
        if k > 0 {
            ln_choose += f64::from(runs - k + 1).ln() - f64::from(k).ln();
        }
        sum += (ln_choose + f64::from(k) * ln_p + f64::from(runs - k) * ln_q).exp();
    }
    sum.min(1.0)
}

/// Where `f`, which falls from above 0 to below it, is 0.
fn root(f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if f(middle) > 0.0 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// A share for people: never 0 or 100 per cent unless it is.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if share > 0.0 && percent < 0.05 {
        "<0.1 %".to_owned()
    } else if share < 1.0 && percent >= 99.95 {
        ">99.9 %".to_owned()
    } else {
        format!("{percent:.1} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from published tables of the interval.
    #[test]
    fn bounds_are_those_of_the_tables() {
        for (times, runs, low, high) in [
            (0, 10, 0.0, 0.3085),
            (0, 20, 0.0, 0.1684),
            (20, 20, 0.8316, 1.0),
            (1, 10, 0.0025, 0.4450),
            (5, 10, 0.1871, 0.8129),
            (16, 20, 0.5634, 0.9427),
            (1, 2, 0.0126, 0.9874),
            (500, 1000, 0.4685, 0.5315),
            (0, 1000, 0.0, 0.0037),
        ] {
            let rate = Rate::of(times, runs);
            let near = |a: f64, b: f64| (a - b).abs() < 0.0001;
            assert!(near(rate.low, low) && near(rate.high, high), "{times} of {runs}: {rate:?}");
        }
    }

    #[test]
    fn bounds_are_in_order_and_narrow_with_runs() {
        for runs in [2, 3, 10, 100, 1000] {
            let mut before = Rate::of(0, runs);
            for times in 0..=runs {
                let rate = Rate::of(times, runs);
                assert!(0.0 <= rate.low && rate.low <= rate.estimate, "{rate:?}");
                assert!(rate.estimate <= rate.high && rate.high <= 1.0, "{rate:?}");
                assert!(before.low <= rate.low && before.high <= rate.high, "{before:?} {rate:?}");
                before = rate;
            }
        }
        let width = |runs| Rate::of(runs / 2, runs).high - Rate::of(runs / 2, runs).low;
        assert!(width(10) > width(100) && width(100) > width(1000));
    }

    #[test]
    fn chance_in_a_row() {
        let rate = Rate { estimate: 0.8, low: 0.5, high: 1.0 };
        let text = |rate: Rate| [rate.estimate, rate.low, rate.high].map(percent).join(" ");
        assert_eq!(text(rate.in_a_row(1)), "80.0 % 50.0 % 100.0 %");
        assert_eq!(text(rate.in_a_row(3)), "51.2 % 12.5 % 100.0 %");
        assert_eq!(text(rate.in_a_row(10)), "10.7 % 0.1 % 100.0 %");
    }

    #[test]
    fn shares() {
        for (share, text) in
            [(0.0, "0.0 %"), (0.0004, "<0.1 %"), (0.168, "16.8 %"), (0.9996, ">99.9 %"), (1.0, "100.0 %")]
        {
            assert_eq!(percent(share), text);
        }
    }
}
