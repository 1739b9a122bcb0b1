//! The laws of [`Verifier`].
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use ralph_core::{Verifier, testing::suites::verifier::{Behaviour, VerifierFixture}};
//! # fn my_verifier(_: Behaviour) -> Arc<dyn Verifier> { unimplemented!() }
//! ralph_core::verifier_conformance!(async || {
//!     let folder = std::env::temp_dir().join("a-new-folder-for-each-call");
//!     VerifierFixture::new(folder, |behaviour| Some(my_verifier(behaviour)))
//! });
//! ```

use std::{
    fmt, fs,
    future::Future,
    path::Path,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use crate::{Cancel, Cx, Phase, Retry, RunId, Stage, Target, Verdict, Verifier, VerifyError};

/// How long a law waits for something that should happen at once. Saboteurs make it wait in vain.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 30 });

/// How much of the output may be evidence, in bytes.
const TAIL_MAX: usize = 64 << 10;

/// What a verifier under test does. All files are relative to the target's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Behaviour {
    /// Passes.
    Passes,
    /// Fails.
    Fails,
    /// Cannot judge.
    Breaks,
    /// Passes exactly where there is a file `good`.
    JudgesFolder,
    /// Prints 10 MB at least, over several lines, and fails. [`None`] where nothing is printed.
    Talks,
    /// Makes `heartbeat` grow at least every 50 ms for as long as anything of it lives, with a process that tries to
    /// outlive the call where it starts processes; never ends by itself.
    Hangs,
    /// Starts the same process, and then passes. [`None`] where no processes are started.
    LeavesSomething,
}

type Make = Box<dyn Fn(Behaviour) -> Option<Arc<dyn Verifier>> + Send + Sync>;

/// A folder to judge in and the verifiers to try.
pub struct VerifierFixture {
    folder: Box<dyn AsRef<Path> + Send + Sync>,
    make: Make,
}

impl VerifierFixture {
    /// Laws judge subfolders of `folder`, which is made if need be and kept as long as the fixture (so that a guard
    /// that removes it can be given). `make` gives a verifier that behaves so, or [`None`] where one of that kind
    /// cannot; the law is then not tried.
    pub fn new(
        folder: impl AsRef<Path> + Send + Sync + 'static,
        make: impl Fn(Behaviour) -> Option<Arc<dyn Verifier>> + Send + Sync + 'static,
    ) -> Self {
        Self { folder: Box::new(folder), make: Box::new(make) }
    }

    fn verifier(&self, behaviour: Behaviour) -> Arc<dyn Verifier> {
        match (self.make)(behaviour) {
            Some(verifier) => verifier,
            None => unreachable!("every verifier has to be able to: {behaviour:?}"),
        }
    }

    fn target(&self, name: &str) -> Target {
        let folder: &Path = (*self.folder).as_ref();
        let folder = folder.join(name);
        let made = fs::create_dir_all(&folder);
        assert!(made.is_ok(), "no folder for the test: {made:?}");
        let run = RunId::new("run-of-the-suite");
        Target::new(folder, Stage::Workspace, run, Arc::new(Phase::new("P7", [])))
    }
}

impl fmt::Debug for VerifierFixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder: &Path = (*self.folder).as_ref();
        f.debug_struct("VerifierFixture").field("folder", &folder).finish_non_exhaustive()
    }
}

/// What passes is a pass, with a line that says what it rests on.
pub async fn a_pass_is_a_pass(fixture: VerifierFixture) {
    let verdict = judge(&*fixture.verifier(Behaviour::Passes), &fixture.target("pass")).await;
    assert!(verdict.passed(), "what passes gave {verdict:?}");
    is_a_line(&verdict);
}

/// What fails is a verdict and not an error, with a line that says what it rests on.
pub async fn a_failure_is_a_verdict(fixture: VerifierFixture) {
    let verdict = judge(&*fixture.verifier(Behaviour::Fails), &fixture.target("fail")).await;
    assert!(!verdict.passed(), "what fails gave {verdict:?}");
    is_a_line(&verdict);
}

/// What cannot judge gives an error that says why, and never a verdict.
pub async fn broken_is_an_error(fixture: VerifierFixture) {
    let verifier = fixture.verifier(Behaviour::Breaks);
    match verify(&*verifier, &fixture.target("broken")).await {
        Err(error @ VerifyError::Broken { .. }) => {
            assert_eq!(error.retry(), Retry::Never);
            let VerifyError::Broken { why, .. } = error else { return };
            assert!(!why.is_empty() && !why.contains('\n'), "it does not say why in a line");
        }
        other => unreachable!("what cannot judge gave {other:?}"),
    }
}

