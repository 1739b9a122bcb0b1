//! The laws of gates, tried on a gate at each boundary, and on gates that break them.

use std::{
    fs,
    sync::atomic::{AtomicU32, Ordering},
};

use ralph_core::{
    Boundary, Cx, DecisionKind, Gate, GateError, ItemBoundary, PhaseBoundary, Question, Ruling, async_trait,
    testing::{Files, suites::gate::GateFixture},
};

fn files(all: &[(&str, &str)]) -> Files {
    all.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

fn question(text: &str) -> Ruling {
    Ruling::Ask(Question::new(DecisionKind::Protected, text))
}

/// What is wrong with a gate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    OpensAlways,
    OpensTheSecondTime,
    MixesUp,
    OpensTheUnknown,
    AsksNothing,
    ClosesSilently,
    TakesTheWord,
    OpensTheUnreadable,
    StaysBusy,
}

/// A licence that changes is for people; one that goes away is not to be had.
#[derive(Debug)]
struct Licence {
    fault: Fault,
    calls: AtomicU32,
    last: AtomicU32,
    busy: AtomicU32,
}

impl Licence {
    fn new(fault: Fault) -> Self {
        let [calls, last, busy] = [0; 3].map(AtomicU32::new);
        Self { fault, calls, last, busy }
    }

    async fn ruling(&self, at: &ItemBoundary) -> Result<Ruling, GateError> {
        let changes = at.changes.iter().any(|change| change.path == b"LICENSE");
        let read = at.tree.read(b"LICENSE", 1_000).await;
        let licence = match read {
            Err(_) if self.fault == Fault::OpensTheUnreadable => return Ok(Ruling::Open),
            read => read.map_err(GateError::other)?,
        };
        let approved = at.tree.read(b"APPROVED", 1_000).await.map_err(GateError::other)?.is_some();
        Ok(match licence {
            _ if approved && self.fault == Fault::TakesTheWord => Ruling::Open,
            None if self.fault == Fault::ClosesSilently => Ruling::Closed("\n".to_owned()),
            None => Ruling::Closed("the licence is gone".to_owned()),
            Some(_) if !changes => Ruling::Open,
            Some(_) if self.fault == Fault::AsksNothing => question(" "),
            Some(_) => question("The licence would change. Accept?"),
        })
    }
}

#[async_trait]
impl Gate for Licence {
    fn name(&self) -> &str {
        "licence"
    }

    async fn judge(&self, boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
        let Boundary::Item(at) = boundary else {
            return Ok(if self.fault == Fault::OpensTheUnknown { Ruling::Open } else { question("Go on?") });
        };
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        if self.fault == Fault::StaysBusy && self.busy.swap(1, Ordering::SeqCst) == 1 {
            return Ok(Ruling::Closed("another call is under way".to_owned()));
        }
        self.last.store(call, Ordering::SeqCst);
        tokio::task::yield_now().await;
        let ruling = self.ruling(at).await?;
        self.busy.store(0, Ordering::SeqCst);
        let opens = match self.fault {
            Fault::OpensAlways => true,
            Fault::OpensTheSecondTime => call >= 3,
            Fault::MixesUp => self.last.load(Ordering::SeqCst) != call,
            Fault::None
            | Fault::OpensTheUnknown
            | Fault::AsksNothing
            | Fault::ClosesSilently
            | Fault::TakesTheWord
            | Fault::OpensTheUnreadable
            | Fault::StaysBusy => false,
        };
        Ok(if opens { Ruling::Open } else { ruling })
    }
}

/// A licence gate with work for each of its rulings.
fn licence(fault: Fault) -> GateFixture {
    GateFixture::item(Licence::new(fault))
        .with_base(files(&[("LICENSE", "MIT"), ("src/main.rs", "")]))
        .opens(files(&[("LICENSE", "MIT"), ("src/main.rs", "fn main() {}")]))
        .asks(files(&[("LICENSE", "other"), ("src/main.rs", "")]))
        .closes(files(&[("src/main.rs", "")]))
}

