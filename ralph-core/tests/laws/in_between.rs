//! What the laws say of reviews, clean-ups, items that must fail first and verdicts that contradict each other is seen to
//! fail.

use ralph_core::{
    AgentError, Candidate, Capabilities, Cx, Item, MemoryJournal, MemoryPlan, Opinion, Part, Phase, Plan, Ralph,
    Record, Remark, Review, Reviewer, RunId, Stage, StopReason, async_trait,
    machine::{Fact, VerifyOutcome},
    testing::{MemoryVcs, ScriptedAgent, turn},
    verifier,
};

use super::saboteurs::{broken_laws, position};

/// Approves.
#[derive(Debug)]
struct Kind;

#[async_trait]
impl Reviewer for Kind {
    fn name(&self) -> &str {
        "kind"
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities::none()
    }
    async fn review(&self, work: &Candidate, _cx: &Cx) -> Result<Review, AgentError> {
        let remark =
            |criterion: &str| Remark { criterion: criterion.to_owned(), met: true, evidence: "R01:1".to_owned() };
        let remarks = work.criteria().into_iter().map(remark).collect();
        Ok(Review::new(Opinion { remarks, objections: Vec::new() }))
    }
}

/// The record of an honest run of one item whose own verifier failed first, and whose work was tidied and approved.
fn honest() -> Vec<Record> {
    let mut item = Item::new("R01", "good");
    item.verify = vec!["own".to_owned()];
    let plan = MemoryPlan::new(Plan::new([Phase::new("P1", [item])]));
    let (journal, run) = (MemoryJournal::new(), RunId::new("run"));
    let agent = ScriptedAgent::new([turn().writes("R01", "long")]);
    let tidy = ScriptedAgent::new([turn().writes("R01", "short")]);
    let check = verifier("it is there", |folder| Ok(folder.join("R01").exists()));
    let ralph = Ralph::builder(plan, agent, check, MemoryVcs::new())
        .require_red(true)
        .cleanup(tidy)
        .review(Kind)
        .journal(journal.clone(), run.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(ralph.run()).unwrap().stop.reason, StopReason::Success);
    let records = journal.records(&run);
    assert_eq!(broken_laws(&records), [] as [&str; 0], "the control");
    records
}

#[track_caller]
fn assert_found(law: &str, spoil: impl FnOnce(&mut Vec<Record>)) {
    let mut records = honest();
    spoil(&mut records);
    let found = broken_laws(&records);
    assert!(found.contains(&law), "{law} was not found broken, only {found:?}");
}

fn is_review(fact: &Fact) -> bool {
    matches!(fact, Fact::Reviewed { .. })
}

fn is_verdict(at: Stage) -> impl Fn(&Fact) -> bool {
    move |fact| matches!(fact, Fact::Verified { stage, own: None, .. } if *stage == at)
}

#[test]
fn l1_accepted_without_a_review() {
    assert_found("L1", |records| {
        records.remove(position(records, is_review));
    });
}

#[test]
fn l1_another_commit_was_reviewed() {
    assert_found("L1", |records| {
        let at = position(records, is_review);
        if let Fact::Reviewed { revision, .. } = &mut records[at].fact {
            *revision = "other".into();
        }
    });
}

#[test]
fn l1_a_review_for_another_row() {
    assert_found("L1", |records| {
        let at = position(records, is_review);
        if let Fact::Reviewed { row, .. } = &mut records[at].fact {
            *row = ralph_core::Digest::of(b"edited");
        }
    });
}

#[test]
fn l1_a_veto_is_no_approval() {
    for no in [VerifyOutcome::Fail, VerifyOutcome::Broken] {
        assert_found("L1", |records| {
            let at = position(records, is_review);
            if let Fact::Reviewed { outcome, .. } = &mut records[at].fact {
                *outcome = no;
            }
        });
    }
}

#[test]
fn l6_one_commit_is_reviewed_twice() {
    assert_found("L6", |records| {
        let at = position(records, is_review);
        records.insert(at, records[at].clone());
    });
}

#[test]
fn l1_what_did_not_pass_twice_is_tidied() {
    for stage in [Stage::Workspace, Stage::Candidate] {
        assert_found("L1", |records| {
            let (verdict, tidied) =
                (position(records, is_verdict(stage)), position(records, |fact| matches!(fact, Fact::Tidied { .. })));
            assert!(verdict < tidied);
            records.remove(verdict);
        });
    }
}

#[test]
fn l1_what_was_tidied_is_accepted_without_its_own_passes() {
    assert_found("L1", |records| {
        let tidied = position(records, |fact| matches!(fact, Fact::Tidied { .. }));
        let second = tidied + position(&records[tidied..], is_verdict(Stage::Candidate));
        records.remove(second);
    });
}

#[test]
fn l1_nobody_saw_the_verifier_fail() {
    assert_found("L1", |records| {
        records.remove(position(records, |fact| matches!(fact, Fact::Verified { own: Some(_), .. })));
    });
}

/// The honest record with a failure of `name` put before the last verdict in the workspace, on the same content.
fn failed_before(name: Option<&str>) -> Vec<&'static str> {
    let mut records = honest();
    let at = records.iter().rposition(|record| is_verdict(Stage::Workspace)(&record.fact)).unwrap();
    let mut failure = records[at].clone();
    if let Fact::Verified { outcome, parts, .. } = &mut failure.fact {
        *outcome = VerifyOutcome::Fail;
        assert!(!parts.is_empty());
        for part in parts {
            *part = Part::new(name.unwrap_or(&part.name), false);
        }
    }
    records.insert(at, failure);
    broken_laws(&records)
}

#[test]
fn l1_accepted_although_the_same_content_failed_before() {
    let found = failed_before(None);
    assert!(found.contains(&"L1"), "{found:?}");
    // The control: another verifier has not said the contrary.
    let found = failed_before(Some("another"));
    assert!(!found.contains(&"L1"), "{found:?}");
}
