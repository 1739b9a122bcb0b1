//! One broken implementation for each law, which must fail it.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;

use super::{super::heartbeat::PATIENCE, *};
use crate::{Capabilities, Usage, Usd, testing::suites::run_law};

/// One way to break a law.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sabotage {
    None,
    WorksElsewhere,
    CutsThePrompt,
    TellsNothing,
    SharesItsState,
    CallsItFinished,
    ClaimsToBeThere,
    SaysZero,
    KeepsNoLog,
    IgnoresCancel,
    CancelIsAnError,
    IgnoresTime,
    LivesOn,
    LeavesThings,
}

/// An agent of this very process: its "process" is a task.
#[derive(Debug)]
struct Agent {
    behaviour: Behaviour,
    sabotage: Sabotage,
    last_prompt: Mutex<String>,
}

/// Ends a heart when dropped.
struct Heart {
    alive: Arc<AtomicBool>,
    stops: bool,
}

impl Heart {
    fn start(workspace: &Path) -> Self {
        let (alive, path) = (Arc::new(AtomicBool::new(true)), workspace.join("heartbeat"));
        let still = alive.clone();
        tokio::spawn(async move {
            let mut beats = String::new();
            while still.load(Ordering::SeqCst) {
                beats.push('x');
                fs::write(&path, &beats).unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        Self { alive, stops: true }
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        self.alive.store(!self.stops, Ordering::SeqCst);
    }
}

impl Agent {
    async fn work(&self, brief: &Brief) -> SessionReport {
        let mut prompt = brief.prompt.clone();
        self.last_prompt.lock().unwrap().clone_from(&prompt);
        tokio::task::yield_now().await;
        let mut work = brief.workspace.join("work");
        let mut told = format!("{}\n{}\n{}\n", brief.run, brief.attempt.item.item, 2);
        match self.sabotage {
            Sabotage::SharesItsState => prompt.clone_from(&self.last_prompt.lock().unwrap()),
            Sabotage::CutsThePrompt => prompt.truncate(4096),
            Sabotage::TellsNothing => told.clear(),
            Sabotage::WorksElsewhere => work = brief.workspace.with_extension("work"),
            _ => {}
        }
        fs::write(work, "work").unwrap();
        fs::write(brief.workspace.join("prompt"), prompt).unwrap();
        fs::write(brief.workspace.join("told"), told).unwrap();
        if let Some(log) = brief.log.as_ref().filter(|_| self.sabotage != Sabotage::KeepsNoLog) {
            fs::write(log, "done").unwrap();
        }
        let mut report = SessionReport::new(SessionEnd::Finished);
        if self.sabotage == Sabotage::SaysZero {
            report = report.with_usage(Usage::unknown().with_cost(Usd::ZERO));
        }
        report
    }

    async fn hang(&self, brief: &Brief, cx: &Cx) -> SessionEnd {
        let mut heart = Heart::start(&brief.workspace);
        heart.stops = self.sabotage != Sabotage::LivesOn;
        let limit = brief.time_limit.filter(|_| self.sabotage != Sabotage::IgnoresTime);
        let time = tokio::time::sleep(limit.unwrap_or(PATIENCE * 9));
        tokio::select! {
            () = cx.cancel().cancelled(), if self.sabotage != Sabotage::IgnoresCancel => {
                SessionEnd::Cancelled
            }
            () = time => SessionEnd::Limit("time".into()),
        }
    }
}

#[async_trait]
impl AgentBackend for Agent {
    fn name(&self) -> &str {
        "in-process"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none()
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        match self.behaviour {
            Behaviour::WritesFile => Ok(self.work(brief).await),
            Behaviour::Fails if self.sabotage == Sabotage::CallsItFinished => {
                Ok(SessionReport::new(SessionEnd::Finished))
            }
            Behaviour::Fails => Ok(SessionReport::new(SessionEnd::Failed("crashed".into()))),
            Behaviour::Hangs => match self.hang(brief, cx).await {
                SessionEnd::Cancelled if self.sabotage == Sabotage::CancelIsAnError => {
                    Err(AgentError::Other("cancelled".into()))
                }
                end => Ok(SessionReport::new(end)),
            },
            Behaviour::LeavesSomething => {
                let mut heart = Heart::start(&brief.workspace);
                heart.stops = self.sabotage != Sabotage::LeavesThings;
                beat(&brief.workspace).await;
                Ok(SessionReport::new(SessionEnd::Finished))
            }
            Behaviour::NotInstalled if self.sabotage == Sabotage::ClaimsToBeThere => {
                Ok(SessionReport::new(SessionEnd::Finished))
            }
            Behaviour::NotInstalled => Err(AgentError::NotFound { program: "it".into(), advice: "install it".into() }),
        }
    }
}

fn fixture(sabotage: Sabotage) -> AgentFixture {
    AgentFixture::new(tempfile::tempdir().unwrap(), move |behaviour| {
        Some(Arc::new(Agent { behaviour, sabotage, last_prompt: Mutex::default() }))
    })
}

crate::agent_conformance!(async || fixture(Sabotage::None));

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
    work_elsewhere: WorksElsewhere breaks work_is_left_in_the_workspace, "not in the workspace";
    a_cut_prompt: CutsThePrompt breaks the_prompt_reaches_it, "another length";
    untold_ids: TellsNothing breaks a_session_is_told_its_ids, "run, item and attempt";
    mixed_sessions: SharesItsState breaks sessions_do_not_mix, "prompt of another session";
    a_failure_called_success: CallsItFinished breaks a_failure_is_a_report, "ended as Finished";
    a_missing_program_that_works: ClaimsToBeThere breaks a_missing_program_is_an_error, "gave Ok";
    zero_for_unknown: SaysZero breaks usage_is_as_announced, "cost";
    no_log: KeepsNoLog breaks the_log_is_kept, "nothing in the log";
    deaf_to_cancel: IgnoresCancel breaks cancel_ends_it_with_a_report, "waited in vain";
    cancel_as_error: CancelIsAnError breaks cancel_ends_it_with_a_report, "is no error";
    no_time_limit: IgnoresTime breaks the_time_limit_binds, "waited in vain";
    life_after_drop: LivesOn breaks dropping_leaves_nothing, "still alive";
    life_after_cancel: LivesOn breaks cancel_ends_it_with_a_report, "still alive";
    things_left_behind: LeavesThings breaks nothing_outlives_it, "still alive";
}
