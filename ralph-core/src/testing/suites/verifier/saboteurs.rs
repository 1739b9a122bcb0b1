//! One broken implementation for each law, which must fail it.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use async_trait::async_trait;

use super::{super::heartbeat::PATIENCE, *};
use crate::{Evidence, Part, testing::suites::run_law};

/// One way to break a law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sabotage {
    None,
    FailsAll,
    PassesAll,
    FailureIsAnError,
    SaysNothing,
    BrokenIsAFailure,
    BrokenWithoutReason,
    Remembers,
    MixesFolders,
    TossesACoin,
    ChangesItsParts,
    TellsAll,
    WritesNoLog,
    IgnoresCancel,
    CancelIsBroken,
    IgnoresTime,
    TimeIsAFailure,
    LivesOn,
    LeavesThings,
}

/// A verifier of this very process: its "process" is a task.
#[derive(Debug)]
struct Judge {
    behaviour: Behaviour,
    sabotage: Sabotage,
    calls: AtomicU32,
    first: Mutex<Option<bool>>,
    folder: Mutex<Option<std::path::PathBuf>>,
}

/// Ends a heart when dropped.
struct Heart {
    alive: Arc<AtomicBool>,
    stops: bool,
}

impl Heart {
    fn start(folder: &Path, stops: bool) -> Self {
        let (alive, path) = (Arc::new(AtomicBool::new(true)), folder.join("heartbeat"));
        let still = alive.clone();
        tokio::spawn(async move {
            let mut beats = String::new();
            while still.load(Ordering::SeqCst) {
                beats.push('x');
                fs::write(&path, &beats).unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        Self { alive, stops }
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        self.alive.store(!self.stops, Ordering::SeqCst);
    }
}

impl Judge {
    fn verdict(&self, passed: bool, target: &Target) -> Verdict {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let passed = match self.sabotage {
            Sabotage::FailsAll => false,
            Sabotage::PassesAll => true,
            Sabotage::TossesACoin => call.is_multiple_of(2),
            Sabotage::Remembers => *self.first.lock().unwrap().get_or_insert(passed),
            _ => passed,
        };
        let mut evidence = Evidence::line("judged");
        if self.sabotage == Sabotage::SaysNothing {
            evidence.summary.clear();
        }
        let name = match self.sabotage {
            Sabotage::ChangesItsParts => format!("part {call}"),
            _ => "part".to_owned(),
        };
        evidence.parts.push(Part::new(name, passed));
        if self.behaviour == Behaviour::Talks {
            let all = "talk\n".repeat(2_000_000);
            let all = all.as_str();
            evidence.tail = if self.sabotage == Sabotage::TellsAll { all } else { &all[..1000] }.to_owned();
            evidence.log.clone_from(&target.log);
            if self.sabotage != Sabotage::WritesNoLog {
                fs::write(target.log.as_ref().unwrap(), all).unwrap();
            }
        }
        if passed { Verdict::Pass(evidence) } else { Verdict::Fail(evidence) }
    }

    async fn judge_folder(&self, target: &Target) -> Verdict {
        *self.folder.lock().unwrap() = Some(target.folder.clone());
        tokio::task::yield_now().await;
        let folder = match self.sabotage {
            Sabotage::MixesFolders => self.folder.lock().unwrap().clone().unwrap(),
            _ => target.folder.clone(),
        };
        self.verdict(folder.join("good").exists(), target)
    }

    async fn hang(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let _heart = Heart::start(&target.folder, self.sabotage != Sabotage::LivesOn);
        let limit = cx.time_limit().filter(|_| self.sabotage != Sabotage::IgnoresTime);
        let time = tokio::time::sleep(limit.unwrap_or(PATIENCE * 9));
        tokio::select! {
            () = cx.cancel().cancelled(), if self.sabotage != Sabotage::IgnoresCancel => {
                Err(match self.sabotage {
                    Sabotage::CancelIsBroken => VerifyError::broken("killed"),
                    _ => VerifyError::Cancelled,
                })
            }
            () = time => match self.sabotage {
                Sabotage::TimeIsAFailure => Ok(Verdict::new(false, "too slow")),
                _ => Err(VerifyError::broken("out of time")),
            },
        }
    }
}

#[async_trait]
impl Verifier for Judge {
    fn name(&self) -> &str {
        "in-process"
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        match (self.behaviour, self.sabotage) {
            (Behaviour::Fails, Sabotage::FailureIsAnError) => Err(VerifyError::Other("it failed".into())),
            (Behaviour::Passes, _) => Ok(self.verdict(true, target)),
            (Behaviour::Fails | Behaviour::Talks, _) => Ok(self.verdict(false, target)),
            (Behaviour::Breaks, Sabotage::BrokenIsAFailure) => Ok(self.verdict(false, target)),
            (Behaviour::Breaks, Sabotage::BrokenWithoutReason) => Err(VerifyError::broken("")),
            (Behaviour::Breaks, _) => Err(VerifyError::broken("it is not there")),
            (Behaviour::JudgesFolder, _) => Ok(self.judge_folder(target).await),
            (Behaviour::Hangs, _) => self.hang(target, cx).await,
            (Behaviour::LeavesSomething, sabotage) => {
                let _heart = Heart::start(&target.folder, sabotage != Sabotage::LeavesThings);
                beat(&target.folder).await;
                Ok(self.verdict(true, target))
            }
        }
    }
}

/// A verifier that behaves so, but for its sabotage.
pub(crate) fn judge(behaviour: Behaviour, sabotage: Sabotage) -> Arc<dyn Verifier> {
    Arc::new(Judge { behaviour, sabotage, calls: AtomicU32::new(0), first: Mutex::default(), folder: Mutex::default() })
}

fn fixture(sabotage: Sabotage) -> VerifierFixture {
    VerifierFixture::new(tempfile::tempdir().unwrap(), move |behaviour| Some(judge(behaviour, sabotage)))
}

crate::verifier_conformance!(async || fixture(Sabotage::None));

/// One test for each sabotage: the law that it breaks must say so.
macro_rules! saboteurs {
    ($($name:ident: $sabotage:ident breaks $law:ident, $words:literal;)*) => { $(
        #[test]
        #[should_panic(expected = $words)]
        fn $name() {
            run_law(super::$law(fixture(Sabotage::$sabotage)));
        }
    )* };
}

saboteurs! {
    a_pass_called_failure: FailsAll breaks a_pass_is_a_pass, "what passes gave Fail";
    a_pass_without_words: SaysNothing breaks a_pass_is_a_pass, "without a summary";
    a_failure_called_pass: PassesAll breaks a_failure_is_a_verdict, "what fails gave Pass";
    a_failure_as_error: FailureIsAnError breaks a_failure_is_a_verdict, "but an error";
    a_failure_without_words: SaysNothing breaks a_failure_is_a_verdict, "without a summary";
    broken_as_failure: BrokenIsAFailure breaks broken_is_an_error, "cannot judge gave Ok";
    broken_without_reason: BrokenWithoutReason breaks broken_is_an_error, "say why";
    blind_trust: PassesAll breaks the_folder_decides, "a pass without `good`";
    a_remembered_verdict: Remembers breaks the_folder_decides, "a failure with `good`";
    mixed_folders: MixesFolders breaks verdicts_do_not_mix, "another folder";
    a_coin: TossesACoin breaks the_same_verdict_twice, "two verdicts";
    changing_parts: ChangesItsParts breaks the_same_verdict_twice, "two lists";
    a_tail_without_end: TellsAll breaks evidence_is_bounded, "a tail of";
    no_log: WritesNoLog breaks evidence_is_bounded, "is not there";
    deaf_to_cancel: IgnoresCancel breaks cancel_ends_it, "waited in vain";
    cancel_as_broken: CancelIsBroken breaks cancel_ends_it, "a cancelled call gave";
    deaf_from_the_start: IgnoresCancel breaks cancelled_before_it_begins, "waited in vain";
    no_time_limit: IgnoresTime breaks the_time_limit_binds, "waited in vain";
    time_as_failure: TimeIsAFailure breaks the_time_limit_binds, "at its time limit";
    life_after_drop: LivesOn breaks dropping_leaves_nothing, "still alive";
    life_after_cancel: LivesOn breaks cancel_ends_it, "still alive";
    things_left_behind: LeavesThings breaks nothing_outlives_it, "still alive";
}
