//! The baseline: what the verifiers say of the commit that work is about to start from.

use super::quote;
use crate::{
    id::Revision,
    journal::Record,
    machine::{Fact, VerifyOutcome},
    vcs::Tip,
    verify::Stage,
};

/// How much of it is shown in a page.
const TEXT_MAX: usize = 300;
const OUTPUT_LINES: usize = 20;
const OUTPUT_WIDTH: usize = 160;

/// What was said of such a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Baseline<'a> {
    /// Which commit.
    pub revision: Option<&'a Revision>,
    /// The verdict.
    pub outcome: VerifyOutcome,
    /// One line, as verifiers have it.
    pub summary: &'a str,
    /// The end of the output, where it did not pass.
    pub tail: &'a str,
    /// Whether the run stops for it: it was committed on top of good work, and does not pass.
    pub on_good_work: bool,
}

impl Baseline<'_> {
    /// What a verdict other than a pass means for the run, and what to do; `None` for a pass.
    pub fn advice(&self) -> Option<&'static str> {
        match self.outcome {
            VerifyOutcome::Pass => None,
            VerifyOutcome::Fail if self.on_good_work => {
                Some("red on top of verified work: the run stops, and goes on once the commit is mended or taken back")
            }
            VerifyOutcome::Fail => Some(
                "red before any work: every attempt has to make it pass. Where that is not what the items are about, stop \
                 (Ctrl-C) and mend it first: each item would be blamed for it",
            ),
            VerifyOutcome::Broken => Some(
                "no verdict before any work, so that no session begins: run the command by hand on a clean checkout, and \
                 correct it",
            ),
            VerifyOutcome::Unready => Some("nothing can be judged before any work, so that no session begins"),
        }
    }
}

/// Finds the baselines among the facts of a run. Verdicts on the base for another reason, to find out whether work broke a
/// verifier, are none.
///
/// ```
/// use ralph_core::{
///     Revision, Stage,
///     ledger::Baselines,
///     machine::{Fact, VerifyOutcome},
/// };
///
/// let base = Revision::new("4f2c9ab");
/// let said = Fact::Verified {
///     stage: Stage::Base,
///     revision: Some(base.clone()),
///     own: None,
///     outcome: VerifyOutcome::Fail,
///     summary: "make: exit 2".into(),
///     tail: String::new(),
///     parts: Vec::new(),
///     took_ms: 3,
/// };
/// let mut baselines = Baselines::default();
/// assert_eq!(baselines.see(&said), None, "nobody looked for work");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Baselines {
    /// The branch was looked at, and nothing else was done since; whether somebody had committed on top.
    looked: Option<bool>,
    /// What the last verdict on the commit that work starts from was.
    green: Option<bool>,
    /// Whether the run accepted anything.
    accepted: bool,
}

impl Baselines {
    /// Takes in the next fact; the baseline that it is, if it is one.
    pub fn see<'a>(&mut self, fact: &'a Fact) -> Option<Baseline<'a>> {
        match fact {
            Fact::Looked { tip, .. } => self.looked = Some(matches!(tip, Tip::Ahead(_))),
            // A run that is taken up stands where it stood.
            Fact::Opened { .. } => self.green = None,
            Fact::CancelAsked | Fact::Stopped { .. } => {}
            Fact::Verified { stage: Stage::Base, own: None, revision, outcome, summary, tail, .. } => {
                let ahead = self.looked.take()?;
                let red = *outcome == VerifyOutcome::Fail;
                let on_good_work = red && ahead && (self.green == Some(true) || self.accepted);
                if !on_good_work {
                    self.green = Some(*outcome == VerifyOutcome::Pass);
                }
                let (revision, outcome) = (revision.as_ref(), *outcome);
                return Some(Baseline { revision, outcome, summary, tail, on_good_work });
            }
            Fact::Accepted { .. } => (self.looked, self.green, self.accepted) = (None, Some(true), true),
            _ => self.looked = None,
        }
        None
    }
}

/// The last baseline of these records, for a page in Markdown; empty where there was none.
pub(super) fn page(records: &[Record]) -> String {
    let mut all = Baselines::default();
    let Some(last) = records.iter().filter_map(|record| all.see(&record.fact)).last() else {
        return String::new();
    };
    let said = match last.outcome {
        VerifyOutcome::Pass => "passed",
        VerifyOutcome::Fail => "failed",
        VerifyOutcome::Broken => "could not be judged",
        VerifyOutcome::Unready => "could not be made ready",
    };
    let revision = last.revision.map_or("it", Revision::short);
    let mut page = format!("- {} {said}: {}\n", quote::line(revision, TEXT_MAX), quote::line(last.summary, TEXT_MAX));
    if let Some(advice) = last.advice() {
        page.push_str(&format!("- {advice}.\n"));
    }
    let block = quote::block(last.tail, OUTPUT_LINES, OUTPUT_WIDTH);
    if !block.is_empty() {
        page.push('\n');
        block.lines().for_each(|line| page.push_str(&format!("  {line}\n")));
    }
    page
}
