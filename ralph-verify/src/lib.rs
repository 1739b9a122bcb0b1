//! Verifiers and gates for Ralph: external commands that judge a folder, and the policies that raise decisions.
//!
//! - [`CommandVerifier`] runs the `Verify:` commands of an item and its phase;
//! - [`SetupVerifier`] runs `Setup:`, which makes a fresh folder usable;
//! - [`EnvCheck`] runs `Env-Check:`, which tells whether the surroundings are fit for work;
//! - [`policy`] holds the gates that ask about new dependencies ([`Dependencies`](policy::Dependencies)), named paths
//!   ([`Paths`](policy::Paths)) and protected ones ([`Protected`](policy::Protected)), whatever an agent says;
//! - [`checks`] holds the gate that finds what no honest change needs: tests that cannot fail, are skipped, deleted or
//!   weakened, and secrets;
//! - [`FileExists`], [`FileContains`] and [`Grep`] judge the files of a revision without a checkout;
//! - [`AgentReviewer`] has an agent look at what the verifiers passed, which can only veto;
//! - [`CleanStatus`] tells whether a folder holds a revision's files and nothing else;
//! - [`lint`] says what is doubtful about a plan before anything runs.
//!
//! The first three run shell lines that the operator wrote, in the way that a [`Shell`] says. The judgement is the exit
//! status and nothing else: 0 passes, 1–125 fails, and everything else (not found, killed, out of time, too much
//! output) means that the verifier is *broken*, which is never a verdict. What the known test runners print, and a file
//! that a command may write, can lower a verdict and never raise one ([`evidence`]).
//!
//! ```
//! use ralph_core::{Cx, Phase, RunId, Stage, Target, Verifier};
//! use ralph_verify::{CommandVerifier, Shell};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let folder = tempfile::tempdir().unwrap();
//! let mut phase = Phase::new("P1", []);
//! phase.verify = vec!["test -f README.md".to_owned()];
//! let target = Target::new(folder.path(), Stage::Workspace, RunId::new("run"), phase.into());
//!
//! let verifier = CommandVerifier::new(Shell::new());
//! let verdict = verifier.verify(&target, &Cx::new()).await.unwrap();
//! assert_eq!(verdict.evidence().summary, "test -f README.md: exit 1");
//!
//! std::fs::write(folder.path().join("README.md"), "hello").unwrap();
//! assert!(verifier.verify(&target, &Cx::new()).await.unwrap().passed());
//! # });
//! ```

pub mod checks;
mod clean_status;
mod command;
mod env_check;
pub mod evidence;
mod exit;
pub mod lint;
mod observe;
pub mod policy;
pub mod review;
mod runner;
mod session;
mod setup;
mod shell;
mod text;

pub use crate::{
    clean_status::CleanStatus,
    command::CommandVerifier,
    env_check::EnvCheck,
    observe::{FileContains, FileExists, Grep},
    review::{AgentReviewer, Role},
    setup::SetupVerifier,
    shell::Shell,
};
