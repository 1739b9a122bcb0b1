//! The laws of queues, tried on ours, and on queues that break them.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use ralph_core::{
    DecisionId, MemoryDecisions,
    ledger::{FileDecisions, Ledger},
    testing::suites::decision::{DecisionFixture, Person},
};

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_779_070_400)
}

#[derive(Debug)]
struct InMemory(MemoryDecisions);

impl Person for InMemory {
    fn answer(&self, id: &DecisionId, said: &str, by: &str) -> Result<(), String> {
        self.0.answer(id, said, by, now()).map(drop)
    }
}

/// Another process: it shares nothing but the files.
#[derive(Debug)]
struct AtTheFiles(Ledger);

impl Person for AtTheFiles {
    fn answer(&self, id: &DecisionId, said: &str, by: &str) -> Result<(), String> {
        let answered = FileDecisions::new(self.0.clone()).answer(id, said, by, now());
        answered.map(drop).map_err(|error| error.to_string())
    }
}

mod memory {
    use super::*;
    ralph_core::decision_conformance!(async || {
        let queue = MemoryDecisions::new();
        DecisionFixture::new(queue.clone(), InMemory(queue))
    });
}

mod files {
    use super::*;
    ralph_core::decision_conformance!(async || {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::at(folder.path());
        DecisionFixture::new(FileDecisions::new(ledger.clone()), AtTheFiles(ledger)).keeping(folder)
    });
}

mod saboteurs {
    use std::sync::Mutex;

    use ralph_core::{
        Answer, Cx, Decision, DecisionError, DecisionSink, Reply, async_trait,
        testing::suites::{decision, run_law},
    };

    use super::*;