/// The verdict follows what is in the target's folder at the time of the call, both ways.
pub async fn the_folder_decides(fixture: VerifierFixture) {
    let verifier = fixture.verifier(Behaviour::JudgesFolder);
    let target = fixture.target("decides");
    let good = target.folder.join("good");
    for round in 0..2 {
        assert!(!judge(&*verifier, &target).await.passed(), "a pass without `good`, {round}");
        assert!(fs::write(&good, "").is_ok());
        assert!(judge(&*verifier, &target).await.passed(), "a failure with `good`, {round}");
        assert!(fs::remove_file(&good).is_ok());
    }
}

/// Calls on one verifier can run at once, each with a verdict on its own folder.
pub async fn verdicts_do_not_mix(fixture: VerifierFixture) {
    let verifier = fixture.verifier(Behaviour::JudgesFolder);
    let (good, bad) = (fixture.target("good"), fixture.target("bad"));
    assert!(fs::write(good.folder.join("good"), "").is_ok());
    let (good, bad) = tokio::join!(judge(&*verifier, &good), judge(&*verifier, &bad));
    assert!(good.passed() && !bad.passed(), "the verdict on another folder");
}

/// The same content gets the same verdict, with the same shares.
pub async fn the_same_verdict_twice(fixture: VerifierFixture) {
    for behaviour in [Behaviour::Passes, Behaviour::Fails] {
        let verifier = fixture.verifier(behaviour);
        let target = fixture.target("twice");
        let (one, two) = (judge(&*verifier, &target).await, judge(&*verifier, &target).await);
        assert_eq!(one.passed(), two.passed(), "two verdicts on the same: {behaviour:?}");
        assert_eq!(one.evidence().parts, two.evidence().parts, "two lists of shares");
    }
}

/// Evidence stays small, whatever is printed; a log that it names is there.
pub async fn evidence_is_bounded(fixture: VerifierFixture) {
    let Some(verifier) = (fixture.make)(Behaviour::Talks) else { return };
    let mut target = fixture.target("talks");
    target.log = Some(target.folder.with_extension("log"));
    let verdict = judge(&*verifier, &target).await;
    is_a_line(&verdict);
    let evidence = verdict.evidence();
    assert!(!evidence.tail.is_empty(), "nothing of what was printed is shown");
    assert!(evidence.tail.len() <= TAIL_MAX, "a tail of {} bytes", evidence.tail.len());
    let length = |path| fs::metadata(path).map(|meta| meta.len()).unwrap_or_default();
    let logged = evidence.log.as_ref().map(length);
    assert!(logged.is_none_or(|length| length > 0), "the log that it names is not there");
}

/// A cancelled call ends soon, and says so.
pub async fn cancel_ends_it(fixture: VerifierFixture) {
    let (target, cancel) = (fixture.target("cancel"), Cancel::new());
    let cx = Cx::new().with_cancel(cancel.clone());
    let verifier = fixture.verifier(Behaviour::Hangs);
    let call = async {
        let result = verifier.verify(&target, &cx).await;
        assert!(cancel.is_cancelled(), "it ended by itself: {result:?}");
        result
    };
    let switch = async {
        beat(&target).await;
        cancel.cancel();
    };
    let both = async { tokio::join!(call, switch).0 };
    let result = patiently("the call to end after it was cancelled", both).await;
    assert!(matches!(result, Err(VerifyError::Cancelled)), "a cancelled call gave {result:?}");
    silence(&target).await;
}

/// A call that is cancelled already ends soon as well.
pub async fn cancelled_before_it_begins(fixture: VerifierFixture) {
    let (target, cancel) = (fixture.target("before"), Cancel::new());
    cancel.cancel();
    let cx = Cx::new().with_cancel(cancel);
    let verifier = fixture.verifier(Behaviour::Hangs);
    let call = verifier.verify(&target, &cx);
    let result = patiently("the end of a call that was cancelled before", call).await;
    assert!(matches!(result, Err(VerifyError::Cancelled)), "a cancelled call gave {result:?}");
    silence(&target).await;
}

