//! What people and machines are shown.

mod attempts;
mod events;
mod lines;
mod overview;
mod progress;

pub(crate) use attempts::{Glyph, attempts};
pub(crate) use events::Events;
pub(crate) use lines::line;
pub(crate) use overview::Overview;
pub(crate) use progress::Progress;

/// The version of everything that is printed as JSON.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// `count` things: `1 item`, `3 items`.
pub(crate) fn count(count: impl Into<u64>, thing: &str) -> String {
    match count.into() {
        1 => format!("1 {thing}"),
        many => format!("{many} {thing}s"),
    }
}
