//! The laws of [`PlanSource`].

use std::{fmt::Debug, sync::Arc};

use super::journal::Keep;
use crate::{
    cx::Cx,
    id::ItemRef,
    plan::{Item, ItemStatus, Marked, Plan, PlanSource, Proposal},
};

/// A source with one phase of three open items with different titles, and the way in which a person edits it.
#[derive(Debug)]
pub struct PlanFixture {
    source: Arc<dyn PlanSource>,
    person: Box<dyn Person>,
    _keep: Option<Box<dyn Keep>>,
}

/// A person with an editor.
pub trait Person: Debug + Send + Sync {
    /// Replaces the mark of the item with this title by the one for `status`.
    fn set_status(&self, title: &str, status: ItemStatus);
    /// Adds a criterion to the item with this title.
    fn add_criterion(&self, title: &str, criterion: &str);
    /// Takes every item out.
    fn clear(&self);
}

impl PlanFixture {
    /// Tests `source`, which `person` edits.
    pub fn new(source: impl PlanSource, person: impl Person + 'static) -> Self {
        Self { source: Arc::new(source), person: Box::new(person), _keep: None }
    }

    /// The same; `thing` is dropped after the law was tested.
    #[must_use]
    pub fn keeping(mut self, thing: impl Keep + 'static) -> Self {
        self._keep = Some(Box::new(thing));
        self
    }

    async fn load(&self) -> Plan {
        match self.source.load(&Cx::new()).await {
            Ok(plan) => plan,
            Err(error) => panic!("the plan must load: {error}"),
        }
    }

    /// The items with their full names.
    async fn items(&self) -> Vec<(ItemRef, Item)> {
        let plan = self.load().await;
        let phases = plan.phases.iter();
        phases.flat_map(|phase| phase.items.iter().map(|item| (phase.name(item), item.as_ref().clone()))).collect()
    }

    async fn note(&self, item: &ItemRef, decision: &str) {
        if let Err(error) = self.source.note(item, decision, &Cx::new()).await {
            panic!("a decision on {item} must be noted, or be nothing: {error}");
        }
    }

    async fn mark(&self, item: &ItemRef, from: ItemStatus, to: ItemStatus) -> Marked {
        match self.source.mark(item, from, to, &Cx::new()).await {
            Ok(marked) => marked,
            Err(error) => panic!("{item} must be marked or refused: {error}"),
        }
    }
}

/// Ids are unique, and loading twice says the same.
pub async fn loading_is_stable(fixture: PlanFixture) {
    let items = fixture.items().await;
    assert_eq!(items.len(), 3, "the fixture has three items");
    for (index, (name, _)) in items.iter().enumerate() {
        assert!(items.iter().skip(index + 1).all(|(other, _)| other != name), "{name} twice");
    }
    assert_eq!(fixture.items().await, items, "loading changes nothing");
}

/// A mark changes the status of its item and nothing else, for every status that is written.
pub async fn a_mark_changes_one_status(fixture: PlanFixture) {
    let before = fixture.items().await;
    let mut from = ItemStatus::Open;
    for to in [ItemStatus::Done, ItemStatus::Decision, ItemStatus::Blocked, ItemStatus::Open] {
        let marked = fixture.mark(&before[1].0, from, to).await;
        assert_eq!(marked, Marked::Written, "from {from} to {to}");
        let mut expected = before.clone();
        expected[1].1.status = to;
        assert_eq!(fixture.items().await, expected, "after marking {from} as {to}");
        from = to;
    }
}

/// Marking an item as what it is answers so.
pub async fn a_mark_twice_is_a_mark(fixture: PlanFixture) {
    let name = fixture.items().await[0].0.clone();
    fixture.mark(&name, ItemStatus::Open, ItemStatus::Done).await;
    let again = fixture.mark(&name, ItemStatus::Open, ItemStatus::Done).await;
    assert_eq!(again, Marked::AlreadySo, "the second time");
}

/// A mark whose expectation is wrong is refused with what is there, and changes nothing.
pub async fn a_mark_is_a_compare_and_set(fixture: PlanFixture) {
    let before = fixture.items().await;
    let refused = fixture.mark(&before[0].0, ItemStatus::Blocked, ItemStatus::Done).await;
    assert_eq!(refused, Marked::Refused(Some(ItemStatus::Open)), "the expectation was wrong");
    let phase = before[0].0.phase.clone();
    for gone in [ItemRef::new(phase, "no-such-item"), ItemRef::new("no-such-phase", before[0].0.item.clone())] {
        let refused = fixture.mark(&gone, ItemStatus::Open, ItemStatus::Done).await;
        assert_eq!(refused, Marked::Refused(None), "{gone} is not there");
    }
    assert_eq!(fixture.items().await, before, "a refusal changes nothing");
}

