//! The checks, on a corpus of changes.

mod corpus;
mod gate;
