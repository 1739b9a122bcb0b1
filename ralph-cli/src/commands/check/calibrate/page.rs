//! What was measured, for people and machines.

use std::path::Path;

use ralph_core::printable;
use serde::Serialize;

use super::{
    Calibration, Measured, Outcome,
    odds::{CONFIDENCE, Rate, percent},
};
use crate::{
    project::Project,
    report::{SCHEMA_VERSION, count, wrap},
};

const WIDTH: usize = 110;

/// How often a pass is asked for, in the table.
const CONFIRMS: [u32; 4] = [1, 3, 5, 10];

/// What a verifier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// All runs passed.
    Green,
    /// All runs failed.
    Red,
    /// It came to this and to that.
    Flaky,
    /// It never judged.
    Broken,
}

impl Kind {
    fn of(measured: &Measured) -> Self {
        match measured.runs() {
            runs if measured.passed == runs => Self::Green,
            runs if measured.failed == runs => Self::Red,
            runs if measured.broken == runs => Self::Broken,
            _ => Self::Flaky,
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Document {
    schema_version: u32,
    plan: String,
    base: String,
    runs: u32,
    confirm: u32,
    confidence: f64,
    steady: bool,
    verifiers: Vec<Entry>,
}

#[derive(Debug, Serialize)]
struct Entry {
    command: String,
    places: Vec<String>,
    common: bool,
    /// Items whose own it is.
    items: Vec<String>,
    verdict: Kind,
    passed: u32,
    failed: u32,
    broken: u32,
    mean_ms: u64,
    max_ms: u64,
    pass_rate: Share,
    /// How often work is let through that passes as often as the base; of a flaky one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lets_through: Vec<Through>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    means: Vec<String>,
    logs: Vec<Log>,
}

#[derive(Debug, Serialize)]
struct Share {
    estimate: f64,
    low: f64,
    high: f64,
}

#[derive(Debug, Serialize)]
struct Through {
    confirm: u32,
    one_verdict: Share,
    both_verdicts: Share,
}

#[derive(Debug, Serialize)]
struct Log {
    run: u32,
    outcome: &'static str,
    path: String,
}

impl From<Rate> for Share {
    fn from(rate: Rate) -> Self {
        let rounded = |share: f64| (share * 1e6).round() / 1e6;
        Self { estimate: rounded(rate.estimate), low: rounded(rate.low), high: rounded(rate.high) }
    }
}

pub(super) fn document(found: &Calibration, project: &Project) -> Document {
    let entry = |measured: &Measured| {
        let subject = &measured.subject;
        let rate = rate(measured);
        let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Entry {
            command: subject.command.clone(),
            places: subject.places.clone(),
            common: subject.common,
            items: subject.own.iter().map(|item| item.id.to_string()).collect(),
            verdict: Kind::of(measured),
            passed: measured.passed,
            failed: measured.failed,
            broken: measured.broken,
            mean_ms: millis(measured.total / measured.runs().max(1)),
            max_ms: millis(measured.longest),
            pass_rate: rate.into(),
            lets_through: confirms(found.confirm)
                .into_iter()
                .filter(|_| Kind::of(measured) == Kind::Flaky)
                .map(|confirm| Through {
                    confirm,
                    one_verdict: rate.in_a_row(confirm).into(),
                    both_verdicts: rate.in_a_row(confirm.saturating_mul(2)).into(),
                })
                .collect(),
            why: measured.why.clone(),
            means: means(measured),
            logs: logs(measured, project).map(|(run, outcome, path)| Log { run, outcome, path }).collect(),
        }
    };
    Document {
        schema_version: SCHEMA_VERSION,
        plan: found.plan.clone(),
        base: found.base.to_string(),
        runs: found.runs,
        confirm: found.confirm,
        confidence: CONFIDENCE,
        steady: found.verifiers.iter().all(Measured::is_steady),
        verifiers: found.verifiers.iter().map(entry).collect(),
    }
}

pub(super) fn page(found: &Calibration, project: &Project) -> String {
    let mut page = format!(
        "{}: {} of each verifier, each on a clean checkout of {}\n",
        printable(&found.plan),
        count(found.runs, "run"),
        found.base.short()
    );
    for measured in &found.verifiers {
        page.push('\n');
        page.push_str(&one(measured, found.confirm, project));
    }
    let of = |kind| found.verifiers.iter().filter(|measured| Kind::of(measured) == kind).count() as u64;
    let (flaky, broken) = (of(Kind::Flaky), of(Kind::Broken));
    let all = count(found.verifiers.len() as u64, "verifier");
    page.push('\n');
    if flaky > 0 {
        page.push_str(&format!(
            "{flaky} of {all} flaky: mend what says now this, now that; `confirm` only makes it rarer.\n"
        ));
    }
    if broken > 0 {
        page.push_str(&format!("{broken} of {all} broken: a run would stop with VERIFIER_BROKEN.\n"));
    }
    if flaky + broken == 0 {
        page.push_str(&format!("{all}, steady in all runs.\n"));
    }
    page
}

fn one(measured: &Measured, confirm: u32, project: &Project) -> String {
    let subject = &measured.subject;
    let kind = Kind::of(measured);
    let glyph = match kind {
        Kind::Green => "\x1b[32m✓\x1b[0m",
        Kind::Red => "\x1b[32m○\x1b[0m",
        Kind::Flaky => "\x1b[33m⚠\x1b[0m",
        Kind::Broken => "\x1b[31m✗\x1b[0m",
    };
    let command = printable(&subject.command);
    let mut page = format!("{glyph} `{command}`, {}\n", whose(measured));
    let runs = measured.runs();
    let counted = match kind {
        Kind::Green => format!("green, {} of {runs} passed", measured.passed),
        Kind::Red => format!("red, {} of {runs} failed", measured.failed),
        Kind::Broken => format!("broken, {} of {runs} could not judge", measured.broken),
        Kind::Flaky => {
            let others = [(measured.failed, "failed"), (measured.broken, "could not judge")];
            let others = others.iter().filter(|(times, _)| *times > 0);
            let others: String = others.map(|(times, what)| format!(", {times} {what}")).collect();
            format!("flaky, {} of {runs} passed{others}", measured.passed)
        }
    };
    let (mean, longest) = (seconds(measured.total / runs.max(1)), seconds(measured.longest));
    line(&mut page, &format!("{counted}; {mean} on average, {longest} at most"));
    if let Some(why) = &measured.why {
        line(&mut page, &printable(why));
    }
    means(measured).iter().for_each(|text| line(&mut page, text));
    if kind == Kind::Flaky {
        page.push_str(&table(rate(measured), confirm));
    }
    for (run, outcome, path) in logs(measured, project) {
        page.push_str(&format!("    {outcome} in run {run}: {}\n", printable(&path)));
    }
    page
}

/// Where it stands, and for whom.
fn whose(measured: &Measured) -> String {
    let subject = &measured.subject;
    let own: Vec<&str> = subject.own.iter().map(|item| item.id.as_str()).collect();
    let whose = match (subject.common, own.is_empty()) {
        (true, true) => "the common one".to_owned(),
        (true, false) => format!("the common one, and that of {}", few(&own)),
        (false, false) => format!("that of {}", few(&own)),
        (false, true) => "which no phase of the plan uses".to_owned(),
    };
    let places: Vec<&str> = subject.places.iter().map(String::as_str).collect();
    format!("{whose} ({})", printable(&few(&places)))
}

/// What follows from it, a paragraph each.
fn means(measured: &Measured) -> Vec<String> {
    let subject = &measured.subject;
    let mut means = Vec::new();
    let rate = rate(measured);
    let runs = measured.runs();
    let sure = format!("{:.0} % confidence", CONFIDENCE * 100.0);
    match Kind::of(measured) {
        Kind::Green => {
            let most = percent(1.0 - rate.low);
            means.push(format!(
                "0 fails in {} still allow a rate of fails of up to {most} ({sure})",
                count(runs, "run")
            ));
            if subject.common && !subject.alone.is_empty() {
                let alone: Vec<&str> = subject.alone.iter().map(String::as_str).collect();
                means.push(format!(
                    "it is green before any work, so that any change at all passes for what has no `Verify:` of its own: {}",
                    few(&alone)
                ));
            }
            if !subject.open().is_empty() {
                means
                    .push(format!("it is green before the work on {}: any change at all passes", few(&subject.open())));
            }
        }
        Kind::Red => {
            let most = percent(rate.high);
            means.push(format!(
                "0 passes in {} still allow a rate of passes of up to {most} ({sure})",
                count(runs, "run")
            ));
            if subject.common {
                means.push(
                    "every attempt fails that does not make it green, whatever its item asks for: mend it first, or let the \
                     first item do so"
                        .to_owned(),
                );
            } else if !subject.open().is_empty() {
                means.push(format!("as it should be before the work: {} has to make it green", few(&subject.open())));
            }
            if !subject.done().is_empty() {
                means.push(format!("yet {} is done: its work is not here, or no longer holds", few(&subject.done())));
            }
        }
        Kind::Flaky => {
            means.push(format!(
                "it passes on this commit about {} of the time; anything from {} to {} is possible ({sure})",
                percent(rate.estimate),
                percent(rate.low),
                percent(rate.high)
            ));
            if measured.broken > 0 {
                means.push("where it cannot judge, a run may stop with VERIFIER_BROKEN".to_owned());
            }
        }
        Kind::Broken => means.push("it never came to a judgement: see the output".to_owned()),
    }
    means
}

/// What `confirm` makes of a pass that is chance.
fn table(rate: Rate, now: u32) -> String {
    let cell = |rate: Rate| {
        let (low, high) = (percent(rate.low), percent(rate.high));
        format!("{:>8} ({low} to {high})", percent(rate.estimate))
    };
    let mut table = "    work that passes as often as this commit does is let through\n    \
                     confirm   by one verdict              by both, as accepting needs\n"
        .to_owned();
    for confirm in confirms(now) {
        let mark = if confirm == now { "← now" } else { "" };
        let (one, both) = (cell(rate.in_a_row(confirm)), cell(rate.in_a_row(confirm.saturating_mul(2))));
        let row = format!("    {confirm:>7}  {one:<28} {both:<28} {mark}");
        table.push_str(row.trim_end());
        table.push('\n');
    }
    table
}

/// The rows of the table: the usual ones, and what is set.
fn confirms(now: u32) -> Vec<u32> {
    let mut confirms = CONFIRMS.to_vec();
    confirms.push(now);
    confirms.sort_unstable();
    confirms.dedup();
    confirms
}

/// How often it passes. A run that could not judge is no pass.
fn rate(measured: &Measured) -> Rate {
    Rate::of(measured.passed, measured.runs())
}

fn logs<'a>(measured: &'a Measured, project: &'a Project) -> impl Iterator<Item = (u32, &'static str, String)> {
    measured.logs.iter().map(|(outcome, run, path): &(Outcome, u32, _)| {
        let outcome = match outcome {
            Outcome::Passed => "passed",
            Outcome::Failed => "failed",
            Outcome::Broken => "broken",
        };
        (*run, outcome, project.relative(Path::new(path)))
    })
}

fn line(page: &mut String, text: &str) {
    for line in wrap(text, WIDTH - 4, "  ") {
        page.push_str(&format!("    {line}\n"));
    }
}

/// The first names of a list that may be long.
fn few(names: &[&str]) -> String {
    match names.len() {
        0..=5 => names.join(", "),
        many => format!("{} and {} more", names[..4].join(", "), many - 4),
    }
}

fn seconds(time: std::time::Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