/// A call that takes longer than it may is ended; that is no verdict.
pub async fn the_time_limit_binds(fixture: VerifierFixture) {
    let verifier = fixture.verifier(Behaviour::Hangs);
    // The control: so long it does live without a limit.
    let free = fixture.target("free");
    let beats = {
        let cx = Cx::new();
        let mut call = pin!(verifier.verify(&free, &cx));
        let started = Instant::now();
        tokio::select! {
            result = &mut call => unreachable!("it ended by itself: {result:?}"),
            () = beat(&free) => started.elapsed(),
        }
    };
    let target = fixture.target("limit");
    let limit = beats * 2 + Duration::from_millis(200);
    let cx = Cx::new().with_time_limit(limit, SystemTime::now());
    let call = verifier.verify(&target, &cx);
    let result = patiently("the call to end at its time limit", call).await;
    assert!(matches!(result, Err(VerifyError::Broken { .. })), "at its time limit the call gave {result:?}");
    silence(&target).await;
}

/// Dropping the call ends everything that it started.
pub async fn dropping_leaves_nothing(fixture: VerifierFixture) {
    let (target, cx) = (fixture.target("drop"), Cx::new());
    let verifier = fixture.verifier(Behaviour::Hangs);
    {
        let mut call = pin!(verifier.verify(&target, &cx));
        tokio::select! {
            result = &mut call => unreachable!("it ended by itself: {result:?}"),
            () = beat(&target) => {}
        }
    }
    silence(&target).await;
}

/// When the call returns, nothing that it started is alive.
pub async fn nothing_outlives_it(fixture: VerifierFixture) {
    let Some(verifier) = (fixture.make)(Behaviour::LeavesSomething) else { return };
    let target = fixture.target("outlive");
    judge(&*verifier, &target).await;
    assert!(length(&target) > 0, "what was to be left was not started");
    silence(&target).await;
}

async fn verify(verifier: &dyn Verifier, target: &Target) -> Result<Verdict, VerifyError> {
    patiently("a verdict", verifier.verify(target, &Cx::new())).await
}

/// Asks for a verdict that has to come.
async fn judge(verifier: &dyn Verifier, target: &Target) -> Verdict {
    match verify(verifier, target).await {
        Ok(verdict) => verdict,
        Err(error) => unreachable!("no verdict but an error: {error:?}"),
    }
}

fn is_a_line(verdict: &Verdict) {
    let summary = &verdict.evidence().summary;
    assert!(!summary.is_empty(), "a verdict without a summary");
    assert!(!summary.contains('\n') && summary.len() < 1000, "no short line: {summary}");
}

async fn patiently<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => unreachable!("waited in vain for {what}"),
    }
}

fn length(target: &Target) -> u64 {
    fs::metadata(target.folder.join("heartbeat")).map(|meta| meta.len()).unwrap_or_default()
}

/// Waits until what the call started is seen to live.
async fn beat(target: &Target) {
    patiently("a heartbeat", async {
        let start = length(target);
        while length(target) < start + 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Makes sure that nothing of the call lives: for many times the length of a beat, nothing grows.
async fn silence(target: &Target) {
    let before = length(target);
    let until = Instant::now() + Duration::from_millis(500);
    while Instant::now() < until {
        assert_eq!(length(target), before, "something that the call started is still alive");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Makes one test of each law of [`Verifier`](crate::Verifier), given an async closure that makes a
/// [`VerifierFixture`].
#[macro_export]
macro_rules! verifier_conformance {
    ($make:expr) => {
        $crate::__conformance!(verifier, $make;
            a_pass_is_a_pass,
            a_failure_is_a_verdict,
            broken_is_an_error,
            the_folder_decides,
            verdicts_do_not_mix,
            the_same_verdict_twice,
            evidence_is_bounded,
            cancel_ends_it,
            cancelled_before_it_begins,
            the_time_limit_binds,
            dropping_leaves_nothing,
            nothing_outlives_it,
        );
    };
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    };

    use async_trait::async_trait;

    use super::*;
    use crate::{Evidence, Part, testing::suites::run_law};

    /// One way to break a law.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Sabotage {
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
            evidence.parts.push(Part { name, passed, tests: None });
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
                    beat(target).await;
                    Ok(self.verdict(true, target))
                }
            }
        }
    }

    fn fixture(sabotage: Sabotage) -> VerifierFixture {
        VerifierFixture::new(tempfile::tempdir().unwrap(), move |behaviour| {
            Some(Arc::new(Judge {
                behaviour,
                sabotage,
                calls: AtomicU32::new(0),
                first: Mutex::default(),
                folder: Mutex::default(),
            }))
        })
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
}
