//! The laws of [`Verifier`].
//!
//! ```no_run,test_harness
//! # use std::sync::Arc;
//! # use ralph_core::{Verifier, testing::suites::verifier::{Behaviour, VerifierFixture}};
//! # fn my_verifier(_: Behaviour) -> Arc<dyn Verifier> { unimplemented!() }
//! ralph_core::verifier_conformance!(async || {
//!     VerifierFixture::new(tempfile::tempdir().unwrap(), |behaviour| match behaviour {
//!         // Nothing is printed, and no processes are started.
//!         Behaviour::Talks | Behaviour::LeavesSomething => None,
//!         behaviour => Some(my_verifier(behaviour)),
//!     })
//! });
//! ```

use std::{
    fmt, fs,
    path::Path,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use super::heartbeat::{beat, length, patiently, silence};
use crate::{Cancel, Cx, Phase, Retry, RunId, Stage, Target, Verdict, Verifier, VerifyError};

/// How much of the output may be evidence, in bytes.
const TAIL_MAX: usize = 64 << 10;

/// What a verifier under test does. All files are relative to the target's folder.
///
/// *Required* is what every verifier can do: a fixture that gives [`None`] for it fails the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Behaviour {
    /// Passes. *Required.*
    Passes,
    /// Fails. *Required.*
    Fails,
    /// Cannot judge. *Required.*
    Breaks,
    /// Passes exactly where there is a file `good`. *Required.*
    JudgesFolder,
    /// Prints 10 MB at least, over several lines, and fails. [`None`] where nothing is printed.
    Talks,
    /// Makes `heartbeat` grow at least every 50 ms for as long as anything of it lives, with a process that tries to
    /// outlive the call where it starts processes; never ends by itself. *Required*: a verifier without processes lets
    /// the heart beat in a task or thread of its own.
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
    /// cannot and [`Behaviour`] allows it; the law is then not tried.
    pub fn new(
        folder: impl AsRef<Path> + Send + Sync + 'static,
        make: impl Fn(Behaviour) -> Option<Arc<dyn Verifier>> + Send + Sync + 'static,
    ) -> Self {
        Self { folder: Box::new(folder), make: Box::new(make) }
    }

    fn verifier(&self, behaviour: Behaviour) -> Arc<dyn Verifier> {
        match (self.make)(behaviour) {
            Some(verifier) => verifier,
            None => panic!("the fixture gave no verifier for {behaviour:?}, which is required of every one"),
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
        other => panic!("what cannot judge gave {other:?}"),
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
        beat(&target.folder).await;
        cancel.cancel();
    };
    let both = async { tokio::join!(call, switch).0 };
    let result = patiently("the call to end after it was cancelled", both).await;
    assert!(matches!(result, Err(VerifyError::Cancelled)), "a cancelled call gave {result:?}");
    silence(&target.folder).await;
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
    silence(&target.folder).await;
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
            result = &mut call => panic!("it ended by itself: {result:?}"),
            () = beat(&free.folder) => started.elapsed(),
        }
    };
    let target = fixture.target("limit");
    let limit = beats * 2 + Duration::from_millis(200);
    let cx = Cx::new().with_time_limit(limit, SystemTime::now());
    let call = verifier.verify(&target, &cx);
    let result = patiently("the call to end at its time limit", call).await;
    assert!(matches!(result, Err(VerifyError::Broken { .. })), "at its time limit the call gave {result:?}");
    silence(&target.folder).await;
}

/// Dropping the call ends everything that it started.
pub async fn dropping_leaves_nothing(fixture: VerifierFixture) {
    let (target, cx) = (fixture.target("drop"), Cx::new());
    let verifier = fixture.verifier(Behaviour::Hangs);
    {
        let mut call = pin!(verifier.verify(&target, &cx));
        tokio::select! {
            result = &mut call => panic!("it ended by itself: {result:?}"),
            () = beat(&target.folder) => {}
        }
    }
    silence(&target.folder).await;
}

/// When the call returns, nothing that it started is alive.
pub async fn nothing_outlives_it(fixture: VerifierFixture) {
    let Some(verifier) = (fixture.make)(Behaviour::LeavesSomething) else { return };
    let target = fixture.target("outlive");
    judge(&*verifier, &target).await;
    assert!(length(&target.folder) > 0, "what was to be left was not started");
    silence(&target.folder).await;
}

async fn verify(verifier: &dyn Verifier, target: &Target) -> Result<Verdict, VerifyError> {
    patiently("a verdict", verifier.verify(target, &Cx::new())).await
}

/// Asks for a verdict that has to come.
async fn judge(verifier: &dyn Verifier, target: &Target) -> Verdict {
    match verify(verifier, target).await {
        Ok(verdict) => verdict,
        Err(error) => panic!("no verdict but an error: {error:?}"),
    }
}

fn is_a_line(verdict: &Verdict) {
    let summary = &verdict.evidence().summary;
    assert!(!summary.is_empty(), "a verdict without a summary");
    assert!(!summary.contains('\n') && summary.len() < 1000, "no short line: {summary}");
}

/// Makes one test of each law of [`Verifier`](crate::Verifier), given an async closure that makes a
/// [`VerifierFixture`](crate::testing::suites::verifier::VerifierFixture). Feature `testing`; give it a `mod` of its own
/// beside other suites, for the names of the tests collide.
///
/// ```no_run,test_harness
/// # use std::sync::Arc;
/// # use ralph_core::{Verifier, testing::suites::verifier::{Behaviour, VerifierFixture}};
/// # fn my_verifier(_: Behaviour) -> Option<Arc<dyn Verifier>> { None }
/// ralph_core::verifier_conformance!(async || VerifierFixture::new(tempfile::tempdir().unwrap(), my_verifier));
/// ```
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
pub(crate) mod saboteurs;
