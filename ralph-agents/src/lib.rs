//! Agent backends for Ralph: Claude Code, any command, a scripted one.

pub mod backoff;
pub mod claude;

mod exit;
mod json;
mod lines;

pub use exit::Exit;
