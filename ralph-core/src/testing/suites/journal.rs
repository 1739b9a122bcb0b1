//! The laws of [`Journal`] and its writer.

use std::{fmt::Debug, sync::Arc};

use crate::{
    id::RunId,
    journal::{Journal, JournalError, Opened, Record},
    machine::{Carried, Fact, Rules},
};

/// A journal without any records, and whatever must live as long as it.
#[derive(Debug)]
pub struct JournalFixture {
    journal: Arc<dyn Journal>,
    _keep: Option<Box<dyn Keep>>,
}

/// Something that a fixture needs to stay alive, such as a temporary folder.
pub trait Keep: Debug + Send {}
impl<T: Debug + Send> Keep for T {}

impl JournalFixture {
    /// Tests `journal`, which must be empty.
    pub fn new(journal: impl Journal) -> Self {
        Self { journal: Arc::new(journal), _keep: None }
    }

    /// The same; `thing` is dropped after the law was tested.
    #[must_use]
    pub fn keeping(mut self, thing: impl Keep + 'static) -> Self {
        self._keep = Some(Box::new(thing));
        self
    }

    async fn open(&self, run: &str) -> Opened {
        match self.journal.open(&RunId::new(run)).await {
            Ok(opened) => opened,
            Err(error) => panic!("run `{run}` must open: {error}"),
        }
    }
}

fn record(seq: u64) -> Record {
    let fact = if seq.is_multiple_of(2) {
        Fact::Waited { took_ms: seq }
    } else {
        Fact::Opened { rules: Rules::default(), carried: Carried::default() }
    };
    Record { seq, at: 1_000 + seq, fact }
}

async fn append(opened: &mut Opened, seq: u64) {
    if let Err(error) = opened.writer.append(&record(seq)).await {
        panic!("record {seq} must be taken: {error}");
    }
}

/// A run that nobody knows is an empty record.
pub async fn an_unknown_run_is_empty(fixture: JournalFixture) {
    assert!(fixture.open("run").await.records.is_empty(), "an unknown run has no records");
}

/// What was appended is there when the run is opened again, as it was and in order.
pub async fn what_was_appended_is_there(fixture: JournalFixture) {
    let mut opened = fixture.open("run").await;
    for seq in 1..=5 {
        append(&mut opened, seq).await;
    }
    drop(opened);
    let mut again = fixture.open("run").await;
    let expected: Vec<_> = (1..=5).map(record).collect();
    assert_eq!(again.records, expected, "records come back as they were appended");
    assert_eq!(again.repaired, None, "nothing was torn");
    append(&mut again, 6).await;
    drop(again);
    let expected: Vec<_> = (1..=6).map(record).collect();
    assert_eq!(fixture.open("run").await.records, expected, "a run is taken up where it stood");
}

/// There is one writer at a time.
pub async fn a_second_writer_is_refused(fixture: JournalFixture) {
    let mut first = fixture.open("run").await;
    let second = fixture.journal.open(&RunId::new("run")).await;
    assert!(matches!(second, Err(JournalError::Held(_))), "found {second:?} instead of a refusal");
    append(&mut first, 1).await;
    drop(first);
    assert_eq!(fixture.open("run").await.records.len(), 1, "the first writer went on unharmed");
}

/// Dropping the writer lets go of the run.
pub async fn a_dropped_writer_lets_go(fixture: JournalFixture) {
    drop(fixture.open("run").await);
    let second = fixture.journal.open(&RunId::new("run")).await;
    assert!(second.is_ok(), "the run is still held: {second:?}");
}

/// Runs do not see each other's records, nor each other's writers.
pub async fn runs_are_apart(fixture: JournalFixture) {
    let mut one = fixture.open("one").await;
    let mut two = fixture.open("two").await;
    append(&mut one, 1).await;
    append(&mut two, 1).await;
    append(&mut two, 2).await;
    drop((one, two));
    let counts = (fixture.open("one").await.records.len(), fixture.open("two").await.records.len());
    assert_eq!(counts, (1, 2), "records of one run in another");
}

/// Opening changes nothing.
pub async fn opening_changes_nothing(fixture: JournalFixture) {
    let mut opened = fixture.open("run").await;
    append(&mut opened, 1).await;
    drop(opened);
    for _ in 0..3 {
        let again = fixture.open("run").await;
        assert_eq!(again.records, [record(1)], "opening changed the record");
    }
}

/// Makes one test of each law of [`Journal`](crate::Journal), given an async closure that makes a
/// [`JournalFixture`](crate::testing::suites::journal::JournalFixture). Feature `testing`; give it a `mod` of its own
/// beside other suites.
///
/// ```no_run,test_harness
/// # use ralph_core::{MemoryJournal as MyJournal, testing::suites::journal::JournalFixture};
/// ralph_core::journal_conformance!(async || JournalFixture::new(MyJournal::new()));
/// ```
#[macro_export]
macro_rules! journal_conformance {
    ($make:expr) => {
        $crate::__conformance!(journal, $make;
            an_unknown_run_is_empty,
            what_was_appended_is_there,
            a_second_writer_is_refused,
            a_dropped_writer_lets_go,
            runs_are_apart,
            opening_changes_nothing,
        );
    };
}
