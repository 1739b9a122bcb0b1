//! Agent backends for Ralph: Claude Code, Codex, Gemini CLI, opencode, any agent of the Agent Client Protocol, any command.
//!
//! A backend takes a [`Brief`](ralph_core::Brief), runs one session in the workspace, and reports how it ended and what
//! it used. It never says whether the work is any good.
//!
//! | backend | program | cost | tokens | resume | cost limit | structured |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | [`ClaudeCode`] | `claude` | yes | yes | yes | yes | yes |
//! | [`Codex`] | `codex` | no | yes | yes | no | yes |
//! | [`Gemini`] | `gemini` | no | yes | yes | no | no |
//! | [`OpenCode`] | `opencode` | where it knows prices | yes | yes | no | no |
//! | [`Acp`] | any that speaks the Agent Client Protocol | as its user says | as its user says | no | no | no |
//! | [`CommandAgent`] | any, with the prompt on stdin | in [JSON](command), as its user says | the same | the same | the same | the same |
//!
//! All run their program the same way ([`ProcessOptions`]): with an environment from an allow-list, its output in
//! files, limits on time, silence and output, and nothing of it alive afterwards. Adding an agent is adding one file
//! that says how it is started and how its ending is read. How many agents a session may start in its turn: [`spawn`].

pub mod acp;
mod cause;
pub mod claude;
pub mod codex;
pub mod command;
mod exit;
pub mod gemini;
mod json;
mod lines;
pub mod opencode;
mod outcome;
mod permissions;
mod session;
mod setters;
pub mod spawn;
pub mod wrap;

pub use acp::Acp;
pub use claude::ClaudeCode;
pub use codex::Codex;
pub use command::CommandAgent;
pub use exit::Exit;
pub use gemini::Gemini;
pub use opencode::OpenCode;
pub use outcome::Outcome;
pub use permissions::Permissions;
pub use session::ProcessOptions;
pub use spawn::{SpawnBudget, SpawnBudgeted};
