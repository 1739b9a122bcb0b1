//! The lines that a bench prints, and what it is told on the command line.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::fmt::Display;

/// The middle one of some values; not a number where there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

/// Prints the head of a table of figures.
pub fn head(title: &str) {
    println!("\n{title}\n{:<52} {:>12} {:>12}", "figure", "measured", "goal");
}

/// Prints a figure without a goal.
pub fn figure(name: &str, value: impl Display) {
    println!("{name:<52} {value:>12} {:>12}", "-");
}

/// Prints a figure that is to be at most `goal`, and whether it is.
pub fn goal(name: &str, value: f64, goal: f64, unit: &str) -> bool {
    let met = value <= goal;
    let show = |number: f64| {
        let digits = if number.fract() == 0.0 { 0 } else { 2 };
        format!("{number:.digits$}{unit}")
    };
    println!("{name:<52} {:>12} {:>12}  {}", show(value), show(goal), if met { "ok" } else { "MISSED" });
    met
}

/// Whether `--name` is among the arguments.
pub fn flag(name: &str) -> bool {
    std::env::args().any(|arg| arg.strip_prefix("--") == Some(name))
}

/// The number after `--name`.
pub fn number(name: &str) -> Option<usize> {
    let mut args = std::env::args().skip_while(|arg| arg.strip_prefix("--") != Some(name));
    args.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }
}
