//! One JSON event per line, for machines.

use std::io::Write as _;

use ralph_core::{Event, Observer};
use serde::Serialize;

use super::SCHEMA_VERSION;

/// Prints every event on stdout.
#[derive(Debug)]
pub(crate) struct Events;

#[derive(Serialize)]
struct Line<'a, T: Serialize> {
    schema_version: u32,
    #[serde(flatten)]
    event: &'a T,
}

impl Events {
    /// Prints one line, flushed, so that a reader sees it at once and none is lost at the end.
    pub(crate) fn print(event: &impl Serialize) {
        let Ok(json) = serde_json::to_string(&Line { schema_version: SCHEMA_VERSION, event }) else { return };
        let mut out = std::io::stdout().lock();
        // A reader that went away is no reason to stop a run.
        let _ = writeln!(out, "{json}").and_then(|()| out.flush());
    }
}

impl Observer for Events {
    fn on_event(&self, event: &Event) {
        // What happened before is in the journal; a reader of this stream wants what happens now.
        if !matches!(event, Event::Replayed { .. }) {
            Self::print(event);
        }
    }
}
