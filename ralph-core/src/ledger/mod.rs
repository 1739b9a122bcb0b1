//! The files of the control folder: what people write, and what is rendered for them.
//!
//! - [`Ledger`] knows where everything is, [`LedgerLock`] who is at work.
//! - [`MarkdownPrd`] reads and marks a plan.
//! - [`JsonlJournal`] is the record of a run: the truth that everything else is rendered from.

mod jsonl_journal;
mod layout;
mod lock;
mod prd_markdown;
mod replace;
mod time;

pub use self::{
    jsonl_journal::JsonlJournal,
    layout::Ledger,
    lock::{Holder, LedgerLock, LockError, holder},
    prd_markdown::{MarkdownPrd, Note, NoteKind, Prd},
};
