//! The files of the control folder: what people write, and what is rendered for them.

mod prd_markdown;

pub use self::prd_markdown::{MarkdownPrd, Note, NoteKind, Prd};
