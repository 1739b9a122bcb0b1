//! The laws of [`AgentBackend`].
//!
//! ```no_run,test_harness
//! # use std::sync::Arc;
//! # use ralph_core::{AgentBackend, testing::suites::agent::{AgentFixture, Behaviour}};
//! # fn my_agent(_: Behaviour) -> Arc<dyn AgentBackend> { unimplemented!() }
//! ralph_core::agent_conformance!(async || {
//!     AgentFixture::new(tempfile::tempdir().unwrap(), |behaviour| match behaviour {
//!         // No program, so none that is missing.
//!         Behaviour::NotInstalled => None,
//!         behaviour => Some(my_agent(behaviour)),
//!     })
//! });
//! ```

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use super::heartbeat::{beat, length, patiently, silence};
use crate::{AgentBackend, AgentError, AttemptId, Brief, Cancel, Cx, ItemRef, Retry, RunId, SessionEnd, SessionReport};

/// What the session of a backend under test does. All files are relative to the workspace.
///
/// *Required* is what every backend can do: a fixture that gives [`None`] for it fails the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Behaviour {
    /// Writes `work` (anything), `prompt` (the prompt, as it reached the session) and `told` (run, item and attempt
    /// number, as the session was told them, one a line), prints something and ends well. *Required.*
    WritesFile,
    /// Ends as that agent does when it crashes or gives up. *Required.*
    Fails,
    /// Starts a process that makes `heartbeat` grow at least every 50 ms for as long as it lives, and that tries to
    /// outlive the session; then never ends by itself. *Required*: a backend without processes lets the heart beat in a
    /// task or thread of its own.
    Hangs,
    /// Starts the same process, and then ends well. [`None`] where the backend starts nothing that could be left.
    LeavesSomething,
    /// Cannot begin: the agent's program is not there. [`None`] where there is no program.
    NotInstalled,
}

type Make = Box<dyn Fn(Behaviour) -> Option<Arc<dyn AgentBackend>> + Send + Sync>;

/// A folder to work in and the backends to try.
pub struct AgentFixture {
    folder: Box<dyn AsRef<Path> + Send + Sync>,
    make: Make,
}

impl AgentFixture {
    /// Laws work in subfolders of `folder`, which is made if need be and kept as long as the fixture (so that a guard
    /// that removes it can be given). `make` gives a backend whose sessions behave so, or [`None`] where a backend of
    /// that kind cannot and [`Behaviour`] allows it; the law is then not tried.
    pub fn new(
        folder: impl AsRef<Path> + Send + Sync + 'static,
        make: impl Fn(Behaviour) -> Option<Arc<dyn AgentBackend>> + Send + Sync + 'static,
    ) -> Self {
        Self { folder: Box::new(folder), make: Box::new(make) }
    }

    fn agent(&self, behaviour: Behaviour) -> Arc<dyn AgentBackend> {
        match (self.make)(behaviour) {
            Some(agent) => agent,
            None => panic!("the fixture gave no backend for {behaviour:?}, which is required of every one"),
        }
    }

    fn brief(&self, name: &str) -> Brief {
        let folder: &Path = (*self.folder).as_ref();
        let workspace = folder.join(name);
        let made = fs::create_dir_all(&workspace);
        assert!(made.is_ok(), "no folder for the test: {made:?}");
        let attempt = AttemptId { item: ItemRef::new("P7", "R42"), number: 2 };
        let run = RunId::new("run-of-the-suite");
        Brief::new(workspace, format!("Do what is to be done, {name}: äöü\n\"$HOME\"\n"), run, attempt)
    }
}

impl fmt::Debug for AgentFixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder: &Path = (*self.folder).as_ref();
        f.debug_struct("AgentFixture").field("folder", &folder).finish_non_exhaustive()
    }
}

/// What a session left in its workspace is there when the call returns, and the session has finished.
pub async fn work_is_left_in_the_workspace(fixture: AgentFixture) {
    let brief = fixture.brief("work");
    let report = report(&*fixture.agent(Behaviour::WritesFile), &brief).await;
    assert_eq!(report.end, SessionEnd::Finished);
    assert!(brief.workspace.join("work").exists(), "the work is not in the workspace");
}

