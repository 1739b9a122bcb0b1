//! Plans that are none (law L12), and words without bounds (law L11), whatever a seam makes of them.

use ralph_core::{
    Cx, Evidence, Item, ItemRef, ItemStatus, Marked, MemoryJournal, MemoryPlan, Part, Phase, PhaseId, Plan, PlanError,
    PlanSource, Proposal, Ralph, RunId, StopReason, Target, Verdict, Verifier, VerifyError, async_trait,
    testing::{MemoryVcs, ScriptedAgent, laws::LawBook, turn},
    verifier,
};

use super::run;

/// A source that takes anything for a plan.
#[derive(Debug)]
struct Careless(Plan);

#[async_trait]
impl PlanSource for Careless {
    async fn load(&self, _cx: &Cx) -> Result<Plan, PlanError> {
        Ok(self.0.clone())
    }
    async fn mark(&self, _: &ItemRef, _: ItemStatus, _: ItemStatus, _: &Cx) -> Result<Marked, PlanError> {
        Ok(Marked::Written)
    }
    async fn note(&self, _: &ItemRef, _: &str, _: &Cx) -> Result<(), PlanError> {
        Ok(())
    }
    async fn extend(&self, _: &PhaseId, _: &[Proposal], _: &str, _: &Cx) -> Result<(), PlanError> {
        Ok(())
    }
}

fn done(id: &str) -> Item {
    let mut item = Item::new(id, "done before");
    item.status = ItemStatus::Done;
    item
}

#[test]
fn a_plan_that_is_none_is_never_a_success() {
    for (phases, expected) in [
        (vec![], "the plan has no items"),
        (vec![Phase::new("P1", [])], "P1 has no items"),
        (vec![Phase::new("P1", [done("R01")]), Phase::new("P2", [])], "P2 has no items"),
        (vec![Phase::new("P1", [done("R01"), done("R01")])], "there are two items P1/R01"),
        // The control.
        (vec![Phase::new("P1", [done("R01")]), Phase::new("P2", [done("R01")])], ""),
    ] {
        let fine = verifier("fine", |_| Ok(true));
        let ralph = Ralph::builder(Careless(Plan::new(phases)), ScriptedAgent::new([]), fine, MemoryVcs::new());
        let stop = run(ralph).stop;
        if expected.is_empty() {
            assert_eq!(stop.reason, StopReason::Success);
        } else {
            assert_eq!((stop.reason, stop.detail.as_str()), (StopReason::PlanInvalid, expected));
        }
    }
}

/// Fails at great length.
#[derive(Debug)]
struct Flood;

#[async_trait]
impl Verifier for Flood {
    fn name(&self) -> &str {
        "flood"
    }
    async fn verify(&self, _: &Target, _: &Cx) -> Result<Verdict, VerifyError> {
        let part = |index: usize| Part::new(format!("{index}{}", "p".repeat(1_000)), false);
        let parts: Vec<Part> = (0..1_000).map(part).collect();
        let long = "x".repeat(1 << 20);
        Ok(Verdict::Fail(Evidence::line(long.clone()).with_tail(long).with_parts(parts)))
    }
}

#[test]
fn records_are_bounded_whatever_a_verifier_or_a_gate_says() {
    let mut gated = Phase::new("P1", [done("R01")]);
    gated.auto_gate.push("check".to_owned());
    for (phase, expected) in
        [(Phase::new("P1", [Item::new("R01", "x")]), StopReason::ItemsBlocked), (gated, StopReason::AutoGateFailed)]
    {
        let (journal, name) = (MemoryJournal::new(), RunId::new("run"));
        let agent = ScriptedAgent::new([turn().writes("a", "1"), turn().writes("a", "2")]);
        let plan = MemoryPlan::new(Plan::new([phase]));
        let ralph = Ralph::builder(plan, agent, Flood, MemoryVcs::new()).journal(journal.clone(), name.clone());
        assert_eq!(run(ralph).stop.reason, expected);
        let mut book = LawBook::new();
        let records = journal.records(&name);
        records.iter().for_each(|record| book.read(record));
        assert_eq!(book.violations(), []);
        // The control: there was something to bound.
        let json: Vec<usize> = records.iter().map(|record| serde_json::to_string(record).unwrap().len()).collect();
        assert!(json.iter().any(|size| *size > 4_000), "{json:?}");
    }
}