/// A phase ends with notes about it.
#[derive(Debug)]
struct Notes;

impl Notes {
    fn ruling(at: &PhaseBoundary) -> Result<Ruling, GateError> {
        let notes = match fs::read_dir(&at.folder) {
            Ok(_) => fs::read_to_string(at.folder.join("NOTES.md")).unwrap_or_default(),
            Err(error) => return Err(GateError::Broken(error.to_string())),
        };
        if notes.contains(at.phase.id.as_str()) {
            return Ok(Ruling::Open);
        }
        Ok(Ruling::Closed(format!("NOTES.md says nothing about {}", at.phase.id)))
    }
}

#[async_trait]
impl Gate for Notes {
    fn name(&self) -> &str {
        "notes"
    }

    async fn judge(&self, boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
        match boundary {
            Boundary::Phase(at) => Self::ruling(at),
            Boundary::Item(_) => Ok(question("Go on?")),
            other => panic!("{other:?}"),
        }
    }
}

mod at_an_item {
    use super::*;
    ralph_core::gate_conformance!(async || licence(Fault::None));
}

mod at_a_phase {
    use super::*;
    ralph_core::gate_conformance!(async || {
        let folder = tempfile::tempdir().unwrap();
        GateFixture::phase(Notes, folder.path())
            .opens(files(&[("NOTES.md", "P7: done")]))
            .closes(files(&[("docs/more.md", "P7: done")]))
            .keeping(folder)
    });
}

mod at_both {
    use super::*;
    // It does not know phases, but nobody asks that of it here.
    ralph_core::gate_conformance!(knows_both async || licence(Fault::OpensTheUnknown));
}

mod saboteurs {
    use ralph_core::testing::suites::{gate, run_law};

    use super::*;

    #[test]
    #[should_panic(expected = "the ruling on")]
    fn opens_always() {
        run_law(gate::it_rules_as_it_should(licence(Fault::OpensAlways)));
    }

    #[test]
    #[should_panic(expected = "no work that the gate bars")]
    fn bars_nothing() {
        run_law(gate::it_rules_as_it_should(GateFixture::item(Licence::new(Fault::OpensAlways)).opens(files(&[]))));
    }

    #[test]
    #[should_panic(expected = "the ruling on the same work has changed")]
    fn opens_the_second_time() {
        run_law(gate::the_same_work_gets_the_same_ruling(licence(Fault::OpensTheSecondTime)));
    }

    #[test]
    #[should_panic(expected = "two at once got other rulings")]
    fn mixes_up() {
        run_law(gate::rulings_do_not_mix(licence(Fault::MixesUp)));
    }

    #[test]
    #[should_panic(expected = "at a boundary that it does not know")]
    fn opens_the_unknown() {
        run_law(gate::an_unknown_boundary_is_never_open(licence(Fault::OpensTheUnknown)));
    }

    #[test]
    #[should_panic(expected = "it asks nothing")]
    fn asks_nothing() {
        run_law(gate::a_bar_says_why(licence(Fault::AsksNothing)));
    }

    #[test]
    #[should_panic(expected = "does not say why")]
    fn closes_silently() {
        run_law(gate::a_bar_says_why(licence(Fault::ClosesSilently)));
    }

    #[test]
    #[should_panic(expected = "an approval that the work brought along")]
    fn takes_the_word() {
        run_law(gate::an_approval_in_the_work_opens_nothing(licence(Fault::TakesTheWord)));
    }

    #[test]
    #[should_panic(expected = "for what it could not read")]
    fn opens_the_unreadable() {
        run_law(gate::what_cannot_be_read_is_not_open(licence(Fault::OpensTheUnreadable)));
    }

    #[test]
    #[should_panic(expected = "after a call that was dropped")]
    fn stays_busy() {
        run_law(gate::a_dropped_call_leaves_nothing(licence(Fault::StaysBusy)));
    }
}
