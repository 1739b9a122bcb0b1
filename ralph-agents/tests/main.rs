//! The backends as their users see them.

mod transcripts;