/// The prompt reaches the session whole and unchanged.
pub async fn the_prompt_reaches_it(fixture: AgentFixture) {
    let mut brief = fixture.brief("prompt");
    // More than fits in one argument of a process.
    brief.prompt.push_str(&"a line of context\n".repeat(10_000));
    report(&*fixture.agent(Behaviour::WritesFile), &brief).await;
    let prompt = read(&brief, "prompt");
    assert_eq!(prompt.len(), brief.prompt.len(), "the prompt has another length");
    assert!(prompt == brief.prompt, "the prompt was changed");
}

/// The session is told which run, item and attempt it is of.
pub async fn a_session_is_told_its_ids(fixture: AgentFixture) {
    let brief = fixture.brief("ids");
    report(&*fixture.agent(Behaviour::WritesFile), &brief).await;
    let told = read(&brief, "told");
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(told, ["run-of-the-suite", "R42", "2"], "run, item and attempt number");
}

/// Sessions of one backend can run at once, each with its own brief.
pub async fn sessions_do_not_mix(fixture: AgentFixture) {
    let agent = fixture.agent(Behaviour::WritesFile);
    let (one, other) = (fixture.brief("one"), fixture.brief("other"));
    tokio::join!(report(&*agent, &one), report(&*agent, &other));
    for brief in [one, other] {
        assert_eq!(read(&brief, "prompt"), brief.prompt, "the prompt of another session");
    }
}

/// An agent that crashes or gives up is a report that says so, not an error.
pub async fn a_failure_is_a_report(fixture: AgentFixture) {
    let brief = fixture.brief("failure");
    let report = report(&*fixture.agent(Behaviour::Fails), &brief).await;
    match report.end {
        SessionEnd::Failed(why) => assert!(!why.is_empty(), "failed without a reason"),
        end => panic!("an agent that crashed has ended as {end:?}"),
    }
}

/// A missing program is an error that says what to do, and that asking again is of no use.
pub async fn a_missing_program_is_an_error(fixture: AgentFixture) {
    let Some(agent) = (fixture.make)(Behaviour::NotInstalled) else { return };
    match agent.run(&fixture.brief("missing"), &Cx::new()).await {
        Err(error @ AgentError::NotFound { .. }) => {
            assert_eq!(error.retry(), Retry::Never);
            let AgentError::NotFound { program, advice } = error else { return };
            assert!(!program.is_empty() && !advice.is_empty(), "it does not say what to do");
        }
        other => panic!("a missing program gave {other:?}"),
    }
}

/// What the backend says that it reports is reported, and what it does not is unknown rather than zero.
pub async fn usage_is_as_announced(fixture: AgentFixture) {
    let agent = fixture.agent(Behaviour::WritesFile);
    let usage = report(&*agent, &fixture.brief("usage")).await.usage;
    let announced = agent.capabilities();
    assert_eq!(usage.known_cost().amount().is_some(), announced.cost, "cost: {usage:?}");
    assert_eq!(usage.tokens.is_some(), announced.tokens, "tokens: {usage:?}");
}

/// What the agent prints is in the log that the brief asks for.
pub async fn the_log_is_kept(fixture: AgentFixture) {
    let mut brief = fixture.brief("log");
    let log = brief.workspace.with_extension("log");
    brief.log = Some(log.clone());
    report(&*fixture.agent(Behaviour::WritesFile), &brief).await;
    let length = fs::metadata(&log).map(|meta| meta.len()).unwrap_or_default();
    assert!(length > 0, "there is nothing in the log");
}

/// A cancelled session ends soon, with a report that says so.
pub async fn cancel_ends_it_with_a_report(fixture: AgentFixture) {
    let (brief, cancel) = (fixture.brief("cancel"), Cancel::new());
    let cx = Cx::new().with_cancel(cancel.clone());
    let agent = fixture.agent(Behaviour::Hangs);
    let session = async {
        let report = agent.run(&brief, &cx).await;
        assert!(cancel.is_cancelled(), "the session ended by itself: {report:?}");
        report
    };
    let switch = async {
        beat(&brief.workspace).await;
        cancel.cancel();
    };
    let both = async { tokio::join!(session, switch).0 };
    match patiently("the session to end after it was cancelled", both).await {
        Ok(report) => assert_eq!(report.end, SessionEnd::Cancelled),
        Err(error) => panic!("a cancelled session is no error: {error:?}"),
    }
    silence(&brief.workspace).await;
}

