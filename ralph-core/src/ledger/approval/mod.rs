//! Approvals: who signed a plan, what that covers, and whether it still holds.
//!
//! The signature stands in the plan, where people see it; what it covers is recorded in `state/`, where no agent writes.
//! An approval holds while both agree and nothing that it covers has changed.
//!
//! - `coverage` is what an approval covers; `record` is its file.
//! - `source` is a plan that is read only while it is approved.

mod coverage;
mod record;
mod source;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use jiff::{Timestamp, civil::Date, tz::TimeZone};

pub use self::{
    coverage::{Coverage, CoverageChange},
    record::{ApprovalRecord, Origin},
    source::ApprovedPlan,
};
use super::{
    layout::Ledger,
    master_plan::{ApprovedBy, MasterPlan, Signature, check_who, sign},
    prd_markdown::read_bounded,
    replace,
};
use crate::{
    clock::millis,
    id::{Digest, ItemRef},
    plan::PlanError,
    printable,
};

/// The day begins first where clocks are fourteen hours ahead.
const AHEAD: Duration = Duration::from_secs(14 * 60 * 60);

/// How many changes are named in one message.
const CHANGES_MAX: usize = 5;

/// How many findings are remembered.
const TROUBLE_MAX: usize = 20;

const APPROVE: &str = "look at the plan, then `ralph approve --by WHO`";

/// Whether a plan is approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// It is: the signature is the recorded one, and nothing that it covers has changed.
    Valid(Box<ApprovalRecord>),
    /// It is, by a line that a person wrote into a plan that never ran. [`Approvals::record_by_hand`] makes it stay so.
    ByHand(ApprovedBy),
    /// It is not: why, with its place and what to do.
    NotApproved(String),
}

/// The approvals of one plan.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::SystemTime;
/// use ralph_core::ledger::{Approval, Approvals, Coverage, Ledger, MarkdownPlan};
///
/// let root = tempfile::tempdir()?;
/// std::fs::write(root.path().join("PLAN.md"), "Phase P1 — Greet\n  PRD: PRD-P1.md\n  Auto-Gate: make\n")?;
/// std::fs::write(root.path().join("PRD-P1.md"), "Verify: make test\n\n- [ ] R01: Say hello\n")?;
/// let plan = MarkdownPlan::open(root.path(), "PLAN.md");
/// let approvals = Approvals::new(Ledger::at(root.path().join("ralph-loop")), plan.name());
/// let now = SystemTime::now();
///
/// let covered = Coverage::of(&plan.name(), &plan.read()?);
/// approvals.approve(plan.path(), "lead", &covered, now)?;
/// let signature = plan.master()?.signature;
/// assert!(matches!(approvals.check(&signature, &covered, now, false)?, Approval::Valid(_)));
///
/// let changed = covered.with("P1/R01 Verify", "true");
/// assert!(matches!(approvals.check(&signature, &changed, now, false)?, Approval::NotApproved(_)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Approvals {
    ledger: Ledger,
    plan: String,
    trouble: Mutex<Vec<String>>,
}

impl Approvals {
    /// The approvals of the plan that messages call `plan`, such as `ralph-loop/MASTER-PLAN.md`. Nothing is touched yet.
    pub fn new(ledger: Ledger, plan: impl Into<String>) -> Self {
        Self { ledger, plan: plan.into(), trouble: Mutex::new(Vec::new()) }
    }

    /// What a person should know: a record that was moved aside.
    pub fn trouble(&self) -> Vec<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The file of the record. Plans of one name in different folders have different ones.
    pub fn path(&self) -> PathBuf {
        let stem = Path::new(&self.plan).file_stem().unwrap_or_default().to_string_lossy();
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
        let stem: String = stem.chars().take(60).map(plain).collect();
        let print: String = Digest::of(self.plan.as_bytes()).as_str().chars().take(8).collect();
        self.ledger.approvals().join(format!("{stem}-{print}.json"))
    }

