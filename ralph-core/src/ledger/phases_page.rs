//! ORCHESTRATOR-STATE.md: where the phases of a plan stand, for people.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    io,
};

use super::{layout::Ledger, quote, replace, time};
use crate::{
    id::{PhaseId, Revision},
    plan::{ItemStatus, Plan},
    stop::Stop,
};

/// How long a title may be, in characters.
const TEXT_MAX: usize = 200;

/// What the page is made of.
///
/// ```
/// use ralph_core::{Item, Phase, Plan, ledger::PhasesPage};
/// let plan = Plan::new([Phase::new("P1", [Item::new("R01", "add a greeting")])]);
/// let page = PhasesPage {
///     plan: &plan,
///     finished: &Default::default(),
///     done: &Default::default(),
///     since_checkpoint: 0,
///     stop: None,
/// };
/// assert!(page.render().contains("- [ ] P1: 0 of 1 items done"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PhasesPage<'a> {
    /// The plan as it is now.
    pub plan: &'a Plan,
    /// The phases that are done.
    pub finished: &'a BTreeSet<PhaseId>,
    /// When they were, in milliseconds since the epoch, and at which commit.
    pub done: &'a BTreeMap<PhaseId, (u64, Revision)>,
    /// How many were finished since the last checkpoint.
    pub since_checkpoint: u32,
    /// How the run ended; `None` while it goes on.
    pub stop: Option<&'a Stop>,
}

impl PhasesPage<'_> {
    /// The page.
    pub fn render(&self) -> String {
        let mut page = String::from(
            "# Orchestrator state\n\nThis page is rendered: what is written here is not read.\n\n## Phases\n\n",
        );
        for phase in &self.plan.phases {
            let finished = self.finished.contains(&phase.id);
            let mark = if finished { 'x' } else { ' ' };
            let title = if phase.title.is_empty() || phase.title == phase.id.as_str() {
                String::new()
            } else {
                format!(" — {}", line(&phase.title))
            };
            // Writing to a string cannot fail.
            let _ = write!(page, "- [{mark}] {}{title}: ", line(phase.id.as_str()));
            let done = phase.items.iter().filter(|item| item.status == ItemStatus::Done).count();
            let _ = match self.done.get(&phase.id).filter(|_| finished) {
                Some((at, revision)) => {
                    writeln!(page, "done {} at {}", time::stamp(*at), line(revision.short()))
                }
                None if finished => writeln!(page, "done"),
                None if done == phase.items.len() => writeln!(page, "at its gates"),
                None => writeln!(page, "{done} of {} items done", phase.items.len()),
            };
        }
        let _ = writeln!(page, "\n## Counters\n\n- phases since the last checkpoint: {}", self.since_checkpoint);
        let stop = self.stop.map_or_else(|| "none, the run goes on".to_owned(), |stop| line(&stop.to_string()));
        let _ = writeln!(page, "- last stop: {stop}");
        page
    }

    /// Renders and writes it into the control folder.
    pub fn write(&self, ledger: &Ledger) -> io::Result<()> {
        replace::replace(&ledger.orchestrator_state(), self.render().as_bytes())
    }
}

fn line(text: &str) -> String {
    quote::line(text, TEXT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Item, Phase, StopReason};

    #[test]
    fn a_plan_in_the_middle() {
        let phase = |id: &str, title: &str, marks: &[ItemStatus]| {
            let items = marks.iter().enumerate().map(|(index, status)| {
                let mut item = Item::new(format!("R{index}").as_str(), "x");
                item.status = *status;
                item
            });
            let mut phase = Phase::new(id, items);
            phase.title = title.to_owned();
            phase
        };
        let plan = Plan::new([
            phase("P1", "Privacy\n# scrub", &[ItemStatus::Done]),
            phase("P2", "Mail", &[ItemStatus::Done, ItemStatus::Done]),
            phase("P3", "P3", &[ItemStatus::Done, ItemStatus::Open]),
        ]);
        let done = BTreeMap::from([(PhaseId::new("P1"), (1_779_070_305_000, Revision::new("4f2c9ab01234")))]);
        let stop = Stop::new(StopReason::ManualGate, "D-002: Manual-Gate awaits: lead approves the mail");
        let page = PhasesPage {
            plan: &plan,
            finished: &BTreeSet::from([PhaseId::new("P1")]),
            done: &done,
            since_checkpoint: 1,
            stop: Some(&stop),
        };
        insta::assert_snapshot!(page.render());
    }
}
