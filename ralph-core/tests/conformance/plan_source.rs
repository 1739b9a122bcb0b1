//! The laws of plan sources, tried on ours, and on sources that break them.

use std::{fs, path::PathBuf, sync::Arc};

use ralph_core::{
    Digest, Item, ItemStatus, MemoryPlan, PhaseId, Proposal,
    ledger::{MarkdownPlan, MarkdownPrd},
    testing::suites::plan_source::{Person, PlanFixture},
};

const TITLES: [&str; 3] = ["Remove the snippet", "Add a banner", "Write it down"];

/// Edits a plan in memory.
#[derive(Debug)]
struct InMemory(MemoryPlan);

impl InMemory {
    fn edit(&self, title: &str, change: impl Fn(&mut Item)) {
        self.0.edit(|plan| {
            let items = plan.phases.iter_mut().flat_map(|phase| Arc::make_mut(phase).items.iter_mut());
            items.filter(|item| item.title == title).for_each(|item| change(Arc::make_mut(item)));
        });
    }
}

impl Person for InMemory {
    fn set_status(&self, title: &str, status: ItemStatus) {
        self.edit(title, |item| item.status = status);
    }

    fn add_criterion(&self, title: &str, criterion: &str) {
        self.edit(title, |item| {
            item.criteria.push(criterion.to_owned());
            item.digest = Digest::of(item.criteria.join("\n").as_bytes());
        });
    }

    fn clear(&self) {
        self.0.edit(|plan| plan.phases.clear());
    }
}

/// Edits a file.
#[derive(Debug)]
struct WithAnEditor(PathBuf);

impl WithAnEditor {
    fn edit(&self, title: &str, change: impl Fn(&str) -> String) {
        let text = fs::read_to_string(&self.0).unwrap();
        let lines = text.split_inclusive('\n');
        let edited: String =
            lines.map(|line| if line.contains(title) { change(line) } else { line.to_owned() }).collect();
        fs::write(&self.0, edited).unwrap();
    }
}

impl Person for WithAnEditor {
    fn set_status(&self, title: &str, status: ItemStatus) {
        assert_eq!(status, ItemStatus::Done);
        self.edit(title, |line| line.replace("[ ]", "[x]"));
    }

    fn add_criterion(&self, title: &str, criterion: &str) {
        self.edit(title, |line| format!("{line}  - {criterion}\n"));
    }

    fn clear(&self) {
        fs::write(&self.0, "# Nothing left\n").unwrap();
    }
}

mod memory {
    use super::*;
    ralph_core::plan_source_conformance!(async || {
        let plan = MemoryPlan::of(TITLES);
        PlanFixture::new(plan.clone(), InMemory(plan))
    });
}

mod markdown {
    use super::*;
    ralph_core::plan_source_conformance!(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("PRD-P1.md");
        let [one, two, three] = TITLES;
        let text = format!("# PRD\nVerify: make\n\n- [ ] R01: {one}\n- [ ] {two}\n  - well\n- [ ] **R03** {three}\n");
        fs::write(&path, text).unwrap();
        PlanFixture::new(MarkdownPrd::open(&path), WithAnEditor(path)).keeping(folder)
    });
}

mod master_plan {
    use super::*;
    ralph_core::plan_source_conformance!(async || {
        let folder = tempfile::tempdir().unwrap();
        let [one, two, three] = TITLES;
        let prd = folder.path().join("PRD.md");
        fs::write(folder.path().join("PLAN.md"), "Phase P7 — It\n  PRD: PRD.md\n  Auto-Gate: make\n").unwrap();
        fs::write(&prd, format!("- [ ] R01: {one}\n- [ ] {two}\n  - well\n- [ ] **R03** {three}\n")).unwrap();
        PlanFixture::new(MarkdownPlan::open(folder.path(), "PLAN.md"), WithAnEditor(prd)).keeping(folder)
    });
}

mod saboteurs {
    use std::sync::atomic::{AtomicU32, Ordering};

    use ralph_core::{
        Cx, ItemRef, Marked, Plan, PlanError, PlanSource, async_trait,
        testing::suites::{plan_source, run_law},
    };

    use super::*;