    /// What is recorded. A record that cannot be read is moved aside and told, see [`Self::trouble`].
    pub fn record(&self) -> io::Result<Option<ApprovalRecord>> {
        let path = self.path();
        match record::read(&path)? {
            None => Ok(None),
            Some(Ok(record)) => Ok(Some(record)),
            Some(Err(why)) => {
                let place = replace::set_aside(&path, "damaged")?;
                let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
                if trouble.len() < TROUBLE_MAX {
                    trouble.push(format!("{}: {why}; it is now {}", path.display(), place.display()));
                }
                Ok(None)
            }
        }
    }

    /// Whether the plan is approved: what it says about that, what would be covered now, and whether it ever ran.
    pub fn check(
        &self,
        signature: &Signature,
        covered: &Coverage,
        now: SystemTime,
        has_run: bool,
    ) -> io::Result<Approval> {
        let by = match signature {
            Signature::Signed(by) => by,
            Signature::Missing => {
                return Ok(Approval::NotApproved(format!("{} has no line `Approved-By:`: {APPROVE}", self.plan)));
            }
            Signature::Malformed { line, why } => {
                return Ok(Approval::NotApproved(format!("{}:{line}: `Approved-By:`: {why}", self.plan)));
            }
        };
        if by.day().is_none_or(|day| day > last_day(now)) {
            return Ok(self.not(by, &format!("it is signed for {}, which is still to come: {APPROVE}", by.date)));
        }
        let Some(record) = self.record()? else {
            return Ok(match (&by.hash, has_run) {
                (None, false) => Approval::ByHand(by.clone()),
                (None, true) => self.not(
                    by,
                    &format!("the line was written by hand, which counts only before a plan's first run: {APPROVE}"),
                ),
                (Some(hash), _) if *hash == covered.hash() => self.not(
                    by,
                    &format!("its hash fits, but this machine's state/ has no record of the approval: {APPROVE}"),
                ),
                (Some(hash), _) => self.not(
                    by,
                    &format!(
                        "there is no record of an approval with the hash {hash}, and what would be covered now has {}: {APPROVE}",
                        covered.hash()
                    ),
                ),
            });
        };
        Ok(self.compare(by, record, covered))
    }

    /// Whether the signature is the recorded one, and covers what is there.
    fn compare(&self, by: &ApprovedBy, record: ApprovalRecord, covered: &Coverage) -> Approval {
        if by.who != record.who || by.date != record.date {
            let why = format!(
                "it says {}, {}, and the approval that is recorded is of {}, {}: {APPROVE}",
                printable(&by.who),
                by.date,
                printable(&record.who),
                record.date
            );
            return self.not(by, &why);
        }
        let changes = covered.changes(&record.covered);
        if !changes.is_empty() {
            let mut told: Vec<String> = changes.iter().take(CHANGES_MAX).map(ToString::to_string).collect();
            if changes.len() > CHANGES_MAX {
                told.push(format!("{} more", changes.len() - CHANGES_MAX));
            }
            return self.not(by, &format!("what it covers has changed since ({}): {APPROVE}", told.join("; ")));
        }
        match &by.hash {
            Some(hash) if record.hash.as_ref() != Some(hash) => {
                self.not(by, &format!("its hash {hash} is not that of the approval that is recorded: {APPROVE}"))
            }
            // A line without its hash says nothing else than the record.
            Some(_) | None => Approval::Valid(Box::new(record)),
        }
    }

    fn not(&self, by: &ApprovedBy, why: &str) -> Approval {
        Approval::NotApproved(format!("{}:{}: `Approved-By:`: {why}", self.plan, by.line))
    }

    /// Records the line that a person wrote, with what it covers from now on.
    pub fn record_by_hand(&self, by: &ApprovedBy, covered: &Coverage, now: SystemTime) -> io::Result<()> {
        record::write(&self.path(), &self.made(by, Origin::ByHand, covered, now))
    }