/// What a person edits is seen at the next load, and by marks.
pub async fn edits_are_seen(fixture: PlanFixture) {
    let before = fixture.items().await;
    let (name, item) = &before[2];
    fixture.person.set_status(&item.title, ItemStatus::Done);
    assert_eq!(fixture.items().await[2].1.status, ItemStatus::Done, "after the edit");
    let marked = fixture.mark(name, ItemStatus::Open, ItemStatus::Blocked).await;
    assert_eq!(marked, Marked::Refused(Some(ItemStatus::Done)), "the edit wins");
}

/// The digest changes with what is said about the item, and not with its status.
pub async fn the_digest_is_of_the_row(fixture: PlanFixture) {
    let before = fixture.items().await;
    let (name, item) = &before[0];
    fixture.mark(name, ItemStatus::Open, ItemStatus::Decision).await;
    assert_eq!(fixture.items().await[0].1.digest, item.digest, "a status is not part of it");
    fixture.person.add_criterion(&item.title, "it also holds at night");
    let after = fixture.items().await;
    assert_ne!(after[0].1.digest, item.digest, "a criterion is part of it");
    assert_eq!(after[1].1.digest, before[1].1.digest, "another item is not part of it");
}

/// A decision is added to its item once, and to no other; one about an item that is gone is nothing.
pub async fn a_decision_is_noted_once(fixture: PlanFixture) {
    const DECISION: &str = "D-007 (lead, 2026-05-18): Resend";
    let mut expected = fixture.items().await;
    let name = expected[1].0.clone();
    for _ in 0..2 {
        fixture.note(&name, DECISION).await;
    }
    fixture.note(&ItemRef::new(name.phase.clone(), "no-such-item"), DECISION).await;
    let after = fixture.items().await;
    expected[1].1.decisions.push(DECISION.to_owned());
    for ((_, expected), (_, found)) in expected.iter_mut().zip(&after) {
        // Where it stands in its file may change.
        expected.line = found.line;
    }
    assert_eq!(after, expected, "one decision more, and nothing else: it is no part of the digest");
}

/// Approved items come last, open, with what was proposed; once for each decision.
pub async fn approved_items_come_last(fixture: PlanFixture) {
    const DECISION: &str = "D-008 (lead, 2026-05-18): approve";
    let before = fixture.items().await;
    let phase = before[0].0.phase.clone();
    let proposal = |title: &str, verify: Option<&str>| Proposal {
        title: title.to_owned(),
        criteria: vec!["it holds".to_owned()],
        verify: verify.map(str::to_owned),
    };
    let items = [proposal("One more", Some("make more")), proposal("And another", None)];
    for _ in 0..2 {
        if let Err(error) = fixture.source.extend(&phase, &items, DECISION, &Cx::new()).await {
            panic!("the plan must be extended: {error}");
        }
    }
    let after = fixture.items().await;
    assert_eq!(after.len(), before.len() + 2, "two items more");
    assert_eq!(after[..before.len()], before[..], "the others stay as they are");
    for ((_, item), proposal) in after[before.len()..].iter().zip(&items) {
        let found = (item.title.as_str(), &item.criteria, item.verify.first(), item.status);
        let expected = (proposal.title.as_str(), &proposal.criteria, proposal.verify.as_ref(), ItemStatus::Open);
        assert_eq!((found, &item.decisions[..]), (expected, &[DECISION.to_owned()][..]), "as it was approved");
    }
}

/// A plan without items is an error, never an empty plan (law L12).
pub async fn no_items_is_an_error(fixture: PlanFixture) {
    fixture.person.clear();
    let loaded = fixture.source.load(&Cx::new()).await;
    assert!(loaded.is_err(), "an empty plan was taken for a plan");
}

/// Makes one test of each law of [`PlanSource`](crate::PlanSource), given an async closure that makes a
/// [`PlanFixture`](crate::testing::suites::plan_source::PlanFixture). Feature `testing`; give it a `mod` of its own
/// beside other suites.
///
/// ```no_run,test_harness
/// # use ralph_core::{ItemStatus, MemoryPlan as MyPlan, testing::suites::plan_source::{Person, PlanFixture}};
/// #[derive(Debug)]
/// struct Editor(MyPlan);
///
/// impl Person for Editor {
///     # fn set_status(&self, _: &str, _: ItemStatus) {}
///     # fn add_criterion(&self, _: &str, _: &str) {}
///     # fn clear(&self) {}
///     // as somebody would edit the plan by hand
/// }
/// ralph_core::plan_source_conformance!(async || {
///     let plan = MyPlan::of(["one", "two", "three"]);
///     PlanFixture::new(plan.clone(), Editor(plan))
/// });
/// ```
#[macro_export]
macro_rules! plan_source_conformance {
    ($make:expr) => {
        $crate::__conformance!(plan_source, $make;
            loading_is_stable,
            a_mark_changes_one_status,
            a_mark_twice_is_a_mark,
            a_mark_is_a_compare_and_set,
            edits_are_seen,
            the_digest_is_of_the_row,
            a_decision_is_noted_once,
            approved_items_come_last,
            no_items_is_an_error,
        );
    };
}
