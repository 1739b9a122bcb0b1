//! The laws of journals, tried on ours, and on journals that break them.

use ralph_core::testing::suites::journal::JournalFixture;

mod memory {
    use super::*;
    ralph_core::journal_conformance!(async || JournalFixture::new(ralph_core::MemoryJournal::new()));
}

mod jsonl {
    use super::*;
    ralph_core::journal_conformance!(async || {
        let folder = tempfile::tempdir().unwrap();
        let journal = ralph_core::ledger::JsonlJournal::new(folder.path());
        JournalFixture::new(journal).keeping(folder)
    });
}

mod saboteurs {
    use std::sync::atomic::{AtomicBool, Ordering};

    use ralph_core::{
        Journal, JournalError, JournalWriter, MemoryJournal, Opened, Record, RunId, async_trait,
        machine::Fact,
        testing::suites::{journal, run_law},
    };

    use super::JournalFixture;

    /// What is wrong with it.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fault {
        InventsRecords,
        LosesRecords,
        HasTwoWriters,
        NeverLetsGo,
        MixesRuns,
        GrowsWhenOpened,
    }

    #[derive(Debug)]
    struct Saboteur {
        fault: Fault,
        inner: MemoryJournal,
        opened: AtomicBool,
    }

    #[derive(Debug)]
    struct Writer(Fault, Option<Box<dyn JournalWriter>>);

    #[async_trait]
    impl Journal for Saboteur {
        async fn open(&self, run: &RunId) -> Result<Opened, JournalError> {
            let first = !self.opened.swap(true, Ordering::SeqCst);
            let run = if self.fault == Fault::MixesRuns { RunId::new("one") } else { run.clone() };
            let opened = match self.inner.open(&run).await {
                Err(JournalError::Held(_)) if matches!(self.fault, Fault::HasTwoWriters | Fault::MixesRuns) => {
                    MemoryJournal::new().open(&run).await
                }
                other => other,
            };
            let mut opened = opened?;
            match self.fault {
                Fault::InventsRecords => {
                    opened.records.push(Record { seq: 1, at: 0, fact: Fact::CancelAsked });
                }
                Fault::GrowsWhenOpened if !first => {
                    let seq = opened.records.len() as u64 + 1;
                    opened.writer.append(&Record { seq, at: 0, fact: Fact::CancelAsked }).await?;
                }
                _ => {}
            }
            let Opened { records, writer, .. } = opened;
            Ok(Opened::new(records, Box::new(Writer(self.fault, Some(writer)))))
        }
    }

    #[async_trait]
    impl JournalWriter for Writer {
        async fn append(&mut self, record: &Record) -> Result<(), JournalError> {
            match &mut self.1 {
                Some(_) if self.0 == Fault::LosesRecords && record.seq == 3 => Ok(()),
                Some(writer) => writer.append(record).await,
                None => Ok(()),
            }
        }
    }

    impl Drop for Writer {
        fn drop(&mut self) {
            if self.0 == Fault::NeverLetsGo {
                Box::leak(Box::new(self.1.take()));
            }
        }
    }

    fn sabotage(fault: Fault) -> JournalFixture {
        let inner = MemoryJournal::new();
        JournalFixture::new(Saboteur { fault, inner, opened: AtomicBool::new(false) })
    }

    #[test]
    #[should_panic(expected = "an unknown run has no records")]
    fn invents_records() {
        run_law(journal::an_unknown_run_is_empty(sabotage(Fault::InventsRecords)));
    }

    #[test]
    #[should_panic(expected = "records come back as they were appended")]
    fn loses_records() {
        run_law(journal::what_was_appended_is_there(sabotage(Fault::LosesRecords)));
    }

    #[test]
    #[should_panic(expected = "instead of a refusal")]
    fn has_two_writers() {
        run_law(journal::a_second_writer_is_refused(sabotage(Fault::HasTwoWriters)));
    }

    #[test]
    #[should_panic(expected = "the run is still held")]
    fn never_lets_go() {
        run_law(journal::a_dropped_writer_lets_go(sabotage(Fault::NeverLetsGo)));
    }

    #[test]
    #[should_panic(expected = "records of one run in another")]
    fn mixes_runs() {
        run_law(journal::runs_are_apart(sabotage(Fault::MixesRuns)));
    }

    #[test]
    #[should_panic(expected = "opening changed the record")]
    fn grows_when_opened() {
        run_law(journal::opening_changes_nothing(sabotage(Fault::GrowsWhenOpened)));
    }
}
