//! The real thing, wired as `ralph run` does it: a Markdown PRD in a git repository, its records in the control folder,
//! and an agent and a verifier that are commands. A second verifier sees to it that the first leaves the files as they were.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::{ffi::OsString, path::Path, process::Command, sync::Arc, time::SystemTime};

use ralph_agents::CommandAgent;
use ralph_core::{
    BoxError, Ralph, StopReason, Verifier, VerifierExt,
    combine::all,
    ledger::{FileDecisions, JsonlJournal, Ledger, MarkdownPrd, Recorder},
};
use ralph_vcs::{GitOptions, GitVcs};
use ralph_verify::{CleanStatus, CommandVerifier, Shell};

const PRD: &str = "Verify: grep -q hello greeting\n\n- [ ] R01: Write a greeting\n";

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let (folder, own) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let root = folder.path();
    git(root, &["init", "--quiet", "--initial-branch=main"])?;
    git(root, &["commit", "--quiet", "--allow-empty", "--message=Begin"])?;

    let ledger = Ledger::at(root.join("ralph-loop"));
    ledger.create()?;
    let prd = ledger.root().join("PRD-P1.md");
    std::fs::write(&prd, PRD)?;
    let run = ledger.new_run(SystemTime::now())?;

    // The prompt comes on its standard input.
    let agent = CommandAgent::new("sh").args(["-c", "cat >/dev/null; echo hello >greeting; echo Done."]);
    let options = GitOptions::new(root, "ralph/prd-p1", own.path().join("sites")).with_environment(environment());
    let vcs = GitVcs::open(options).await?;
    let commands: Arc<dyn Verifier> = Arc::new(CommandVerifier::new(Shell::new()));
    let verifier = all([commands, Arc::new(CleanStatus::new().on_clean_checkout())]);
    let outcome = Ralph::builder(MarkdownPrd::open(&prd), agent, verifier, vcs)
        .journal(JsonlJournal::new(ledger.runs_folder()), run)
        .decisions(FileDecisions::new(ledger.clone()))
        .observe(Recorder::new(ledger.clone()))
        .run()
        .await?;

    println!("{}\n{}", outcome.stop, std::fs::read_to_string(ledger.progress())?);
    assert_eq!(outcome.stop.reason, StopReason::Success);
    assert!(std::fs::read_to_string(&prd)?.contains("- [x] R01"));
    assert_eq!(git(root, &["show", "ralph/prd-p1:greeting"])?, "hello\n");
    assert!(!root.join("greeting").exists(), "the checkout is the operator's");
    Ok(())
}

/// What git sees of the surroundings: nobody's settings, so that the example is the same everywhere.
fn environment() -> Vec<(OsString, OsString)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let who = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
    let mut variables = vec![("PATH".into(), path), ("GIT_CONFIG_NOSYSTEM".into(), "1".into())];
    variables.push(("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()));
    variables.extend(who.map(|name| (name.into(), "example".into())));
    variables
}

/// Runs git as the operator would; without git this is an error.
fn git(folder: &Path, args: &[&str]) -> Result<String, BoxError> {
    let mut command = Command::new("git");
    command.args(args).current_dir(folder).env_clear().envs(environment());
    let done = command.output().map_err(|error| format!("git is needed: {error}"))?;
    if done.status.success() {
        return Ok(String::from_utf8(done.stdout)?);
    }
    Err(format!("git {args:?}: {}", String::from_utf8_lossy(&done.stderr)).into())
}