/// A session that takes longer than it may is ended, and the report says at which limit.
pub async fn the_time_limit_binds(fixture: AgentFixture) {
    let agent = fixture.agent(Behaviour::Hangs);
    // The control: so long it does live without a limit.
    let free = fixture.brief("free");
    let beats = {
        let cx = Cx::new();
        let mut session = pin!(agent.run(&free, &cx));
        let started = Instant::now();
        tokio::select! {
            report = &mut session => panic!("it ended by itself: {report:?}"),
            () = beat(&free.workspace) => started.elapsed(),
        }
    };
    let mut brief = fixture.brief("limit");
    brief.time_limit = Some(beats * 2 + Duration::from_millis(200));
    let cx = Cx::new().with_time_limit(Duration::from_secs(3600), SystemTime::now());
    let run = agent.run(&brief, &cx);
    match patiently("the session to end at its time limit", run).await {
        Ok(SessionReport { end: SessionEnd::Limit(which), .. }) => assert!(!which.is_empty()),
        other => panic!("at its time limit the session gave {other:?}"),
    }
    silence(&brief.workspace).await;
}

/// Dropping the call ends everything that the session started.
pub async fn dropping_leaves_nothing(fixture: AgentFixture) {
    let (brief, cx) = (fixture.brief("drop"), Cx::new());
    let agent = fixture.agent(Behaviour::Hangs);
    {
        let mut session = pin!(agent.run(&brief, &cx));
        tokio::select! {
            report = &mut session => panic!("it ended by itself: {report:?}"),
            () = beat(&brief.workspace) => {}
        }
    }
    silence(&brief.workspace).await;
}

/// When the call returns, nothing that the session started is alive, even if the session did not care.
pub async fn nothing_outlives_it(fixture: AgentFixture) {
    let Some(agent) = (fixture.make)(Behaviour::LeavesSomething) else { return };
    let brief = fixture.brief("outlive");
    let session = report(&*agent, &brief).await;
    assert_eq!(session.end, SessionEnd::Finished);
    assert!(length(&brief.workspace) > 0, "the session did not start what it was to leave");
    silence(&brief.workspace).await;
}

/// Runs a session that has to give a report.
async fn report(agent: &dyn AgentBackend, brief: &Brief) -> SessionReport {
    match patiently("the session to end", agent.run(brief, &Cx::new())).await {
        Ok(report) => report,
        Err(error) => panic!("no session took place: {error:?}"),
    }
}

fn read(brief: &Brief, name: &str) -> String {
    let path: PathBuf = brief.workspace.join(name);
    match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => panic!("the session did not write `{name}`: {error}"),
    }
}

/// Makes one test of each law of [`AgentBackend`](crate::AgentBackend), given an async closure that makes an
/// [`AgentFixture`](crate::testing::suites::agent::AgentFixture). Feature `testing`; give it a `mod` of its own beside
/// other suites, for the names of the tests collide.
///
/// ```no_run,test_harness
/// # use std::sync::Arc;
/// # use ralph_core::{AgentBackend, testing::suites::agent::{AgentFixture, Behaviour}};
/// # fn my_agent(_: Behaviour) -> Option<Arc<dyn AgentBackend>> { None }
/// ralph_core::agent_conformance!(async || AgentFixture::new(tempfile::tempdir().unwrap(), my_agent));
/// ```
#[macro_export]
macro_rules! agent_conformance {
    ($make:expr) => {
        $crate::__conformance!(agent, $make;
            work_is_left_in_the_workspace,
            the_prompt_reaches_it,
            a_session_is_told_its_ids,
            sessions_do_not_mix,
            a_failure_is_a_report,
            a_missing_program_is_an_error,
            usage_is_as_announced,
            the_log_is_kept,
            cancel_ends_it_with_a_report,
            the_time_limit_binds,
            dropping_leaves_nothing,
            nothing_outlives_it,
        );
    };
}

#[cfg(test)]
mod saboteurs;
