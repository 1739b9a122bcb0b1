//! The engine on a stage, put together as `ralph run` does it.

use std::{path::Path, sync::Arc, time::Duration};

use ralph_agents::CommandAgent;
use ralph_core::{
    Budget, DecisionKind, Observer, Outcome, Ralph,
    engine::Artifacts,
    ledger::{FileDecisions, JsonlJournal, Ledger, MarkdownPrd, Recorder, learnings},
};
use ralph_vcs::{GitOptions, GitVcs};
use ralph_verify::{
    CommandVerifier,
    policy::{DEFAULT_DATABASE, DEFAULT_SECURITY, Dependencies, Paths, Protected},
};

use crate::stage::{AGENT, Stage};

/// Git for `stage`, with its sites below `state`.
pub async fn git(stage: &Stage, state: &Path) -> Arc<GitVcs> {
    let options = GitOptions::new(&stage.root, "ralph/engine", state.join("sites"));
    Arc::new(GitVcs::open(options).await.expect("a repository"))
}

/// Walks the whole plan of `stage`. `watch` sees every event, after the logs are written.
pub async fn run(stage: &Stage, vcs: Arc<GitVcs>, watch: impl Observer) -> Outcome {
    let ledger = Ledger::at(stage.ledger());
    ledger.create().expect("a control folder");
    let run = ledger.new_run(std::time::SystemTime::now()).expect("a run");
    let notes = ledger.clone();
    // More than any plan of a bench needs.
    let mut budget = Budget::default();
    (budget.iterations, budget.sessions) = (100_000, 100_000);
    Ralph::builder(
        Arc::new(MarkdownPrd::open(stage.prd())),
        Arc::new(CommandAgent::new("/bin/sh").args(["-c", AGENT])),
        Arc::new(CommandVerifier::default()),
        vcs,
    )
    .gate(Dependencies::new())
    .gate(Paths::new(DecisionKind::Security, DEFAULT_SECURITY).expect("globs"))
    .gate(Paths::new(DecisionKind::Database, DEFAULT_DATABASE).expect("globs"))
    .gate(Protected::new(["default"]).expect("globs"))
    .journal(JsonlJournal::new(ledger.runs_folder()), run.clone())
    .decisions(FileDecisions::new(ledger.clone()))
    .artifacts(Artifacts::below(ledger.run(&run).join("iterations")))
    .learnings(move || learnings(&notes))
    .session_limit(Duration::from_secs(600))
    .budget(budget)
    .observe(Recorder::new(ledger))
    .observe(watch)
    .run()
    .await
    .expect("a run")
}

/// The runtime of the program.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build().expect("a runtime")
}
