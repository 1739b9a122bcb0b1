//! Version control for Ralph: git, worked from outside the agent's reach.
//!
//! [`GitVcs`] stands revisions in *sites*: plain folders outside every checkout, two for each lane. An agent may do
//! there what it likes, to its `.git` as well, for git itself is always told the operator's repository, the folder and a
//! private index by name, and nothing that an agent wrote is ever read as a setting. What it left becomes one commit;
//! the run's branch moves to it in one durable transaction, and only by [`Vcs::accept`](ralph_core::Vcs::accept).

mod accept;
mod agent_git;
mod attributes;
mod branch;
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
mod links;
mod options;
mod place;
mod preflight;
mod pristine;
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
    options::{DEFAULT_KEEP, GitOptions},
    preflight::{BranchState, Preflight},
};