    /// What is wrong with it.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fault {
        None,
        ForgetsKeysOfAnswered,
        NumbersByWhatWaits,
        TakesTheLastWord,
        TellsAll,
        UnknownIsAnError,
        TakesAnything,
        ClosesForShow,
        ClosingDropsAnswers,
        ReadsTheQuestion,
        LosesTheAnswered,
    }

    /// A queue that is as good as another, but for its fault.
    #[derive(Debug, Default)]
    struct Entries(Mutex<Vec<Entry>>);

    #[derive(Debug)]
    struct Entry {
        id: DecisionId,
        decision: Decision,
        answer: Option<Answer>,
        closed: bool,
    }

    #[derive(Clone, Debug)]
    struct Saboteur(Fault, Arc<Entries>);

    #[async_trait]
    impl DecisionSink for Saboteur {
        async fn submit(&self, decision: &Decision, _cx: &Cx) -> Result<DecisionId, DecisionError> {
            let mut entries = self.1.0.lock().unwrap();
            let forgets = |entry: &Entry| self.0 == Fault::ForgetsKeysOfAnswered && entry.answer.is_some();
            let known = entries.iter().find(|entry| entry.decision.key == decision.key && !forgets(entry));
            if let Some(known) = known {
                return Ok(known.id.clone());
            }
            let counts = |entry: &&Entry| self.0 != Fault::NumbersByWhatWaits || !entry.closed;
            let id = DecisionId::new(format!("D-{:03}", entries.iter().filter(counts).count() + 1));
            let said = decision.said.starts_with("approve") && self.0 == Fault::ReadsTheQuestion;
            let answer = said.then(|| Answer::new(id.clone(), Reply::Approve, "lead", now()));
            entries.push(Entry { id: id.clone(), decision: decision.clone(), answer, closed: false });
            Ok(id)
        }

        async fn answers(&self, ids: &[DecisionId], _cx: &Cx) -> Result<Vec<Answer>, DecisionError> {
            let entries = self.1.0.lock().unwrap();
            let unknown = |id: &&DecisionId| !entries.iter().any(|entry| entry.id == **id);
            if self.0 == Fault::UnknownIsAnError
                && let Some(id) = ids.iter().find(unknown)
            {
                return Err(DecisionError::Io { operation: "looked up", source: id.as_str().into() });
            }
            let meant = |answer: &Answer| self.0 == Fault::TellsAll || ids.contains(&answer.decision);
            Ok(entries.iter().filter_map(|entry| entry.answer.clone()).filter(meant).collect())
        }

        async fn close(&self, id: &DecisionId, _why: &str, _cx: &Cx) -> Result<(), DecisionError> {
            let mut entries = self.1.0.lock().unwrap();
            if let Some(entry) = entries.iter_mut().find(|entry| entry.id == *id) {
                entry.closed = true;
                if self.0 == Fault::ClosingDropsAnswers {
                    entry.answer = None;
                }
            }
            Ok(())
        }

        async fn lost(&self, ids: &[DecisionId], _cx: &Cx) -> Result<Vec<DecisionId>, DecisionError> {
            let entries = self.1.0.lock().unwrap();
            let waits = |entry: &&Entry| match self.0 {
                Fault::LosesTheAnswered => entry.answer.is_none() && !entry.closed,
                _ => !entry.closed,
            };
            let there: Vec<&DecisionId> = entries.iter().filter(waits).map(|entry| &entry.id).collect();
            Ok(ids.iter().filter(|id| !there.contains(id)).cloned().collect())
        }
    }

    #[test]
    #[should_panic(expected = "one waits and one is answered")]
    fn loses_the_answered() {
        run_law(decision::what_waits_is_not_lost(sabotage(Fault::LosesTheAnswered)));
    }

    impl Person for Saboteur {
        fn answer(&self, id: &DecisionId, said: &str, by: &str) -> Result<(), String> {
            let mut entries = self.1.0.lock().unwrap();
            let entry = entries.iter_mut().find(|entry| entry.id == *id).ok_or("unknown")?;
            let closed = entry.closed && self.0 != Fault::ClosesForShow;
            if closed || (entry.answer.is_some() && self.0 != Fault::TakesTheLastWord) {
                return Err("it waits no longer".to_owned());
            }
            let reply = match entry.decision.question.reply(said) {
                Ok(reply) => reply,
                Err(_) if self.0 == Fault::TakesAnything => Reply::Text(said.to_owned()),
                Err(error) => return Err(error.to_string()),
            };
            entry.answer = Some(Answer::new(id.clone(), reply, by, now()));
            Ok(())
        }
    }

    fn sabotage(fault: Fault) -> DecisionFixture {
        let queue = Saboteur(fault, Arc::default());
        DecisionFixture::new(queue.clone(), queue)
    }

    mod without_a_fault {
        use super::*;
        ralph_core::decision_conformance!(async || sabotage(Fault::None));
    }

    #[test]
    #[should_panic(expected = "a replay of the step, after the answer")]
    fn forgets_keys_of_answered() {
        run_law(decision::a_key_has_one_id(sabotage(Fault::ForgetsKeysOfAnswered)));
    }

    #[test]
    #[should_panic(expected = "was given twice")]
    fn numbers_by_what_waits() {
        run_law(decision::ids_are_never_reused(sabotage(Fault::NumbersByWhatWaits)));
    }

    #[test]
    #[should_panic(expected = "a second answer was taken")]
    fn takes_the_last_word() {
        run_law(decision::an_answer_is_seen_and_stays(sabotage(Fault::TakesTheLastWord)));
    }

    #[test]
    #[should_panic(expected = "nothing was asked about")]
    fn tells_all() {
        run_law(decision::only_what_is_asked_about_is_answered(sabotage(Fault::TellsAll)));
    }

    #[test]
    #[should_panic(expected = "must be looked up")]
    fn unknown_is_an_error() {
        run_law(decision::an_unknown_id_is_no_error(sabotage(Fault::UnknownIsAnError)));
    }

    #[test]
    #[should_panic(expected = "`green` was taken for an answer")]
    fn takes_anything() {
        run_law(decision::what_is_no_answer_is_refused(sabotage(Fault::TakesAnything)));
    }

    #[test]
    #[should_panic(expected = "a closed question took an answer")]
    fn closes_for_show() {
        run_law(decision::a_closed_question_takes_no_answer(sabotage(Fault::ClosesForShow)));
    }

    #[test]
    #[should_panic(expected = "closing changed the answer")]
    fn closing_drops_answers() {
        run_law(decision::closing_keeps_an_answer(sabotage(Fault::ClosingDropsAnswers)));
    }

    #[test]
    #[should_panic(expected = "an agent's words were taken for an answer")]
    fn reads_the_question() {
        run_law(decision::words_of_agents_are_no_answers(sabotage(Fault::ReadsTheQuestion)));
    }
}
