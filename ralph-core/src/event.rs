//! What can be watched of a run.

use std::fmt::Debug;

use serde::Serialize;

use crate::{
    id::{AttemptId, RunId},
    journal::Record,
};

/// Something that a watcher may want to know.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A fact was recorded. Sent only after it is durable, each once, in order.
    Recorded {
        /// The run.
        run: RunId,
        /// The fact, with its place and time.
        record: Record,
    },
    /// A record of an earlier invocation was read again, before anything new happens.
    Replayed {
        /// The run.
        run: RunId,
        /// The fact, with its place and time.
        record: Record,
    },
    /// An effect began; the fact that it leads to will follow unless the run is interrupted.
    Began {
        /// The run.
        run: RunId,
        /// Which effect.
        step: String,
    },
    /// A line of live output of an agent or verifier. May be lost, and is not recorded.
    Live {
        /// The run.
        run: RunId,
        /// Whose, where it is an attempt's.
        attempt: Option<AttemptId>,
        /// The line, as printed: not safe for a terminal.
        line: String,
    },
    /// Something that a person should know, of no effect on the run.
    Told {
        /// The run.
        run: RunId,
        /// One or more lines.
        text: String,
    },
}

/// Watches a run.
///
/// # Contract
/// - Called synchronously and in order; it cannot veto and must be quick, since the run waits for it.
/// - A fact is durable before it is seen here (law L5).
///
/// # Cancellation, idempotence, errors
/// None: it returns nothing. After a restart earlier facts come again as [`Event::Replayed`].
///
/// # Implementing
/// Any `Fn(&Event)` is one:
/// ```
/// use ralph_core::{Event, Observer, RunId};
/// let observer = |event: &Event| {
///     if let Event::Told { text, .. } = event {
///         eprintln!("{text}");
///     }
/// };
/// observer.on_event(&Event::Told { run: RunId::new("run"), text: "hello".into() });
/// ```
pub trait Observer: Send + Sync + 'static {
    /// Something happened.
    fn on_event(&self, event: &Event);
}

impl<F: Fn(&Event) + Send + Sync + 'static> Observer for F {
    fn on_event(&self, event: &Event) {
        self(event);
    }
}