    /// What is wrong with it.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fault {
        Forgets,
        MarksTheNeighbour,
        MarksTwice,
        MarksBlindly,
        Caches,
        DigestsTheStatus,
        TakesNothingForDone,
        NotesTheNeighbour,
        ExtendsTwice,
    }

    #[derive(Debug)]
    struct Saboteur {
        fault: Fault,
        inner: MemoryPlan,
        first: Plan,
        loads: AtomicU32,
    }

    #[async_trait]
    impl PlanSource for Saboteur {
        async fn load(&self, cx: &Cx) -> Result<Plan, PlanError> {
            let loads = self.loads.fetch_add(1, Ordering::SeqCst);
            if self.fault == Fault::TakesNothingForDone {
                return Ok(self.inner.plan());
            }
            let mut plan = self.inner.load(cx).await?;
            for phase in &mut plan.phases {
                let items = &mut Arc::make_mut(phase).items;
                match self.fault {
                    Fault::Forgets if loads > 0 => items.truncate(2),
                    Fault::DigestsTheStatus => items.iter_mut().for_each(|item| {
                        let text = format!("{}{}", item.digest, item.status);
                        Arc::make_mut(item).digest = Digest::of(text.as_bytes());
                    }),
                    _ => {}
                }
            }
            Ok(if self.fault == Fault::Caches { self.first.clone() } else { plan })
        }

        async fn mark(&self, item: &ItemRef, from: ItemStatus, to: ItemStatus, cx: &Cx) -> Result<Marked, PlanError> {
            let marked = self.inner.mark(item, from, to, cx).await?;
            match self.fault {
                Fault::MarksTheNeighbour => {
                    self.inner.mark(&ItemRef::new("P1", "R03"), from, to, cx).await?;
                }
                Fault::MarksTwice if marked == Marked::AlreadySo => return Ok(Marked::Written),
                Fault::MarksBlindly => {
                    if let Marked::Refused(Some(found)) = marked {
                        return self.inner.mark(item, found, to, cx).await;
                    }
                }
                _ => {}
            }
            Ok(marked)
        }

        async fn note(&self, item: &ItemRef, decision: &str, cx: &Cx) -> Result<(), PlanError> {
            if self.fault == Fault::NotesTheNeighbour {
                self.inner.note(&ItemRef::new("P1", "R03"), decision, cx).await?;
            }
            self.inner.note(item, decision, cx).await
        }

        async fn extend(&self, phase: &PhaseId, items: &[Proposal], decision: &str, cx: &Cx) -> Result<(), PlanError> {
            let again = self.loads.fetch_add(1, Ordering::SeqCst);
            let decision = match self.fault {
                Fault::ExtendsTwice => format!("{decision}{again}"),
                _ => decision.to_owned(),
            };
            self.inner.extend(phase, items, &decision, cx).await
        }
    }

    fn sabotage(fault: Fault) -> PlanFixture {
        let inner = MemoryPlan::of(TITLES);
        let first = inner.plan();
        let saboteur = Saboteur { fault, inner: inner.clone(), first, loads: AtomicU32::new(0) };
        PlanFixture::new(saboteur, InMemory(inner))
    }

    #[test]
    #[should_panic(expected = "loading changes nothing")]
    fn forgets() {
        run_law(plan_source::loading_is_stable(sabotage(Fault::Forgets)));
    }

    #[test]
    #[should_panic(expected = "after marking open as done")]
    fn marks_the_neighbour() {
        run_law(plan_source::a_mark_changes_one_status(sabotage(Fault::MarksTheNeighbour)));
    }

    #[test]
    #[should_panic(expected = "the second time")]
    fn marks_twice() {
        run_law(plan_source::a_mark_twice_is_a_mark(sabotage(Fault::MarksTwice)));
    }

    #[test]
    #[should_panic(expected = "the expectation was wrong")]
    fn marks_blindly() {
        run_law(plan_source::a_mark_is_a_compare_and_set(sabotage(Fault::MarksBlindly)));
    }

    #[test]
    #[should_panic(expected = "after the edit")]
    fn caches() {
        run_law(plan_source::edits_are_seen(sabotage(Fault::Caches)));
    }

    #[test]
    #[should_panic(expected = "a status is not part of it")]
    fn digests_the_status() {
        run_law(plan_source::the_digest_is_of_the_row(sabotage(Fault::DigestsTheStatus)));
    }

    #[test]
    #[should_panic(expected = "one decision more, and nothing else")]
    fn notes_the_neighbour() {
        run_law(plan_source::a_decision_is_noted_once(sabotage(Fault::NotesTheNeighbour)));
    }

    #[test]
    #[should_panic(expected = "two items more")]
    fn extends_twice() {
        run_law(plan_source::approved_items_come_last(sabotage(Fault::ExtendsTwice)));
    }

    #[test]
    #[should_panic(expected = "an empty plan was taken for a plan")]
    fn takes_nothing_for_done() {
        run_law(plan_source::no_items_is_an_error(sabotage(Fault::TakesNothingForDone)));
    }
}
