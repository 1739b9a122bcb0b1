//! What `ralph init` finds out and writes.

mod detect;
mod files;
mod recipes;

pub(crate) use self::{
    detect::{Check, find_check},
    files::{BTW, BTW_PATH, CLAUDE_SETTINGS, CLAUDE_SETTINGS_PATH, CRITERIA, prd, settings},
};
