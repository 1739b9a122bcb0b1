//! Version control for Ralph: git, worked from outside the agent's reach.
//!
//! [`GitVcs`] stands revisions in *sites*: plain folders outside every checkout, two for each lane. An agent may do
//! there what it likes, to its `.git` as well, for git itself is always told the operator's repository, the folder and a
//! private index by name, and nothing that an agent wrote is ever read as a setting. What it left becomes one commit;
//! the run's branch moves to it in one durable transaction, and only by [`Vcs::accept`](ralph_core::Vcs::accept).
//!
//! ```no_run
//! use ralph_core::{Caches, Cx, Site, Tip, Vcs};
//! use ralph_vcs::{GitOptions, GitVcs};
//!
//! # async fn example() -> Result<(), ralph_core::VcsError> {
//! let vcs = GitVcs::open(GitOptions::new(".", "ralph/prd-p1", "/var/lib/ralph/site")).await?;
//! let cx = Cx::new();
//! for refusal in vcs.preflight(&cx).await?.refusals {
//!     eprintln!("{refusal}");
//! }
//! if let Tip::At(tip) = vcs.tip(None, &cx).await? {
//!     let placed = vcs.place(Site::Work { lane: 0 }, &tip, Caches::Keep, &cx).await?;
//!     println!("an agent may work in {}", placed.folder.display());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`GitVcs`] also carries work over to a later tip ([`Rebase`](ralph_core::Rebase)), [`GitPublish`] pushes the run's
//! branch, and [`LedgerCommit`] commits what an answer changed in the control folder on the operator's own branch.
//!
//! [`FolderVcs`] stands, takes and accepts revisions for work that is not in git, by copies.
//!
//! Unix only: sites are walked by open folders, so that no link is ever followed.

mod accept;
mod agent_git;
mod attributes;
mod branch;
mod changes;
mod clean;
mod diff;
mod discover;
mod doubt;
mod environment;
mod fingerprint;
mod folder;
mod folder_read;
mod folder_store;
mod git;
mod git_vcs;
mod history;
mod index;
mod judge;
mod keep;
mod keep_list;
mod ledger_commit;
mod ledger_index;
mod links;
mod options;
mod place;
mod preflight;
mod pristine;
mod publish;
mod rebase;
mod rebase_check;
mod redact;
mod settings;
mod site;
mod snapshot;
mod status;
mod sweep;
mod tree;
mod walk;

pub use crate::{
    diff::DiffForm,
    fingerprint::{Difference, Fingerprint},
    folder::{FolderOptions, FolderVcs},
    git_vcs::GitVcs,
    history::{Kept, Logged},
    ledger_commit::{LedgerCommit, LedgerCommitted, decision_subject, decisions_subject},
    options::{DEFAULT_KEEP, GitOptions},
    preflight::{BranchState, Preflight},
    publish::GitPublish,
};