    /// Approves the plan in `file` in the name of `who`, who saw what `covered` holds: writes the signature, then the
    /// record. A crash in between leaves a plan that is not approved; approving again mends it. The day is that in UTC.
    ///
    /// `who` may hold commas, since the day stands behind the last one; what nobody sees, line ends and Markdown's signs
    /// are refused.
    pub fn approve(
        &self,
        file: &Path,
        who: &str,
        covered: &Coverage,
        now: SystemTime,
    ) -> Result<ApprovedBy, PlanError> {
        let failed = |error: io::Error| PlanError::Io { operation: "written", source: error.into() };
        let who = who.trim();
        check_who(who).map_err(|why| {
            PlanError::Invalid(vec![format!("`{}` cannot stand in `Approved-By:`: {why}", printable(who))])
        })?;
        let bytes = read_bounded(file)?;
        let plan = MasterPlan::parse(&bytes, &self.plan).map_err(PlanError::Invalid)?;
        let moved = || PlanError::Invalid(vec![format!("{} was changed meanwhile: look at it again", self.plan)]);
        // Nobody approves what they did not see.
        if covered.text(&self.plan) != Some(plan.text.trim_end()) {
            return Err(moved());
        }
        let by = ApprovedBy { who: who.to_owned(), date: day(now).to_string(), hash: Some(covered.hash()), line: 1 };
        let signed = sign(&bytes, &self.plan, &by).map_err(PlanError::Invalid)?;
        if signed != bytes {
            // The last look before the write.
            if fs::read(file).map_err(failed)? != bytes {
                return Err(moved());
            }
            replace::replace(file, &signed).map_err(failed)?;
        }
        record::write(&self.path(), &self.made(&by, Origin::Command, covered, now)).map_err(failed)?;
        let signature = MasterPlan::parse(&signed, &self.plan).map_err(PlanError::Invalid)?.signature;
        Ok(match signature {
            Signature::Signed(found) => found,
            Signature::Missing | Signature::Malformed { .. } => by,
        })
    }

    /// Takes in what a person approved on the way: `items`, which bring their own commands. Only where nothing else is
    /// different from what is recorded; else nothing is recorded, and the next check says what changed. Answers whether
    /// the approval covers what is there.
    pub fn grow(&self, covered: &Coverage, items: &[ItemRef], now: SystemTime) -> io::Result<bool> {
        let Some(record) = self.record()? else { return Ok(false) };
        let changes = covered.changes(&record.covered);
        if changes.is_empty() {
            return Ok(true);
        }
        let names: Vec<String> = items.iter().map(coverage::commands_of).collect();
        if !changes.iter().all(|change| change.old.is_none() && names.contains(&change.name)) {
            return Ok(false);
        }
        let grown = ApprovalRecord { digest: covered.digest(), covered: covered.clone(), at: millis(now), ..record };
        record::write(&self.path(), &grown)?;
        Ok(true)
    }

    fn made(&self, by: &ApprovedBy, origin: Origin, covered: &Coverage, now: SystemTime) -> ApprovalRecord {
        ApprovalRecord {
            plan: self.plan.clone(),
            who: by.who.clone(),
            date: by.date.clone(),
            origin,
            hash: by.hash.clone(),
            digest: covered.digest(),
            covered: covered.clone(),
            at: millis(now),
        }
    }
}

/// The day in UTC.
fn day(now: SystemTime) -> Date {
    let stamp = Timestamp::try_from(now).unwrap_or(Timestamp::UNIX_EPOCH);
    TimeZone::UTC.to_datetime(stamp).date()
}

/// The latest day that it is anywhere on Earth.
fn last_day(now: SystemTime) -> Date {
    day(now.checked_add(AHEAD).unwrap_or(now))
}

#[cfg(test)]
mod tests;
